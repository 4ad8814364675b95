//! Reclaiming a chunk from the tail of an inactive list: its pages are isolated by one step and dealt with by the next.
//!
//! Key types: [`Chunk`] (the pages in between), `Outcome` (what becomes of one). What is decided about a page, in which
//! order, is in [`super::shrink_page`].

use alloc::vec::Vec;

use order9_frames::{Idx, ZoneId};
use order9_units::Order;

use crate::compaction::Compaction;
use crate::lru_list::{LruList, LruType};
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::reclaim::Reclaim;
use crate::reclaim::control::ReclaimControl;
use crate::reclaim::pass::Pass;
use crate::reclaim::walk::Walk;
use crate::reclaimer::PassStats;
use crate::space::Owner;
use crate::trace::Event;

/// Pages taken off one inactive list until they are dealt with.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    /// A zone that the set of lists serves.
    pub(super) zone: ZoneId,
    of: LruType,
    /// Pages looked at.
    scanned: u64,
    pub(super) isolated: Vec<Idx>,
}

impl Chunk {
    pub(super) const NONE: Self = Self { zone: ZoneId(0), of: LruType::File, scanned: 0, isolated: Vec::new() };
}

/// Fate of an isolated page.
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

/// Result of a chunk.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) stats: PassStats,
    /// Pages kept for another round since they were in use.
    pub(super) referenced: u64,
    /// Pages whose write was started.
    pub(super) written: u64,
    /// Pages were unmapped, and CPUs may still have their translations.
    unflushed: bool,
    activated: u64,
    freed: u64,
    /// Parts of huge pages that were split.
    pub(super) parts: Vec<Idx>,
    /// CPU it runs on.
    pub(super) cpu: usize,
}

impl UsedPages {
    /// Isolates up to `pages` pages from the tail of an inactive list.
    pub(super) fn isolate_chunk(
        &mut self,
        run: &mut ReclaimControl,
        pass: &Pass,
        list: LruList,
        pages: u64,
        phys: &mut PhysMem,
    ) {
        self.lru.lock.take(phys.frames.zones()[pass.zone.index()].node(), 1);
        let mut walk = Walk::new(self.lru.zones[pass.zone.index()].list(list), list, run.reclaim_idx);
        let mut taken = 0;
        while taken < pages
            && let Some(idx) = self.oldest(&mut walk, phys)
        {
            taken += phys.frames.word(idx).frames();
            self.lru.isolate_lru(idx, phys);
            run.chunk.isolated.push(idx);
        }
        let scanned = taken + walk.skipped;
        phys.trace(|| Event::LruIsolate {
            class: run.reclaim_idx,
            order: run.order,
            requested: pages,
            scanned,
            skipped: walk.skipped,
            taken,
            list,
        });
        self.lru.lock.count_isolated(run.chunk.isolated.len() as u64);
        self.lru.pressure[pass.set].note_scan(LruType::of(list), taken, 0);
        phys.note_scanned(pass.set, scanned);
        (run.chunk.zone, run.chunk.of, run.chunk.scanned) = (pass.zone, LruType::of(list), scanned);
        run.nr_scanned += scanned;
        phys.counters.pgscan_mut(run.by).add(phys.frames.zones()[pass.zone.index()].kind(), scanned);
    }

    /// Frees an isolated page that nobody maps or pins, and takes it out of its file or the swap cache.
    fn drop_page(&mut self, idx: Idx, cpu: usize, phys: &mut PhysMem) {
        if let Owner::File { file, index } = self.rmap.owner(idx) {
            let shadow = self.lru.workingset_eviction(idx, phys);
            self.reclaim_from_file(file, index, Some(shadow), phys);
            self.free_tree_nodes(cpu, phys);
        }
        if phys.frames.word(idx).has(PageFlag::SwapCache) {
            self.evict_to_swap(idx, phys);
        }
        self.lru.end_isolation(idx, phys);
        match self.rmap.owner(idx) {
            Owner::Huge => self.disown_huge(idx, cpu, phys),
            _ => self.disown(idx, cpu, phys),
        }
        phys.trace_free_batched(idx);
    }
}

