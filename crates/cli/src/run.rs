//! `order9 run`.

mod keeping;
mod proc_dir;
mod progress;
pub(crate) mod table;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use order9_host::available_memory;
use order9_html::runs::maps_file;
use order9_lab::scenario::Named;
use order9_lab::{Cell, Keeper, Observer, Plan};
use order9_machine::Tick;
use order9_record::{Begin, Existing, Experiment, ExtraFile, Inputs, Outcome, Partial, Run, Target, check_title};
use order9_snapshot::maps::{self, MapSeries};
use order9_snapshot::{Snapshot, format};

use crate::args::{Layout, RunArgs};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::results::Results;
use keeping::{Keeping, Left};
pub(crate) use keeping::{own_digest, refused};
use proc_dir::ProcDir;
use progress::Progress;
pub(crate) use progress::coarse;

/// Runs an experiment, prints the comparison and stores what was asked for.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let plan = match asked(args)? {
        Named::Cases(cases) => return table::run(args, cases),
        Named::One(scenario) => {
            let planned = scenario.within(available_memory()).plan(command());
            planned.map_err(|error| Failure::Usage(error.to_string()))?
        }
    };
    if plan.ablation.is_some() && args.shown.layout == Some(Layout::Mmtests) {
        return Err(Failure::Usage("--layout mmtests: there are no published tables of single switches".to_owned()));
    }
    let target = target(args, &plan)?;
    let Ran { experiment, snapshots, kept } = experiment(&Making::of(args, &plan)?, &plan, target.as_ref())?;
    let results = Results::of(&plan, &experiment, args.shown.layout.unwrap_or_default());
    if let Some(target) = &target {
        let files = [results.files().as_slice(), &snapshots].concat();
        target.write(&experiment, &files).map_err(|error| refused(&error))?;
    }
    kept.map_or(Ok(()), Partial::remove).map_err(|error| refused(&error))?;
    let directory = args.output.as_deref();
    if args.json { print_json(&results.json(directory)) } else { print(&results.text(&args.shown, directory)) }?;
    ended(&experiment)
}

/// The experiment that the arguments ask for.
fn asked(args: &RunArgs) -> Result<Named, Failure> {
    named(args.what.as_deref().unwrap_or_default(), args.case.as_deref(), args.chosen())
}

/// Experiment or cases called `what`, or one `case` of them, with the options that were given.
pub(crate) fn named<'a>(
    what: &str,
    case: Option<&str>,
    chosen: impl Iterator<Item = (&'static str, &'a str)>,
) -> Result<Named, Failure> {
    let refused = |error: order9_lab::scenario::ScenarioError| Failure::Usage(error.to_string());
    let mut named = Named::read(what).map_err(refused)?;
    if let Some(case) = case {
        named = Named::One(Box::new(named.case(case).map_err(refused)?));
    }
    for (option, text) in chosen {
        named.argument(option, text).map_err(refused)?;
    }
    Ok(named)
}

/// The command line, without the place of the program.
pub(crate) fn command() -> Vec<String> {
    let words = std::env::args_os().skip(1).map(|word| order9_escape::line(&word.to_string_lossy()).into_owned());
    std::iter::once("order9".to_owned()).chain(words).collect()
}

/// Place of the results, if they are to be stored. It is checked before the run.
pub(crate) fn target(args: &RunArgs, plan: &Plan) -> Result<Option<Target>, Failure> {
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    let target = args.output.as_deref().map(|directory| {
        plan.policies.iter().try_for_each(|policy| check_title(&policy.name))?;
        Target::new(directory, existing)
    });
    let target = target.transpose();
    target.map_err(|error| refused(&error))
}

/// Choices about making runs, beside what decides their results.
#[derive(Clone, Copy)]
pub(crate) struct Making<'a> {
    /// Number of runs at the same time.
    pub(crate) jobs: NonZeroUsize,
    /// Directory for the files of /proc and /sys.
    pub(crate) proc_dir: Option<&'a Path>,
    /// Whether results are stored, so that snapshots of workloads are wanted.
    pub(crate) stores: bool,
    /// Treatment of runs that an interrupted attempt has kept.
    pub(crate) begin: Begin,
    /// The command that goes on after an interruption, in words.
    pub(crate) to_go_on: &'static str,
    /// Name of the experiment beside the progress, where several are made.
    pub(crate) title: Option<&'a str>,
}

impl<'a> Making<'a> {
    /// As the arguments say.
    pub(crate) fn of(args: &'a RunArgs, plan: &Plan) -> Result<Self, Failure> {
        let begin = match (args.resume, args.force) {
            (true, _) => Begin::Resume,
            (false, true) => Begin::Discard,
            (false, false) => Begin::New,
        };
        Ok(Self {
            jobs: jobs(args.jobs.as_deref(), plan)?,
            proc_dir: args.proc_dir.as_deref(),
            stores: args.output.is_some(),
            begin,
            to_go_on: "the same command with --resume",
            title: None,
        })
    }
}

/// Results of all runs, and the place that keeps them until the run directory is written.
pub(crate) struct Ran {
    pub(crate) experiment: Experiment,
    /// Snapshots that workloads asked for, if results are stored.
    pub(crate) snapshots: Vec<ExtraFile>,
    /// Directory that keeps the runs until they are stored.
    pub(crate) kept: Option<Partial>,
}

