//! Writeback: dirty pages and inodes are handed to the caller, who writes them and says when that is done.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

use order9_frames::Idx;
use order9_units::{Nanos, Pages, Pfn};

use super::folio::ORDER_MAX;
use super::{FileId, Folio, FolioPages};
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

/// Folios that a file has lost while they were being read or written, by where they were; the end of that frees them. Until
/// then no other transfer of the same kind begins at those places, so that its end cannot be taken for theirs.
#[derive(Clone, Default)]
pub(crate) struct Orphans(BTreeMap<(FileId, u64), Vec<Idx>>);

impl Orphans {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn add(&mut self, file: FileId, index: u64, head: Idx) {
        self.0.entry((file, index)).or_default().push(head);
    }

    /// The folio with `flag` that was lost at a place.
    pub(super) fn find(&self, file: FileId, index: u64, flag: PageFlag, phys: &PhysMem) -> Option<Folio> {
        if self.0.is_empty() {
            return None;
        }
        let first = (index + 1).saturating_sub(ORDER_MAX.pages().get());
        let near = self.0.range((file, first)..=(file, index)).rev();
        let mut folios = near.flat_map(|(&(_, base), heads)| heads.iter().map(move |&head| phys.folio(base, head)));
        folios.find(|folio| folio.end() > index && phys.frames.word(folio.head).has(flag))
    }

    /// Forgets a folio, whose transfer has ended; says whether it was lost.
    pub(super) fn remove(&mut self, file: FileId, folio: &Folio) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let at = (file, folio.index);
        let Some(heads) = self.0.get_mut(&at) else { return false };
        let before = heads.len();
        heads.retain(|&head| head != folio.head);
        let lost = heads.len() < before;
        if heads.is_empty() {
            self.0.remove(&at);
        }
        lost
    }

    /// Whether something of a file is being written that it has lost.
    pub(super) fn are_written(&self, file: FileId, phys: &PhysMem) -> bool {
        let mut lost = self.0.range((file, 0)..=(file, u64::MAX)).flat_map(|(_, heads)| heads);
        lost.any(|&head| phys.frames.word(head).has(PageFlag::Writeback))
    }

    /// Every one of them, with its place.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Idx)> {
        self.0.iter().flat_map(|(&(_, index), heads)| heads.iter().map(move |&head| (index, head)))
    }
}

/// Pages of large folios that are still on their way from or to a disk, by first frame: a disk that has them in several places
/// ends several transfers.
#[derive(Clone, Default)]
pub(super) struct Transfers(BTreeMap<u32, u64>);

impl Transfers {
    /// A transfer of so many pages of a folio begins.
    pub(super) fn begin(&mut self, folio: &Folio, pages: u64) {
        if folio.pages > 1 {
            self.0.insert(folio.head.0, pages);
        }
    }

    /// Some pages are through; says whether they are the last ones of the folio.
    pub(super) fn end(&mut self, folio: &Folio, pages: u64) -> bool {
        if folio.pages == 1 {
            return true;
        }
        let left = self.0.get_mut(&folio.head.0).expect("the folio is being transferred");
        *left -= pages;
        if *left == 0 {
            self.0.remove(&folio.head.0);
            return true;
        }
        false
    }

    /// Whether a transfer of the folio is under way.
    pub(super) fn has(&self, folio: &Folio) -> bool {
        self.0.contains_key(&folio.head.0)
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

    /// The first page from `from` on that is dirty and not being written, and its folio.
    fn next_writable(&self, id: FileId, mut from: u64, phys: &PhysMem) -> Option<(u64, Folio)> {
        let file = self.file(id).ok()?;
        loop {
            let (index, idx) = file.tree.next_dirty(from)?;
            let folio = phys.folio(index, idx);
            if !self.waits_for_write(id, &folio, phys) {
                return Some((index, folio));
            }
            from = folio.end();
        }
    }

    /// The pages of a write that has just begun, by folio.
    pub(crate) fn by_folio(&self, write: &FileWrite, phys: &PhysMem) -> FolioPages {
        let (mut index, end) = (write.index, write.index + write.pages.get());
        let mut sum = FolioPages::default();
        while let Some(folio) = self.folio_at(write.file, index, phys).filter(|_| index < end) {
            sum += FolioPages::folio(folio.end().min(end) - index);
            index = folio.end();
        }
        sum
    }

    /// The folio at a place whose transfer is under way, as `flag` says: one that the file has lost, or has.
    pub(super) fn under_transfer(&self, id: FileId, index: u64, flag: PageFlag, phys: &PhysMem) -> Option<Folio> {
        let there = || self.folio_at(id, index, phys).filter(|folio| phys.frames.word(folio.head).has(flag));
        self.orphans.find(id, index, flag, phys).or_else(there)
    }

    /// The places whose read is under way together with that of the page at `index`.
    pub(crate) fn read_with(&self, id: FileId, index: u64, phys: &PhysMem) -> Range<u64> {
        let folio = self.under_transfer(id, index, PageFlag::Locked, phys);
        folio.map_or(index..index + 1, |folio| folio.index..folio.end())
    }

    /// Whether a folio is being written, or one that the file has lost is where the folio lies.
    pub(crate) fn waits_for_write(&self, id: FileId, folio: &Folio, phys: &PhysMem) -> bool {
        let is_lost = |(at, _)| self.orphans.find(id, at, PageFlag::Writeback, phys).is_some();
        phys.frames.word(folio.head).has(PageFlag::Writeback) || !self.orphans.is_empty() && folio.places().any(is_lost)
    }

    /// Whether pages of a file, those that it has lost included, or its inode, are being written.
    #[must_use]
    pub fn is_being_written(&self, id: FileId, phys: &PhysMem) -> bool {
        let own = self.file(id).is_ok_and(|file| file.nr_writeback > 0 || file.inode_writes > 0);
        own || self.orphans.are_written(id, phys)
    }
}

impl UsedPages {
    /// Begins the write of the first dirty pages of a file, no folio after `max_pages` and only as far as they follow each other.
    /// Pages that are being written already wait for the end of that. `None` if there are no others: the file
    /// leaves the queue then, unless its inode has to be written (`UsedPages::start_inode_write`).
    pub fn start_writeback(&mut self, id: FileId, max_pages: Pages, phys: &mut PhysMem) -> Option<FileWrite> {
        let Some((index, folio)) = self.cache.next_writable(id, 0, phys) else {
            if self.cache.file(id).is_ok_and(|file| !file.inode_dirty) {
                self.cache.files.dequeue(id);
            }
            return None;
        };
        let mut write = FileWrite { file: id, index, pages: Pages::ZERO };
        let mut next = Some(folio);
        while let Some(folio) = next.filter(|_| write.pages < max_pages) {
            let end = self.start_write_of(id, &folio, phys).end;
            write.pages = Pages::new(end - index);
            next = self.cache.next_writable(id, end, phys).filter(|&(found, _)| found == end).map(|(_, folio)| folio);
        }
        self.settle_file(id, phys);
        (write.pages > Pages::ZERO).then_some(write)
    }

