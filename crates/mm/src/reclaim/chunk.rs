//! Reclaiming a chunk from the tail of an inactive list: its pages are isolated by one step and dealt with by the next.

use alloc::vec::Vec;

use super::control::{ReclaimId, Reclaimer};
use super::decide::{Reference, check_reference};
use super::pass::Pass;
use crate::Mm;
use crate::frame::{Flag, Idx};
use crate::lru::{LruList, LruType};
use crate::space::Owner;
use crate::trace::Tracer;

/// What becomes of an isolated page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    /// Back to the head of its inactive list.
    Keep,
    /// To the active list.
    Activate,
    /// Freed.
    Free,
}

impl<T: Tracer> Mm<T> {
    /// Isolates up to `pages` pages from the tail of an inactive list.
    pub(super) fn isolate_chunk(&mut self, id: ReclaimId, pass: &Pass, list: LruList, pages: u64) {
        let skipped_before: u64 = self.counters.pgskip.iter().sum();
        let mut isolated = Vec::with_capacity(pages as usize);
        let (mut taken, mut skipped) = (0, None);
        while taken < pages
            && let Some(idx) = self.oldest_for(id, pass.zone, list, &mut skipped)
        {
            taken += self.frames.word(idx).frames();
            self.isolate_lru(idx);
            isolated.push(idx);
        }
        self.work.pages_isolated += isolated.len() as u64;
        let scanned = taken + self.counters.pgskip.iter().sum::<u64>() - skipped_before;
        let set = self.lru_set(pass.zone);
        self.reclaim.pressure[set].note_scan(LruType::of(list), taken, 0);
        let run = self.reclaim.run(id);
        run.isolated = isolated;
        run.nr_scanned += scanned;
        match run.by {
            Reclaimer::Kswapd => self.counters.pgscan_kswapd += scanned,
            Reclaimer::Direct => self.counters.pgscan_direct += scanned,
        }
    }

    /// Frees what can be freed of the pages isolated before; the others go back to a list. Returns pages freed.
    pub(super) fn reclaim_chunk(&mut self, id: ReclaimId, isolated: Vec<Idx>, cpu: usize) -> u64 {
        let mut freed = 0;
        for idx in isolated {
            let frames = self.frames.word(idx).frames();
            match self.judge(id, idx) {
                Outcome::Keep => self.putback_lru(idx),
                Outcome::Activate => {
                    self.note_rotated(idx, frames);
                    self.counters.pgactivate += frames;
                    self.move_lru(idx, self.frames.word(idx).lru_type().active());
                    self.putback_lru(idx);
                }
                Outcome::Free => {
                    freed += frames;
                    self.drop_page(idx, cpu);
                }
            }
        }
        let run = self.reclaim.run(id);
        run.nr_reclaimed += freed;
        match run.by {
            Reclaimer::Kswapd => self.counters.pgsteal_kswapd += freed,
            Reclaimer::Direct => self.counters.pgsteal_direct += freed,
        }
        freed
    }

    /// Decides about an isolated page, and unmaps it if it is to go.
    fn judge(&mut self, id: ReclaimId, idx: Idx) -> Outcome {
        let (word, owner) = (self.frames.word(idx), self.user.rmap.owner(idx));
        let may_unmap = self.reclaim.run(id).may_unmap;
        let of = word.lru_type();
        match owner {
            // Whoever had it has dropped it since.
            Owner::Kept if word.with(Flag::Isolated, false).is_held() => return Outcome::Keep,
            Owner::Kept => return Outcome::Free,
            _ if word.has(Flag::Locked) || word.has(Flag::Unevictable) => return Outcome::Keep,
            // Its write is under way: reclaim takes it when that ends.
            _ if word.has(Flag::Writeback) => {
                self.frames.set(idx, word.with(Flag::Reclaim, true));
                return Outcome::Activate;
            }
            _ if !may_unmap && self.mapcount(self.frames.pfn(idx)) > 0 => return Outcome::Keep,
            _ => {}
        }
        let uses = self.take_uses(idx);
        let (verdict, referenced) = check_reference(uses.young, of, word.has(Flag::Referenced), uses.executable);
        self.frames.set(idx, self.frames.word(idx).with(Flag::Referenced, referenced));
        match (verdict, owner) {
            (Reference::Activate, _) => Outcome::Activate,
            (Reference::Keep, _) => Outcome::Keep,
            _ if word.has(Flag::Pinned) => Outcome::Keep,
            (_, Owner::File { .. }) if of == LruType::File => {
                self.unmap_everywhere(idx);
                if self.frames.word(idx).has(Flag::Dirty) { Outcome::Keep } else { Outcome::Free }
            }
            (_, Owner::Anon(_) | Owner::Shared { .. } | Owner::SwapCache) => self.swap_out(id, idx),
            // A page of tmpfs, which has nowhere to go.
            _ => Outcome::Activate,
        }
    }

    /// Takes an unused anonymous page as far towards swap as can be done at once: unmapped and being written, or freed.
    fn swap_out(&mut self, id: ReclaimId, idx: Idx) -> Outcome {
        let (may_swap, may_writepage) = (self.reclaim.run(id).may_swap, self.reclaim.run(id).may_writepage);
        let has_slot = self.frames.word(idx).has(Flag::SwapCache);
        if !has_slot && !may_swap {
            return Outcome::Keep;
        }
        if !self.add_to_swap(idx) {
            return Outcome::Activate;
        }
        self.unmap_to_swap(idx);
        if !self.frames.word(idx).has(Flag::Dirty) {
            return Outcome::Free;
        }
        if may_writepage {
            let write = self.start_swap_write(idx);
            self.reclaim.run(id).writes.push(write);
        }
        Outcome::Keep
    }

    /// A page was found in use: its type is worth less scanning.
    fn note_rotated(&mut self, idx: Idx, frames: u64) {
        let zone = self.blocks[idx.block()].zone;
        let lru_pages = self.lru_sizes(zone).iter().sum();
        let of = self.frames.word(idx).lru_type();
        let set = self.lru_set(zone);
        self.reclaim.pressure[set].note_scan(of, 0, frames);
        self.reclaim.pressure[set].note_cost(of, frames, lru_pages);
    }

    /// Frees an isolated page that nobody maps or pins, and takes it out of its file.
    fn drop_page(&mut self, idx: Idx, cpu: usize) {
        if let Owner::File { file, index } = self.user.rmap.owner(idx) {
            self.reclaim_from_file(file, index, None);
        }
        if self.frames.word(idx).has(Flag::SwapCache) {
            self.remove_from_swap_cache(idx);
        }
        self.end_isolation(idx);
        self.disown(idx, cpu);
    }
}
