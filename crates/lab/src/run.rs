//! All runs of an experiment, spread over the cores of the host; each is deterministic by itself.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use order9_machine::Tick;
use order9_record::{Experiment, Inputs, Run};
use order9_snapshot::Snapshot;
use order9_snapshot::maps::MapSeries;

use crate::cell::{Ran, run_cell};
use crate::error::PlanError;
use crate::inputs::inputs;
use crate::plan::{Cell, Plan};
use crate::start::Start;

/// Sees runs go on, from several threads. An observer changes no result, and passes over what it does not ask for.
pub trait Observer: Sync {
    /// The counters of a run are read.
    fn tick(&self, _cell: Cell, _tick: &Tick<'_>) {}

    /// A run has ended that asked for a snapshot of this name.
    fn snapshot(&self, _cell: Cell, _name: &str, _snapshot: &Snapshot) {}

    /// A run has ended that took maps of memory.
    fn maps(&self, _cell: Cell, _maps: &MapSeries) {}

    /// A run has ended. `inputs` are those of the whole experiment.
    fn ended(&self, _cell: Cell, _run: &Run, _inputs: &Inputs) {}
}

/// Observer of runs that nobody watches.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Observer for Nobody {}

/// Runs of an experiment that have ended already, in an earlier attempt at it.
#[derive(Clone, Debug, Default)]
pub struct Finished {
    /// Inputs of the runs; `None` without runs.
    pub inputs: Option<Inputs>,
    /// The runs.
    pub runs: Vec<Run>,
}

impl Finished {
    fn has(&self, plan: &Plan, cell: Cell) -> bool {
        self.runs.iter().any(|run| run.policy == plan.policies[cell.policy].name && run.seed == cell.seed)
    }
}

/// Runs an experiment on up to `jobs` cores.
///
/// # Errors
/// The first reason, in the order of runs, for which one could not start. Then nothing is returned of the others either.
pub fn run(plan: &Plan, jobs: NonZeroUsize, observer: &dyn Observer) -> Result<Experiment, PlanError> {
    resume(plan, jobs, observer, Finished::default())
}

/// Like [`run`], without the runs that have `finished` already.
///
/// # Errors
/// As those of [`run`].
pub fn resume(
    plan: &Plan,
    jobs: NonZeroUsize,
    observer: &dyn Observer,
    finished: Finished,
) -> Result<Experiment, PlanError> {
    let cells: Vec<Cell> = plan.cells().filter(|&cell| !finished.has(plan, cell)).collect();
    let Finished { mut inputs, mut runs } = finished;
    if !cells.is_empty() {
        let start = Start::new(plan)?;
        for done in run_cells(plan, &start, &cells, jobs, observer) {
            let (run, given) = done?;
            // All cells have the same machine, and so the same parameters.
            inputs.get_or_insert(given);
            runs.push(run);
        }
    }
    Ok(Experiment::new(inputs.expect("an experiment has a policy and a seed"), runs))
}

/// Runs the first cell of an experiment in this thread. A caller with a schedule of its own makes experiments of one cell.
///
/// # Errors
/// The reason for which it could not start.
pub fn run_first(plan: &Plan) -> Result<(Run, Inputs), PlanError> {
    let cell = plan.cells().next().expect("an experiment has a policy and a seed");
    let Ran { run, parameters, .. } = run_cell(plan, &Start::new(plan)?, cell, |_| ())?;
    Ok((run, inputs(plan, parameters.iter())))
}

/// Runs of `cells`, in their order.
fn run_cells(
    plan: &Plan,
    start: &Start,
    cells: &[Cell],
    jobs: NonZeroUsize,
    observer: &dyn Observer,
) -> impl Iterator<Item = Result<(Run, Inputs), PlanError>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(&cell) = cells.get(at) else { break };
            let ran = run_cell(plan, start, cell, |tick| observer.tick(cell, tick));
            let ran = ran.map(|Ran { run, parameters, snapshots, maps }| {
                snapshots.iter().for_each(|(name, snapshot)| observer.snapshot(cell, name, snapshot));
                if !maps.is_empty() {
                    observer.maps(cell, &maps);
                }
                let inputs = inputs(plan, parameters.iter());
                observer.ended(cell, &run, &inputs);
                (run, inputs)
            });
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, ran));
        }
    };
    thread::scope(|scope| {
        (0..jobs.get().min(cells.len())).for_each(|_| {
            scope.spawn(work);
        });
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, ran)| ran)
}
