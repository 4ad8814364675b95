//! A run from start to end, `compact_zone` of Linux: rounds of isolating pages, moving them, and draining what that
//! freed.
//!
//! Each step looks at one pageblock or moves one batch. [`control`] is the state of a run, [`end_conditions`] says when
//! it is over.

pub(crate) mod account;
pub(crate) mod capture;
pub(crate) mod control;
pub(crate) mod drain;
pub(crate) mod end_conditions;

use order9_units::Order;

use crate::compact_result::CompactResult;
use crate::compaction::Compaction;
use crate::compaction::run::control::{CompactControl, Compactor};
use crate::compaction::run::end_conditions::Finished;
use crate::compaction::source::Isolate;
use crate::migrate::Migrated;
use crate::migrate_reason::MigrateMode;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::suitable::Suitable;
use crate::trace::{CompactEvent, Event, ScanEnds};

/// Result of a round up to the move of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// Start the next round.
    Next,
    /// Move the pages that the run holds.
    Migrate,
    /// Sleep, then start the next round.
    Sleep,
    /// The run is over.
    Over(CompactResult),
}

impl PhysMem {
    pub(crate) fn trace_suitable(&mut self, run: &CompactControl, order: Order) -> Suitable {
        let suitable = match run.by {
            Compactor::Kcompactd => self.suitable_for_kcompactd(self.frames.zone(run.zone), order, run.class),
            _ => self.compaction_suitable(run.zone, order, run.class, &run.flags),
        };
        let zone = self.frames.zone(run.zone);
        let (node, kind) = (zone.node(), zone.kind());
        self.trace(|| {
            let status = match suitable {
                Suitable::Success => "success",
                Suitable::Continue => "continue",
                Suitable::Skipped => "skipped",
                Suitable::NotSuitableZone => "not_suitable_zone",
            };
            Event::Compaction(CompactEvent::Suitable { node, zone: kind, order, status })
        });
        suitable
    }

    /// Has a pageblock that the last batch came from scanned to its end the second time, so that there is no third.
    fn set_rescan(&self, run: &mut CompactControl) {
        let block = run.migrate_pfn.align_down(Order::PAGEBLOCK);
        let again = run.last_migrated.is_some_and(|pfn| pfn.align_down(Order::PAGEBLOCK) == block);
        run.rescan = self.policy.compaction.rescan_whole_block && again;
    }

    /// Ends a round that has moved pages or found none: drains freed frames, and looks whether the task has captured its
    /// block. Where the look comes before the drain, a block that the drain completes ends the run after its next batch.
    fn end_round(&mut self, run: &mut CompactControl, moved: bool) -> Round {
        let looks_first = self.policy.compaction.capture_before_drain;
        run.captured = run.captured.or_else(|| self.take_captured());
        if looks_first && moved && run.captured.is_some() {
            self.count_emptied(run);
            return Round::Over(CompactResult::Success);
        }
        self.drain_past_range(run);
        run.captured = run.captured.or_else(|| self.take_captured());
        self.count_emptied(run);
        if !looks_first && run.captured.is_some() { Round::Over(CompactResult::Success) } else { Round::Next }
    }

    pub(crate) fn trace_scanners(&mut self, run: &CompactControl, status: Option<CompactResult>) {
        let zone = self.frames.zone(run.zone).span();
        let ends = ScanEnds {
            zone,
            migrate_pfn: run.migrate_pfn,
            free_pfn: run.free_pfn,
            sync: run.mode != MigrateMode::Async,
        };
        self.trace(|| {
            Event::Compaction(match status {
                None => CompactEvent::Begin(ends),
                Some(status) => CompactEvent::End { ends, status },
            })
        });
    }
}

impl Compaction {
    pub(crate) fn round(&mut self, run: &mut CompactControl, phys: &mut PhysMem, pages: &mut UsedPages) -> Round {
        if phys.is_indexed(run) {
            return pages.claim_round(run, phys);
        }
        let continues = run.continues_search;
        if !continues {
            if let Finished::Over(result) = self.compact_finished(run, phys) {
                return Round::Over(result);
            }
            phys.set_rescan(run);
        }
        let start = run.migrate_pfn;
        match self.isolate_migratepages(run, phys, pages) {
            Isolate::Unfinished => Round::Next,
            Isolate::TooMany => Round::Sleep,
            Isolate::Abort => {
                pages.putback_movable_pages(run, phys);
                Round::Over(CompactResult::Contended)
            }
            Isolate::None => {
                if run.update_cached {
                    let cached = &mut self.zones[run.zone.index()].cached_migrate;
                    cached[1] = cached[0];
                }
                phys.end_round(run, false)
            }
            Isolate::Success => {
                run.update_cached = false;
                phys.note_last_migrated(run, start);
                Round::Migrate
            }
        }
    }
}

impl UsedPages {
    /// Records the move of a batch; returns a result if that ends the run.
    pub(crate) fn record_batch(
        &mut self,
        run: &mut CompactControl,
        done: &Migrated,
        source: u32,
        phys: &mut PhysMem,
    ) -> Option<CompactResult> {
        let (migrated, frames) = (done.moved + done.freed, |&idx| phys.frames.word(idx).frames());
        let left: u64 = run.migratepages.iter().map(frames).sum();
        phys.trace(|| {
            let failed = if done.out_of_targets { left } else { done.failed };
            Event::Compaction(CompactEvent::Migratepages { migrated, failed })
        });
        run.end_batch();
        phys.count_moves(run, migrated, source);
        if run.claim.is_some() {
            return self.record_claim_batch(run, done, phys);
        }
        if done.failed > 0 {
            self.putback_movable_pages(run, phys);
            if done.out_of_targets && !run.scanners_met() {
                return Some(CompactResult::Contended);
            }
            if phys.policy.compaction.finish_on_failure {
                if run.may_finish_block() {
                    run.finish_block();
                    return None;
                }
            } else if run.skips_on_failure() {
                // The rest of the range cannot become a block any more.
                run.migrate_pfn = run.range_end(run.migrate_pfn - order9_units::Pages::new(1));
                run.last_migrated = None;
            }
        }
        match phys.end_round(run, true) {
            Round::Over(result) => Some(result),
            _ => None,
        }
    }
}
