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
pub(crate) mod folio;
mod limits;
mod nodes;
mod queue;
mod readahead;
mod shadows;
#[cfg(test)]
pub(crate) mod tests;
mod throttle;
mod tree;
mod writeback;

use alloc::vec::Vec;

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
pub(crate) use folio::Folio;
pub use folio::FolioPages;
pub use limits::{DirtyLimits, PosRatio};
pub use readahead::ReadLimits;
pub(crate) use readahead::{Readahead, ToRead};
pub(crate) use throttle::Throttle;
pub use writeback::FileWrite;
pub(crate) use writeback::Orphans;
use writeback::Transfers;

/// Files in memory: their pages, and the state of readers, writers and the flusher.
#[derive(Clone)]
pub struct PageCache {
    pub(crate) files: FileTable,
    /// Pages that files have lost while they were being read or written.
    orphans: Orphans,
    /// Transfers of large folios.
    transfers: Transfers,
    /// Pages that disks do not have yet, by zone.
    write_pending: Vec<WritePending>,
    /// Progress of readers of files.
    readahead: Readahead,
    /// Rate at which programs may make pages dirty.
    throttle: Throttle,
    flusher: FlusherState,
    /// Pages that were written to and had nothing to be written before.
    newly_dirty: u64,
    /// Mounts of tmpfs.
    pub(crate) mounts: Mounts,
}

impl PageCache {
    /// A page cache without files, on a machine of so many zones.
    pub(crate) fn new(zones: usize) -> Self {
        Self {
            files: FileTable::default(),
            orphans: Orphans::default(),
            transfers: Transfers::default(),
            write_pending: alloc::vec![WritePending::default(); zones],
            readahead: Readahead::default(),
            throttle: Throttle::default(),
            flusher: FlusherState::default(),
            newly_dirty: 0,
            mounts: Mounts::default(),
        }
    }
}

/// Content of a place of a file in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CachedPage {
    /// Nothing.
    Missing,
    /// A page whose read is under way, though the file may have lost it since: whoever needs the place waits for
    /// [`Mm::end_page_read`](crate::Mm::end_page_read).
    BeingRead(Pfn),
    /// A page that can be read and written.
    Uptodate(Pfn),
}

/// Fate of a page that was to be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The page is the file's now; a shadow says that reclaim took a page from there before.
    New(Option<Shadow>),
    /// There is a page already, or the read of one that was lost is under way; the new one was freed.
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
        let Some(idx) = self.file(id).ok().and_then(|file| file.page(index)) else {
            let lost = self.orphans.find(id, index, PageFlag::Locked, phys);
            return lost.map_or(CachedPage::Missing, |folio| CachedPage::BeingRead(phys.frames.pfn(folio.head)));
        };
        match phys.page_word(idx).has(PageFlag::Locked) {
            true => CachedPage::BeingRead(phys.frames.pfn(idx)),
            false => CachedPage::Uptodate(phys.frames.pfn(idx)),
        }
    }
}

