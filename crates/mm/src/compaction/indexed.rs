//! Runs that choose by the index: the cheapest pageblock is claimed, emptied and handed out, or the next one is tried.
//!
//! One step claims a pageblock, gathers a batch of its pages, or ends the claim. Nothing is looked at that is not moved, but
//! for one look at the pageblock before it is claimed.

use order9_frames::{FrameState, Idx};
use order9_units::{Order, PAGEBLOCK_PAGES, PfnRange};

use super::control::{CompactControl, Compactor};
use super::finished::Finished;
use super::run::Round;
use super::{BLOCK, CLUSTER};
use crate::env::CompactResult;
use crate::migrate::{MigrateMode, Migrated};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::trace::{CompactEvent, Event, Tracer};

/// Pageblocks that a run claims in vain before it gives up.
const FAILED_CLAIMS_MAX: u32 = 8;
/// Pageblocks that a run looks at in vain before it gives up: all of them cost less than to move the pages of one.
const FAILED_SURVEYS_MAX: u32 = 64;
/// Looks at a claimed pageblock from end to end before it is given up.
const SURVEYS_MAX: u8 = 3;
/// Pages beyond which emptying a pageblock makes more work than it saves, unless somebody waits for it.
pub(super) const BACKGROUND_COST_MAX: u16 = PAGEBLOCK_PAGES.get() as u16 / 2;

impl<T: Tracer> PhysMem<T> {
    /// Whether the run empties whole pageblocks by the index; smaller orders and larger ones are left to the scanners.
    pub(super) fn is_indexed(&self, run: &CompactControl) -> bool {
        self.policy.compaction.uses_index() && run.order.is_none_or(|order| order == Order::PAGEBLOCK)
    }

    /// How the run ends, if it does before another pageblock.
    fn indexed_finished(&self, run: &mut CompactControl) -> Option<CompactResult> {
        if run.failed_claims >= FAILED_CLAIMS_MAX || run.failed_surveys >= FAILED_SURVEYS_MAX {
            return Some(CompactResult::Complete);
        }
        let judged = match run.order {
            _ if run.by == Compactor::Proactive => self.judge_score(run),
            _ if run.by == Compactor::Ahead => self.judge_reserve(run),
            Some(order) => self.judge_lists(run, order),
            None => Finished::Continue,
        };
        match judged {
            Finished::Over(result) => Some(result),
            Finished::Continue | Finished::NoSuitablePage => None,
        }
    }

    /// The claimed pageblock is free from end to end.
    fn emptied(&mut self, run: &mut CompactControl) -> Round {
        let captures = run.by.is_direct() && self.policy.compaction.capture;
        let Some(first) = self.finish_claim(run) else { return Round::Next };
        self.account_claim(run, first);
        if captures {
            self.counters.compact_captured += 1;
            run.captured = Some(first);
            return Round::Over(CompactResult::Success);
        }
        self.frames.release_held_block(first, Order::PAGEBLOCK);
        let wants_one = run.order.is_some() || run.by == Compactor::Ahead;
        if wants_one { Round::Over(CompactResult::Success) } else { Round::Next }
    }
}

impl UsedPages {
    /// One round up to the move of a batch.
    pub(super) fn indexed_round(&mut self, run: &mut CompactControl, phys: &mut PhysMem<impl Tracer>) -> Round {
        if run.captured.is_some() {
            return Round::Over(CompactResult::Success);
        }
        if run.signs.fatal {
            return Round::Over(CompactResult::Contended);
        }
        if self.too_many_isolated(run, phys) {
            // Unlike the scanners, a run waits once: its own task may hold the pages, as one that takes memory offline does.
            let hurried = run.mode == MigrateMode::Async || core::mem::replace(&mut run.waited, true);
            return if hurried { Round::Over(CompactResult::Contended) } else { Round::Sleep };
        }
        run.waited = false;
        match run.claim {
            None => self.next_claim(run, phys),
            Some(_) => self.go_on_with_claim(run, phys),
        }
    }

