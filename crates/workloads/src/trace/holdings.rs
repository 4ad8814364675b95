//! Memory that a replay holds, and how it comes and goes: [`Holdings`].
//!
//! Nobody recorded which page was freed. A word decides: the newest that the replay holds, or the oldest.

use std::collections::VecDeque;

use order9_units::{Bytes, Nanos, Order, PAGE_SIZE};

use super::quota::{HUGE, Quota};
use crate::sys::{Access, Advice, Area, FileId, KernelAlloc, KernelSize, Mapping, Stop, Sys};
use crate::unit::{UNIT, map_units, touch_first};

/// Memory of one thread of a replay.
pub(super) struct Holdings<S: Sys> {
    sys: S,
    newest_first: bool,
    /// Whether times of faults are measured.
    measures: bool,
    /// Whether files live on a disk; in memory they have no pages that nobody wrote.
    has_disk: bool,
    /// Base pages of programs.
    base: VecDeque<Area>,
    /// Huge pages, and units that are base pages since there was no huge page, all of which were touched.
    huge: VecDeque<Area>,
    /// Units of which so far the first page was touched.
    begun: VecDeque<Area>,
    /// Pages of units that are huge where the recording had one page: they are there before anybody asks.
    ahead: u64,
    files: VecDeque<(FileId, u64)>,
    kernel: VecDeque<(S::KernelMemory, Order)>,
    owed: Owed,
    got: Got,
}

/// Pages that the recording freed and the replay does not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Owed {
    pub(super) anon: u64,
    pub(super) file: u64,
    pub(super) kernel: u64,
}

/// Units that might be huge, and how many of them are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Got {
    pub(super) asked: u64,
    pub(super) huge: u64,
    /// Requests of the kernel that got nothing.
    pub(super) refused: u64,
}

const fn bytes(pages: u64) -> Bytes {
    Bytes::new(pages * PAGE_SIZE.get())
}

/// Takes an end of a list.
fn pop<T>(list: &mut VecDeque<T>, newest_first: bool) -> Option<T> {
    if newest_first { list.pop_back() } else { list.pop_front() }
}

fn put_back<T>(list: &mut VecDeque<T>, newest_first: bool, item: T) {
    if newest_first { list.push_back(item) } else { list.push_front(item) }
}

impl<S: Sys> Holdings<S> {
    pub(super) fn new(sys: S, newest_first: bool) -> Self {
        let has_disk = sys.facts().disk.is_some();
        Self {
            sys,
            newest_first,
            measures: true,
            has_disk,
            base: VecDeque::new(),
            huge: VecDeque::new(),
            begun: VecDeque::new(),
            ahead: 0,
            files: VecDeque::new(),
            kernel: VecDeque::new(),
            owed: Owed::default(),
            got: Got::default(),
        }
    }

    /// Holdings that measure nothing, beside a program that does.
    pub(super) fn silent(self) -> Self {
        Self { measures: false, ..self }
    }

    pub(super) const fn owed(&self) -> Owed {
        self.owed
    }

    pub(super) const fn got(&self) -> Got {
        self.got
    }

    /// Does what a quota says: takes, then gives back.
    pub(super) async fn replay(&mut self, quota: &Quota) -> Result<(), Stop> {
        self.take_units(quota.huge, quota.fallbacks).await?;
        self.take_base(quota.base).await?;
        self.fault_plainly(quota.plain).await?;
        self.cache(quota.written, quota.read).await?;
        self.take_kernel(&quota.unmovable, false).await?;
        self.take_kernel(&quota.reclaimable, true).await?;
        self.owed.anon += quota.base_freed + quota.huge_freed * HUGE;
        self.owed.file += quota.file_freed;
        self.owed.kernel += quota.kernel_freed;
        self.free_anon(quota.huge_freed).await?;
        self.free_files().await?;
        self.free_kernel().await
    }

    /// Takes memory that may be huge: all of the first `whole` units, and a page of each of the others.
    async fn take_units(&mut self, whole: u64, others: u64) -> Result<(), Stop> {
        let units = whole + others;
        if units == 0 {
            return Ok(());
        }
        let (_, area) = map_units(&self.sys, Bytes::new(units * UNIT.get()), Some(Advice::HugePage)).await?;
        for nth in 0..units {
            let unit = area.part(Bytes::new(nth * UNIT.get()), UNIT);
            let (took, is_huge) = touch_first(&self.sys, unit).await?;
            self.note_unit(took, is_huge);
            if is_huge {
                self.huge.push_back(unit);
                self.ahead += if nth < whole { 0 } else { HUGE - 1 };
            } else if nth < whole {
                self.sys.touch(unit, Access::Write).await?;
                self.huge.push_back(unit);
            } else {
                self.base.push_back(unit.part(Bytes::ZERO, PAGE_SIZE));
                self.begun.push_back(unit.part(PAGE_SIZE, UNIT));
            }
        }
        Ok(())
    }

    fn note_unit(&mut self, took: Nanos, is_huge: bool) {
        if self.measures {
            self.sys.sample(if is_huge { "fault-huge" } else { "fault-base" }, took);
        }
        self.got.asked += 1;
        self.got.huge += u64::from(is_huge);
    }

