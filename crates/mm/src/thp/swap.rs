//! Anonymous huge pages go to swap in one piece.
//!
//! Reclaim gives an unused huge page 512 slots in a row, splits its huge mappings, and replaces every entry by a slot. One
//! write later the page is freed whole. Faults read base pages back, or map those of a page that is still there by single
//! entries; then it stays in the swap cache until it is written again, split, or of no use to anybody. LKML: "THP swap:
//! Delay splitting THP during swapping out" and "mm, THP, swap: Delay splitting THP after swapped out" (2017).

use super::{NR, subpages};
use crate::Mm;
use crate::page_flags::PageFlag;
use crate::space::{Mapping, Owner, Pte, PteFlag};
use crate::trace::Tracer;
use order9_frames::Idx;

impl<T: Tracer> Mm<T> {
    /// Gives a huge page 512 slots in a row; says whether there were as many.
    pub(crate) fn add_huge_to_swap(&mut self, head: Idx) -> bool {
        if !self.swap.give_cluster(head) {
            return false;
        }
        self.leave_queue(head);
        let word = self.frames.word(head).with(PageFlag::SwapCache, true).with(PageFlag::Dirty, true);
        self.frames.set(head, word);
        true
    }

    /// Replaces every entry that maps a huge page in the swap cache by slots, after a split of those that map all of it.
    pub(crate) fn unmap_huge_to_swap(&mut self, head: Idx) {
        for at in self.user.huge.page(head).pmds.clone() {
            self.split_entry(at.space, at.vpn);
        }
        let (mut dirty, before) = (false, self.user.huge.page(head).clone());
        for idx in subpages(head) {
            let mappings = self.own_mappings(idx);
            mappings.iter().for_each(|&at| dirty |= self.entry_to_slot(at, idx));
            let place = self.user.rmap.of_subpage(idx);
            mappings.iter().skip(1).for_each(|&at| self.user.rmap.unshare(place, at));
            self.user.rmap.set(place, Owner::Nobody);
        }
        let page = self.user.huge.page_mut(head);
        (page.mapped, page.ptes) = (0, 0);
        self.user.levels.anon -= u64::from(before.mapped);
        self.work.ptes_cleared += u64::from(before.ptes);
        self.work.tlb_flushes += u64::from(before.ptes > 0);
        let word = self.frames.word(head);
        self.frames.set(head, word.with(PageFlag::Dirty, dirty || word.has(PageFlag::Dirty)));
    }

    /// Replaces an entry that maps a page in the swap cache by its slot; says whether it was written through.
    fn entry_to_slot(&mut self, at: Mapping, idx: Idx) -> bool {
        let slot = self.swap.of(idx);
        self.swap.slot(slot).entries += 1;
        let space = self.user.living(at.space);
        space.rss.anon_pages -= 1;
        space.swap_pages += 1;
        let table = space.table.table_mut(at.vpn).expect("the page is mapped there");
        table.set(at.vpn, Pte::swap(slot)).has(PteFlag::Dirty)
    }

    /// Frees a huge page in the swap cache that neither mappings nor entries lead to, unless it is being written.
    pub(crate) fn drop_huge_if_useless(&mut self, head: Idx, cpu: usize) {
        // From the end, since entries go upward.
        let is_named = |mm: &Self| subpages(head).rev().any(|idx| mm.swap.entries(mm.swap.of(idx)) > 0);
        let stays = self.frames.word(head).has(PageFlag::Writeback) || self.is_huge_page_mapped(head) || is_named(self);
        if !stays {
            self.remove_from_swap_cache(head);
            self.disown(head, cpu);
        }
    }

    /// Whether a huge mapping shows the page.
    pub(crate) fn is_mapped_huge(&self, head: Idx) -> bool {
        !self.user.huge.page(head).pmds.is_empty()
    }

    /// A huge page in the swap cache is in another block now.
    pub(super) fn relocate_in_swap_cache(&mut self, source: Idx, target: Idx) {
        for offset in 0..NR {
            self.swap.relocate(source.plus(offset), target.plus(offset));
        }
        let word = self.frames.word(source);
        self.frames.set(source, word.with(PageFlag::SwapCache, false));
    }
}
