//! Page cache: pages of files on disk in memory, from the read or write that brings them until reclaim takes them.
//!
//! Key types: [`FileId`] and [`File`] (of tmpfs as well, see `shmem`), [`CachedPage`] (what a lookup finds), [`FileWrite`]
//! (pages to be written back), [`DirtyLimits`] (when to). A page is added locked and read, or added and written as
//! a whole; writes make it and its file dirty, and dirty files wait in a queue for the flusher. A file can be accessed while
//! its inode is in memory (see [`crate::fs_cache`]); dirty data and mappings keep the inode there, pages keep it or go with
//! it, as the release has it. Never reads or writes a disk, never waits: [`crate::tasks`] do both, and tell the time.
//!
//! A frame that says it is a page of a file is that page, on a list, isolated, or under I/O: the step that takes a page out
//! of its file takes the file off the frame. Whoever still holds the frame then has a page that nobody owns (`Owner::Kept`),
//! and frees it. So compaction and reclaim, which meet such frames after a wait, may rely on the file.
//! Behaviour and sources: docs/page-cache.md.

mod check;
mod chunks;
mod dirty;
mod evict;
mod file;
mod flusher;
mod limits;
mod queue;
mod readahead;
mod shadows;
#[cfg(test)]
pub(crate) mod tests;
mod throttle;
mod tree;
mod writeback;

use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::{Nanos, Pages, Pfn};

use crate::fs_cache::FsError;
use crate::lru_list::LruList;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::shmem::Mounts;
use crate::space::Owner;

pub use crate::ids::FileId;
pub use crate::settings::dirty::DirtySettings;
pub use crate::workingset::Shadow;
pub use dirty::WritePending;
pub use evict::DropPagecache;
pub use file::{File, MigrateHandler};
pub(crate) use file::{FileTable, Home, PAGES_MAX};
pub(crate) use flusher::FlusherState;
pub use limits::{DirtyLimits, PosRatio};
pub(crate) use readahead::{Readahead, ToRead};
pub(crate) use throttle::Throttle;
pub use writeback::FileWrite;
pub(crate) use writeback::Orphans;

/// Files in memory: their pages, and the state of readers, writers and the flusher.
#[derive(Clone)]
pub struct PageCache {
    pub(crate) files: FileTable,
    /// Pages that files have lost while they were being read or written.
    orphans: Orphans,
    /// Pages that disks do not have yet, by zone.
    write_pending: Vec<WritePending>,
    /// Progress of readers of files.
    readahead: Readahead,
    /// Rate at which programs may make pages dirty.
    throttle: Throttle,
    flusher: FlusherState,
    /// Mounts of tmpfs.
    pub(crate) mounts: Mounts,
}

impl PageCache {
    /// A page cache without files, on a machine of so many zones.
    pub(crate) fn new(zones: usize) -> Self {
        Self {
            files: FileTable::default(),
            orphans: Orphans::default(),
            write_pending: alloc::vec![WritePending::default(); zones],
            readahead: Readahead::default(),
            throttle: Throttle::default(),
            flusher: FlusherState::default(),
            mounts: Mounts::default(),
        }
    }
}

/// Content of a place of a file in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachedPage {
    /// Nothing.
    Missing,
    /// A page whose read is under way: whoever needs it waits for [`Mm::end_page_read`](crate::Mm::end_page_read).
    BeingRead(Pfn),
    /// A page that can be read and written.
    Uptodate(Pfn),
}

/// Fate of a page that was to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The page is the file's now; a shadow says that reclaim took a page from there before.
    New(Option<Shadow>),
    /// There is a page already; the new one was freed.
    Present,
}

impl PageCache {
    /// Size of a file, or `None` once it is gone.
    #[must_use]
    pub fn file_size(&self, id: FileId) -> Option<Pages> {
        self.files.size(id)
    }

    /// Whether a file is one on disk; those of tmpfs, and those that are gone, are not.
    #[must_use]
    pub fn is_on_disk(&self, id: FileId) -> bool {
        self.files.is_on_disk(id)
    }

    /// Says how pages of a file on disk can be moved; most have a handler for that.
    pub fn set_migrate_handler(&mut self, id: FileId, handler: MigrateHandler) {
        if self.files.is_on_disk(id) {
            self.files.set_migrate_handler(id, handler);
        }
    }

    /// The page at `index` of a file, or `None` where it has none in memory.
    #[must_use]
    pub(crate) fn file_page(&self, id: FileId, index: u64, phys: &PhysMem) -> Option<Pfn> {
        self.file(id).ok()?.page(index).map(|idx| phys.frames.pfn(idx))
    }

