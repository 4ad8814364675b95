//! `order9 validate`: real kernels and the lab from the same memory, side by side.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use order9_host::available_memory;
use order9_lab::scenario::{LivePlan, Named, Scenario};
use order9_lab::{Cell, Fidelity, Observer, Plan, fidelity, live_inputs};
use order9_machine::Tick;
use order9_record::{Existing, Experiment, Inputs, Outcome, Run, Target};
use order9_referee::guest::{Accel, GuestSpec};
use order9_snapshot::{Snapshot, format};
use order9_workloads::{Parameters, Value};
use serde::Serialize;
use tempfile::TempDir;

use crate::args::ValidateArgs;
use crate::bench::guest::{Booted, in_guest, job, specs, title};
use crate::bench::{live_plan, machine};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::run::{command, refused};

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// Verdicts for programs.
#[derive(Serialize)]
struct Json<'a> {
    workload: &'a str,
    kernels: &'a [Fidelity],
}

/// Judges every kernel, prints a table for each, and stores what was asked for.
pub(crate) fn run(args: &ValidateArgs) -> Result<(), Failure> {
    let mut plan = live_plan(&args.what, args.chosen())?;
    plan.seeds = (1..=args.runs).collect();
    if args.kernels.kernels.is_empty() {
        return Err(usage(
            "--kernel: expected a kernel at least, linux-6.12 for instance; `order9 kernels list` names some",
        ));
    }
    let place = Place::new(args)?;
    let mut judged: Vec<Fidelity> = Vec::new();
    for spec in specs(&args.kernels)? {
        let others: Vec<&str> = judged.iter().map(|fidelity| fidelity.kernel.as_str()).collect();
        let fidelity = one(args, &plan, &spec, &others, &place)?;
        if !args.json {
            print(&format!("{fidelity}\n"))?;
        }
        judged.push(fidelity);
    }
    let json = Json { workload: plan.workload.name(), kernels: &judged };
    place.keep(&json)?;
    if args.json {
        print_json(&json)?;
    }
    let (all, good) = judged.iter().map(Fidelity::score).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
    if good == all {
        Ok(())
    } else {
        Err(Failure::Short(format!("{} of {all} quantities are outside their goals", all - good)))
    }
}

/// One kernel against the lab.
fn one(
    args: &ValidateArgs,
    plan: &LivePlan,
    spec: &GuestSpec,
    others: &[&str],
    place: &Place,
) -> Result<Fidelity, Failure> {
    let Booted { mut guest, facts, notes } = Booted::new(spec, args.kernels.deterministic)?;
    let parameters = plan.parameters(&facts.for_workloads()).map_err(usage)?;
    let title = title(&facts.kernel, others);
    // Counted instructions are a time like any other to a lab that has the prices of such a guest.
    let time_is_real = match guest.accel() {
        Accel::Kvm => true,
        Accel::Counted => args.prices.is_some(),
        Accel::Tcg => false,
    };
    let start = guest.map().map_err(usage)?;
    let saved = guest.save().map_err(usage)?;
    let mut real = Vec::new();
    for &seed in &plan.seeds {
        real.push(in_guest(&saved, &job(plan, &parameters, seed, false, &[]), &title, &notes)?.run);
    }
    drop(saved);
    whole(&real)?;
    let folder = place.folder(&title)?;
    let start = keep_start(&folder, &start)?;
    let lab_plan = lab_plan(args, plan, &parameters, &start)?;
    let lab = in_lab(&lab_plan)?;
    whole(&lab.runs)?;
    let compared =
        fidelity(plan.workload, &real.iter().collect::<Vec<_>>(), &lab.runs.iter().collect::<Vec<_>>(), time_is_real);
    if place.is_kept {
        let inputs = live_inputs(plan, &parameters, machine("guest", &facts), &[&title]);
        store(args, &folder.join("real"), &Experiment::new(inputs, real))?;
        store(args, &folder.join("lab"), &lab)?;
    }
    Ok(compared)
}

/// Refuses to judge runs that broke off: they did less than others.
fn whole(runs: &[Run]) -> Result<(), Failure> {
    let broken = runs.iter().find(|run| run.outcome != Outcome::Completed);
    broken.map_or(Ok(()), |run| {
        let why = run.outcome.message().unwrap_or_default();
        Err(usage(format!("{}, run {}: {why}", run.policy, run.seed)))
    })
}

