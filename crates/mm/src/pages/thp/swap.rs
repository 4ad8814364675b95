//! Anonymous huge pages go to swap in one piece, smaller ones where the policy has it so.
//!
//! Reclaim gives an unused huge page as many slots in a row as it has base pages, splits its huge mappings, and replaces every entry by a slot. One
//! write later the page is freed whole. Faults read base pages back, or map those of a page that is still there by single
//! entries; then it stays in the swap cache until it is written again, split, or of no use to anybody. LKML: "THP swap:
//! Delay splitting THP during swapping out" and "mm, THP, swap: Delay splitting THP after swapped out" (2017).

use order9_frames::Idx;
use order9_units::{HugeSize, Order};

use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Mapping, Owner, Pte, PteFlag};
use crate::swap::SwapArea;
use crate::thp::HugeMemory;

impl UsedPages {
    /// Gives a huge page slots in a row; says whether there were as many.
    pub(crate) fn add_huge_to_swap(&mut self, head: Idx, phys: &mut PhysMem) -> bool {
        if !self.swap.give_row(head, phys.frames.word(head).order()) {
            return false;
        }
        self.huge.leave_queue(head, phys);
        let word = phys.frames.word(head).with(PageFlag::SwapCache, true).with(PageFlag::Dirty, true);
        phys.frames.set(head, word);
        true
    }

    /// Replaces every entry that maps a huge page in the swap cache by slots, after a split of those that map all of it.
    pub(crate) fn unmap_huge_to_swap(&mut self, head: Idx, phys: &mut PhysMem) {
        self.split_entries(head, phys);
        let mut dirty = false;
        for idx in phys.parts(head) {
            let mappings = self.rmap.own_mappings(idx);
            mappings.iter().for_each(|&at| dirty |= self.entry_to_slot(at, idx));
            let place = self.rmap.of_subpage(idx);
            mappings.iter().skip(1).for_each(|&at| self.rmap.unshare(place, at));
            self.rmap.set(place, Owner::Nobody);
        }
        let page = self.huge.page_mut(head);
        let (mapped, ptes) = (core::mem::take(&mut page.mapped), core::mem::take(&mut page.ptes));
        self.levels.anon -= u64::from(mapped);
        phys.work.ptes_cleared += u64::from(ptes);
        phys.work.tlb_flushes += u64::from(ptes > 0);
        let word = phys.frames.word(head);
        phys.frames.set(head, word.with(PageFlag::Dirty, dirty || word.has(PageFlag::Dirty)));
    }

    /// Replaces an entry that maps a page in the swap cache by its slot; says whether it was written through.
    fn entry_to_slot(&mut self, at: Mapping, idx: Idx) -> bool {
        let slot = self.swap.of(idx);
        self.swap.slot(slot).entries += 1;
        let space = self.spaces.living(at.space);
        space.rss.anon_pages -= 1;
        space.swap_pages += 1;
        let table = space.table.table_mut(at.vpn).expect("the page is mapped there");
        table.set(at.vpn, Pte::swap(slot)).has(PteFlag::Dirty)
    }

    /// Frees a huge page in the swap cache that neither mappings nor entries lead to, unless it is being written.
    pub(crate) fn drop_huge_if_useless(&mut self, head: Idx, cpu: usize, phys: &mut PhysMem) {
        // From the end, since entries go upward.
        let is_named = || phys.parts(head).rev().any(|idx| self.swap.entries(self.swap.of(idx)) > 0);
        let is_written = phys.frames.word(head).has(PageFlag::Writeback);
        let stays = is_written || self.huge.is_huge_page_mapped(head) || is_named();
        if !stays {
            self.swap.remove_from_swap_cache(head, phys);
            self.disown_huge(head, cpu, phys);
        }
    }
}

impl HugeMemory {
    /// Whether an unused huge page is to go to swap in one piece: one of 2 MiB that a huge mapping shows, and any of which all
    /// is mapped.
    pub(crate) fn goes_whole(&self, head: Idx, phys: &PhysMem) -> bool {
        let (page, policy) = (self.page(head), &phys.policy.thp);
        let all_mapped = u64::from(page.mapped) == phys.frames.word(head).frames();
        policy.swap_whole && !page.pmds.is_empty() || policy.swap_small_whole && all_mapped
    }

    /// Counts a huge page that was split since swap had no room for it in one piece.
    pub(crate) fn count_swpout_fallback(&mut self, order: Order, phys: &mut PhysMem) {
        match HugeSize::new(order).and_then(|size| self.small_events(size)) {
            Some(events) => events.swpout_fallback += 1,
            None => phys.counters.thp_swpout_fallback += 1,
        }
    }
}

impl SwapArea {
    /// A huge page in the swap cache is in another block now.
    pub(super) fn relocate_in_swap_cache(&mut self, source: Idx, target: Idx, phys: &mut PhysMem) {
        let word = phys.frames.word(source);
        for offset in 0..word.frames() as u32 {
            self.relocate(source.plus(offset), target.plus(offset));
        }
        phys.frames.set(source, word.with(PageFlag::SwapCache, false));
    }
}
