//! Pages leave the page cache: taken by reclaim, invalidated with their inode or on request, or lost with part of their file.

use order9_frames::{Idx, Word};
use order9_units::Pages;

use super::chunks::CHUNK;
use super::{FileId, Shadow};
use crate::page_cache::PageCache;
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Mapping, Owner, Zap};

/// Pages that a step of invalidation looks at.
const STEP: u64 = 1024;

/// Whether a page of a file on disk is clean, and nobody reads, writes, isolates or pins it.
pub(crate) fn is_droppable(word: Word) -> bool {
    !(word.has(PageFlag::Dirty) || word.is_held())
}

impl UsedPages {
    /// Takes the unmapped page at `index`, which exists, out of a file, and leaves a shadow if there is one; the page is the
    /// caller's to free. What was to be written of it no longer is; where it is being read or written, its frame stays until
    /// that ends. On disk, all of the folio that starts at `index` is taken.
    pub(crate) fn take_from_file(&mut self, id: FileId, index: u64, shadow: Option<Shadow>, phys: &mut PhysMem) -> Idx {
        if !self.cache.files.is_on_disk(id) {
            self.levels.shmem -= 1;
            self.cache.uncharge(id, 1);
            return self.cache.files.take(id, index, None);
        }
        let folio = self.cache.folio_at(id, index, phys).expect("the page is in its file");
        let word = phys.frames.word(folio.head);
        debug_assert!(folio.index == index, "folios are taken whole");
        self.levels.file -= folio.pages;
        phys.work.pages_uncached += 1;
        phys.work.parts_uncached += folio.pages - 1;
        if word.has(PageFlag::Dirty) {
            self.cache.clear_folio_dirty(id, &folio, phys);
        }
        if word.has(PageFlag::Writeback) {
            self.cache.file_mut(id).nr_writeback -= folio.pages as u32;
        }
        if word.has(PageFlag::Writeback) || word.has(PageFlag::Locked) {
            self.cache.orphans.add(id, index, folio.head);
        }
        if folio.pages > 1 {
            self.huge.take_page(folio.head);
        }
        for (index, idx) in folio.places() {
            self.cache.files.take(id, index, shadow);
            if idx != folio.head {
                self.rmap.set(idx, Owner::Nobody);
            }
        }
        folio.head
    }

    /// Reclaim takes a clean, unmapped page or folio of a file: its frames are the caller's to free.
    pub(crate) fn reclaim_from_file(&mut self, id: FileId, index: u64, shadow: Option<Shadow>, phys: &mut PhysMem) {
        let head = self.take_from_file(id, index, shadow, phys);
        let end = index + phys.frames.word(head).frames();
        for index in (index..end).step_by(CHUNK as usize) {
            let trimmed = self.cache.files.limit_shadows(id, index, phys.frames.table().len());
            // Once, with the last of them.
            if end - index <= CHUNK {
                self.settle_file(id, phys);
            }
            if let Some(other) = trimmed.filter(|&other| other != id) {
                self.settle_file(other, phys);
            }
        }
    }

    /// Drops the pages of `[index, end)` that can be dropped: clean, unmapped, and in nobody's hands
    /// (`invalidate_mapping_pages`). An unmapped page that cannot becomes the next that reclaim takes. Looks at no more than a
    /// thousand folios; returns how many it dropped and where to go on, or `None` there if it is through.
    pub fn invalidate(&mut self, id: FileId, index: u64, cpu: usize, phys: &mut PhysMem) -> (u64, Option<u64>) {
        let (mut dropped, mut from) = (0, index);
        for _ in 0..STEP {
            let found = self.cache.file(id).ok().and_then(|file| file.first_page(from, u64::MAX));
            let Some((index, idx)) = found else {
                self.settle_file(id, phys);
                self.free_tree_nodes(cpu, phys);
                return (dropped, None);
            };
            let folio = phys.folio(index, idx);
            from = folio.end();
            let is_mapped = self.cache.file(id).is_ok_and(|file| folio.places().any(|(at, _)| file.mappings(at) > 0));
            let word = phys.frames.word(folio.head);
            if is_mapped || word.has(PageFlag::Locked) {
                continue;
            }
            if is_droppable(word) {
                self.take_from_file(id, folio.index, None, phys);
                self.disown(folio.head, cpu, phys);
                dropped += folio.pages;
            } else {
                self.lru.deactivate_file_page(folio.head, phys);
            }
        }
        self.settle_file(id, phys);
        self.free_tree_nodes(cpu, phys);
        (dropped, Some(from))
    }

