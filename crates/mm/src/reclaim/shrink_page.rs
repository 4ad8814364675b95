//! Verdict on one isolated page: the questions of `shrink_page_list` in their order.

use order9_frames::{Flag, Gfp, Idx, Word};

use super::chunk::{Outcome, Tally};
use super::control::{PageWrite, ReclaimControl};
use super::decide::{Reference, check_references};
use super::stats::ReclaimFlags;
use crate::lru_list::LruType;
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::pages::lru::uses::Uses;
use crate::phys::PhysMem;
use crate::reclaim::Reclaim;
use crate::reclaimer::Reclaimer;
use crate::space::Owner;
use crate::trace::Event;

impl Reclaim {
    /// Decides about an isolated page, and unmaps it if it is to go.
    pub(super) fn shrink_page(
        &self,
        run: &mut ReclaimControl,
        idx: Idx,
        tally: &mut Tally,
        phys: &mut PhysMem,
        pages: &mut UsedPages,
    ) -> Outcome {
        let (word, owner) = (phys.frames.word(idx), pages.rmap.owner(idx));
        let mapped = match owner {
            Owner::Huge => pages.huge.is_huge_page_mapped(idx),
            Owner::File { .. } if word.is_compound() => pages.huge.is_huge_page_mapped(idx),
            _ => pages.cache.mapcount_of(owner) > 0,
        };
        match owner {
            // Whoever had it has dropped it since.
            Owner::Kept if word.with(Flag::Isolated, false).is_held() => return Outcome::Keep,
            Owner::Kept => return Outcome::Free,
            _ if word.has(PageFlag::Locked) || word.has(PageFlag::Unevictable) => return Outcome::Keep,
            _ if mapped && !run.may_unmap => return Outcome::Keep,
            _ => {}
        }
        self.count_dirty(word, tally);
        if word.has(PageFlag::Writeback) {
            return phys.handle_writeback(run, self.flags[phys.lru_set(run.chunk.zone)], idx, tally);
        }
        let uses = if mapped { pages.take_uses(idx, phys) } else { Uses::default() };
        if uses.locked_in_part {
            return Outcome::Activate;
        }
        let of = word.lru_type();
        let new_anon = phys.policy.reclaim.new_anon;
        let was_referenced = word.has(PageFlag::Referenced);
        let (verdict, referenced) = check_references(uses.young, of, was_referenced, uses.executable, new_anon);
        phys.frames.set(idx, phys.frames.word(idx).with(PageFlag::Referenced, referenced));
        match (verdict, owner) {
            (Reference::Activate, _) => Outcome::Activate,
            (Reference::Keep, _) => {
                tally.referenced += word.frames();
                Outcome::Keep
            }
            (_, Owner::Huge) => pages.swap_out_huge(run, idx, of, tally, phys),
            (_, Owner::File { .. }) if word.is_compound() && of == LruType::Anon => {
                pages.split_to_swap(run, idx, of, tally, phys)
            }
            _ if word.has(Flag::Pinned) => Outcome::Keep,
            (_, Owner::File { .. }) if of == LruType::File => {
                if mapped {
                    let flushes = phys.work.tlb_flushes;
                    pages.unmap_folio(idx, phys);
                    phys.put_off_flush(flushes, tally);
                }
                if !phys.frames.word(idx).has(PageFlag::Dirty) {
                    return Outcome::Free;
                }
                pages.pageout(run, self.flags[phys.lru_set(run.chunk.zone)], idx, verdict, tally, phys)
            }
            (_, Owner::Anon(_) | Owner::Shared { .. }) if pages.rmap.is_lazily_freeable(idx, phys) => {
                pages.free_unless_written(idx, tally, phys)
            }
            (_, Owner::Anon(_) | Owner::Shared { .. } | Owner::SwapCache) => pages.swap_out(run, idx, tally, phys),
            (_, Owner::File { .. }) => pages.swap_out_shmem(run, idx, mapped, tally, phys),
            _ => Outcome::Activate,
        }
    }