    /// Takes base pages: those of units that have been begun, then others.
    async fn take_base(&mut self, pages: u64) -> Result<(), Stop> {
        let there = pages.min(self.ahead);
        self.ahead -= there;
        let mut pages = pages - there;
        while pages > 0
            && let Some(rest) = self.begun.pop_front()
        {
            let area = rest.part(Bytes::ZERO, bytes(pages));
            self.sys.touch(area, Access::Write).await?;
            self.base.push_back(area);
            pages -= area.pages();
            if area.length < rest.length {
                self.begun.push_front(rest.part(area.length, rest.length));
            }
        }
        if pages > 0 {
            let area = self.small_pages(pages).await?;
            self.sys.touch(area, Access::Write).await?;
            self.base.push_back(area);
        }
        Ok(())
    }

    async fn small_pages(&self, pages: u64) -> Result<Area, Stop> {
        let area = self.sys.mmap(Mapping::anon(bytes(pages))).await?;
        self.sys.madvise(area, Advice::NoHugePage).await?;
        Ok(area)
    }

    /// Makes faults that get no page: reads of memory that nobody has written.
    async fn fault_plainly(&mut self, mut faults: u64) -> Result<(), Stop> {
        if faults == 0 {
            return Ok(());
        }
        let area = self.small_pages(faults.min(HUGE)).await?;
        while faults > 0 {
            let part = area.part(Bytes::ZERO, bytes(faults));
            self.sys.touch(part, Access::Read).await?;
            self.sys.madvise(part, Advice::DontNeed).await?;
            faults -= part.pages();
        }
        self.sys.munmap(area).await
    }

    /// Brings pages of a new file into the page cache, the first of them by writing.
    async fn cache(&mut self, written: u64, read: u64) -> Result<(), Stop> {
        let pages = written + read;
        if pages == 0 {
            return Ok(());
        }
        let file = self.sys.create().await?;
        let written = if self.has_disk { written } else { pages };
        if written > 0 {
            self.sys.write(file, Bytes::ZERO, bytes(written)).await?;
        }
        if written < pages {
            // The last page makes the file as long as that.
            self.sys.write(file, bytes(pages - 1), PAGE_SIZE).await?;
            self.sys.read(file, bytes(written), bytes(pages - written)).await?;
        }
        self.sys.close(file).await?;
        self.files.push_back((file, pages));
        Ok(())
    }

    async fn take_kernel(&mut self, requests: &[u64; Order::COUNT], reclaimable: bool) -> Result<(), Stop> {
        for (order, &count) in (0..=Order::MAX.get()).filter_map(Order::new).zip(requests) {
            for _ in 0..count {
                let request = KernelAlloc { reclaimable, ..KernelAlloc::new(KernelSize::Block(order)) };
                match self.sys.kernel_alloc(request).await? {
                    Some(memory) => self.kernel.push_back((memory, order)),
                    None => self.got.refused += 1,
                }
            }
        }
        Ok(())
    }

    /// Gives memory of programs back: so many huge pages, then base pages, then further huge ones.
    async fn free_anon(&mut self, huge: u64) -> Result<(), Stop> {
        for _ in 0..huge {
            self.free_unit().await?;
        }
        while self.owed.anon > 0 {
            let Some(area) = pop(&mut self.base, self.newest_first) else { break };
            let keeps = bytes(area.pages().saturating_sub(self.owed.anon));
            let gone = area.part(keeps, area.length);
            self.sys.munmap(gone).await?;
            self.owed.anon -= gone.pages();
            if keeps > Bytes::ZERO {
                put_back(&mut self.base, self.newest_first, area.part(Bytes::ZERO, keeps));
            }
        }
        while self.owed.anon >= HUGE && !self.huge.is_empty() {
            self.free_unit().await?;
        }
        Ok(())
    }

    /// Gives a unit back, where one is held and as much is owed.
    async fn free_unit(&mut self) -> Result<(), Stop> {
        if self.owed.anon >= HUGE
            && let Some(unit) = pop(&mut self.huge, self.newest_first)
        {
            self.sys.munmap(unit).await?;
            self.owed.anon -= HUGE;
        }
        Ok(())
    }

    async fn free_files(&mut self) -> Result<(), Stop> {
        while let Some((file, pages)) = pop(&mut self.files, self.newest_first) {
            if pages > self.owed.file {
                put_back(&mut self.files, self.newest_first, (file, pages));
                break;
            }
            self.sys.remove_file(file).await?;
            self.owed.file -= pages;
        }
        Ok(())
    }

    async fn free_kernel(&mut self) -> Result<(), Stop> {
        while let Some((memory, order)) = pop(&mut self.kernel, self.newest_first) {
            let pages = order.pages().get();
            if pages > self.owed.kernel {
                put_back(&mut self.kernel, self.newest_first, (memory, order));
                break;
            }
            self.sys.kernel_free(memory).await?;
            self.owed.kernel -= pages;
        }
        Ok(())
    }
}
