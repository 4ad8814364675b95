//! Reclaiming a chunk from the tail of an inactive list: its pages are isolated by one step and dealt with by the next.
//!
//! Key types: [`Chunk`] (the pages in between), `Outcome` (what becomes of one). What is decided about a page, in which
//! order, is in [`super::judge`].

use alloc::vec::Vec;

use order9_frames::{Idx, ZoneId};
use order9_units::Order;

use super::control::ReclaimControl;
use super::pass::Pass;
use super::stats::{PassStats, ReclaimFlags};
use super::walk::Walk;
use crate::Mm;
use crate::lru_list::{LruList, LruType};
use crate::page_flags::{PageFlag, PageWord};
use crate::space::Owner;
use crate::trace::{Event, Tracer};

/// Pages taken off one inactive list until they are dealt with.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    /// A zone that the set of lists serves.
    zone: ZoneId,
    of: LruType,
    /// Pages looked at.
    scanned: u64,
    pub(super) isolated: Vec<Idx>,
}

impl Chunk {
    pub(super) const NONE: Self = Self { zone: ZoneId(0), of: LruType::File, scanned: 0, isolated: Vec::new() };
}

/// What becomes of an isolated page.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Back to the head of its inactive list.
    Keep,
    /// To the active list.
    Activate,
    /// Freed.
    Free,
    /// A huge page that is now base pages, all of which are still to be dealt with.
    Split,
}

/// What a chunk came to.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) stats: PassStats,
    /// Pages kept for another round since they were in use.
    pub(super) referenced: u64,
    /// Pages whose write was started.
    pub(super) written: u64,
    /// Pages were unmapped, and CPUs may still have their translations.
    pub(super) unflushed: bool,
    activated: u64,
    freed: u64,
    /// What huge pages were split into.
    pub(super) parts: Vec<Idx>,
    /// CPU it runs on.
    pub(super) cpu: usize,
}

impl<T: Tracer> Mm<T> {
    /// Isolates up to `pages` pages from the tail of an inactive list.
    pub(super) fn isolate_chunk(&mut self, run: &mut ReclaimControl, pass: &Pass, list: LruList, pages: u64) {
        let mut walk = Walk::new(self.lru.zones[pass.zone.index()].list(list), list, run.reclaim_idx);
        let mut taken = 0;
        while taken < pages
            && let Some(idx) = self.oldest(&mut walk)
        {
            taken += self.frames.word(idx).frames();
            self.isolate_lru(idx);
            run.chunk.isolated.push(idx);
        }
        let scanned = taken + walk.skipped;
        self.trace(|| Event::LruIsolate {
            class: run.reclaim_idx,
            order: run.order,
            requested: pages,
            scanned,
            skipped: walk.skipped,
            taken,
            list,
        });
        self.work.pages_isolated += run.chunk.isolated.len() as u64;
        self.lock_lru(self.frames.zones()[pass.zone.index()].node(), 1);
        self.lru.pressure[pass.set].note_scan(LruType::of(list), taken, 0);
        self.note_scanned(pass.set, scanned);
        (run.chunk.zone, run.chunk.of, run.chunk.scanned) = (pass.zone, LruType::of(list), scanned);
        run.nr_scanned += scanned;
        self.counters.pgscan_mut(run.by).add(self.frames.zones()[pass.zone.index()].kind(), scanned);
    }

