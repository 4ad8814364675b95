//! A run from start to end, `compact_zone` of Linux: rounds of isolating pages, moving them, and draining what that
//! freed.
//!
//! Each step looks at one pageblock or moves one batch. [`control`] is the state of a run, [`end_conditions`] says when
//! it is over.

pub(in crate::compaction) mod account;
pub(in crate::compaction) mod capture;
pub(in crate::compaction) mod control;
pub(in crate::compaction) mod drain;
pub(in crate::compaction) mod end_conditions;

use order9_frames::Idx;
use order9_units::{Nanos, Order};

use crate::Mm;
use crate::compaction::Compaction;
use crate::compaction::run::control::{CompactControl, CompactId, CompactTotals, Compactor, StepContext};
use crate::compaction::run::end_conditions::Finished;
use crate::compaction::source::Isolate;
use crate::compaction::target::RunTargets;
use crate::env::{CompactResult, SpinLock, Stall};
use crate::migrate::{MigrateMode, MigrateReason, Migrated, migrate_pages};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::suitable::Suitable;
use crate::trace::{CompactEvent, Event, ScanEnds, Tracer};

/// Sleep of a run while too many pages are isolated: 100 ms.
const ISOLATED_WAIT: Nanos = Nanos::new(100_000_000);

/// Result of a round up to the move of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compaction) enum Round {
    /// Start the next round.
    Next,
    /// Move the pages that the run holds.
    Migrate,
    /// Sleep, then start the next round.
    Sleep,
    /// The run is over.
    Over(CompactResult),
}

/// Result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compaction) struct RunEnd {
    pub(in crate::compaction) result: CompactResult,
    pub(in crate::compaction) totals: CompactTotals,
    pub(in crate::compaction) captured: Option<Idx>,
}

/// Takes a run that [`Mm::compact_begin`] has begun to its end.
pub(in crate::compaction) async fn compact_zone<E: Stall>(env: &E, id: CompactId) -> RunEnd {
    let gives_way = env.with(|mm| mm.phys.policy.compaction.gives_way && !mm.compact_runs.get_mut(id).by.is_direct());
    let result = loop {
        if gives_way {
            env.make_way().await;
        }
        let context = context(env, id);
        match env.with(|mm| mm.compact_step(id, context)) {
            Round::Next => {}
            Round::Migrate => {
                env.spend().await;
                if let Some(result) = migrate_batch(env, id).await {
                    break result;
                }
            }
            Round::Sleep => env.sleep(ISOLATED_WAIT).await,
            Round::Over(result) => break result,
        }
        env.spend().await;
    };
    let end = env.with(|mm| mm.compact_end(id, result));
    env.spend().await;
    end
}

fn context<E: Stall>(env: &E, id: CompactId) -> StepContext {
    let (zone, node) = env.with(|mm| {
        let zone = mm.compact_runs.get_mut(id).zone;
        (zone, mm.phys.frames.zone(zone).node())
    });
    StepContext {
        resched: env.need_resched(),
        fatal: env.task().oom_victim,
        lru_busy: env.lock_busy(SpinLock::Lru(node)),
        zone_busy: env.lock_busy(SpinLock::Zone(zone)),
        cpu: env.cpu(),
    }
}

/// Moves the pages that the run holds; returns a result if that ends the run.
async fn migrate_batch<E: Stall>(env: &E, id: CompactId) -> Option<CompactResult> {
    let (mut sources, mode) = env.with(|mm| {
        let run = mm.compact_runs.get_mut(id);
        (core::mem::take(&mut run.migratepages), run.mode)
    });
    // All of a batch are from one pageblock.
    let source = sources.first().map_or(0, |idx| idx.block() as u32);
    let moved = migrate_pages(env, &mut sources, &mut RunTargets(id), mode, MigrateReason::Compaction).await;
    let cpu = env.cpu();
    env.with(|mm| {
        let run = mm.compact_runs.get_mut(id);
        run.migratepages = sources;
        run.context.cpu = cpu;
        mm.pages.record_batch(run, &moved, source, &mut mm.phys)
    })
}

