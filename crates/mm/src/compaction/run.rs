//! A run from its start to its end: rounds of isolating pages, moving them and returning what that freed.
//!
//! Linux' `compact_zone`. Steps are here; each looks at one pageblock or moves one batch.

use order9_frames::Idx;
use order9_units::{Nanos, Order};

use super::control::{CompactControl, CompactId, CompactTotals, Compactor, Signs};
use super::finished::Finished;
use super::source::Isolate;
use super::target::RunTargets;
use crate::Mm;
use crate::env::{CompactResult, SpinLock, Stall};
use crate::migrate::{MigrateMode, MigrateReason, Migrated, migrate_pages};
use crate::suitable::Suitable;
use crate::trace::{CompactEvent, Event, ScanEnds, Tracer};

/// How long a run sleeps while others hold too many pages: 100 ms.
const ISOLATED_WAIT: Nanos = Nanos::new(100_000_000);

/// How a round goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    /// With the next one.
    Next,
    /// The pages that the run holds are to be moved.
    Migrate,
    /// After a sleep.
    Sleep,
    /// The run is over.
    Over(CompactResult),
}

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RunEnd {
    pub(super) result: CompactResult,
    pub(super) totals: CompactTotals,
    pub(super) captured: Option<Idx>,
}

/// Runs a run that [`Mm::compact_begin`] has begun to its end.
pub(super) async fn compact_zone<E: Stall>(env: &E, id: CompactId) -> RunEnd {
    let gives_way = env.with(|mm| mm.policy.compaction.gives_way && !mm.compaction.runs.get_mut(id).by.is_direct());
    let result = loop {
        if gives_way {
            env.make_way().await;
        }
        let signs = signs(env, id);
        match env.with(|mm| mm.compact_step(id, signs)) {
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

fn signs<E: Stall>(env: &E, id: CompactId) -> Signs {
    let (zone, node) = env.with(|mm| {
        let zone = mm.compaction.runs.get_mut(id).zone;
        (zone, mm.frames.zone(zone).node())
    });
    Signs {
        resched: env.need_resched(),
        fatal: env.task().oom_victim,
        lru_busy: env.lock_busy(SpinLock::Lru(node)),
        zone_busy: env.lock_busy(SpinLock::Zone(zone)),
        cpu: env.cpu(),
    }
}

/// Moves the pages that the run holds; a result where that ends the run.
async fn migrate_batch<E: Stall>(env: &E, id: CompactId) -> Option<CompactResult> {
    let (mut sources, mode) = env.with(|mm| {
        let run = mm.compaction.runs.get_mut(id);
        (core::mem::take(&mut run.migratepages), run.mode)
    });
    // All of a batch are from one pageblock.
    let source = sources.first().map_or(0, |idx| idx.block() as u32);
    let moved = migrate_pages(env, &mut sources, &mut RunTargets(id), mode, MigrateReason::Compaction).await;
    let cpu = env.cpu();
    env.with(|mm| {
        let mut run = mm.compaction.runs.take(id);
        run.migratepages = sources;
        run.signs.cpu = cpu;
        let over = mm.batch_moved(&mut run, &moved, source);
        mm.compaction.runs.put_back(id, run);
        over
    })
}

impl<T: Tracer> Mm<T> {
    /// Begins a run, unless there is no need for one or it would be in vain.
    pub(super) fn compact_begin(&mut self, mut run: CompactControl) -> Result<CompactId, CompactResult> {
        if let Some(order) = run.order {
            match self.suitable_traced(&run, order) {
                Suitable::Continue => {}
                Suitable::Success => return Err(CompactResult::Success),
                Suitable::Skipped | Suitable::NotSuitableZone => return Err(CompactResult::Skipped),
            }
            if self.compaction_restarting(run.zone, order, run.asker) {
                self.reset_isolation_suitable(run.zone);
            }
        }
        self.set_cursors(&mut run);
        self.open_account(&mut run);
        self.trace_ends(&run, None);
        Ok(self.compaction.runs.begin(run))
    }

    fn suitable_traced(&mut self, run: &CompactControl, order: Order) -> Suitable {
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

    /// One round up to the move of a batch.
    fn compact_step(&mut self, id: CompactId, signs: Signs) -> Round {
        let mut run = self.compaction.runs.take(id);
        run.signs = signs;
        let round = self.round(&mut run);
        self.compaction.runs.put_back(id, run);
        round
    }

    fn round(&mut self, run: &mut CompactControl) -> Round {
        if self.is_indexed(run) {
            return self.indexed_round(run);
        }
        let continues = run.passing;
        if !continues {
            if let Finished::Over(result) = self.compact_finished(run) {
                return Round::Over(result);
            }
            self.note_rescan(run);
        }
        let start = run.migrate_pfn;
        match self.isolate_sources(run) {
            Isolate::Passing => Round::Next,
            Isolate::TooMany => Round::Sleep,
            Isolate::Abort => {
                self.put_back_sources(run);
                Round::Over(CompactResult::Contended)
            }
            Isolate::None => {
                if run.syncs_cached {
                    let cached = &mut self.compaction.zones[run.zone.index()].cached_migrate;
                    cached[1] = cached[0];
                }
                self.end_round(run)
            }
            Isolate::Success => {
                run.syncs_cached = false;
                self.note_isolated(run, start);
                Round::Migrate
            }
        }
    }

    /// A pageblock that the last batch came from is taken as a whole the second time, so that there is no third.
    fn note_rescan(&self, run: &mut CompactControl) {
        let block = run.migrate_pfn.align_down(Order::PAGEBLOCK);
        let again = run.last_migrated.is_some_and(|pfn| pfn.align_down(Order::PAGEBLOCK) == block);
        run.rescan = self.policy.compaction.rescan_whole_block && again;
    }

    /// Takes in what moving a batch came to; a result where that ends the run.
    fn batch_moved(&mut self, run: &mut CompactControl, done: &Migrated, source: u32) -> Option<CompactResult> {
        let (migrated, left) = (done.moved + done.freed, run.migratepages.len() as u64);
        self.trace(|| {
            let failed = if done.out_of_targets { left } else { done.failed };
            Event::Compaction(CompactEvent::Migratepages { migrated, failed })
        });
        run.nr_migratepages = 0;
        self.account_moves(run, migrated, source);
        if run.claim.is_some() {
            return self.indexed_batch_moved(run, done);
        }
        if done.failed > 0 {
            self.put_back_sources(run);
            if done.out_of_targets && !run.scanners_met() {
                return Some(CompactResult::Contended);
            }
            if run.skips_on_failure() {
                // The rest of the range cannot become a block any more.
                run.migrate_pfn = run.range_end(run.migrate_pfn - order9_units::Pages::new(1));
                run.last_migrated = None;
            }
        }
        match self.end_round(run) {
            Round::Over(result) => Some(result),
            _ => None,
        }
    }

    /// Ends a round: returns what was freed to the free lists, and looks whether the task has got its block.
    fn end_round(&mut self, run: &mut CompactControl) -> Round {
        self.drain_if_past(run);
        run.captured = run.captured.or_else(|| self.take_caught());
        self.account_emptied(run);
        if run.captured.is_some() { Round::Over(CompactResult::Success) } else { Round::Next }
    }

    /// Ends a run: frames that it has not used go back.
    fn compact_end(&mut self, id: CompactId, result: CompactResult) -> RunEnd {
        self.frames.watch_mut().capture = None;
        let mut run = self.compaction.runs.take(id);
        self.put_back_sources(&mut run);
        self.release_claim(&mut run);
        self.release_targets(&mut run);
        self.close_account(&mut run);
        self.counters.compact_migrate_scanned += run.totals.migrate_scanned;
        self.counters.compact_free_scanned += run.totals.free_scanned;
        self.trace_ends(&run, Some(result));
        // What was captured is the task's, however the run has ended.
        let result = if run.captured.is_some() { CompactResult::Success } else { result };
        RunEnd { result, totals: run.totals, captured: run.captured }
    }

    fn trace_ends(&mut self, run: &CompactControl, status: Option<CompactResult>) {
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
