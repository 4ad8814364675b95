//! `order9 bench`: a workload on a real kernel, this host's or those of guests.

pub(crate) mod guest;
pub(crate) mod here;

use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;

use order9_lab::scenario::{LivePlan, Real};
use order9_lab::{counter_meaning, live_inputs};
use order9_live::{Facts, Job, WireValue, own_meaning};
use order9_record::{Existing, Experiment, ExtraFile, Machine, Run, Target};
use order9_units::CounterMeaning;
use order9_workloads::Parameters;

use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::results::Results;
use crate::run::{command, ended, named, refused};

/// Runs on real kernels, a column for each.
struct Measured {
    titles: Vec<String>,
    runs: Vec<Run>,
    snapshots: Vec<ExtraFile>,
    /// Parameters of the workload, which went by the first machine.
    parameters: Parameters,
    machine: Machine,
}

/// Runs a workload, prints its tables and stores what was asked for.
pub(crate) fn run(args: &BenchArgs) -> Result<(), Failure> {
    let plan = plan(args)?;
    if args.dry_run && args.kernels.kernels.is_empty() {
        return print(&here::dry(args, &plan)?);
    }
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    let target = args.output.as_deref().map(|directory| Target::new(directory, existing)).transpose();
    let target = target.map_err(|error| refused(&error))?;
    let measured = if args.kernels.kernels.is_empty() { here::run(args, &plan) } else { guest::run(args, &plan) }?;
    let Measured { titles, runs, snapshots, parameters, machine } = measured;
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let experiment = Experiment::new(live_inputs(&plan, &parameters, machine, &titles), runs);
    let results = Results::of_live(plan.workload, &experiment, &titles, args.shown.layout.unwrap_or_default());
    if let Some(target) = &target {
        let files = [results.files().as_slice(), &snapshots].concat();
        target.write(&experiment, &files).map_err(|error| refused(&error))?;
    }
    let directory = args.output.as_deref();
    if args.json { print_json(&results.json(directory)) } else { print(&results.text(&args.shown, directory)) }?;
    ended(&experiment)
}

/// The program of a run: started by the supervisor, with a socket as standard input.
pub(crate) fn program(clock: &Path) -> Result<(), Failure> {
    let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
    let clock = File::options().read(true).write(true).open(clock).map_err(|error| Failure::file(clock, error))?;
    match order9_live::program(socket, &clock) {
        // The supervisor has heard why.
        Ok(status) => std::process::exit(status.into()),
        Err(error) => Err(Failure::Usage(error)),
    }
}

fn plan(args: &BenchArgs) -> Result<LivePlan, Failure> {
    let named = named(&args.what, args.case.as_deref(), args.chosen())?;
    let real = if args.kernels.kernels.is_empty() { Real::Host } else { Real::Guests };
    let plans = named.live(real, &command()).map_err(|error| Failure::Usage(error.to_string()))?;
    let [(_, plan)]: [_; 1] = plans.try_into().map_err(|_| {
        Failure::Usage(format!(
            "{} holds cases, expected one experiment; --case NAME makes one of them that",
            args.what
        ))
    })?;
    Ok(plan)
}

/// Place where a program runs, with its limits there.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// Directory for files.
    files: Option<&'a Path>,
    /// Bytes that are left to others.
    reserve: u64,
    keeps_snapshots: bool,
    /// Tracepoints whose events are kept.
    events: &'a [String],
}

fn job(plan: &LivePlan, parameters: &Parameters, place: Place<'_>, seed: u64) -> Job {
    Job {
        workload: plan.workload.name().to_owned(),
        parameters: parameters.iter().map(|(key, value)| (key.to_owned(), WireValue::from(value))).collect(),
        seed,
        settings: plan.paths().map(|(path, value)| (path.to_owned(), value.to_owned())).collect(),
        files: place.files.map(Path::to_owned),
        every: plan.sample_every,
        reserve: place.reserve,
        keeps_snapshots: place.keeps_snapshots,
        events: place.events.to_vec(),
        journal: None,
    }
}

/// Meaning of a counter, whether the lab has it or only real kernels do.
pub(crate) fn meaning(name: &str) -> Option<CounterMeaning> {
    counter_meaning(name).or_else(|| own_meaning(name))
}

/// A real machine, for the manifest.
pub(crate) fn machine(name: &str, facts: &Facts) -> Machine {
    let Facts { memory, cpus, nodes, kernel, disk, available } = facts;
    let disk = disk.map_or_else(String::new, |disk| format!("disk_bytes = {disk}\n"));
    let text = format!(
        "kernel = \"{kernel}\"\ncpus = {cpus}\nmemory_bytes = {memory}\nnode_bytes = {nodes:?}\navailable_bytes = {available}\n{disk}"
    );
    Machine { name: name.to_owned(), text }
}