impl<T: Tracer> Mm<T> {
    /// Begins a run; an error if a block is free already or compaction cannot help.
    pub(in crate::compaction) fn compact_begin(&mut self, mut run: CompactControl) -> Result<CompactId, CompactResult> {
        if let Some(order) = run.order {
            match self.phys.trace_suitable(&run, order) {
                Suitable::Continue => {}
                Suitable::Success => return Err(CompactResult::Success),
                Suitable::Skipped | Suitable::NotSuitableZone => return Err(CompactResult::Skipped),
            }
            if self.compaction.compaction_restarting(run.zone, order, run.asker, &self.phys) {
                self.compaction.reset_isolation_suitable(run.zone, &mut self.phys);
            }
        }
        self.compaction.place_scanners(&mut run, &self.phys);
        self.phys.open_account(&mut run);
        self.phys.trace_scanners(&run, None);
        Ok(self.compact_runs.begin(run))
    }

    /// Runs one round up to the move of a batch.
    fn compact_step(&mut self, id: CompactId, context: StepContext) -> Round {
        let run = self.compact_runs.get_mut(id);
        run.context = context;
        self.compaction.round(run, &mut self.phys, &mut self.pages)
    }

    /// Ends a run: unused free frames go back to the allocator.
    fn compact_end(&mut self, id: CompactId, result: CompactResult) -> RunEnd {
        self.phys.frames.watch_mut().capture = None;
        let mut run = self.compact_runs.end(id);
        self.pages.putback_movable_pages(&mut run, &mut self.phys);
        self.phys.release_claim(&mut run);
        self.compaction.release_targets(&mut run, &mut self.phys);
        self.phys.close_account(&mut run);
        self.phys.counters.compact_migrate_scanned += run.totals.migrate_scanned;
        self.phys.counters.compact_free_scanned += run.totals.free_scanned;
        self.phys.trace_scanners(&run, Some(result));
        // What was captured is the task's, however the run has ended.
        let result = if run.captured.is_some() { CompactResult::Success } else { result };
        RunEnd { result, totals: run.totals, captured: run.captured }
    }
}

impl<T: Tracer> PhysMem<T> {
    fn trace_suitable(&mut self, run: &CompactControl, order: Order) -> Suitable {
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

    /// Ends a round: drains freed frames, and looks whether the task has captured its block.
    fn end_round(&mut self, run: &mut CompactControl) -> Round {
        self.drain_past_range(run);
        run.captured = run.captured.or_else(|| self.take_captured());
        self.count_emptied(run);
        if run.captured.is_some() { Round::Over(CompactResult::Success) } else { Round::Next }
    }

    fn trace_scanners(&mut self, run: &CompactControl, status: Option<CompactResult>) {
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
    fn round(&mut self, run: &mut CompactControl, phys: &mut PhysMem<impl Tracer>, pages: &mut UsedPages) -> Round {
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
                phys.end_round(run)
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
    fn record_batch(
        &mut self,
        run: &mut CompactControl,
        done: &Migrated,
        source: u32,
        phys: &mut PhysMem<impl Tracer>,
    ) -> Option<CompactResult> {
        let (migrated, left) = (done.moved + done.freed, run.migratepages.len() as u64);
        phys.trace(|| {
            let failed = if done.out_of_targets { left } else { done.failed };
            Event::Compaction(CompactEvent::Migratepages { migrated, failed })
        });
        run.nr_migratepages = 0;
        phys.count_moves(run, migrated, source);
        if run.claim.is_some() {
            return self.record_claim_batch(run, done, phys);
        }
        if done.failed > 0 {
            self.putback_movable_pages(run, phys);
            if done.out_of_targets && !run.scanners_met() {
                return Some(CompactResult::Contended);
            }
            if run.skips_on_failure() {
                // The rest of the range cannot become a block any more.
                run.migrate_pfn = run.range_end(run.migrate_pfn - order9_units::Pages::new(1));
                run.last_migrated = None;
            }
        }
        match phys.end_round(run) {
            Round::Over(result) => Some(result),
            _ => None,
        }
    }
}