/// Makes all runs, and keeps them beside `target` as they end.
pub(crate) fn experiment(making: &Making<'_>, plan: &Plan, target: Option<&Target>) -> Result<Ran, Failure> {
    let proc_dir = making.proc_dir.map(ProcDir::new).transpose()?;
    let (keeping, Left { finished, files }) = match target {
        Some(target) => Keeping::open(target, plan, making.begin).map(|(keeping, left)| (Some(keeping), left))?,
        None => (None, Left::default()),
    };
    let total = plan.cells().count();
    let took = finished.runs.iter().map(|run| run.durations.elapsed).collect();
    let progress = Arc::new(Progress::new(making.title, total, took));
    let signals = keeping.as_ref();
    let signals = signals.map(|keeping| keeping.interruptible(Arc::clone(&progress), total, making.to_go_on));
    let signals = signals.transpose()?;
    let snapshots = making.stores.then(Mutex::default);
    let watch = Watch { plan, progress, proc_dir, snapshots, keeping };
    let experiment = order9_lab::resume(plan, making.jobs, &watch, finished);
    watch.progress.clear();
    let mut experiment = match experiment {
        Ok(experiment) => experiment,
        Err(error) => {
            watch.keeping.into_iter().for_each(Keeping::give_up);
            return Err(Failure::Usage(error.to_string()));
        }
    };
    watch.proc_dir.map_or(Ok(()), ProcDir::finish)?;
    let made = watch.snapshots.unwrap_or_default().into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut snapshots: Vec<ExtraFile> = files.into_iter().chain(made.into_iter().map(|(_, file)| file)).collect();
    snapshots.sort_by(|one, other| one.name.cmp(&other.name));
    let kept = watch.keeping.map(Keeping::finish).transpose()?;
    if let Some(kept) = &kept {
        experiment.inputs.command = kept.command().to_vec();
    }
    drop(signals);
    Ok(Ran { experiment, snapshots, kept })
}

fn jobs(asked: Option<&str>, plan: &Plan) -> Result<NonZeroUsize, Failure> {
    let fit = fitting(plan)?;
    match asked.map(|text| (text, asked_jobs(text))) {
        None => Ok(fit.min(cores())),
        Some((_, Ok(jobs))) if jobs <= fit => Ok(jobs),
        Some((text, Ok(_))) => {
            Err(Failure::Usage(format!("--jobs {text}: this host has memory for {fit} at the same time")))
        }
        Some((_, Err(failure))) => Err(failure),
    }
}

/// Number of runs for which this host has memory at the same time.
pub(crate) fn fitting(plan: &Plan) -> Result<NonZeroUsize, Failure> {
    let fit = plan.jobs(available_memory());
    fit.map_err(|shortage| Failure::Usage(format!("a run of this machine {shortage}")))
}

/// Number of this host's cores.
pub(crate) fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

/// The number of jobs that was asked for.
pub(crate) fn asked_jobs(text: &str) -> Result<NonZeroUsize, Failure> {
    text.parse().map_err(|_| Failure::Usage(format!("--jobs {text}: expected a whole number from 1 on")))
}

/// Sees the runs go on.
struct Watch<'a> {
    plan: &'a Plan,
    progress: Arc<Progress>,
    proc_dir: Option<ProcDir>,
    /// Snapshots that each run has made; `None` unless results are stored.
    snapshots: Option<Mutex<Vec<(Cell, ExtraFile)>>>,
    /// Directory that stores the results.
    keeping: Option<Keeping>,
}

impl Keeper for Watch<'_> {
    fn snapshot(&self, cell: Cell, name: &str, snapshot: &Snapshot) {
        let Some(snapshots) = &self.snapshots else { return };
        let name = format!("{}-seed-{}-{name}.o9snap", self.plan.policies[cell.policy].name, cell.seed);
        let mut content = Vec::new();
        format::write(snapshot, &mut content).expect("memory takes what the lab has made");
        snapshots.lock().unwrap_or_else(PoisonError::into_inner).push((cell, ExtraFile { name, content }));
    }
}

impl Observer for Watch<'_> {
    fn tick(&self, cell: Cell, tick: &Tick<'_>) {
        let policy = &self.plan.policies[cell.policy].name;
        self.progress.tick(policy, cell, tick.now);
        if let Some(proc_dir) = self.proc_dir.as_ref().filter(|_| tick.is_usual) {
            proc_dir.tick(policy, cell.seed, tick);
        }
    }

    fn keeper(&self) -> Option<&dyn Keeper> {
        self.snapshots.is_some().then_some(self)
    }

    fn maps(&self, cell: Cell, series: &MapSeries) {
        let Some(snapshots) = &self.snapshots else { return };
        let name = maps_file(&self.plan.policies[cell.policy].name, cell.seed);
        let file = ExtraFile { name, content: maps::write(series) };
        snapshots.lock().unwrap_or_else(PoisonError::into_inner).push((cell, file));
    }

    fn ended(&self, cell: Cell, run: &Run, inputs: &Inputs) {
        if let (Some(keeping), Some(snapshots)) = (&self.keeping, &self.snapshots) {
            let all = snapshots.lock().unwrap_or_else(PoisonError::into_inner);
            let own: Vec<ExtraFile> = all.iter().filter(|(of, _)| *of == cell).map(|(_, file)| file.clone()).collect();
            drop(all);
            keeping.keep(inputs, run, &own);
        }
        self.progress.ended(cell, run.durations.elapsed);
    }
}

/// The first run that did not come to its end.
pub(crate) fn ended(experiment: &Experiment) -> Result<(), Failure> {
    let message = |run: &Run| {
        let message = run.outcome.message()?;
        Some(format!("{} under {}, seed {}: {message}", experiment.inputs.workload.name, run.policy, run.seed))
    };
    let others = experiment.runs.iter().filter(|run| run.outcome != Outcome::Completed).count().saturating_sub(1);
    let Some(first) = experiment.runs.iter().find_map(message) else { return Ok(()) };
    let others = if others == 0 { String::new() } else { format!(" (and {others} more of the runs did not end)") };
    Err(Failure::Usage(format!("{first}{others}")))
}