fn keep_start(folder: &Path, start: &Snapshot) -> Result<PathBuf, Failure> {
    let path = folder.join("start.o9snap");
    let mut content = Vec::new();
    format::write(start, &mut content).map_err(|error| Failure::file(&path, error))?;
    fs::write(&path, content).map_err(|error| Failure::file(&path, error))?;
    Ok(path)
}

fn store(args: &ValidateArgs, directory: &Path, experiment: &Experiment) -> Result<(), Failure> {
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    let target = Target::new(directory, existing).map_err(|error| refused(&error))?;
    target.write(experiment, &[]).map(drop).map_err(|error| refused(&error))
}

/// Plan of the same experiment for the lab: the parameters are those of the real machine.
fn lab_plan(args: &ValidateArgs, plan: &LivePlan, parameters: &Parameters, start: &Path) -> Result<Plan, Failure> {
    let mut named = Named::One(Box::new(Scenario::of(plan.workload)));
    let start = start.to_str().ok_or_else(|| usage("the directory has a name that is no text"))?;
    let mut options = vec![("--machine", start.to_owned()), ("--policy", args.policy.clone())];
    options.extend(args.prices.iter().map(|prices| ("--prices", prices.clone())));
    options.extend(parameters.iter().map(|(key, value)| ("--param", format!("{key}={}", text_of(value)))));
    options.extend(plan.settings.iter().map(|(name, value)| ("--set", format!("{name}={value}"))));
    options.push(("--seeds", plan.seeds.len().to_string()));
    for (option, text) in &options {
        named.argument(option, text).map_err(usage)?;
    }
    let Named::One(scenario) = named else { unreachable!("a workload is one experiment") };
    scenario.within(available_memory()).plan(command()).map_err(usage)
}

/// A value as an argument has it.
fn text_of(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => bytes.get().to_string(),
        Value::Counts(counts) => counts.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
        Value::Time(time) => format!("{}ns", time.get()),
        Value::Count(count) => count.to_string(),
        Value::Word(word) => (*word).to_owned(),
        Value::Mempolicy(policy) => policy.to_string(),
        Value::Cpus(cpus) => cpus.to_string(),
    }
}

fn in_lab(plan: &Plan) -> Result<Experiment, Failure> {
    let jobs = plan.jobs(available_memory()).map_err(|shortage| usage(format!("a run of this machine {shortage}")))?;
    let jobs = jobs.min(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    order9_lab::run(plan, jobs, &Nobody).map_err(usage)
}

/// Nobody watches.
struct Nobody;

impl Observer for Nobody {
    fn tick(&self, _: Cell, _: &Tick<'_>) {}
    fn snapshot(&self, _: Cell, _: &str, _: &Snapshot) {}
    fn ended(&self, _: Cell, _: &Run, _: &Inputs) {}
}

/// Folder that keeps results, for good or for the time of the command.
struct Place {
    root: PathBuf,
    is_kept: bool,
    _temporary: Option<TempDir>,
}

impl Place {
    fn new(args: &ValidateArgs) -> Result<Self, Failure> {
        match &args.output {
            Some(root) => {
                let is_full = fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_some());
                if is_full && !args.force {
                    return Err(Failure::file(root, "is not empty; --force replaces what it holds"));
                }
                Ok(Self { root: root.clone(), is_kept: true, _temporary: None })
            }
            None => {
                let temporary = tempfile::tempdir()?;
                Ok(Self { root: temporary.path().to_owned(), is_kept: false, _temporary: Some(temporary) })
            }
        }
    }

    /// The folder of a kernel.
    fn folder(&self, title: &str) -> Result<PathBuf, Failure> {
        let folder = self.root.join(title);
        fs::create_dir_all(&folder).map_err(|error| Failure::file(&folder, error))?;
        Ok(folder)
    }

    fn keep(&self, json: &Json<'_>) -> Result<(), Failure> {
        if !self.is_kept {
            return Ok(());
        }
        let path = self.root.join("fidelity.json");
        let text = serde_json::to_string_pretty(json).map_err(|error| Failure::file(&path, error))?;
        fs::write(&path, text + "\n").map_err(|error| Failure::file(&path, error))
    }
}
