//! Readahead: a reader that goes on where it was gets pages before it asks for them.
//!
//! As Linux' on-demand readahead: a sequential read that misses reads a window, the first of at most four times what was asked
//! for; when the reader comes to a marked place in it, the next window, twice as large up to `read_ahead_kb`, is read
//! meanwhile. Source: Documentation/filesystems/vfs.rst; "On-demand readahead" (LWN, 2007).

use alloc::collections::BTreeMap;

use super::{CachedPage, FileId};
use crate::page_cache::PageCache;
use crate::phys::PhysMem;
use crate::trace::Tracer;

/// `read_ahead_kb` as shipped, 128 KiB, in pages.
pub(crate) const READ_AHEAD: u64 = 32;

/// Windows of files that are open.
#[derive(Clone, Default)]
pub(crate) struct Readahead(BTreeMap<FileId, Window>);

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

    /// The window to read for a reader that misses `index` and wants `wanted` pages.
    fn miss(&mut self, index: u64, wanted: u64) -> (u64, u64) {
        if index != 0 && index != self.reader {
            (self.start, self.size, self.ahead) = (0, 0, 0);
            return (index, wanted);
        }
        let size = (wanted.next_power_of_two() * 4).min(READ_AHEAD).max(wanted);
        (self.start, self.size, self.ahead) = (index, size, size - wanted);
        (index, size)
    }

    /// The window to read for a reader that comes to `index`, which is there; none unless the place is marked.
    fn hit(&mut self, index: u64) -> Option<(u64, u64)> {
        if self.ahead == 0 || index != self.end() - self.ahead {
            return None;
        }
        let (start, size) = (self.end(), (self.size * 2).min(READ_AHEAD));
        (self.start, self.size, self.ahead) = (start, size, size);
        Some((start, size))
    }
}

impl PageCache {
    /// Pages to read now for a reader that has come to `index` of a file and wants `wanted` pages from there on: the first of
    /// them, and how many.
    pub(crate) fn readahead(
        &mut self,
        file: FileId,
        index: u64,
        wanted: u64,
        phys: &PhysMem<impl Tracer>,
    ) -> Option<(u64, u64)> {
        let found = self.find_page(file, index, phys);
        let window = self.readahead.0.entry(file).or_default();
        let next = match found {
            CachedPage::Missing => Some(window.miss(index, wanted.min(READ_AHEAD))),
            _ => window.hit(index),
        };
        window.reader = index + 1;
        next
    }

    /// Forgets how far a reader of the file was: a program has closed it.
    pub fn forget_readahead(&mut self, file: FileId) {
        self.readahead.0.remove(&file);
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
