//! The free scanner: walks down a zone from pageblock to pageblock and isolates free frames for the pages that are to
//! move.
//!
//! [`free_lists`] may find frames without a scan. Frames are held one by one, and unused ones go back when the run ends.

pub(crate) mod block_scan;
pub(crate) mod free_lists;

use order9_units::{Migratetype, Order, Pfn};

use crate::compaction::run::control::CompactControl;
use crate::compaction::target::free_lists::fast_isolate_freepages;
use crate::compaction::{BLOCK, CLUSTER, Compaction};
use crate::migrate_reason::MigrateMode;
use crate::phys::PhysMem;
use crate::policy::{TargetSearch, TargetStride};

impl Compaction {
    /// Isolates free frames for the batch, if there are any (`isolate_freepages`).
    pub(crate) fn isolate_freepages(&mut self, run: &mut CompactControl, phys: &mut PhysMem) {
        if run.claim.is_some() {
            return phys.hold_indexed_targets(run);
        }
        if run.contended && !phys.policy.compaction.contention_finish_block {
            return;
        }
        match phys.policy.compaction.target_search {
            TargetSearch::Linear => {}
            TargetSearch::FreeLists | TargetSearch::Index => fast_isolate_freepages(phys, self, run),
        }
        if run.freepages.is_empty() {
            self.scan_for_targets(run, phys);
        }
    }

    /// Isolates free frames among which there may be a block of `order` for the huge page that is next.
    pub(crate) fn isolate_free_block(&mut self, run: &mut CompactControl, order: Order, phys: &mut PhysMem) {
        match run.claim {
            Some(_) => phys.hold_indexed_block(run, order),
            None => self.isolate_freepages(run, phys),
        }
    }

    fn scan_for_targets(&mut self, run: &mut CompactControl, phys: &mut PhysMem) {
        let lowest = run.migrate_pfn.align_down(Order::PAGEBLOCK) + BLOCK;
        let mut stride = match phys.policy.compaction.target_stride {
            TargetStride::Adaptive if run.mode == MigrateMode::Async => CLUSTER as u64,
            TargetStride::Adaptive | TargetStride::One => 1,
        };
        let mut at = run.free_pfn;
        let mut block = at.align_down(Order::PAGEBLOCK);
        while block >= lowest {
            phys.work.blocks_passed += 1;
            if self.suitable_migration_target(run, block, phys) {
                let end = block + BLOCK;
                let before = run.freepages.len();
                at = self.isolate_freepages_block(run, at, end, stride, phys);
                self.mark_scanned_target(run, block, at == end, phys);
                if run.has_enough_targets() || phys.gives_up_targets(run) {
                    at = if at >= end { block - BLOCK } else { at };
                    break;
                }
                if at < end {
                    break; // No more may be taken from the zone.
                }
                if phys.policy.compaction.target_stride == TargetStride::Adaptive {
                    stride = if run.freepages.len() > before { 1 } else { (2 * stride).min(CLUSTER as u64) };
                }
            }
            block = Pfn::new(block.get().saturating_sub(BLOCK.get()));
            at = block;
            if block == Pfn::new(0) {
                break;
            }
        }
        run.free_pfn = at;
    }

    fn suitable_migration_target(&self, run: &CompactControl, block: Pfn, phys: &PhysMem) -> bool {
        let Some(idx) = phys.block_in_zone(run, block) else { return false };
        let word = phys.frames.word(idx);
        let whole = word.is_free() && word.order() >= Order::PAGEBLOCK;
        let own = phys.frames.blocks()[idx.block()].migratetype;
        let of_type = match own {
            Migratetype::Movable | Migratetype::Cma => true,
            Migratetype::Isolate => false,
            _ => run.by.ignores_types(),
        };
        !whole && of_type && self.isolation_suitable(run, idx)
    }

    /// Sets the skip hint of a pageblock scanned to its end and advances the cached position. The classic scanner does so
    /// during the scan, and only if it found nothing.
    fn mark_scanned_target(&mut self, run: &CompactControl, block: Pfn, to_its_end: bool, phys: &PhysMem) {
        if phys.policy.compaction.free_cursor_slow && to_its_end {
            let idx = phys.frames.at(block);
            self.skip.set(idx.block(), true);
            self.zones[run.zone.index()].advance_free(block);
        }
    }

    /// Returns the frames that a run has not used. The cached start goes up again to the highest of them.
    pub(crate) fn release_targets(&mut self, run: &mut CompactControl, phys: &mut PhysMem) {
        let Some(&highest) = run.freepages.iter().max() else { return };
        phys.frames.lock_zone(run.zone);
        for idx in run.freepages.drain(..) {
            phys.frames.release_held_block(idx, Order::ZERO);
        }
        let block = phys.frames.pfn(highest).align_down(Order::PAGEBLOCK);
        let cached = &mut self.zones[run.zone.index()].cached_free;
        *cached = (*cached).max(block);
    }
}

impl PhysMem {
    fn gives_up_targets(&self, run: &CompactControl) -> bool {
        run.contended && !self.policy.compaction.contention_finish_block
    }
}