    /// Begins the write of one dirty page or folio of a file for reclaim (`pageout`): when it is done, the page is the next that
    /// reclaim looks at. `None` unless the page is dirty and not being written.
    pub fn start_page_write(&mut self, pfn: Pfn, phys: &mut PhysMem) -> Option<FileWrite> {
        let (idx, word) = phys.frames.live(pfn).ok()?;
        let Owner::File { file, index } = self.rmap.owner(idx) else { return None };
        let folio = phys.folio(index, idx);
        let is_writable = word.has(PageFlag::Dirty) && !word.has(PageFlag::Writeback);
        if !is_writable || self.cache.next_writable(file, index, phys).map(|(_, next)| next) != Some(folio) {
            return None;
        }
        let write = self.start_writeout(file, &folio, phys);
        phys.frames.set(idx, phys.frames.word(idx).with(PageFlag::Reclaim, true));
        phys.counters.nr_vmscan_write += folio.pages;
        Some(write)
    }

    /// Begins the write of a dirty page or folio that cannot migrate before it is clean.
    pub(crate) fn start_writeout(&mut self, id: FileId, folio: &Folio, phys: &mut PhysMem) -> FileWrite {
        let places = self.start_write_of(id, folio, phys);
        self.settle_file(id, phys);
        FileWrite { file: id, index: places.start, pages: Pages::new(places.end - places.start) }
    }

    /// Begins the write of a dirty folio; the places that are written.
    fn start_write_of(&mut self, id: FileId, folio: &Folio, phys: &mut PhysMem) -> Range<u64> {
        let places = self.cache.dirty_places(id, folio).expect("something of a dirty folio is dirty");
        self.cache.clear_folio_dirty(id, folio, phys);
        let (walks, flushes) = (phys.work.rmap_walks, phys.work.tlb_flushes);
        for (index, idx) in folio.places() {
            if self.cache.file(id).is_ok_and(|file| file.mappings(index) > 0) {
                self.write_protect(idx, phys);
            }
            if let Some(tags) = self.tags.as_mut().filter(|_| places.contains(&index)) {
                tags.write_to_disk(idx, id, index);
            }
        }
        // One walk finds all mappings of a folio, and one flush is enough for them.
        phys.work.rmap_walks = phys.work.rmap_walks.min(walks + 1);
        phys.work.tlb_flushes = phys.work.tlb_flushes.min(flushes + 1);
        self.cache.set_writeback(folio.head, phys);
        self.cache.transfers.begin(folio, places.end - places.start);
        self.cache.files.ensure(id).nr_writeback += folio.pages as u32;
        places
    }

    /// Ends a write. Pages changed meanwhile are still dirty; pages that the file has lost are freed.
    pub(crate) fn file_written(&mut self, write: &FileWrite, now: Nanos, cpu: usize, phys: &mut PhysMem) {
        let FileWrite { file: id, index, pages } = *write;
        let (mut index, end) = (index, index + pages.get());
        while index < end {
            let folio = self.cache.under_transfer(id, index, PageFlag::Writeback, phys);
            let folio = folio.unwrap_or_else(|| panic!("page {index} of {write:?} is not being written"));
            let written = end.min(folio.end()) - index;
            index += written;
            if !self.cache.transfers.end(&folio, written) {
                continue;
            }
            self.end_writeback(folio.head, phys);
            if self.cache.orphans.remove(id, &folio) {
                self.free_if_kept_by(folio.head, cpu, phys);
            } else {
                self.cache.files.ensure(id).nr_writeback -= folio.pages as u32;
            }
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