impl Reclaim {
    /// Frees what can be freed of the pages isolated before; the others go back to a list. Returns pages freed.
    pub(super) fn reclaim_chunk(
        &self,
        run: &mut ReclaimControl,
        cpu: usize,
        phys: &mut PhysMem,
        pages: &mut UsedPages,
        compaction: &Compaction,
    ) -> u64 {
        let (zone, of) = (run.chunk.zone, run.chunk.of);
        let set = phys.lru_set(zone);
        let mut tally = Tally { cpu, ..Tally::default() };
        for at in 0..run.chunk.isolated.len() {
            let idx = run.chunk.isolated[at];
            tally.stats.taken += phys.frames.word(idx).frames();
            self.reclaim_page(run, idx, &mut tally, phys, pages, compaction);
            for part in core::mem::take(&mut tally.parts) {
                self.reclaim_page(run, part, &mut tally, phys, pages, compaction);
            }
        }
        run.chunk.isolated.clear();
        phys.flush_unmapped(&mut tally);
        pages.lru.lock.take(phys.frames.zones()[zone.index()].node(), 1);
        tally.stats.file_taken = if of == LruType::File { tally.stats.taken } else { 0 };
        run.stats.add(&tally.stats);
        run.wake_flushers |= tally.stats.is_all_unqueued();
        run.nr_reclaimed += tally.freed;
        phys.counters.pgsteal_mut(run.by).add(phys.frames.zones()[zone.index()].kind(), tally.freed);
        phys.counters.pgactivate += tally.activated;
        // A page found in use or written: its type is worth less scanning.
        pages.lru.pressure[set].note_scan(of, 0, tally.activated);
        pages.lru.note_lru_cost(set, of, tally.activated + tally.written, phys);
        let node = phys.frames.zone(zone).node();
        phys.trace(|| Event::LruShrinkInactive {
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

    fn reclaim_page(
        &self,
        run: &mut ReclaimControl,
        idx: Idx,
        tally: &mut Tally,
        phys: &mut PhysMem,
        pages: &mut UsedPages,
        compaction: &Compaction,
    ) {
        let frames = phys.frames.word(idx).frames();
        match self.shrink_page(run, idx, tally, phys, pages) {
            Outcome::Keep => pages.lru.putback_lru(idx, phys),
            Outcome::Activate => {
                tally.activated += frames;
                pages.lru.workingset_activation(idx, phys);
                pages.lru.move_lru(idx, phys.frames.word(idx).lru_type().active(), phys);
                pages.lru.putback_lru(idx, phys);
            }
            Outcome::Free => {
                tally.freed += frames;
                compaction.account_freed(run.order, idx, frames, phys);
                pages.drop_page(idx, tally.cpu, phys);
            }
            Outcome::Split => {}
        }
    }
}

impl Compaction {
    /// Counts pages that were freed so that a huge page can be made, and those that the free scanner will not find.
    fn account_freed(&self, order: Order, idx: Idx, frames: u64, phys: &mut PhysMem) {
        if order >= Order::PAGEBLOCK {
            let zone = &phys.frames.zones()[phys.frames.zone_around(idx).index()];
            let compaction = &self.zones[zone.id().index()];
            let is_behind = compaction.has_free_scanner_passed(zone.span(), phys.frames.pfn(idx));
            phys.counters.huge_reclaimed += frames;
            phys.counters.huge_reclaimed_behind += if is_behind { frames } else { 0 };
        }
    }
}

impl PhysMem {
    /// Puts the flush off for a page that was just unmapped; `before` is how many flushes were counted until then.
    pub(super) const fn put_off_flush(&mut self, before: u64, tally: &mut Tally) {
        tally.unflushed |= self.work.tlb_flushes > before;
        self.work.tlb_flushes = before;
    }

    /// Flushes the translations of all pages that were unmapped: before any of them is written, and at the end of a chunk.
    pub(super) fn flush_unmapped(&mut self, tally: &mut Tally) {
        self.work.tlb_flushes += u64::from(core::mem::take(&mut tally.unflushed));
    }
}
