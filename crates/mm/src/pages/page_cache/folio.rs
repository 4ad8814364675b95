//! Large folios: several pages of a file on disk in one block, which is read, written, reclaimed and moved as one.
//!
//! Key type: [`Folio`]. Each page of a folio keeps its own place in the file, its number of mappings there, and the mark that says
//! whether it has to be written; flags, the LRU list and the file's counts are the folio's, so that all its pages count as dirty
//! once one of them is. A folio starts at a multiple of its size in the file, as it does in memory. Nobody but a split takes it
//! apart, and a folio that is dirty, or in the hands of somebody else than who splits it, is not split. LKML: "Memory folios" (2021), "Enable ext4 support
//! for large folios" (2025). Behaviour: docs/page-cache.md.

use core::ops::AddAssign;

use order9_frames::Idx;
use order9_units::{Order, Pages};

use super::FileId;
use crate::page_cache::PageCache;
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Owner;

/// The largest folio of a file, 2 MiB.
pub(crate) const ORDER_MAX: Order = Order::PAGEBLOCK;

/// A page of a file, or a block of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Folio {
    /// The first frame, which carries the flags.
    pub(crate) head: Idx,
    /// Place of the first page in the file.
    pub(crate) index: u64,
    /// Number of pages.
    pub(crate) pages: u64,
}

impl Folio {
    /// The place behind its last page.
    pub(crate) const fn end(&self) -> u64 {
        self.index + self.pages
    }

    /// Every place with its frame.
    pub(crate) fn places(&self) -> impl DoubleEndedIterator<Item = (u64, Idx)> + Clone + use<> {
        let (head, index) = (self.head, self.index);
        (0..self.pages).map(move |at| (index + at, head.plus(at as u32)))
    }
}

/// Pages of files that are dealt with folio by folio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FolioPages {
    /// First pages: one for each folio.
    pub firsts: u64,
    /// The other pages of these folios.
    pub parts: u64,
}

impl FolioPages {
    /// A page, or the pages of one large folio.
    #[must_use]
    pub const fn folio(pages: u64) -> Self {
        Self { firsts: 1, parts: pages - 1 }
    }
}

impl AddAssign for FolioPages {
    fn add_assign(&mut self, other: Self) {
        self.firsts += other.firsts;
        self.parts += other.parts;
    }
}

/// Order of the folio that holds `index` and at most the `pages` places from there on: as large as its alignment allows.
pub(crate) fn order_at(index: u64, pages: u64, most: Order) -> Order {
    let fits = pages.max(1).ilog2().min(index.trailing_zeros());
    Order::new(fits.min(most.get().into()) as u8).unwrap_or(most)
}

impl PhysMem {
    /// The folio with the frame `idx`, which is at `index` of its file.
    pub(crate) fn folio(&self, index: u64, idx: Idx) -> Folio {
        let head = self.page_of(idx);
        Folio { head, index: index - u64::from(idx.0 - head.0), pages: self.frames.word(head).frames() }
    }
}

impl PageCache {
    /// The folio at `index` of a file, or `None` where it has no page in memory.
    pub(crate) fn folio_at(&self, id: FileId, index: u64, phys: &PhysMem) -> Option<Folio> {
        let idx = self.file(id).ok()?.page(index)?;
        Some(phys.folio(index, idx))
    }

    /// The places of a folio that have to be written, from the first to the last; those between them are written with them.
    pub(super) fn dirty_places(&self, id: FileId, folio: &Folio) -> Option<core::ops::Range<u64>> {
        let tree = &self.file(id).ok()?.tree;
        let (first, _) = tree.next_dirty(folio.index).filter(|&(first, _)| first < folio.end())?;
        let last = (first..folio.end()).rev().find(|&index| tree.is_dirty(index)).unwrap_or(first);
        Some(first..last + 1)
    }
}

impl UsedPages {
    /// Whether a folio of several pages of a file on disk starts at `head`.
    pub(crate) fn is_large_folio(&self, head: Idx, phys: &PhysMem) -> bool {
        phys.frames.word(head).order() > Order::ZERO
            && matches!(self.rmap.owner(head), Owner::File { file, .. } if self.cache.files.is_on_disk(file))
    }

    /// Splits a large folio that is clean and in nobody's hands, but for whoever has isolated it: its mappings go, and what
    /// lies beyond the end of the file is freed on behalf of `cpu`.
    pub(crate) fn split_folio(&mut self, head: Idx, cpu: usize, phys: &mut PhysMem) {
        let Owner::File { file, index } = self.rmap.owner(head) else { unreachable!("it is of a file") };
        let folio = phys.folio(index, head);
        if self.huge.is_huge_page_mapped(head) {
            folio.places().for_each(|(_, idx)| self.unmap_everywhere(idx, phys));
        }
        phys.work.rmap_walks += 1;
        self.huge.count_split(head, true, phys);
        self.take_apart(head, phys);
        // Only the page that a reader comes to first asks for more.
        folio.places().skip(1).for_each(|(_, idx)| phys.frames.reflag(idx, PageFlag::Readahead, false));
        folio.places().for_each(|(_, idx)| self.munlock_page(idx, phys));
        let size = self.cache.files.size(file).map_or(0, Pages::get);
        for (index, idx) in folio.places().filter(|&(index, _)| index >= size) {
            self.take_from_file(file, index, None, phys);
            self.disown(idx, cpu, phys);
        }
    }

    /// Unmaps every page of a folio.
    pub(crate) fn unmap_folio(&mut self, idx: Idx, phys: &mut PhysMem) {
        for part in phys.parts(idx) {
            self.unmap_everywhere(part, phys);
        }
    }

    /// The places `[from, end)`, which nobody maps any more, are cut out of a large folio of which other places stay: where it
    /// cannot be split, they hold zeros and need not be written. Says whether it was split.
    pub(super) fn cut_folio(
        &mut self,
        id: FileId,
        folio: &Folio,
        from: u64,
        end: u64,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> bool {
        let word = phys.frames.word(folio.head);
        if !word.has(PageFlag::Dirty) && !word.is_held() {
            self.split_folio(folio.head, cpu, phys);
            return true;
        }
        for (index, idx) in folio.places().filter(|(index, _)| (from..end).contains(index)) {
            self.clear_huge_part(idx, phys);
            self.cache.file_mut(id).tree.set_dirty(index, false);
        }
        if word.has(PageFlag::Dirty) && self.cache.dirty_places(id, folio).is_none() {
            self.cache.clear_folio_dirty(id, folio, phys);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folios_are_as_large_as_length_and_alignment_allow() {
        for (index, pages, order) in
            [(0, 1, 0), (0, 3, 1), (2, 1, 0), (2, 3, 1), (100, 25, 2), (256, 256, 8), (256, 1024, 8), (0, 4096, 9)]
        {
            assert_eq!(order_at(index, pages, ORDER_MAX).get(), order, "{pages} at {index}");
        }
    }
}
