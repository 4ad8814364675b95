//! Claims: a pageblock belongs to one run until it is empty, so that nobody fills what the run empties.
//!
//! A claimed pageblock is of type Isolate: its free frames do not count as free, nothing is allocated from it, and what is
//! freed in it bypasses per-CPU lists. Its end gives it its type back.

use order9_frames::{Class, Idx, Word};
use order9_units::{Migratetype, Order};

use crate::compaction::index::inspect::FrameSet;
use crate::compaction::run::control::CompactControl;
use crate::phys::PhysMem;
use crate::trace::Tracer;

/// A pageblock that a run empties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compaction) struct Claim {
    pub(in crate::compaction) first: Idx,
    /// The type it had.
    pub(super) was: Migratetype,
    /// Frames that were free.
    pub(super) free: u16,
    /// FrameSet that are still to be taken.
    pub(super) pages: FrameSet,
    /// How often it was looked at as a whole.
    pub(super) inspections: u8,
}

impl<T: Tracer> PhysMem<T> {
    /// Claims the pageblock at `first`, which holds nothing but `pages` and free frames.
    pub(super) fn claim(&mut self, run: &mut CompactControl, first: Idx, pages: FrameSet) {
        let own = self.frames.blocks()[first.block()];
        run.claim = Some(Claim { first, was: own.migratetype, free: own.free, pages, inspections: 1 });
        self.frames.lock_zone(run.zone);
        self.frames.retype_with_free_blocks(run.zone, first, Migratetype::Isolate);
    }

    /// Ends the claim on a pageblock that is empty: its block is held from now on. The pageblock has_unmovable the type it had, also
    /// for a huge page of the kernel: once that is freed, nothing else of the kernel should come here.
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

    /// Ends the claim of a run, if it has one: the pageblock is as any other again.
    pub(in crate::compaction) fn release_claim(&mut self, run: &mut CompactControl) {
        if let Some(claim) = run.claim.take() {
            self.frames.lock_zone(run.zone);
            self.frames.retype_with_free_blocks(run.zone, claim.first, claim.was);
        }
    }

    /// The same where something in the pageblock could not be moved.
    pub(super) fn abandon_claim(&mut self, run: &mut CompactControl) {
        let first = run.claim.map(|claim| claim.first);
        self.release_claim(run);
        if let Some(first) = first {
            run.failed_claims += 1;
            self.penalize_source(first);
        }
    }

    /// A pageblock could not be emptied.
    pub(super) fn penalize_source(&mut self, first: Idx) {
        self.counters.index_failed += 1;
        let block = first.block();
        self.frames.penalize(block);
    }
}
