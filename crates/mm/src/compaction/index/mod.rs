//! Runs by the pageblock index: a run claims the cheapest pageblock, empties it and hands it out, or tries the next one.
//!
//! One step claims a pageblock, isolates a batch of its pages, or ends the claim. Apart from one inspection before the
//! claim, a run looks at no frame that it does not move.

pub(crate) mod claim;
pub(crate) mod inspect;
pub(crate) mod reserve;
pub(crate) mod target;

use order9_frames::{FrameState, Idx};
use order9_units::{Order, PfnRange};

use crate::compact_result::CompactResult;
use crate::compaction::run::Round;
use crate::compaction::run::control::{CompactControl, Compactor};
use crate::compaction::run::end_conditions::Finished;
use crate::compaction::{BLOCK, CLUSTER};
use crate::migrate::Migrated;
use crate::migrate_reason::MigrateMode;
use crate::pages::UsedPages;
use crate::pages::wake::reserve::BACKGROUND_COST_MAX;
use crate::phys::PhysMem;
use crate::trace::{CompactEvent, Event};

/// Pageblocks that a run claims in vain before it gives up.
const FAILED_CLAIMS_MAX: u32 = 8;
/// Pageblocks that a run inspects in vain before it gives up: all of them cost less than moving the pages of one.
const FAILED_INSPECTIONS_MAX: u32 = 64;
/// Inspections of a claimed pageblock before the run abandons it.
const INSPECTIONS_MAX: u8 = 3;
impl PhysMem {
    /// Whether the run claims whole pageblocks by the index; smaller and larger orders are left to the scanners.
    pub(in crate::compaction) fn is_indexed(&self, run: &CompactControl) -> bool {
        self.policy.compaction.uses_index() && run.order.is_none_or(|order| order == Order::PAGEBLOCK)
    }

    /// Result of the run if it is over before another claim.
    fn claims_finished(&self, run: &mut CompactControl) -> Option<CompactResult> {
        if run.failed_claims >= FAILED_CLAIMS_MAX || run.failed_inspections >= FAILED_INSPECTIONS_MAX {
            return Some(CompactResult::Complete);
        }
        let judged = match run.order {
            _ if run.by == Compactor::Proactive => self.finished_by_score(run),
            _ if run.by == Compactor::Reserve => self.finished_by_reserve(run),
            Some(order) => self.finished_by_lists(run, order),
            None => Finished::Continue,
        };
        match judged {
            Finished::Over(result) => Some(result),
            Finished::Continue | Finished::NoSuitablePage => None,
        }
    }

    /// Hands over the claimed pageblock, which is free from end to end.
    fn hand_over_emptied(&mut self, run: &mut CompactControl) -> Round {
        let captures = run.by.is_direct() && self.policy.compaction.capture;
        let Some(first) = self.finish_claim(run) else { return Round::Next };
        self.count_claim(run, first);
        if captures {
            self.counters.compact_captured += 1;
            run.captured = Some(first);
            return Round::Over(CompactResult::Success);
        }
        self.frames.release_held_block(first, Order::PAGEBLOCK);
        let wants_one = run.order.is_some() || run.by == Compactor::Reserve;
        if wants_one { Round::Over(CompactResult::Success) } else { Round::Next }
    }
}

impl UsedPages {
    /// Runs one round up to the move of a batch.
    pub(in crate::compaction) fn claim_round(&mut self, run: &mut CompactControl, phys: &mut PhysMem) -> Round {
        if run.captured.is_some() {
            return Round::Over(CompactResult::Success);
        }
        if run.context.fatal {
            return Round::Over(CompactResult::Contended);
        }
        if self.too_many_isolated(run, phys) {
            // Unlike the scanners, a run waits once: its own task may hold the pages, as one that takes memory offline does.
            let hurried = run.mode == MigrateMode::Async || core::mem::replace(&mut run.waited, true);
            return if hurried { Round::Over(CompactResult::Contended) } else { Round::Sleep };
        }
        run.waited = false;
        match run.claim {
            None => self.claim_cheapest(run, phys),
            Some(_) => self.isolate_from_claim(run, phys),
        }
    }