    /// Counts a page of a file that cannot go before it is written. Anonymous ones are for reclaim alone to write, and are no
    /// sign that it is faster than the flushers.
    fn count_dirty(&self, word: Word, tally: &mut Tally) {
        let (dirty, writeback) = (word.has(PageFlag::Dirty), word.has(PageFlag::Writeback));
        if word.lru_type() == LruType::Anon || !dirty && !writeback {
            return;
        }
        let (stats, frames) = (&mut tally.stats, word.frames());
        stats.dirty += frames;
        stats.unqueued_dirty += if writeback { 0 } else { frames };
        stats.congested += if self.congested || writeback && word.has(PageFlag::Reclaim) { frames } else { 0 };
    }
}

impl PhysMem {
    /// A page under writeback: reclaim takes it when that ends. One that came round again before kswapd has cause to slow
    /// down.
    fn handle_writeback(&mut self, run: &ReclaimControl, flags: ReclaimFlags, idx: Idx, tally: &mut Tally) -> Outcome {
        let word = self.frames.word(idx);
        if run.by == Reclaimer::Kswapd && word.has(PageFlag::Reclaim) && flags.writeback {
            tally.stats.immediate += word.frames();
        } else {
            tally.stats.writeback += word.frames();
            self.frames.set(idx, word.with(PageFlag::Reclaim, true));
        }
        Outcome::Activate
    }
}

impl UsedPages {
    /// An unmapped dirty page of a file is for the flushers, who write in order. Only where kswapd meets nothing else does it
    /// write those that have come round once.
    fn pageout(
        &mut self,
        run: &mut ReclaimControl,
        flags: ReclaimFlags,
        idx: Idx,
        verdict: Reference,
        tally: &mut Tally,
        phys: &mut PhysMem,
    ) -> Outcome {
        let word = phys.frames.word(idx);
        if run.by != Reclaimer::Kswapd || !word.has(PageFlag::Reclaim) || !flags.dirty {
            phys.counters.nr_vmscan_immediate_reclaim += word.frames();
            phys.frames.set(idx, word.with(PageFlag::Reclaim, true));
            return Outcome::Activate;
        }
        let may_write = run.may_writepage && run.gfp.has(Gfp::FS) && verdict != Reference::ReclaimClean;
        let pfn = phys.frames.pfn(idx);
        if may_write && let Some(write) = self.start_page_write(pfn, phys) {
            phys.flush_unmapped(tally);
            phys.trace(|| Event::Writepage { pfn, of: LruType::File });
            run.writes.push(PageWrite::File(write));
            tally.written += word.frames();
        }
        Outcome::Keep
    }

    /// Frees a page that its program can do without, if nobody has written to it since.
    fn free_unless_written(&mut self, idx: Idx, tally: &mut Tally, phys: &mut PhysMem) -> Outcome {
        let flushes = phys.work.tlb_flushes;
        let freed = self.take_lazily_freed(idx, phys);
        phys.put_off_flush(flushes, tally);
        if freed { Outcome::Free } else { Outcome::Activate }
    }

    /// Takes an unused anonymous huge page as far towards swap as [`Self::swap_out`] does, in one piece. A page that does not go
    /// whole is split, since some parts may be free then without I/O; so is a page that swap has no room for in one piece.
    fn swap_out_huge(
        &mut self,
        run: &mut ReclaimControl,
        head: Idx,
        of: LruType,
        tally: &mut Tally,
        phys: &mut PhysMem,
    ) -> Outcome {
        let (word, may_start_io) = (phys.frames.word(head), run.gfp.has(Gfp::IO));
        let cached = word.has(PageFlag::SwapCache);
        let wanted = self.huge.goes_whole(head, phys) && !self.rmap.is_lazily_freeable(head, phys);
        if !cached && (!wanted || !run.may_swap || !may_start_io) {
            return self.split_to_swap(run, head, of, tally, phys);
        }
        if word.has(Flag::Pinned) {
            return Outcome::Activate;
        }
        if !cached && !self.add_huge_to_swap(head, phys) {
            let done = self.split_to_swap(run, head, of, tally, phys);
            if matches!(done, Outcome::Split) {
                self.huge.count_swpout_fallback(word.order(), phys);
            }
            return done;
        }
        let flushes = phys.work.tlb_flushes;
        self.unmap_huge_to_swap(head, phys);
        phys.put_off_flush(flushes, tally);
        self.write_or_free(run, head, tally, phys)
    }

