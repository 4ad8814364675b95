//! Disks as the page cache and swap see them: [`Disks`]. Where data lies on a disk, and how long a transfer takes, is the
//! world's to say.

use alloc::vec::Vec;
use core::future::Future;
use core::ops::Range;

use order9_units::Pages;

use crate::page_cache::{FileId, FileWrite, FolioPages, ReadLimits};
use crate::swap::SlotId;

/// Work on files that takes a CPU's time, beside what steps of the engine count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileWork {
    /// A page or folio was looked up in the page cache for a read.
    Found,
    /// Reads of these pages are being prepared.
    Read(FolioPages),
    /// Pages have been written to that were clean: of a folio that was dirty already, parts alone.
    Dirtied(FolioPages),
    /// Writes of these pages have begun.
    WriteBack(FolioPages),
    /// Writes of this many inodes have begun.
    WriteInodes(u64),
}

/// Disks as files and swap need them. The world that runs the disks tells the engine of the end of every transfer.
pub trait Disks {
    /// Lets the time pass that `work` takes the task that does it.
    fn work_on_files(&self, work: FileWork) -> impl Future<Output = ()>;

    /// Limits of what is read ahead from the disk with the files.
    fn read_limits(&self) -> ReadLimits;

    /// Begins to read `pages` of a file from `index` on, which the engine has added to the page cache for that. Whatever is a
    /// hole is read at once.
    fn read_pages(&self, file: FileId, index: u64, pages: Pages);

    /// Waits for the end of a read that any of these `places` of a file is part of.
    fn wait_for_read(&self, file: FileId, places: Range<u64>) -> impl Future<Output = ()>;

    /// Reads slots of swap, and waits for that; neighbours with one transfer.
    fn read_slots(&self, slots: &[SlotId]) -> impl Future<Output = ()>;

    /// Begins to write pages of a file. Those without a place on the disk get one.
    fn write_pages(&self, write: &FileWrite);

    /// Begins to write inodes, all with one transfer.
    fn write_inodes(&self, inodes: Vec<FileId>);

    /// Waits while the disk with the files has all the writes that it can take.
    fn wait_for_room(&self) -> impl Future<Output = ()>;

    /// Whether the `places` of a file are on the disk, or could be beside `pending` pages that may need a place each.
    fn has_room_for(&self, file: FileId, places: Range<u64>, pending: Pages) -> bool;
}