    /// Claims the cheapest pageblock, unless the run is over or no pageblock is worth it.
    fn claim_cheapest(&self, run: &mut CompactControl, phys: &mut PhysMem) -> Round {
        if let Some(result) = phys.claims_finished(run) {
            return Round::Over(result);
        }
        let source = phys.frames.index().and_then(|index| index.cheapest(run.zone));
        let too_expensive = |used| run.by == Compactor::Proactive && used >= BACKGROUND_COST_MAX;
        let Some(source) = source.filter(|source| !too_expensive(source.used)) else {
            return Round::Over(CompactResult::Complete);
        };
        let first = Idx((source.block as u32) << Order::PAGEBLOCK.get());
        let contents = self.inspect(run, first, phys);
        if contents.has_unmovable {
            run.failed_inspections += 1;
            phys.penalize_source(first);
            return Round::Next;
        }
        phys.claim(run, first, contents.pages);
        if contents.has_pcp {
            // Free frames in per-CPU lists cannot merge; while the pageblock is claimed, its frames bypass the lists.
            phys.frames.drain_zone(run.zone);
        }
        Round::Next
    }

    /// Isolates the next batch of the claimed pageblock; ends the claim once no page is left.
    fn isolate_from_claim(&mut self, run: &mut CompactControl, phys: &mut PhysMem) -> Round {
        let Some(mut claim) = run.claim else { return Round::Next };
        while run.isolated_pages() < CLUSTER
            && let Some(frame) = claim.pages.pop()
        {
            let idx = claim.first.plus(frame);
            let word = phys.frames.word(idx);
            if matches!(word.state(), FrameState::Allocated { .. }) && self.may_isolate_frame(run, idx, word, phys) {
                self.lru.isolate_lru(idx, phys);
                run.add_source(idx, word);
            }
        }
        run.claim = Some(claim);
        if !run.migratepages.is_empty() {
            self.count_claimed_batch(run, claim.first, phys);
            return Round::Migrate;
        }
        if u64::from(phys.frames.blocks()[claim.first.block()].free) == BLOCK.get() {
            return phys.hand_over_emptied(run);
        }
        self.inspect_again(run, phys)
    }

    fn count_claimed_batch(&mut self, run: &mut CompactControl, first: Idx, phys: &mut PhysMem) {
        let taken = run.begin_batch();
        let node = phys.frames.zone(run.zone).node();
        self.lru.lock.take(node, 1);
        self.lru.lock.count_isolated(run.migratepages.len() as u64);
        phys.counters.compact_isolated += taken as u64;
        let start = phys.frames.pfn(first);
        phys.trace(|| {
            let (range, taken) = (PfnRange::new(start, start + BLOCK), taken as u64);
            Event::Compaction(CompactEvent::IsolateMigratepages { range, scanned: taken, taken })
        });
    }

    /// Inspects the claimed pageblock again: it holds pages that are new or could not be isolated.
    fn inspect_again(&self, run: &mut CompactControl, phys: &mut PhysMem) -> Round {
        let Some(claim) = run.claim else { return Round::Next };
        let contents = self.inspect(run, claim.first, phys);
        if contents.has_pcp {
            phys.frames.drain_zone(run.zone);
        }
        let progress = contents.has_pcp || !contents.pages.is_empty();
        if contents.has_unmovable || !progress || claim.inspections == INSPECTIONS_MAX {
            phys.abandon_claim(run);
            return Round::Next;
        }
        run.claim = Some(crate::compaction::index::claim::Claim {
            pages: contents.pages,
            inspections: claim.inspections + 1,
            ..claim
        });
        Round::Next
    }

    /// Records the move of a batch of the claim; returns a result if that ends the run.
    pub(in crate::compaction) fn record_claim_batch(
        &mut self,
        run: &mut CompactControl,
        done: &Migrated,
        phys: &mut PhysMem,
    ) -> Option<CompactResult> {
        if done.failed == 0 {
            return None;
        }
        self.putback_movable_pages(run, phys);
        if done.out_of_targets {
            return Some(CompactResult::Contended);
        }
        phys.abandon_claim(run);
        None
    }
}
