//! Reads of files, and readahead: a reader that goes on where it was gets pages before it asks for them.
//!
//! As Linux' on-demand readahead: a sequential read that misses reads a window, the first of at most four times what was asked
//! for; when the reader comes to a marked place in it, the next window, twice as large up to `read_ahead_kb`, is read
//! meanwhile. Source: Documentation/filesystems/vfs.rst; "On-demand readahead" (LWN, 2007).

use std::collections::BTreeMap;

use order9_mm::env::Env as _;
use order9_mm::fs_cache::FsError;
use order9_mm::page_cache::{Added, CachedPage};
use order9_mm::{Errno, FileId, Gfp};
use order9_units::{Bytes, PAGE_SIZE, Pages, Pfn};
use order9_workloads::{self as workloads, Stop};

use crate::thread::Thread;
use crate::time::Class;

/// `read_ahead_kb` as shipped, 128 KiB, in pages.
const WINDOW_MAX: u64 = 32;

/// How pages for reads are allocated: not by way of the filesystem, which may be reading them.
pub(super) const READ: Gfp = Gfp::GFP_HIGHUSER_MOVABLE.without(Gfp::FS);

/// Pages that are read around one that a mapping needs: `read_ahead_kb` too.
const AROUND: u64 = WINDOW_MAX;

/// Windows of files that are open.
#[derive(Default)]
pub(crate) struct Readahead(BTreeMap<FileId, Window>);

/// What was read last ahead of a reader, in pages.
#[derive(Clone, Copy, Default)]
struct Window {
    start: u64,
    size: u64,
    /// The next window is read when the reader comes to this many pages before the end.
    ahead: u64,
    /// Where the last read ended.
    reader: u64,
}

impl Window {
    const fn end(&self) -> u64 {
        self.start + self.size
    }

    /// What to read for a reader that misses `index` and wants `wanted` pages.
    fn miss(&mut self, index: u64, wanted: u64) -> (u64, u64) {
        if index != 0 && index != self.reader {
            (self.start, self.size, self.ahead) = (0, 0, 0);
            return (index, wanted);
        }
        let size = (wanted.next_power_of_two() * 4).min(WINDOW_MAX).max(wanted);
        (self.start, self.size, self.ahead) = (index, size, size - wanted);
        (index, size)
    }

    /// What to read for a reader that comes to `index`, which is there; nothing unless the place is marked.
    fn hit(&mut self, index: u64) -> Option<(u64, u64)> {
        if self.ahead == 0 || index != self.end() - self.ahead {
            return None;
        }
        let (start, size) = (self.end(), (self.size * 2).min(WINDOW_MAX));
        (self.start, self.size, self.ahead) = (start, size, size);
        Some((start, size))
    }
}

impl Readahead {
    /// The file was closed.
    pub(crate) fn forget(&mut self, file: FileId) {
        self.0.remove(&file);
    }
}

impl Thread {
    /// Reads part of a file; less of it where that ends.
    pub(crate) async fn read_file(&self, file: workloads::FileId, offset: Bytes, length: Bytes) -> Result<Bytes, Stop> {
        self.enter().await?;
        let file = self.living("pread", file, Errno::Ebadf)?;
        let size = self.length(file);
        let read = length.min(size - offset.min(size));
        if read == Bytes::ZERO {
            return Ok(read);
        }
        let end = offset + read;
        if self.is_on_disk(file) {
            for index in offset.get() / PAGE_SIZE.get()..end.get().div_ceil(PAGE_SIZE.get()) {
                let wanted = end.get().div_ceil(PAGE_SIZE.get()) - index;
                self.read_page(file, index, wanted).await?;
            }
        } else {
            self.read_tmpfs(file, offset, end).await?;
        }
        self.kernel.pay(Class::System, self.copying(read)).await;
        Ok(read)
    }

    /// Has the page at `index` in memory, marks it as used, and reads ahead.
    async fn read_page(&self, file: FileId, index: u64, wanted: u64) -> Result<(), Stop> {
        let found = self.kernel.look(|mm| mm.find_page(file, index));
        let window = {
            let mut readahead = self.kernel.readahead.borrow_mut();
            let window = readahead.0.entry(file).or_default();
            let next = match found {
                CachedPage::Missing => Some(window.miss(index, wanted.min(WINDOW_MAX))),
                _ => window.hit(index),
            };
            window.reader = index + 1;
            next
        };
        if let Some((start, pages)) = window {
            self.read_window(file, start, pages).await;
        }
        self.wait_for_page(file, index).await?;
        self.kernel.pay(Class::System, self.kernel.prices.file_page).await;
        self.kernel.with(|mm| {
            if let CachedPage::Uptodate(page) = mm.find_page(file, index) {
                mm.mark_accessed(page);
            }
        });
        Ok(())
    }