    /// Claims the cheapest pageblock, unless the run has what it wants or there is none.
    fn next_claim(&self, run: &mut CompactControl, phys: &mut PhysMem<impl Tracer>) -> Round {
        if let Some(result) = phys.indexed_finished(run) {
            return Round::Over(result);
        }
        let source = phys.frames.index().and_then(|index| index.cheapest(run.zone));
        let too_expensive = |used| run.by == Compactor::Proactive && used >= BACKGROUND_COST_MAX;
        let Some(source) = source.filter(|source| !too_expensive(source.used)) else {
            return Round::Over(CompactResult::Complete);
        };
        let first = Idx((source.block as u32) << Order::PAGEBLOCK.get());
        let survey = self.survey(run, first, phys);
        if survey.keeps {
            run.failed_surveys += 1;
            phys.note_failed_source(first);
            return Round::Next;
        }
        phys.claim(run, first, survey.pages);
        if survey.has_cached {
            // Frames that others have cached cannot merge; from now on none of this pageblock are cached.
            phys.frames.drain_zone(run.zone);
        }
        Round::Next
    }

    /// Gathers the next batch of the claimed pageblock; where nothing is left of it, ends the claim.
    fn go_on_with_claim(&mut self, run: &mut CompactControl, phys: &mut PhysMem<impl Tracer>) -> Round {
        let Some(mut claim) = run.claim else { return Round::Next };
        while run.migratepages.len() < CLUSTER
            && let Some(frame) = claim.pages.pop()
        {
            let idx = claim.first.plus(frame);
            let word = phys.frames.word(idx);
            if matches!(word.state(), FrameState::Allocated { .. }) && self.may_take(run, idx, word, phys) {
                self.isolate_lru(idx, phys);
                run.migratepages.push(idx);
            }
        }
        run.claim = Some(claim);
        if !run.migratepages.is_empty() {
            self.note_gathered(run, claim.first, phys);
            return Round::Migrate;
        }
        if u64::from(phys.frames.blocks()[claim.first.block()].free) == BLOCK.get() {
            return phys.emptied(run);
        }
        self.look_again(run, phys)
    }

    fn note_gathered(&mut self, run: &mut CompactControl, first: Idx, phys: &mut PhysMem<impl Tracer>) {
        let taken = run.migratepages.len();
        run.nr_migratepages = taken;
        let node = phys.frames.zones()[run.zone.index()].node();
        self.lock_lru(node, 1, phys);
        phys.work.pages_isolated += taken as u64;
        phys.counters.compact_isolated += taken as u64;
        let start = phys.frames.pfn(first);
        phys.trace(|| {
            let (range, taken) = (PfnRange::new(start, start + BLOCK), taken as u64);
            Event::Compaction(CompactEvent::IsolateMigratepages { range, scanned: taken, taken })
        });
    }

    /// Something is left of the claimed pageblock that was not there at the last look, or could not be taken.
    fn look_again(&self, run: &mut CompactControl, phys: &mut PhysMem<impl Tracer>) -> Round {
        let Some(claim) = run.claim else { return Round::Next };
        let survey = self.survey(run, claim.first, phys);
        if survey.has_cached {
            phys.frames.drain_zone(run.zone);
        }
        let progress = survey.has_cached || !survey.pages.is_empty();
        if survey.keeps || !progress || claim.surveys == SURVEYS_MAX {
            phys.give_claim_up(run);
            return Round::Next;
        }
        run.claim = Some(super::claim::Claim { pages: survey.pages, surveys: claim.surveys + 1, ..claim });
        Round::Next
    }

    /// Takes in what moving a batch came to; a result where that ends the run.
    pub(super) fn indexed_batch_moved(
        &mut self,
        run: &mut CompactControl,
        done: &Migrated,
        phys: &mut PhysMem<impl Tracer>,
    ) -> Option<CompactResult> {
        if done.failed == 0 {
            return None;
        }
        self.put_back_sources(run, phys);
        if done.out_of_targets {
            return Some(CompactResult::Contended);
        }
        phys.give_claim_up(run);
        None
    }
}
