//! Readahead: a reader that goes on where it was gets pages before it asks for them.
//!
//! As Linux' on-demand readahead: a sequential read that misses reads a window, the first of at most four times what was asked
//! for; when the reader comes to a marked page in it, the next window, twice as large up to `read_ahead_kb`, is read
//! meanwhile. A fault on a page of a mapping that is not there reads as much as `read_ahead_kb` around it, and the mark is a quarter before
//! the end; faults beside it do not map the marked page, so that its own fault finds the mark. Where several readers of a file follow each
//! other, a mark is not that of the window which the file remembers: the next window is then what is missing behind the mark.
//! Source: Documentation/filesystems/vfs.rst; "On-demand readahead" (LWN, 2007).

use alloc::collections::BTreeMap;

use super::{CachedPage, FileId};
use crate::page_cache::PageCache;
use crate::page_flags::PageFlag;
use crate::phys::PhysMem;

/// `read_ahead_kb` as shipped, 128 KiB, in pages.
const READ_AHEAD: u64 = 32;

/// Windows of files that are open.
#[derive(Clone, Default)]
pub(crate) struct Readahead(BTreeMap<FileId, Window>);

/// Pages to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToRead {
    /// The first page.
    pub(crate) start: u64,
    /// Number of pages.
    pub(crate) pages: u64,
    /// The page to mark, which has the next ones read.
    pub(crate) mark: Option<u64>,
}

/// Pages that were read last ahead of a reader.
#[derive(Clone, Copy, Default)]
struct Window {
    start: u64,
    size: u64,
    /// The next window is read when the reader comes to this many pages before the end.
    ahead: u64,
    /// End of the last read.
    reader: u64,
}

impl Window {
    const fn end(&self) -> u64 {
        self.start + self.size
    }

    fn mark(&self) -> Option<u64> {
        (self.ahead > 0).then(|| self.end() - self.ahead)
    }

    fn set(&mut self, start: u64, size: u64, ahead: u64) -> ToRead {
        (self.start, self.size, self.ahead) = (start, size, ahead);
        ToRead { start, pages: size, mark: self.mark() }
    }

    /// The window to read for a reader that misses `index` and wants `wanted` pages.
    fn miss(&mut self, index: u64, wanted: u64) -> ToRead {
        if index != 0 && index != self.reader {
            self.set(0, 0, 0);
            return ToRead { start: index, pages: wanted, mark: None };
        }
        let size = (wanted.next_power_of_two() * 4).min(READ_AHEAD).max(wanted);
        self.set(index, size, size - wanted)
    }

    /// The window to read around a page that a mapping shows.
    fn around(&mut self, index: u64) -> ToRead {
        self.set(index.saturating_sub(READ_AHEAD / 2), READ_AHEAD, READ_AHEAD / 4)
    }

    /// The window to read for a reader that has come to a mark at `index`. `missing` is the first page behind it that is not there, if
    /// one is near.
    fn marked(&mut self, index: u64, missing: Option<u64>) -> Option<ToRead> {
        let (start, before) = match self.mark() == Some(index) {
            true => (self.end(), self.size),
            false => (missing?, missing? - index),
        };
        let size = (before * 2).min(READ_AHEAD);
        Some(self.set(start, size, size))
    }
}

impl PageCache {
    /// Pages to read now for a reader that has come to `index` of a file and wants `wanted` pages from there on.
    pub(crate) fn readahead(&mut self, file: FileId, index: u64, wanted: u64, phys: &mut PhysMem) -> Option<ToRead> {
        let next = match self.find_page(file, index, phys) {
            CachedPage::Missing => Some(self.window(file).miss(index, wanted.min(READ_AHEAD))),
            _ => self.marked(file, index, phys),
        };
        self.window(file).reader = index + 1;
        next
    }

    /// Pages to read now for a fault on the page at `index` of a mapped file.
    pub(crate) fn readahead_for_fault(&mut self, file: FileId, index: u64, phys: &mut PhysMem) -> Option<ToRead> {
        match self.find_page(file, index, phys) {
            CachedPage::Missing => Some(self.window(file).around(index)),
            _ => self.marked(file, index, phys),
        }
    }

    /// Takes the mark away from a page; what is to be read then, if it had one.
    fn marked(&mut self, file: FileId, index: u64, phys: &mut PhysMem) -> Option<ToRead> {
        let idx = self.file(file).ok()?.page(index)?;
        if !phys.frames.word(idx).has(PageFlag::Readahead) {
            return None;
        }
        phys.frames.reflag(idx, PageFlag::Readahead, false);
        let pages = self.file(file).ok()?;
        let missing = (index + 1..=index + READ_AHEAD).find(|&at| pages.page(at).is_none());
        self.window(file).marked(index, missing)
    }

    fn window(&mut self, file: FileId) -> &mut Window {
        self.readahead.0.entry(file).or_default()
    }

    /// Marks a page that is being read, so that the next ones are read when a reader comes to it.
    pub(crate) fn mark_for_readahead(&mut self, file: FileId, index: u64, phys: &mut PhysMem) {
        if let Some(idx) = self.file(file).ok().and_then(|file| file.page(index)) {
            phys.frames.reflag(idx, PageFlag::Readahead, true);
        }
    }

    /// Forgets how far a reader of the file was: a program has closed it.
    pub fn forget_readahead(&mut self, file: FileId) {
        self.readahead.0.remove(&file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window that is read, and its mark.
    const fn read(start: u64, pages: u64, mark: u64) -> ToRead {
        ToRead { start, pages, mark: Some(mark) }
    }

    #[test]
    fn windows_grow_ahead_of_a_reader_that_goes_on() {
        let mut window = Window::default();
        assert_eq!(window.miss(0, 1), read(0, 4, 1), "the mark is behind what was asked for");
        assert_eq!(window.marked(1, Some(4)), Some(read(4, 8, 4)));
        assert_eq!(window.marked(4, Some(12)), Some(read(12, 16, 12)));
        assert_eq!(window.marked(12, Some(28)), Some(read(28, 32, 28)));
        assert_eq!(window.marked(28, Some(60)), Some(read(60, 32, 60)), "128 KiB are the most");
    }

    #[test]
    fn faults_that_go_on_find_a_mark_in_each_window() {
        let mut window = Window::default();
        assert_eq!(window.around(5), read(0, 32, 24));
        assert_eq!(window.marked(24, Some(32)), Some(read(32, 32, 32)));
        assert_eq!(window.around(1000), read(984, 32, 1008), "a jump begins anew");
    }

    #[test]
    fn a_mark_of_another_reader_has_read_what_is_missing_behind_it() {
        let mut window = Window::default();
        window.around(1000);
        assert_eq!(window.marked(24, Some(32)), Some(read(32, 16, 32)));
        assert_eq!(window.marked(500, None), None, "everything near is there");
    }

    #[test]
    fn whoever_jumps_gets_what_was_asked_for() {
        let mut window = Window::default();
        assert_eq!(window.miss(100, 2), ToRead { start: 100, pages: 2, mark: None });
        window.reader = 102;
        assert_eq!(window.miss(102, 1), read(102, 4, 103), "and is followed from there on");
        assert_eq!(window.miss(7, 1), ToRead { start: 7, pages: 1, mark: None });
    }
}
