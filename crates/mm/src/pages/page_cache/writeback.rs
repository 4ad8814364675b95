//! Writeback: dirty pages and inodes are handed to the caller, who writes them and says when that is done.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::{Nanos, Pages, Pfn};

use super::FileId;
use crate::page_cache::PageCache;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Owner;

/// Pages of a file to be written; the caller writes them and then calls [`Mm::file_written`](crate::Mm::file_written).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileWrite {
    /// The file.
    pub file: FileId,
    /// Place of the first page.
    pub index: u64,
    /// Number of pages, one after another.
    pub pages: Pages,
}

/// Pages that a file has lost while they were being read or written, by where they were; the end of that frees them.
#[derive(Clone, Default)]
pub(crate) struct Orphans(BTreeMap<(FileId, u64), Vec<Idx>>);

impl Orphans {
    pub(super) fn add(&mut self, file: FileId, index: u64, idx: Idx) {
        self.0.entry((file, index)).or_default().push(idx);
    }

    /// Takes the page lost first at a place of those that `fits`.
    pub(super) fn take(&mut self, file: FileId, index: u64, fits: impl Fn(Idx) -> bool) -> Option<Idx> {
        if self.0.is_empty() {
            return None;
        }
        let pages = self.0.get_mut(&(file, index))?;
        let at = pages.iter().position(|&idx| fits(idx))?;
        let idx = pages.remove(at);
        if pages.is_empty() {
            self.0.remove(&(file, index));
        }
        Some(idx)
    }

    /// Every one of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = Idx> {
        self.0.values().flatten().copied()
    }
}

impl PageCache {
    /// The file that has been dirty for longest and has something whose write can begin, if it became dirty at `older_than`
    /// or before; at any time without that.
    #[must_use]
    pub fn next_dirty(&self, older_than: Option<Nanos>) -> Option<FileId> {
        let oldest = self.files.oldest_dirty()?;
        let is_due = older_than.is_none_or(|time| oldest.dirtied_when <= time);
        is_due.then_some(oldest.id)
    }

    /// Puts a dirty file behind all others, as if it had become dirty at `now` (`redirty_tail`): the flusher has given it its
    /// share.
    pub fn requeue_dirty(&mut self, id: FileId, now: Nanos) {
        if self.file(id).is_ok_and(|file| file.queue.queued) {
            self.files.dequeue(id);
            self.files.enqueue(id, now);
        }
    }

    /// The first page from `from` on that is dirty and not being written.
    fn next_writable(&self, id: FileId, mut from: u64, phys: &PhysMem) -> Option<(u64, Idx)> {
        let file = self.file(id).ok()?;
        loop {
            let (index, idx) = file.tree.next_dirty(from)?;
            if !phys.frames.word(idx).has(PageFlag::Writeback) {
                return Some((index, idx));
            }
            from = index + 1;
        }
    }

    /// Whether pages of a file, or its inode, are being written.
    #[must_use]
    pub fn is_being_written(&self, id: FileId) -> bool {
        self.file(id).is_ok_and(|file| file.nr_writeback > 0 || file.inode_writes > 0)
    }
}

impl UsedPages {
    /// Begins the write of the first dirty pages of a file, at most `max_pages` and only as far as they follow each other.
    /// Pages that are being written already wait for the end of that. `None` if there are no others: the file
    /// leaves the queue then, unless its inode has to be written (`UsedPages::start_inode_write`).
    pub fn start_writeback(&mut self, id: FileId, max_pages: Pages, phys: &mut PhysMem) -> Option<FileWrite> {
        let Some((index, first)) = self.cache.next_writable(id, 0, phys) else {
            if self.cache.file(id).is_ok_and(|file| !file.inode_dirty) {
                self.cache.files.dequeue(id);
            }
            return None;
        };
        let mut write = FileWrite { file: id, index, pages: Pages::ZERO };
        let mut next = Some(first);
        while let Some(idx) = next.filter(|_| write.pages < max_pages) {
            let at = index + write.pages.get();
            self.start_write_at(id, at, idx, phys);
            write.pages += Pages::new(1);
            next = self.cache.next_writable(id, at + 1, phys).filter(|&(found, _)| found == at + 1).map(|(_, idx)| idx);
        }
        self.settle_file(id, phys);
        (write.pages > Pages::ZERO).then_some(write)
    }