    /// Begins to read pages that are not in memory; gives up where there is no memory for more.
    async fn read_window(&self, file: FileId, start: u64, pages: u64) {
        let size = self.kernel.look(|mm| mm.file_size(file)).unwrap_or_default();
        let gfp = READ | Gfp::NORETRY | Gfp::NOWARN;
        let mut fresh = Vec::new();
        for index in start..(start + pages).min(size.get()) {
            if self.kernel.look(|mm| mm.find_page(file, index)) == CachedPage::Missing {
                let Ok(page) = self.page(gfp).await else { break };
                fresh.push((index, page));
            }
        }
        self.kernel.pay(Class::System, self.kernel.prices.read_page.times(fresh.len() as u64)).await;
        // What cannot be read will be refused to whoever asks for it.
        let _ = self.start_reading(file, &fresh);
        self.spend().await;
    }

    /// Adds fresh pages and begins to read those that are new: nobody sees one that is being read by nobody.
    fn start_reading(&self, file: FileId, fresh: &[(u64, Pfn)]) -> Result<(), FsError> {
        let mut added = Vec::with_capacity(fresh.len());
        let mut result = Ok(());
        self.kernel.with(|mm| {
            for &(index, page) in fresh {
                match mm.add_to_page_cache(file, index, page, self.cpu()) {
                    Ok(Added::New(_)) => added.push(index),
                    Ok(Added::Present) => {}
                    Err(error) => {
                        result = Err(error);
                        mm.free(page, self.cpu()).expect("the page was just allocated");
                    }
                }
            }
        });
        for run in added.chunk_by(|before, index| before + 1 == *index) {
            self.kernel.read_pages(file, run[0], Pages::new(run.len() as u64));
        }
        result
    }

    /// Brings a page into memory that a mapping of the file shows; those around it are read too, as they are likely next.
    pub(crate) async fn read_for_fault(&self, file: FileId, index: u64) -> Result<(), Stop> {
        if self.kernel.look(|mm| mm.find_page(file, index)) == CachedPage::Missing {
            self.read_window(file, index.saturating_sub(AROUND / 2), AROUND).await;
        }
        self.wait_for_page(file, index).await
    }

    /// Waits until the page is there, and reads it alone if nobody does.
    pub(crate) async fn wait_for_page(&self, file: FileId, index: u64) -> Result<(), Stop> {
        loop {
            self.alive()?;
            match self.kernel.look(|mm| mm.find_page(file, index)) {
                CachedPage::Uptodate(_) => return Ok(()),
                CachedPage::BeingRead(_) => {
                    let ticket = self.kernel.storage.read_of(file, index).expect("whoever adds a page reads it");
                    let disk = self.kernel.storage.main().expect("the page is read from it");
                    disk.wait(ticket).await;
                }
                CachedPage::Missing => {
                    self.living("pread", super::named(file), Errno::Enoent)?;
                    let page = self.page(READ).await?;
                    self.kernel.pay(Class::System, self.kernel.prices.read_page).await;
                    self.start_reading(file, &[(index, page)]).map_err(|error| super::denied("pread", error))?;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_grow_ahead_of_a_reader_that_goes_on() {
        let mut window = Window::default();
        assert_eq!(window.miss(0, 1), (0, 4));
        assert_eq!(window.hit(1), Some((4, 8)), "the mark is behind what was asked for");
        assert_eq!((window.hit(2), window.hit(3), window.hit(4)), (None, None, Some((12, 16))));
        assert_eq!(window.hit(12), Some((28, 32)));
        assert_eq!(window.hit(28), Some((60, 32)), "128 KiB are the most");
    }

    #[test]
    fn whoever_jumps_gets_what_was_asked_for() {
        let mut window = Window::default();
        assert_eq!(window.miss(100, 2), (100, 2));
        window.reader = 102;
        assert_eq!(window.miss(102, 1), (102, 4), "and is followed from there on");
        assert_eq!((window.miss(7, 1), window.hit(8)), ((7, 1), None));
    }
}
