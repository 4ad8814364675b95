//! `MADV_FREE`: pages that the program can do without, until it writes to them again.
//!
//! Such a page is an anonymous one on a list of pages of files, or in older releases a marked one on its own list, clean in
//! every entry. Reclaim frees it without writing it
//! to swap; a write meanwhile makes the entry dirty, and reclaim gives the page back to the anonymous lists. madvise(2);
//! "mm: move MADV_FREE pages into LRU_INACTIVE_FILE list" (LKML, 2017).

use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::Pages;

use super::pte::PteFlag;
use super::{Mapping, Owner, SpaceId};
use crate::addr::VpnRange;
use crate::lru::LruState;
use crate::lru_list::{LruList, LruType};
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::LazyFree;
use crate::space::Rmap;
use crate::space::Spaces;

impl UsedPages {
    /// Marks the pages of `range`, which is private anonymous memory, as free to take. Pages that others map, that are in
    /// use otherwise, or that have a copy in swap are passed over; what is in swap only is discarded.
    pub(super) fn free_lazily(&mut self, id: SpaceId, range: VpnRange, cpu: usize, phys: &mut PhysMem) {
        self.free_huge_lazily(id, range, cpu, phys);
        let (mut rest, mut marked) = (range, 0_u64);
        while let Some(slot) = self.spaces.living(id).table.next_table(&mut rest) {
            marked += self.free_small_lazily(id, slot.intersect(range), cpu, phys);
            for vpn in slot.intersect(range).iter() {
                let pte = self.spaces.living(id).table.get(vpn);
                match (pte.slot(), pte.idx()) {
                    (Some(_), _) => self.discard(id, VpnRange::of(vpn, Pages::new(1)), cpu, phys),
                    (_, Some(idx)) if self.rmap.may_free_lazily(idx, phys) => {
                        self.spaces.clean_entry(Mapping { space: id, vpn }, phys);
                        self.lru.mark_lazily_freeable(idx, phys);
                        marked += 1;
                    }
                    _ => {}
                }
            }
        }
        phys.work.tlb_flushes += u64::from(marked > 0);
    }

    /// Huge pages of less than 2 MiB in a part of a slot: those of which `range` covers all are marked, others split, if that can
    /// be. Says how many were marked.
    fn free_small_lazily(&mut self, id: SpaceId, range: VpnRange, cpu: usize, phys: &mut PhysMem) -> u64 {
        let shown = |vpn| self.spaces.get(id).ok()?.table.get(vpn).idx();
        let mut heads: Vec<Idx> = range.iter().filter_map(|vpn| self.small_head(shown(vpn)?, phys)).collect();
        heads.dedup();
        let mut marked = 0;
        for head in heads {
            let word = phys.frames.word(head);
            let in_use = word.is_held() || word.has(PageFlag::Unevictable) || word.has(PageFlag::SwapCache);
            if in_use || !self.huge.is_huge_exclusive(head) {
                continue;
            }
            let entries: Vec<Mapping> = phys.parts(head).flat_map(|idx| self.rmap.own_mappings(idx)).collect();
            let is_covered = |at: &Mapping| at.space == id && range.start <= at.vpn && at.vpn < range.end;
            if entries.len() as u64 == word.frames() && entries.iter().all(is_covered) {
                entries.into_iter().for_each(|at| self.spaces.clean_entry(at, phys));
                self.lru.mark_lazily_freeable(head, phys);
                marked += 1;
            } else {
                let _refused = self.split_huge_page(phys.frames.pfn(head), cpu, phys);
            }
        }
        marked
    }

    /// Huge entries of `range`: whole ones are marked, those of which it covers a part are split with their page, if that
    /// can be.
    fn free_huge_lazily(&mut self, id: SpaceId, range: VpnRange, cpu: usize, phys: &mut PhysMem) {
        let mut rest = range;
        while let Some((slot, huge)) = self.spaces.living(id).table.next_huge(&mut rest) {
            let Some(head) = huge.head() else { continue };
            let word = phys.frames.word(head);
            let in_use = word.is_held() || word.has(PageFlag::Unevictable);
            if !self.huge.is_huge_exclusive(head) || in_use {
                continue;
            }
            if slot.intersect(range) == slot {
                let huge = self.spaces.living(id).table.huge_mut(slot.start).expect("the slot has a huge entry");
                huge.pte = huge.pte.with(PteFlag::Dirty, false).with(PteFlag::Young, false);
                phys.work.ptes_set += 1;
                phys.work.tlb_flushes += 1;
                self.lru.mark_lazily_freeable(head, phys);
            } else {
                let _refused = self.split_huge_page(phys.frames.pfn(head), cpu, phys);
            }
        }
    }

    /// Takes an isolated page that is lazily freeable away from all who map it, unless one of them has written to it since;
    /// says whether it is theirs no more.
    pub(crate) fn take_lazily_freed(&mut self, idx: Idx, phys: &mut PhysMem) -> bool {
        let mappings = self.mappings_of(idx, phys);
        let is_dirty =
            |at: &Mapping| self.spaces.get(at.space).is_ok_and(|space| space.table.get(at.vpn).has(PteFlag::Dirty));
        if phys.frames.word(idx).has(PageFlag::Dirty) || mappings.iter().any(is_dirty) {
            self.lru.no_longer_lazy(idx, phys);
            return false;
        }
        phys.work.rmap_walks += 1;
        self.unmap_everywhere(idx, phys);
        if let Some(tags) = &mut self.tags {
            mappings.iter().for_each(|at| tags.discard(at.space, VpnRange::of(at.vpn, Pages::new(1))));
        }
        phys.counters.pglazyfreed += 1;
        true
    }
}

impl Rmap {
    fn may_free_lazily(&self, idx: Idx, phys: &PhysMem) -> bool {
        let word = phys.frames.word(idx);
        let alone = matches!(self.owner(idx), Owner::Anon(_)) && !word.is_compound();
        alone && !word.is_held() && !word.has(PageFlag::SwapCache) && !word.has(PageFlag::Unevictable)
    }

    /// Whether `MADV_FREE` was said of an anonymous page, and reclaim has not found since that it was written.
    pub(crate) fn is_lazily_freeable(&self, idx: Idx, phys: &PhysMem) -> bool {
        let word = phys.frames.word(self.huge_head(idx, phys).unwrap_or(idx));
        word.lru_type() == LruType::File || word.has(PageFlag::LazyFree)
    }
}

impl Spaces {
    fn clean_entry(&mut self, at: Mapping, phys: &mut PhysMem) {
        let table = self.living(at.space).table.table_mut(at.vpn).expect("the page is mapped there");
        let pte = table.get(at.vpn);
        table.set(at.vpn, pte.with(PteFlag::Dirty, false).with(PteFlag::Young, false));
        phys.work.ptes_set += 1;
    }
}

impl LruState {
    fn mark_lazily_freeable(&mut self, idx: Idx, phys: &mut PhysMem) {
        let word = phys.frames.word(idx);
        let stays = phys.policy.reclaim.lazy_free == LazyFree::AnonLists;
        let marked =
            word.with(PageFlag::Dirty, false).with(PageFlag::Referenced, false).with(PageFlag::LazyFree, stays);
        phys.frames.set(idx, marked);
        self.move_lru(idx, if stays { LruList::InactiveAnon } else { LruList::InactiveFile }, phys);
        self.batch_lru(idx, phys);
        phys.counters.pglazyfree += word.frames();
    }
}