    /// Begins the write of one dirty page of a file for reclaim (`pageout`): when it is done, the page is the next that
    /// reclaim looks at. `None` unless the page is dirty and not being written.
    pub fn start_page_write(&mut self, pfn: Pfn, phys: &mut PhysMem) -> Option<FileWrite> {
        let (idx, word) = phys.frames.live(pfn).ok()?;
        let Owner::File { file, index } = self.rmap.owner(idx) else { return None };
        if !word.has(PageFlag::Dirty) || word.has(PageFlag::Writeback) {
            return None;
        }
        self.start_write_at(file, index, idx, phys);
        phys.frames.set(idx, phys.frames.word(idx).with(PageFlag::Reclaim, true));
        phys.counters.nr_vmscan_write += 1;
        self.settle_file(file, phys);
        Some(FileWrite { file, index, pages: Pages::new(1) })
    }

    /// Begins the write of a dirty page that cannot migrate before it is clean.
    pub(crate) fn start_writeout(&mut self, id: FileId, index: u64, idx: Idx, phys: &mut PhysMem) -> FileWrite {
        self.start_write_at(id, index, idx, phys);
        self.settle_file(id, phys);
        FileWrite { file: id, index, pages: Pages::new(1) }
    }

    fn start_write_at(&mut self, id: FileId, index: u64, idx: Idx, phys: &mut PhysMem) {
        self.cache.clear_page_dirty(id, index, idx, phys);
        if self.cache.file(id).is_ok_and(|file| file.mappings(index) > 0) {
            self.write_protect(idx, phys);
        }
        self.cache.set_writeback(idx, phys);
        self.cache.files.ensure(id).nr_writeback += 1;
        if let Some(tags) = &mut self.tags {
            tags.write_to_disk(idx, id, index);
        }
    }

    /// Ends a write. Pages changed meanwhile are still dirty; pages that the file has lost are freed.
    pub(crate) fn file_written(&mut self, write: &FileWrite, now: Nanos, cpu: usize, phys: &mut PhysMem) {
        let FileWrite { file: id, index, pages } = *write;
        for index in index..index + pages.get() {
            if let Some(idx) = self.cache.orphans.take(id, index, |idx| phys.frames.word(idx).has(PageFlag::Writeback))
            {
                self.end_writeback(idx, phys);
                self.free_if_kept_by(idx, cpu, phys);
                continue;
            }
            let idx = self.cache.file(id).ok().and_then(|file| file.page(index));
            let idx = idx.filter(|&idx| phys.frames.word(idx).has(PageFlag::Writeback));
            self.end_writeback(idx.unwrap_or_else(|| panic!("page {index} of {write:?} is not being written")), phys);
            self.cache.files.ensure(id).nr_writeback -= 1;
        }
        if self.cache.file(id).is_ok_and(|file| file.nr_dirty > 0) {
            self.cache.files.enqueue(id, now);
        }
        self.settle_file(id, phys);
    }

    /// Begins the write of a dirty inode; says whether there is one to write. The caller writes it, which most filesystems do
    /// into their log, and then calls [`Mm::inode_written`](crate::Mm::inode_written).
    pub fn start_inode_write(&mut self, id: FileId, phys: &PhysMem) -> bool {
        let Some(file) = self.cache.files.get_mut(id).filter(|file| file.inode_dirty) else { return false };
        file.inode_dirty = false;
        file.inode_writes += 1;
        self.settle_file(id, phys);
        true
    }

    /// Ends the write of an inode; of a file removed meanwhile nothing is left to end.
    pub(crate) fn inode_written(&mut self, id: FileId, phys: &PhysMem) {
        if !self.cache.files.is_on_disk(id) {
            return;
        }
        let file = self.cache.files.get_mut(id).filter(|file| file.inode_writes > 0);
        file.unwrap_or_else(|| panic!("the inode of {id:?} is not being written")).inode_writes -= 1;
        self.settle_file(id, phys);
    }
}