impl UsedPages {
    /// Adds the page or large folio just allocated to a file on disk whose inode is in memory; the caller reads into it and then
    /// calls [`Mm::end_page_read`](crate::Mm::end_page_read). Until then it is locked: neither written nor reclaimed. It starts
    /// inactive. A folio lies at a multiple of its size, and within the file.
    pub(crate) fn add_to_page_cache(
        &mut self,
        id: FileId,
        index: u64,
        page: Pfn,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<Added, FsError> {
        self.cached_inode(id)?;
        let idx = phys.fresh_folio(page);
        let folio = phys.folio(index, idx);
        if folio.end() > self.cache.files.size(id).unwrap_or_default().get() {
            return Err(FsError::BeyondEnd(id, index));
        }
        let is_lost = |index| self.cache.orphans.find(id, index, PageFlag::Locked, phys).is_some();
        if !self.cache.orphans.is_empty() && (folio.index..folio.end()).any(is_lost) {
            phys.free_fresh(idx, cpu);
            return Ok(Added::Present);
        }
        let added = self.add_folio(id, &folio, cpu, phys);
        if let Added::New(_) = added {
            phys.frames.set(idx, phys.frames.word(idx).with(PageFlag::Locked, true));
            self.cache.transfers.begin(&folio, folio.pages);
        }
        Ok(added)
    }

    /// Ends the read of `pages` pages from `index` on, each of which [`Mm::add_to_page_cache`] added for it. Pages that the
    /// file has lost meanwhile are freed. A large folio is read once all of its pages are.
    pub(crate) fn end_page_read(&mut self, id: FileId, index: u64, pages: Pages, cpu: usize, phys: &mut PhysMem) {
        let (mut index, end) = (index, index.saturating_add(pages.get()));
        while index < end {
            let Some(folio) = self.cache.under_transfer(id, index, PageFlag::Locked, phys) else {
                index += 1;
                continue;
            };
            let read = end.min(folio.end()) - index;
            index += read;
            if !self.cache.transfers.end(&folio, read) {
                continue;
            }
            self.cache.orphans.remove(id, &folio);
            phys.frames.set(folio.head, phys.frames.word(folio.head).with(PageFlag::Locked, false));
            if let Some(tags) = &mut self.tags {
                folio.places().for_each(|(index, idx)| tags.read_from_disk(idx, id, index));
            }
            self.free_if_kept_by(folio.head, cpu, phys);
        }
    }

    /// Writes all of the page at `index`, where the file has none, into the page just allocated, at the time `now`; of a large
    /// folio, all of its pages, the first being at `index`. The file grows to hold them. A file that has a page there is not written:
    /// look it up and write that with [`Mm::write_page`](crate::Mm::write_page).
    ///
    /// # Errors
    /// [`FsError::NoSuchFile`], [`FsError::NotCached`] without inode, [`FsError::TooLarge`] beyond 128 TiB; the page is still
    /// the caller's then.
    ///
    /// # Panics
    /// If `page` is no page that was just allocated, or none of a size that fits at `index`.
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
        let folio = phys.folio(index, phys.fresh_folio(page));
        if folio.end() > PAGES_MAX.get() {
            return Err(FsError::TooLarge(Pages::new(folio.end())));
        }
        let added = self.add_folio(id, &folio, cpu, phys);
        if let Added::New(_) = added {
            self.cache.files.grow(id, Pages::new(folio.end()));
            for (index, idx) in folio.places() {
                if let Some(tags) = &mut self.tags {
                    tags.overwrite_file(idx, id, index);
                }
                self.cache.set_page_dirty(id, index, idx, now, phys);
            }
        }
        Ok(added)
    }

    /// Writes to the page at `index` at the time `now`, if it is in memory and not being read, and to those behind it in its
    /// folio, as far as `pages` reach; says what was found, and how many pages were written.
    pub(crate) fn write_pages(
        &mut self,
        id: FileId,
        index: u64,
        pages: u64,
        now: Nanos,
        phys: &mut PhysMem,
    ) -> (CachedPage, u64) {
        let found = self.cache.find_page(id, index, phys);
        let CachedPage::Uptodate(pfn) = found else { return (found, 0) };
        let folio = phys.folio(index, phys.frames.at(pfn));
        let end = folio.end().min(index + pages);
        for (index, idx) in folio.places().skip((index - folio.index) as usize).take((end - index) as usize) {
            if let Some(tags) = &mut self.tags {
                tags.write_file(idx, id, index);
            }
            if self.cache.files.is_on_disk(id) {
                // What is left of a folio that the end of the file has cut can lie beyond it.
                self.cache.files.grow(id, Pages::new(index + 1));
                self.cache.set_page_dirty(id, index, idx, now, phys);
            }
        }
        (found, end - index)
    }

    /// Makes a fresh folio that of its places of a file on disk, or frees it where there is a page at one of them. The shadow is
    /// the last one of those places.
    fn add_folio(&mut self, id: FileId, folio: &Folio, cpu: usize, phys: &mut PhysMem) -> Added {
        assert!(folio.index.is_multiple_of(folio.pages), "{folio:?} lies at a multiple of its size");
        let file = self.cache.files.ensure(id);
        let is_taken = match folio.pages {
            1 => file.page(folio.index).is_some(),
            _ => file.first_page(folio.index, folio.end()).is_some(),
        };
        if is_taken {
            phys.free_fresh(folio.head, cpu);
            return Added::Present;
        }
        let shadow = self.insert_folio(id, folio, phys);
        let owner = Owner::File { file: id, index: folio.index };
        self.adopt_page(folio.head, owner, LruList::InactiveFile, phys);
        if let Some(shadow) = shadow {
            self.workingset_refault(folio.head, shadow, phys);
        }
        self.take_tree_node(id, folio.index, folio.pages, cpu, phys);
        Added::New(shadow)
    }

    /// Puts a folio into its places of a file, where there are no pages; the last shadow that was there. Its first frame gets its owner
    /// from whoever puts it on a list.
    pub(crate) fn insert_folio(&mut self, id: FileId, folio: &Folio, phys: &PhysMem) -> Option<Shadow> {
        let file = self.cache.files.ensure(id);
        let shadow = folio.places().fold(None, |last, (index, idx)| file.insert(index, idx).or(last));
        for (index, idx) in folio.places().skip(1) {
            self.rmap.set(idx, Owner::File { file: id, index });
        }
        if folio.pages > 1 {
            self.huge.make_room_for_huge(phys);
        }
        self.levels.file += folio.pages;
        shadow
    }
}
