//! Writes to files, and how writers are slowed down to the speed of the disk.
//!
//! Key types: [`Throttle`] (what is known of the speed of the disk and of the writers). A writer that has made some pages dirty
//! looks at how many are; beyond half way between the background limit and the hard one it sleeps as long as the disk takes
//! for its share. Source: "IO-less dirty throttling" (LKML, 2011).

use order9_mm::env::Env as _;
use order9_mm::page_cache::{Added, CachedPage};
use order9_mm::{Errno, FileId, Gfp};
use order9_units::{Bytes, Nanos, PAGE_SIZE, Pages};
use order9_workloads::{self as workloads, Stop};

use super::read::READ;
use crate::faults::refused;
use crate::kernel::{Engine, Kernel};
use crate::thread::Thread;
use crate::time::Class;

/// Pages that a process makes dirty between two looks at how many there are.
const POLL: u64 = 32;
/// The longest pause of a writer.
const PAUSE_MAX: Nanos = Nanos::new(200_000_000);
/// How often the speed of the disk is looked at.
const INTERVAL: Nanos = Nanos::new(200_000_000);
/// What a disk is taken to write before it has been seen to: 100 MB/s, in pages.
const BANDWIDTH: u64 = (100 << 20) / PAGE_SIZE.get();
/// 1 in units of a [`PosRatio`](order9_mm::page_cache::PosRatio).
const ONE: u64 = 1024;
const SECOND: u64 = 1_000_000_000;

/// How fast the disk writes, and how fast a writer may make pages dirty, in pages per second.
pub(crate) struct Throttle {
    bandwidth: u64,
    rate: u64,
    /// The last look: when, `nr_written` and `nr_dirtied` then.
    looked: (Nanos, u64, u64),
}

impl Default for Throttle {
    fn default() -> Self {
        Self { bandwidth: BANDWIDTH, rate: BANDWIDTH, looked: (Nanos::ZERO, 0, 0) }
    }
}

impl Throttle {
    /// Takes in what was written and dirtied up to `now`, while writers were held to `ratio` of their rate: the rate moves to
    /// where as much would have been dirtied as was written.
    fn look(&mut self, now: Nanos, written: u64, dirtied: u64, ratio: u64) {
        let (then, written_before, dirtied_before) = self.looked;
        let passed = (now - then).get();
        if passed < INTERVAL.get() {
            return;
        }
        self.looked = (now, written, dirtied);
        let per_second = |pages: u64| (u128::from(pages) * u128::from(SECOND) / u128::from(passed)) as u64;
        if passed > 5 * INTERVAL.get() {
            return; // Nobody was held back: nothing can be learnt.
        }
        let written = per_second(written - written_before);
        if written > 0 {
            self.bandwidth = (7 * self.bandwidth + written) / 8;
        }
        let dirtied = per_second(dirtied - dirtied_before).max(1);
        let balanced = u128::from(self.rate * ratio / ONE) * u128::from(self.bandwidth) / u128::from(dirtied);
        let balanced = (balanced as u64).clamp(1, self.bandwidth);
        self.rate = ((self.rate + balanced) / 2).max(1);
    }

    /// How long a writer pauses for `pages`, at `ratio` of its rate.
    fn pause(&self, pages: u64, ratio: u64) -> Nanos {
        let rate = self.rate * ratio / ONE;
        Nanos::new((pages * SECOND).checked_div(rate).unwrap_or(u64::MAX)).min(PAUSE_MAX)
    }
}

impl Thread {
    /// Writes part of a file.
    pub(crate) async fn write_file(&self, number: workloads::FileId, offset: Bytes, length: Bytes) -> Result<(), Stop> {
        self.enter().await?;
        let file = self.living("pwrite", number, Errno::Ebadf)?;
        let (end, on_disk) = (offset + length, self.is_on_disk(file));
        let before = self.length(file);
        if !on_disk {
            self.grow(file, end)?;
        }
        for index in offset.get() / PAGE_SIZE.get()..end.get().div_ceil(PAGE_SIZE.get()) {
            let start = Bytes::new(index * PAGE_SIZE.get());
            let copied = end.min(start + PAGE_SIZE) - offset.max(start);
            if on_disk {
                self.write_page(file, index, copied == PAGE_SIZE).await?;
            } else if let Err(stop) = self.write_tmpfs_page(file, index).await {
                self.cut_back(file, end, before, start.max(before));
                return Err(stop);
            }
            self.kernel.pay(Class::System, self.kernel.prices.file_page + self.copying(copied)).await;
            self.spend().await;
            if on_disk {
                self.balance_dirty_pages().await?;
            }
        }
        if end > before {
            let size = self.kernel.look(|mm| mm.file_size(file)).unwrap_or_default();
            self.kernel.lengths.borrow_mut().grow(file, end, size);
        }
        Ok(())
    }

    /// A write that was to make a file of tmpfs end at `end` came to `written` only: the file ends there, unless others have
    /// changed its size meanwhile.
    fn cut_back(&self, file: FileId, end: Bytes, before: Bytes, written: Bytes) {
        let size = self.kernel.look(|mm| mm.file_size(file));
        if end > before && size == Some(Pages::from_bytes_ceil(end)) {
            let cut = self.kernel.with(|mm| mm.truncate(file, Pages::from_bytes_ceil(written), self.cpu()));
            // Else it was closed meanwhile.
            if cut.is_ok() {
                self.kernel.lengths.borrow_mut().set(file, written);
            }
        }
    }

