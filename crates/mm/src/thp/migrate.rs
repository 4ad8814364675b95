//! Huge pages move whole: all 512 base pages, with every mapping, to another free block.
//!
//! Compaction never asks for this: huge pages are what it works for. Whoever moves pages between nodes or out of a range
//! does ([`crate::mempolicy::move_pages`]). Linux' Documentation/mm/page_migration.rst; LKML: "mm: page migration
//! enhancement for thp" (2017).

use order9_frames::{Flag, Idx};
use order9_units::{Order, Pfn};

use super::{HugePage, NR};
use crate::Mm;
use crate::page_flags::{PageFlag, PageWord};
use crate::space::{Errno, Owner};
use crate::trace::Tracer;

impl<T: Tracer> Mm<T> {
    /// Moves the anonymous huge page that starts at `source`, and that the caller has isolated, to the fresh huge page
    /// `target`, on behalf of `cpu`. One step: nobody ever meets a half-moved page.
    ///
    /// # Errors
    /// `EBUSY` where it is pinned or being written; the source is isolated as before then, and the target the caller's.
    pub(crate) fn migrate_huge(&mut self, source: Idx, target: Pfn, cpu: usize) -> Result<(), Errno> {
        let word = self.frames.word(source);
        if word.has(Flag::Pinned) || word.has(PageFlag::Writeback) {
            return Err(Errno::Ebusy);
        }
        let target = self.fresh_block(target, Order::PAGEBLOCK);
        (0..NR).for_each(|offset| self.copy_page(source.plus(offset), target.plus(offset)));
        self.remap_huge(source, target);
        if word.has(PageFlag::SwapCache) {
            self.relocate_in_swap_cache(source, target);
        }
        self.end_isolation(source);
        self.adopt_page(target, Owner::Huge, word.lru_list());
        self.user.balancing.copy_user(source, target);
        for flag in [
            PageFlag::Referenced,
            PageFlag::Dirty,
            PageFlag::Workingset,
            PageFlag::LazyFree,
            PageFlag::SwapCache,
            PageFlag::Reclaim,
        ] {
            let moved = self.frames.word(target).with(flag, word.has(flag));
            self.frames.set(target, moved);
        }
        // An unevictable page keeps its type in its flags; the list alone does not tell it.
        let moved = self.frames.word(target).with(PageFlag::File, word.has(PageFlag::File));
        self.frames.set(target, moved);
        self.disown(source, cpu);
        Ok(())
    }

    /// Lets every mapping of a huge page show `target` instead; both pages keep their words.
    fn remap_huge(&mut self, source: Idx, target: Idx) {
        let HugePage { queued, partial, .. } = *self.user.huge.page(source);
        self.leave_queue(source);
        let page = core::mem::take(self.user.huge.page_mut(source));
        for at in &page.pmds {
            let huge = self.user.living(at.space).table.huge_mut(at.vpn).expect("the page has this mapping");
            huge.pte = huge.pte.migrated(target);
        }
        let offsets = (0..NR).filter(|_| page.ptes > 0);
        for (from, to) in offsets.map(|offset| (source.plus(offset), target.plus(offset))) {
            for at in self.own_mappings(from) {
                let table = self.user.living(at.space).table.table_mut(at.vpn).expect("the page has this mapping");
                table.set(at.vpn, table.get(at.vpn).migrated(to));
            }
            let (from, to) = (self.user.rmap.of_subpage(from), self.user.rmap.of_subpage(to));
            let mappings = self.user.rmap.owner(from);
            self.user.rmap.set(to, mappings);
            self.user.rmap.set(from, Owner::Nobody);
        }
        let entries = page.pmds.len() as u64 + u64::from(page.ptes);
        self.work.rmap_walks += 2;
        self.work.ptes_cleared += entries;
        self.work.ptes_set += entries;
        self.work.tlb_flushes += 1;
        *self.user.huge.page_mut(target) = page;
        if queued.is_some() {
            self.enqueue(target, partial);
        }
    }

    /// Isolates the huge page that starts at `head`; says whether it was not isolated yet.
    pub(crate) fn isolate_huge(&mut self, head: Idx) -> bool {
        let word = self.frames.word(head);
        let free = !word.has(Flag::Isolated) && self.huge_head(head) == Some(head);
        if free {
            self.isolate_lru(head);
            self.work.pages_isolated += 1;
        }
        free
    }

    /// `FOLL_SPLIT`: makes base pages of the huge page that `pfn` is part of, if it is.
    ///
    /// # Errors
    /// `EBUSY` where it cannot be split.
    pub fn follow_split(&mut self, pfn: Pfn, cpu: usize) -> Result<(), Errno> {
        match self.frames.idx(pfn).and_then(|idx| self.huge_head(idx).or_else(|| self.file_huge_head(idx))) {
            Some(head) => self.split_head(head, cpu),
            None => Ok(()),
        }
    }
}