    /// Frees the next pages of a file from `index` on, about a thousand places together, as [`Mm::truncate`] to `index` and
    /// [`Mm::fs_unlink`] would; says whether there were any. With this, whoever ends a large file lets others run before
    /// either does the rest. What the file holds there is lost from then on.
    pub(crate) fn truncate_step(&mut self, id: FileId, index: u64, cpu: usize, phys: &mut PhysMem) -> bool {
        let from = |index| self.cache.file(id).ok().and_then(|file| file.first_page(index, u64::MAX));
        // A folio that the new end cuts may stay, pinned or with zeros behind the end: it is left to `truncate`.
        let first = match from(index).map(|(at, idx)| phys.folio(at, idx)).filter(|folio| folio.index < index) {
            Some(cut) => from(cut.end()),
            None => from(index),
        };
        if let Some((first, _)) = first {
            // A folio that lies across the end of the step is left to the next one.
            let across = self.cache.folio_at(id, first + STEP, phys).filter(|folio| folio.index < first + STEP);
            let pages = across.map_or(STEP, |folio| folio.index - first);
            self.unmap_file_range(id, first, pages, Zap::All, cpu, phys);
            self.evict(id, first, pages, cpu, phys);
        }
        first.is_some()
    }

    /// Takes pages out of a file that nobody maps there, and the shadows with them.
    pub(crate) fn evict(&mut self, id: FileId, index: u64, pages: u64, cpu: usize, phys: &mut PhysMem) {
        let end = index.saturating_add(pages);
        let mut from = index;
        while let Some((found, idx)) = self.cache.file(id).ok().and_then(|file| file.first_page(from, end)) {
            let folio = phys.folio(found, idx);
            from = folio.end();
            if folio.index < index || end < folio.end() {
                let split = match self.cache.files.is_on_disk(id) {
                    true => self.cut_folio(id, &folio, index, end, cpu, phys),
                    false => self.punch_huge_page(folio.index, folio.head, index, end, cpu, phys),
                };
                from = if split { found } else { from }; // Base pages now, some of which may be gone.
                continue;
            }
            if folio.pages > 1 && !self.cache.files.is_on_disk(id) {
                self.evict_huge_file_page(id, folio.index, folio.head, cpu, phys);
                continue;
            }
            self.take_from_file(id, found, None, phys);
            if phys.frames.word(idx).has(PageFlag::SwapCache) {
                self.leave_in_swap_cache(idx, cpu, phys); // It came back while it was written; the end of that frees it.
            } else {
                self.disown(idx, cpu, phys);
            }
        }
        if !self.cache.files.is_on_disk(id) {
            self.forget_swapped(id, index, end, cpu, phys);
        }
        if end == u64::MAX {
            self.cache.files.drop_shadows(id, index);
        }
        if let Some(tags) = &mut self.tags {
            tags.discard_file(id, index, pages);
        }
        self.settle_file(id, phys);
        self.free_tree_nodes(cpu, phys);
    }

    /// Unmaps part of a file wherever it is mapped.
    pub(crate) fn unmap_file_range(
        &mut self,
        id: FileId,
        index: u64,
        pages: u64,
        which: Zap,
        cpu: usize,
        phys: &mut PhysMem,
    ) {
        let mut last = None;
        while let Some(at) = self.cache.file(id).ok().and_then(|file| file.next_mapping(last)) {
            last = Some(at);
            let Mapping { space, vpn } = at;
            let vma = self.spaces.get(space).ok().and_then(|space| space.vmas.at(vpn));
            let range = vma.expect("a file knows its mappings").pages_of(index, pages);
            self.zap(space, range, which, cpu, phys);
            if let Some(tags) = self.tags.as_mut().filter(|_| which == Zap::All) {
                tags.discard(space, range);
            }
        }
    }
}

impl PageCache {
    /// Forgets a file on disk whose inode and pages are out of memory: nothing will be written any more.
    pub(crate) fn forget_dirt(&mut self, id: FileId) {
        if let Some(file) = self.files.get_mut(id) {
            (file.inode_dirty, file.inode_writes) = (false, 0);
            self.files.dequeue(id);
        }
    }
}

/// A write of 1 to `vm.drop_caches`: every file on disk loses the pages that can be dropped, in steps.
#[derive(Clone, Debug)]
pub struct DropPagecache {
    cpu: usize,
    /// The file under way and the place in it.
    at: (u32, u64),
    dropped: Pages,
}

impl DropPagecache {
    /// Begins, on behalf of `cpu`; counts as `drop_pagecache`.
    pub fn new(cpu: usize, phys: &mut PhysMem) -> Self {
        phys.counters.drop_pagecache += 1;
        Self { cpu, at: (0, 0), dropped: Pages::ZERO }
    }

    /// Looks at no more than a thousand folios and as many files; the pages dropped, once it is through.
    pub fn step(&mut self, pages: &mut UsedPages, phys: &mut PhysMem) -> Option<Pages> {
        for _ in 0..STEP {
            let (number, index) = self.at;
            let id = FileId(number);
            if id.index() >= pages.cache.files.len() {
                return Some(self.dropped);
            }
            if !pages.cache.files.is_on_disk(id) || pages.cache.file(id).is_err() {
                self.at = (number + 1, 0);
                continue;
            }
            let (dropped, next) = pages.invalidate(id, index, self.cpu, phys);
            self.dropped += Pages::new(dropped);
            self.at = next.map_or((number + 1, 0), |index| (number, index));
            if next.is_some() {
                break;
            }
        }
        None
    }
}
