//! A compaction run from its begin to its end, with the waits between its rounds.

use order9_frames::Idx;
use order9_units::Nanos;

use crate::Mm;
use crate::compaction::run::Round;
use crate::compaction::run::control::{CompactControl, CompactId, CompactTotals, StepContext};
use crate::env::{CompactResult, SpinLock, Stall};
use crate::migrate::MigrateReason;
use crate::suitable::Suitable;
use crate::tasks::compaction::targets::{RunSources, RunTargets};
use crate::tasks::migrate::run::migrate_pages;

/// Sleep of a run while too many pages are isolated: 100 ms.
const ISOLATED_WAIT: Nanos = Nanos::new(100_000_000);

/// Result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunEnd {
    pub(crate) result: CompactResult,
    pub(crate) totals: CompactTotals,
    pub(crate) captured: Option<Idx>,
}

/// Takes a run that [`Mm::compact_begin`] has begun to its end.
pub(crate) async fn compact_zone<E: Stall>(env: &E, id: CompactId) -> RunEnd {
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
    let (source, mode) = env.with(|mm| {
        let run = mm.compact_runs.get_mut(id);
        // All of a batch are from one pageblock.
        (run.migratepages.first().map_or(0, |idx| idx.block() as u32), run.mode)
    });
    let (mut sources, mut targets) = (RunSources(id), RunTargets(id));
    let moved = migrate_pages(env, &mut sources, &mut targets, mode, MigrateReason::Compaction).await;
    let cpu = env.cpu();
    env.with(|mm| {
        let run = mm.compact_runs.get_mut(id);
        run.context.cpu = cpu;
        mm.pages.record_batch(run, &moved, source, &mut mm.phys)
    })
}

impl Mm {
    /// Begins a run; an error if a block is free already or compaction cannot help.
    pub(crate) fn compact_begin(&mut self, mut run: CompactControl) -> Result<CompactId, CompactResult> {
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
