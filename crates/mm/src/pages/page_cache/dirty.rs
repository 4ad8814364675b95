//! Pages, inodes and files become dirty, and clean again; gauges by zone.

use order9_frames::{Idx, ZoneId};
use order9_units::{Nanos, NodeId};

use super::{FileId, Folio};
use crate::fs_cache::FsError;
use crate::page_cache::PageCache;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

/// Pages of a zone that a disk does not have yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WritePending {
    /// `nr_dirty`: pages of files on disk, changed since their last write began.
    pub dirty: u64,
    /// `nr_writeback`: pages being written, to files or swap.
    pub writeback: u64,
}

impl WritePending {
    /// `nr_zone_write_pending`: both. A page changed while it is being written counts twice.
    #[must_use]
    pub const fn total(self) -> u64 {
        self.dirty + self.writeback
    }
}

impl core::ops::AddAssign for WritePending {
    fn add_assign(&mut self, other: Self) {
        self.dirty += other.dirty;
        self.writeback += other.writeback;
    }
}

impl PageCache {
    /// Pages that disks do not have yet: of the machine, or of a node.
    #[must_use]
    pub(crate) fn write_pending(&self, node: Option<NodeId>, phys: &PhysMem) -> WritePending {
        let mut sum = WritePending::default();
        let zones = phys.frames.zones().iter().filter(|zone| node.is_none_or(|node| zone.node() == node));
        zones.for_each(|zone| sum += self.zone_write_pending(zone.id()));
        sum
    }

    /// Pages of one zone that disks do not have yet.
    #[must_use]
    pub fn zone_write_pending(&self, zone: ZoneId) -> WritePending {
        self.write_pending[zone.index()]
    }

    /// Pages that were ever written to while nothing of them had to be written.
    pub(crate) const fn newly_dirty(&self) -> u64 {
        self.newly_dirty
    }

    fn set_inode_dirty(&mut self, id: FileId, now: Nanos) {
        self.files.ensure(id).inode_dirty = true;
        self.files.enqueue(id, now);
    }

    /// Marks a page of a file on disk as dirty, with it all of its folio, and the inode.
    pub(crate) fn set_page_dirty(&mut self, id: FileId, index: u64, idx: Idx, now: Nanos, phys: &mut PhysMem) {
        let head = phys.page_of(idx);
        let word = phys.frames.word(head);
        debug_assert!(!word.has(PageFlag::Locked), "a page that is being read is not written");
        // A page in use is none that reclaim should find first.
        phys.frames.set(head, word.with(PageFlag::Reclaim, false));
        if !word.has(PageFlag::Dirty) {
            phys.counters.nr_dirtied += word.frames();
        }
        self.mark_page_dirty(id, index, idx, phys);
        self.set_inode_dirty(id, now);
    }

    /// Notes that a page has to be written. All of its folio counts as dirty.
    pub(crate) fn mark_page_dirty(&mut self, id: FileId, index: u64, idx: Idx, phys: &mut PhysMem) {
        let head = phys.page_of(idx);
        let word = phys.frames.word(head);
        let file = self.files.ensure(id);
        self.newly_dirty += u64::from(file.tree.set_dirty(index, true));
        if !word.has(PageFlag::Dirty) {
            file.nr_dirty += word.frames() as u32;
            phys.frames.set(head, word.with(PageFlag::Dirty, true));
            self.write_pending_of(head, phys).dirty += word.frames();
        }
    }

    /// A dirty folio is clean: its write has begun, or it is dropped.
    pub(super) fn clear_folio_dirty(&mut self, id: FileId, folio: &Folio, phys: &mut PhysMem) {
        let word = phys.frames.word(folio.head);
        phys.frames.set(folio.head, word.with(PageFlag::Dirty, false));
        self.write_pending_of(folio.head, phys).dirty -= folio.pages;
        let file = self.files.ensure(id);
        for (index, _) in folio.places() {
            file.tree.set_dirty(index, false);
        }
        file.nr_dirty -= folio.pages as u32;
    }

    /// A page is being written, to its file or to swap.
    pub(crate) fn set_writeback(&mut self, idx: Idx, phys: &mut PhysMem) {
        let word = phys.frames.word(idx);
        phys.frames.set(idx, word.with(PageFlag::Writeback, true));
        self.write_pending_of(idx, phys).writeback += word.frames();
    }

    pub(crate) fn write_pending_of(&mut self, idx: Idx, phys: &PhysMem) -> &mut WritePending {
        &mut self.write_pending[phys.frames.zone_around(idx).index()]
    }
}

impl UsedPages {
    /// The inode of a file has changed at the time `now`, as after its creation: it has to be written, and stays in memory
    /// until then (`mark_inode_dirty`). Writing data does the same.
    ///
    /// # Errors
    /// [`FsError::NoSuchFile`], [`FsError::NotCached`] without inode.
    pub fn mark_inode_dirty(&mut self, id: FileId, now: Nanos) -> Result<(), FsError> {
        self.cached_inode(id)?;
        self.cache.set_inode_dirty(id, now);
        Ok(())
    }

    /// The write of a page is done. If reclaim waits for it, the page is the oldest of its list now.
    pub(crate) fn end_writeback(&mut self, idx: Idx, phys: &mut PhysMem) {
        let word = phys.frames.word(idx);
        phys.frames.set(idx, word.with(PageFlag::Writeback, false).with(PageFlag::Reclaim, false));
        self.cache.write_pending_of(idx, phys).writeback -= word.frames();
        phys.counters.nr_written += word.frames();
        phys.note_written(idx, word.frames());
        if word.has(PageFlag::Reclaim) {
            self.lru.rotate_lru(idx, phys);
        }
    }

    /// A file may have become clean: it leaves the queue, its inode may go, and where nothing of it is in memory any more it
    /// is forgotten.
    pub(crate) fn settle_file(&mut self, id: FileId, phys: &PhysMem) {
        let Ok(file) = self.cache.file(id) else { return };
        if !file.inode_dirty && file.nr_dirty == 0 {
            self.cache.files.dequeue(id);
        }
        if !self.cache.files.is_on_disk(id) {
            return;
        }
        if self.cache.file(id).is_ok_and(|file| !file.is_dirty()) {
            self.release_buffer(id);
        }
        if self.cache.file(id).is_ok_and(super::File::is_unused) {
            self.cache.files.drop_file(id);
        }
        self.list_if_unlisted(id, phys);
    }
}
