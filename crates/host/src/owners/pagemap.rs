//! /proc/PID/pagemap: the frame behind each page of a process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use order9_units::PAGE_SIZE;

/// A page that is present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) pfn: u64,
    /// The page belongs to a file or to shared memory.
    pub(super) is_of_file: bool,
    /// No other process maps the page.
    pub(super) is_exclusive: bool,
}

/// Words of the file, by kernel documentation: admin-guide/mm/pagemap.
mod bits {
    pub(super) const PFN: u64 = (1 << 55) - 1;
    pub(super) const EXCLUSIVE: u64 = 1 << 56;
    pub(super) const FILE: u64 = 1 << 61;
    pub(super) const PRESENT: u64 = 1 << 63;
}

impl Entry {
    /// The page of a word; `None` where none is present, or its frame is not shown.
    const fn of(word: u64) -> Option<Self> {
        let pfn = word & bits::PFN;
        if word & bits::PRESENT == 0 || pfn == 0 {
            return None;
        }
        Some(Self { pfn, is_of_file: word & bits::FILE != 0, is_exclusive: word & bits::EXCLUSIVE != 0 })
    }
}

/// The file of a process.
pub(super) struct PageMap {
    file: File,
    words: Vec<u64>,
}

/// Words that are read at once.
const AT_ONCE: usize = 1 << 13;
const WORD: u64 = size_of::<u64>() as u64;

impl PageMap {
    pub(super) fn open(pid: u32) -> io::Result<Self> {
        Ok(Self { file: File::open(format!("/proc/{pid}/pagemap"))?, words: vec![0; AT_ONCE] })
    }

    /// Calls `each` with the pages from `start` to `end` that are present, upward.
    pub(super) fn for_each(&mut self, start: u64, end: u64, mut each: impl FnMut(Entry)) -> io::Result<()> {
        let (mut at, end) = (start / PAGE_SIZE.get(), end / PAGE_SIZE.get());
        while at < end {
            let want = (end - at).min(AT_ONCE as u64) as usize;
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut self.words[..want]);
            let read = self.file.read_at(bytes, at * WORD)? / WORD as usize;
            if read == 0 {
                break;
            }
            self.words[..read].iter().filter_map(|&word| Entry::of(word)).for_each(&mut each);
            at += read as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_frames_that_are_there() {
        assert_eq!(Entry::of(7), None, "not present");
        assert_eq!(Entry::of(bits::PRESENT), None, "not shown without the right to see it");
        let entry = Entry::of(bits::PRESENT | bits::FILE | 7).expect("present");
        assert_eq!(entry, Entry { pfn: 7, is_of_file: true, is_exclusive: false });
    }
}
