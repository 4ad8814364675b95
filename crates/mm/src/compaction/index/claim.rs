//! Claims: a pageblock belongs to one run until it is empty, so that nobody fills it meanwhile.
//!
//! A claimed pageblock is of type Isolate: its free frames do not count as free, nothing is allocated from it, and frames
//! freed in it bypass per-CPU lists. The end of the claim restores its type.

use order9_frames::{Class, Idx, Word};
use order9_units::{Migratetype, Order};

use crate::compaction::index::inspect::FrameSet;
use crate::compaction::run::control::CompactControl;
use crate::phys::PhysMem;

/// Pageblock that a run empties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compaction) struct Claim {
    pub(in crate::compaction) first: Idx,
    /// Type of the pageblock before the claim.
    pub(super) was: Migratetype,
    /// Free frames of the pageblock before the claim.
    pub(super) free: u16,
    /// Pages that are still to be isolated.
    pub(super) pages: FrameSet,
    /// Number of inspections so far.
    pub(super) inspections: u8,
}

impl PhysMem {
    /// Claims the pageblock at `first`, which holds nothing but `pages` and free frames.
    pub(super) fn claim(&mut self, run: &mut CompactControl, first: Idx, pages: FrameSet) {
        let own = self.frames.blocks()[first.block()];
        run.claim = Some(Claim { first, was: own.migratetype, free: own.free, pages, inspections: 1 });
        self.frames.lock_zone(run.zone);
        self.frames.retype_with_free_blocks(run.zone, first, Migratetype::Isolate);
    }

    /// Ends the claim on a pageblock that is empty: the run holds its block from now on. The pageblock keeps its former
    /// type even for a huge page of the kernel, so that nothing else of the kernel comes here once that is freed.
    pub(super) fn finish_claim(&mut self, run: &mut CompactControl) -> Option<Idx> {
        let claim = run.claim.take()?;
        let first = claim.first;
        self.frames.lock_zone(run.zone);
        self.frames.retype_with_free_blocks(run.zone, first, claim.was);
        self.frames.remove_from_list(run.zone, first);
        self.frames.count_out(first, Order::PAGEBLOCK, Class::Free);
        self.frames.count_in(first, Order::PAGEBLOCK, Class::Isolated);
        self.frames.set(first, Word::held(Order::PAGEBLOCK));
        self.counters.index_emptied += 1;
        Some(first)
    }

    /// Ends the claim of a run, if it has one, and restores the type of the pageblock.
    pub(crate) fn release_claim(&mut self, run: &mut CompactControl) {
        if let Some(claim) = run.claim.take() {
            self.frames.lock_zone(run.zone);
            self.frames.retype_with_free_blocks(run.zone, claim.first, claim.was);
        }
    }

    /// Ends the claim on a pageblock that could not be emptied.
    pub(super) fn abandon_claim(&mut self, run: &mut CompactControl) {
        let first = run.claim.map(|claim| claim.first);
        self.release_claim(run);
        if let Some(first) = first {
            run.failed_claims += 1;
            self.penalize_source(first);
        }
    }

    /// Makes a pageblock that could not be emptied more expensive.
    pub(super) fn penalize_source(&mut self, first: Idx) {
        self.counters.index_failed += 1;
        let block = first.block();
        self.frames.penalize(block);
    }
}