    /// Frees what can be freed of the pages isolated before; the others go back to a list. Returns pages freed.
    pub(super) fn reclaim_chunk(&mut self, run: &mut ReclaimControl, cpu: usize) -> u64 {
        let mut isolated = core::mem::take(&mut run.chunk.isolated);
        let (zone, of) = (run.chunk.zone, run.chunk.of);
        let set = self.lru_set(zone);
        let (flags, mut tally) = (self.reclaim.flags[set], Tally { cpu, ..Tally::default() });
        for idx in isolated.drain(..) {
            tally.stats.taken += self.frames.word(idx).frames();
            self.reclaim_page(run, flags, idx, &mut tally, cpu);
            for part in core::mem::take(&mut tally.parts) {
                self.reclaim_page(run, flags, part, &mut tally, cpu);
            }
        }
        self.flush_unmapped(&mut tally);
        self.lock_lru(self.frames.zones()[zone.index()].node(), 1);
        run.chunk.isolated = isolated;
        tally.stats.file_taken = if of == LruType::File { tally.stats.taken } else { 0 };
        run.stats.add(&tally.stats);
        run.wake_flushers |= tally.stats.is_all_unqueued();
        run.nr_reclaimed += tally.freed;
        self.counters.pgsteal_mut(run.by).add(self.frames.zones()[zone.index()].kind(), tally.freed);
        self.counters.pgactivate += tally.activated;
        // A page found in use or written: its type is worth less scanning.
        self.lru.pressure[set].note_scan(of, 0, tally.activated);
        self.note_lru_cost(set, of, tally.activated + tally.written);
        let node = self.frames.zone(zone).node();
        self.trace(|| Event::LruShrinkInactive {
            node,
            scanned: run.chunk.scanned,
            reclaimed: tally.freed,
            stats: tally.stats,
            activated: tally.activated,
            referenced: tally.referenced,
            priority: run.priority,
            of,
        });
        tally.freed
    }

    /// Counts pages that were freed so that a huge page can be made, and those that the free scanner will not find.
    fn account_freed(&mut self, order: Order, idx: Idx, frames: u64) {
        if order >= Order::PAGEBLOCK {
            let zone = &self.frames.zones()[self.frames.zone_around(idx).index()];
            let compaction = &self.compaction.zones[zone.id().index()];
            let is_behind = compaction.is_behind_free(zone.span(), self.frames.pfn(idx));
            self.counters.huge_reclaimed += frames;
            self.counters.huge_reclaimed_behind += if is_behind { frames } else { 0 };
        }
    }

    fn reclaim_page(&mut self, run: &mut ReclaimControl, flags: ReclaimFlags, idx: Idx, tally: &mut Tally, cpu: usize) {
        let frames = self.frames.word(idx).frames();
        match self.judge(run, flags, idx, tally) {
            Outcome::Keep => self.putback_lru(idx),
            Outcome::Activate => {
                tally.activated += frames;
                self.workingset_activation(idx);
                self.move_lru(idx, self.frames.word(idx).lru_type().active());
                self.putback_lru(idx);
            }
            Outcome::Free => {
                tally.freed += frames;
                self.account_freed(run.order, idx, frames);
                self.drop_page(idx, cpu);
            }
            Outcome::Split => {}
        }
    }

    /// Unmaps a page, the flush of its translations being put off.
    pub(super) fn unmap_unflushed(&mut self, tally: &mut Tally, unmap: impl FnOnce(&mut Self)) {
        let before = self.work.tlb_flushes;
        unmap(self);
        tally.unflushed |= self.work.tlb_flushes > before;
        self.work.tlb_flushes = before;
    }

    /// Flushes the translations of all pages that were unmapped: before any of them is written, and at the end of a chunk.
    pub(super) fn flush_unmapped(&mut self, tally: &mut Tally) {
        self.work.tlb_flushes += u64::from(core::mem::take(&mut tally.unflushed));
    }

    /// Counts what reclaim of a type has cost a set of lists.
    pub(crate) fn note_lru_cost(&mut self, set: usize, of: LruType, cost: u64) {
        if cost > 0 {
            let lru_pages = self.lru_sizes(set).iter().sum();
            self.lru.pressure[set].note_cost(of, cost, lru_pages);
        }
    }

    /// Frees an isolated page that nobody maps or pins, and takes it out of its file or the swap cache.
    fn drop_page(&mut self, idx: Idx, cpu: usize) {
        if let Owner::File { file, index } = self.user.rmap.owner(idx) {
            let shadow = self.workingset_eviction(idx);
            self.reclaim_from_file(file, index, Some(shadow));
        }
        if self.frames.word(idx).has(PageFlag::SwapCache) {
            self.evict_to_swap(idx);
        }
        self.end_isolation(idx);
        self.disown(idx, cpu);
    }
}