    /// Writes the page at `index` of a file on disk, all of it or after what it holds was read.
    async fn write_page(&self, file: FileId, index: u64, all: bool) -> Result<(), Stop> {
        loop {
            let now = self.kernel.handle.now();
            match self.dirtying(|mm| mm.write_page(file, index, now)).await {
                CachedPage::Uptodate(_) => break,
                CachedPage::BeingRead(_) => self.wait_for_page(file, index).await?,
                CachedPage::Missing if !all && self.is_within(file, index) => self.wait_for_page(file, index).await?,
                CachedPage::Missing => {
                    self.leave_room("pwrite", file, index)?;
                    let page = self.page(READ | Gfp::WRITE).await?;
                    let now = self.kernel.handle.now();
                    match self.dirtying(|mm| mm.write_new_page(file, index, page, now, self.cpu())).await {
                        Ok(Added::New(_)) => break,
                        Ok(Added::Present) => {}
                        Err(error) => {
                            self.kernel.with(|mm| mm.free(page, self.cpu())).expect("the page was just allocated");
                            return Err(super::denied("pwrite", error));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes a step that may make a page of a file on disk dirty, which costs time and counts for the writer if it was clean.
    pub(crate) async fn dirtying<R>(&self, step: impl FnOnce(&mut Engine) -> R) -> R {
        let (result, became_dirty) = self.kernel.with(|mm| {
            let before = mm.counters().nr_dirtied;
            let result = step(mm);
            (result, mm.counters().nr_dirtied > before)
        });
        if became_dirty {
            self.process.dirtied.set(self.process.dirtied.get() + 1);
            self.kernel.pay(Class::System, self.kernel.prices.dirty_page).await;
        }
        result
    }

    /// Refuses a page that the disk has no room for; dirty pages may need a place each.
    fn leave_room(&self, call: &'static str, file: FileId, index: u64) -> Result<(), Stop> {
        let blocks = self.kernel.storage.blocks.borrow();
        let has_place = blocks.piece(file, index, Pages::new(1)).at.is_some();
        let dirty = self.kernel.look(|mm| mm.write_pending(None).dirty);
        if has_place || blocks.free().get() > dirty { Ok(()) } else { Err(refused(call, Errno::Enospc)) }
    }

    fn is_within(&self, file: FileId, index: u64) -> bool {
        self.kernel.look(|mm| mm.file_size(file)).is_some_and(|size| index < size.get())
    }

    fn grow(&self, file: FileId, end: Bytes) -> Result<(), Stop> {
        let size = Pages::from_bytes_ceil(end);
        if self.kernel.look(|mm| mm.file_size(file)).is_some_and(|now| size <= now) {
            return Ok(());
        }
        self.kernel.with(|mm| mm.truncate(file, size, self.cpu())).map_err(|errno| refused("pwrite", errno))
    }

    /// Slows the process down if it makes pages dirty faster than they are written.
    pub(crate) async fn balance_dirty_pages(&self) -> Result<(), Stop> {
        let dirtied = self.process.dirtied.get();
        if dirtied < POLL {
            return Ok(());
        }
        self.process.dirtied.set(0);
        loop {
            let Some(ratio) = self.kernel.dirty_ratio() else { return Ok(()) };
            let pause = self.kernel.throttle.borrow().pause(dirtied, ratio);
            self.kernel.handle.sleep(pause).await;
            self.alive()?;
            if ratio > 0 {
                return Ok(());
            }
        }
    }
}

impl Kernel {
    /// How fast writers may be, in 1/1024 of their rate; `None` where they need not wait. Wakes the flusher where that has
    /// something to do.
    fn dirty_ratio(&self) -> Option<u64> {
        let (limits, dirty, written, dirtied) = self.look(|mm| {
            let counters = mm.counters();
            (mm.dirty_limits(), mm.write_pending(None), counters.nr_written, counters.nr_dirtied)
        });
        if dirty.dirty > limits.background.get() {
            self.flusher.wake(&self.handle);
        }
        let ratio = limits.pos_ratio(Pages::new(dirty.total())).map(|ratio| ratio.0);
        self.throttle.borrow_mut().look(self.handle.now(), written, dirtied, ratio.unwrap_or(ONE));
        ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_come_to_the_speed_of_the_disk() {
        let mut throttle = Throttle::default();
        let (mut written, mut dirtied) = (0, 0);
        // Four writers on a disk of 10,000 pages per second, held to the rate as it is.
        for tick in 1..200 {
            written += 2000;
            dirtied += 4 * throttle.rate / 5;
            throttle.look(Nanos::new(tick * 200_000_000), written, dirtied, ONE);
        }
        assert!(throttle.bandwidth.abs_diff(10_000) < 100, "{}", throttle.bandwidth);
        assert!(throttle.rate.abs_diff(2500) < 100, "{}", throttle.rate);
    }

    #[test]
    fn pauses_are_as_long_as_the_share_of_the_disk_takes_but_bounded() {
        let throttle = Throttle { bandwidth: 1000, rate: 1000, looked: (Nanos::ZERO, 0, 0) };
        assert_eq!(throttle.pause(10, ONE), Nanos::new(10_000_000));
        assert_eq!(throttle.pause(10, ONE / 2), Nanos::new(20_000_000));
        assert_eq!((throttle.pause(10, 0), throttle.pause(1000, ONE)), (PAUSE_MAX, PAUSE_MAX));
    }
}