    /// Splits an unused huge page, whose parts are then dealt with one by one; in use by more than its mappings, it stays.
    fn split_to_swap(
        &mut self,
        run: &ReclaimControl,
        head: Idx,
        of: LruType,
        tally: &mut Tally,
        phys: &mut PhysMem,
    ) -> Outcome {
        let may_swap = run.may_swap && run.gfp.has(Gfp::IO);
        if !may_swap && of == LruType::Anon {
            return Outcome::Keep;
        }
        let parts = phys.parts(head);
        if phys.frames.word(head).has(Flag::Pinned) || self.split_isolated(head, tally.cpu, phys).is_err() {
            return Outcome::Activate;
        }
        tally.parts.extend(parts);
        Outcome::Split
    }

    /// Takes an unused page of tmpfs as far: unmapped, and out of its file for the swap cache, where it is being written.
    fn swap_out_shmem(
        &mut self,
        run: &mut ReclaimControl,
        idx: Idx,
        mapped: bool,
        tally: &mut Tally,
        phys: &mut PhysMem,
    ) -> Outcome {
        if mapped {
            let flushes = phys.work.tlb_flushes;
            self.unmap_everywhere(idx, phys);
            phys.put_off_flush(flushes, tally);
        }
        if !run.may_swap || !run.may_writepage || !run.gfp.has(Gfp::FS) {
            return Outcome::Keep;
        }
        if !self.shmem_to_swap(idx, phys) {
            return Outcome::Activate;
        }
        self.write_to_swap(run, idx, tally, phys)
    }

    /// Takes an unused anonymous page as far towards swap as can be done at once: unmapped and being written, or freed.
    fn swap_out(&mut self, run: &mut ReclaimControl, idx: Idx, tally: &mut Tally, phys: &mut PhysMem) -> Outcome {
        let may_start_io = run.gfp.has(Gfp::IO);
        let may_have_slot = phys.frames.word(idx).has(PageFlag::SwapCache) || run.may_swap && may_start_io;
        if !may_have_slot {
            return Outcome::Keep;
        }
        if !self.swap.add_to_swap(idx, phys) {
            return Outcome::Activate;
        }
        let flushes = phys.work.tlb_flushes;
        self.unmap_to_swap(idx, phys);
        phys.put_off_flush(flushes, tally);
        self.write_or_free(run, idx, tally, phys)
    }

    /// A page in the swap cache that nobody maps any more goes where its slot holds what it does; else it is written first.
    fn write_or_free(&mut self, run: &mut ReclaimControl, idx: Idx, tally: &mut Tally, phys: &mut PhysMem) -> Outcome {
        if !phys.frames.word(idx).has(PageFlag::Dirty) {
            return Outcome::Free;
        }
        if run.may_writepage && run.gfp.has(Gfp::IO) {
            return self.write_to_swap(run, idx, tally, phys);
        }
        Outcome::Keep
    }

    fn write_to_swap(&mut self, run: &mut ReclaimControl, idx: Idx, tally: &mut Tally, phys: &mut PhysMem) -> Outcome {
        phys.flush_unmapped(tally);
        let (write, has_ended) = self.write_to_slot(idx, phys);
        phys.trace(|| Event::Writepage { pfn: write.pfn, of: LruType::Anon });
        run.writes.push(PageWrite::Swap(write));
        tally.written += phys.frames.word(idx).frames();
        if has_ended { Outcome::Free } else { Outcome::Keep }
    }
}