    /// Content of the page cache at `index` of a file (`find_get_page`). Nothing is marked as accessed: that is
    /// [`Mm::mark_accessed`](crate::Mm::mark_accessed)'s.
    #[must_use]
    pub fn find_page(&self, id: FileId, index: u64, phys: &PhysMem) -> CachedPage {
        let Some(idx) = self.file(id).ok().and_then(|file| file.page(index)) else { return CachedPage::Missing };
        match phys.frames.word(idx).has(PageFlag::Locked) {
            true => CachedPage::BeingRead(phys.frames.pfn(idx)),
            false => CachedPage::Uptodate(phys.frames.pfn(idx)),
        }
    }
}

impl UsedPages {
    /// Adds the page just allocated to a file on disk whose inode is in memory; the caller reads into it and then calls
    /// [`Mm::end_page_read`](crate::Mm::end_page_read). Until then it is locked: neither written nor reclaimed. It starts inactive.
    pub(crate) fn add_to_page_cache(
        &mut self,
        id: FileId,
        index: u64,
        page: Pfn,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<Added, FsError> {
        self.cached_inode(id)?;
        if index >= self.cache.files.size(id).unwrap_or_default().get() {
            return Err(FsError::BeyondEnd(id, index));
        }
        let idx = phys.fresh(page);
        let added = self.add_file_page_at(id, index, idx, cpu, phys);
        if let Added::New(_) = added {
            phys.frames.set(idx, phys.frames.word(idx).with(PageFlag::Locked, true));
        }
        Ok(added)
    }

    /// Ends the read of `pages` pages from `index` on, each of which [`Mm::add_to_page_cache`] added for it. Pages that the
    /// file has lost meanwhile are freed.
    pub(crate) fn end_page_read(&mut self, id: FileId, index: u64, pages: Pages, cpu: usize, phys: &mut PhysMem) {
        for index in index..index.saturating_add(pages.get()) {
            let is_locked = |idx: &Idx| phys.frames.word(*idx).has(PageFlag::Locked);
            let orphan = self.cache.orphans.take(id, index, |idx| is_locked(&idx));
            let there = || self.cache.file(id).ok()?.page(index).filter(is_locked);
            let Some(idx) = orphan.or_else(there) else { continue };
            phys.frames.set(idx, phys.frames.word(idx).with(PageFlag::Locked, false));
            if let Some(tags) = &mut self.tags {
                tags.read_from_disk(idx, id, index);
            }
            self.free_if_kept_by(idx, cpu, phys);
        }
    }

    /// Writes all of the page at `index`, where the file has none, into the page just allocated, at the time `now`. The file
    /// grows to hold it. A file that has a page there is not written: look it up and write that with [`Mm::write_page`](crate::Mm::write_page).
    ///
    /// # Errors
    /// [`FsError::NoSuchFile`], [`FsError::NotCached`] without inode, [`FsError::TooLarge`] beyond 128 TiB; the page is still
    /// the caller's then.
    ///
    /// # Panics
    /// If `page` is not a single page that was just allocated.
    pub fn write_new_page(
        &mut self,
        id: FileId,
        index: u64,
        page: Pfn,
        now: Nanos,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<Added, FsError> {
        self.cached_inode(id)?;
        if index >= PAGES_MAX.get() {
            return Err(FsError::TooLarge(Pages::new(index.saturating_add(1))));
        }
        let idx = phys.fresh(page);
        let added = self.add_file_page_at(id, index, idx, cpu, phys);
        if let Added::New(_) = added {
            if self.cache.files.size(id).is_some_and(|size| size.get() <= index) {
                self.cache.files.set_size(id, Pages::new(index + 1));
            }
            if let Some(tags) = &mut self.tags {
                tags.overwrite_file(idx, id, index);
            }
            self.cache.set_page_dirty(id, index, idx, now, phys);
        }
        Ok(added)
    }

    /// Writes to the page at `index` at the time `now`, if it is in memory and not being read; says what was found.
    pub(crate) fn write_page(&mut self, id: FileId, index: u64, now: Nanos, phys: &mut PhysMem) -> CachedPage {
        let found = self.cache.find_page(id, index, phys);
        if let CachedPage::Uptodate(pfn) = found {
            let idx = phys.frames.at(pfn);
            if let Some(tags) = &mut self.tags {
                tags.write_file(idx, id, index);
            }
            if self.cache.files.is_on_disk(id) {
                self.cache.set_page_dirty(id, index, idx, now, phys);
            }
        }
        found
    }

    /// Makes a fresh page that of a place of a file on disk, or frees it where there is one.
    fn add_file_page_at(&mut self, id: FileId, index: u64, idx: Idx, cpu: usize, phys: &mut PhysMem) -> Added {
        let file = self.cache.files.ensure(id);
        if file.page(index).is_some() {
            phys.free_fresh(idx, cpu);
            return Added::Present;
        }
        let shadow = file.insert(index, idx);
        self.adopt_page(idx, Owner::File { file: id, index }, LruList::InactiveFile, phys);
        self.levels.file += 1;
        if let Some(shadow) = shadow {
            self.workingset_refault(idx, shadow, phys);
        }
        Added::New(shadow)
    }
}
