//! All runs of an experiment, spread over the cores of the host; each is deterministic by itself.

use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use order9_machine::{Thread, Tick};
use order9_record::{Experiment, Inputs, Run};
use order9_snapshot::Snapshot;
use order9_snapshot::maps::MapSeries;
use order9_workloads::Stop;

use crate::cell::{Ran, run_cell};
use crate::error::PlanError;
use crate::inputs::{asked, inputs};
use crate::plan::{Cell, Plan};
use crate::start::Start;

/// Sees runs go on, from several threads. An observer changes no result, and passes over what it does not ask for.
pub trait Observer: Sync {
    /// The counters of a run are read.
    fn tick(&self, _cell: Cell, _tick: &Tick<'_>) {}

    /// Whoever keeps the snapshots that runs ask for. `None` is nobody, and then none is made.
    fn keeper(&self) -> Option<&dyn Keeper> {
        None
    }

    /// A run has ended that took maps of memory.
    fn maps(&self, _cell: Cell, _maps: &MapSeries) {}

    /// A run has ended. `inputs` are those of the whole experiment.
    fn ended(&self, _cell: Cell, _run: &Run, _inputs: &Inputs) {}

    /// Raised where nobody wants further results: runs that go on end soon, and count as never made. `None` is never.
    fn stop(&self) -> Option<Arc<AtomicBool>> {
        None
    }
}

/// Keeps the snapshots of runs.
pub trait Keeper {
    /// A run has ended that asked for a snapshot of this name.
    fn snapshot(&self, cell: Cell, name: &str, snapshot: &Snapshot);
}

/// A program from outside the workloads, for a plan whose workload is [`Workload::Own`](order9_workloads::Workload::Own).
pub trait Program: Send + Sync {
    /// Begins the program of a run, as its first thread.
    fn begin(&self, cell: Cell, thread: Thread) -> Pin<Box<dyn Future<Output = Result<(), Stop>>>>;
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

/// Like [`run`], with `program` as the program of every run.
///
/// # Errors
/// As those of [`run`].
pub fn run_own(
    plan: &Plan,
    program: &Arc<dyn Program>,
    jobs: NonZeroUsize,
    observer: &dyn Observer,
) -> Result<Experiment, PlanError> {
    make(plan, Some(program), jobs, observer, Finished::default())
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
    make(plan, None, jobs, observer, finished)
}

fn make(
    plan: &Plan,
    program: Option<&Arc<dyn Program>>,
    jobs: NonZeroUsize,
    observer: &dyn Observer,
    finished: Finished,
) -> Result<Experiment, PlanError> {
    let cells: Vec<Cell> = plan.cells().filter(|&cell| !finished.has(plan, cell)).collect();
    let Finished { mut inputs, mut runs } = finished;
    if !cells.is_empty() {
        let start = Start::new(plan)?;
        let keeps_snapshots = observer.keeper().is_some();
        let making = Making { plan, start: &start, program, keeps_snapshots, stop: observer.stop() };
        for done in making.run_cells(&cells, jobs, observer) {
            let (run, given) = done?;
            // All cells have the same machine, and so the same parameters.
            inputs.get_or_insert(given);
            runs.push(run);
        }
    }
    // Only where it was stopped is there no run.
    Ok(Experiment::new(inputs.unwrap_or_else(|| asked(plan)), runs))
}

/// Runs the first cell of an experiment in this thread. A caller with a schedule of its own makes experiments of one cell.
///
/// # Errors
/// The reason for which it could not start.
pub fn run_first(plan: &Plan) -> Result<(Run, Inputs), PlanError> {
    let cell = plan.cells().next().expect("an experiment has a policy and a seed");
    let making = Making { plan, start: &Start::new(plan)?, program: None, keeps_snapshots: false, stop: None };
    let Ran { run, parameters, .. } = run_cell(&making, cell, |_| ())?;
    Ok((run, inputs(plan, parameters.iter())))
}

/// All that runs of an experiment have in common.
pub(crate) struct Making<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) start: &'a Start,
    /// Program of the runs; `None` is the workload of the plan.
    pub(crate) program: Option<&'a Arc<dyn Program>>,
    /// Whether somebody wants the snapshots that runs ask for.
    pub(crate) keeps_snapshots: bool,
    /// Raised where nobody wants further results.
    pub(crate) stop: Option<Arc<AtomicBool>>,
}

impl Making<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Runs of `cells`, in their order.
    fn run_cells(
        &self,
        cells: &[Cell],
        jobs: NonZeroUsize,
        observer: &dyn Observer,
    ) -> impl Iterator<Item = Result<(Run, Inputs), PlanError>> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(&cell) = cells.get(at).filter(|_| !self.is_stopped()) else { break };
                let ran = run_cell(self, cell, |tick| observer.tick(cell, tick));
                if self.is_stopped() {
                    break;
                }
                let ran = ran.map(|ran| self.ended(cell, ran, observer));
                done.lock().unwrap_or_else(PoisonError::into_inner).push((at, ran));
            }
        };
        // One at a time runs where the caller is: a program from outside may be at home on that thread.
        match jobs.get().min(cells.len()) {
            1 => work(),
            jobs => thread::scope(|scope| {
                (0..jobs).for_each(|_| {
                    scope.spawn(work);
                });
            }),
        }
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, ran)| ran)
    }

    /// Tells the observer what came of a run.
    fn ended(&self, cell: Cell, ran: Ran, observer: &dyn Observer) -> (Run, Inputs) {
        let Ran { run, parameters, snapshots, maps } = ran;
        if let Some(keeper) = observer.keeper() {
            snapshots.iter().for_each(|(name, snapshot)| keeper.snapshot(cell, name, snapshot));
        }
        if !maps.is_empty() {
            observer.maps(cell, &maps);
        }
        let inputs = inputs(self.plan, parameters.iter());
        observer.ended(cell, &run, &inputs);
        (run, inputs)
    }
}
