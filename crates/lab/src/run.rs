//! All runs of an experiment, spread over the cores of the host; each is deterministic by itself.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use order9_machine::Tick;
use order9_record::{Experiment, Run};
use order9_snapshot::Snapshot;
use order9_workloads::Parameters;

use crate::cell::{Ran, run_cell};
use crate::error::PlanError;
use crate::inputs::inputs;
use crate::plan::{Cell, Plan};
use crate::start::Start;

/// Sees runs go on, from several threads. What it does changes no result.
pub trait Observer: Sync {
    /// The counters of a run are read.
    fn tick(&self, cell: Cell, tick: &Tick<'_>);

    /// A run has ended that asked for a snapshot of this name.
    fn snapshot(&self, cell: Cell, name: &str, snapshot: &Snapshot);

    /// A run has ended.
    fn ended(&self, cell: Cell, run: &Run);
}

/// Runs an experiment on up to `jobs` cores.
///
/// # Errors
/// The first reason, in the order of runs, for which one could not start. Then nothing is returned of the others either.
pub fn run(plan: &Plan, jobs: NonZeroUsize, observer: &dyn Observer) -> Result<Experiment, PlanError> {
    let start = Start::new(plan)?;
    let cells: Vec<Cell> = plan.cells().collect();
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(&cell) = cells.get(at) else { break };
            let run = run_cell(plan, &start, cell, |tick| observer.tick(cell, tick));
            let run = run.map(|Ran { run, parameters, snapshots }| {
                snapshots.iter().for_each(|(name, snapshot)| observer.snapshot(cell, name, snapshot));
                observer.ended(cell, &run);
                (run, parameters)
            });
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, run));
        }
    };
    thread::scope(|scope| {
        (0..jobs.get().min(cells.len())).for_each(|_| {
            scope.spawn(work);
        });
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    let done = done.into_iter().map(|(_, run)| run).collect::<Result<Vec<_>, PlanError>>()?;
    let (runs, parameters): (Vec<Run>, Vec<Parameters>) = done.into_iter().unzip();
    // All cells have the same machine, and so the same parameters.
    let first = parameters.first().expect("an experiment has a policy and a seed");
    Ok(Experiment::new(inputs(plan, first), runs))
}
