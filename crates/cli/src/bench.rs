//! `order9 bench`: a workload on the kernel of this host.

use std::fmt::Write as _;
use std::fs::File;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use order9_lab::scenario::{LivePlan, Named};
use order9_lab::{counter_meaning, live_inputs};
use order9_live::{Facts, Job, Journal, Undone, WireValue, own_meaning, read_facts};
use order9_record::{Existing, Experiment, ExtraFile, Machine, Target};
use order9_referee::{bench, check_host, journal_directory, reserve_of};
use order9_units::{Bytes, CounterMeaning};
use order9_workloads::Parameters;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::output::{print, print_json, say};
use crate::results::Results;
use crate::run::{command, ended, refused};

/// Runs a workload on this host, prints its tables and stores what was asked for.
pub(crate) fn run(args: &BenchArgs) -> Result<(), Failure> {
    let plan = plan(args)?;
    let usage = |error: &dyn std::fmt::Display| Failure::Usage(error.to_string());
    let facts = facts(args)?;
    let parameters = plan.parameters(&facts.for_workloads()).map_err(|error| usage(&error))?;
    let job = job(args, &plan, &parameters, &facts);
    if args.dry_run {
        return print(&dry(&job, &plan, &facts));
    }
    check_host().map_err(|error| usage(&error))?;
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    let target = args.output.as_deref().map(|directory| Target::new(directory, existing)).transpose();
    let target = target.map_err(|error| refused(&error))?;
    let (journal, undone) = Journal::open(journal_directory()).map_err(|error| usage(&error))?;
    tell(&undone, "left by an order9 that was killed")?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let title = format!("live-{}", facts.kernel);
    let measured = all(&plan, &job, &title, &journal, &interrupted);
    let undone = journal.restore().map_err(|error| usage(&error))?;
    tell(&Undone { restored: Vec::new(), ..undone }, "")?;
    let (runs, snapshots) = measured?;
    let experiment = Experiment::new(live_inputs(&plan, &parameters, machine(&facts), &title), runs);
    let results = Results::of_live(plan.workload, &experiment, &title, args.shown.layout.unwrap_or_default());
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
    let refused = |error: order9_lab::scenario::ScenarioError| Failure::Usage(error.to_string());
    let mut named = Named::read(&args.what).map_err(refused)?;
    for (option, text) in args.chosen() {
        named.argument(option, text).map_err(refused)?;
    }
    match named {
        Named::One(scenario) => scenario.live(command()).map_err(refused),
        Named::Cases(_) => Err(Failure::Usage(format!("{} holds cases, expected one experiment", args.what))),
    }
}

/// The size of this machine, less what is to be left to others.
fn facts(args: &BenchArgs) -> Result<Facts, Failure> {
    let unknown = |error| Failure::Usage(format!("the size of this machine: {error}"));
    let read = |reserve: Bytes| read_facts(reserve.get(), args.files.as_deref()).map_err(unknown);
    let whole = read(Bytes::ZERO)?;
    let reserve = args.reserve.unwrap_or_else(|| reserve_of(Bytes::new(whole.memory)));
    let facts = read(reserve)?;
    if facts.available == 0 {
        let available = whole.available >> 20;
        let text = format!("{available} MiB of memory are available, and {} are to be left", reserve.get() >> 20);
        return Err(Failure::Usage(text));
    }
    Ok(facts)
}

fn job(args: &BenchArgs, plan: &LivePlan, parameters: &Parameters, facts: &Facts) -> Job {
    let reserve = args.reserve.unwrap_or_else(|| reserve_of(Bytes::new(facts.memory)));
    Job {
        workload: plan.workload.name().to_owned(),
        parameters: parameters.iter().map(|(key, value)| (key.to_owned(), WireValue::from(value))).collect(),
        seed: plan.seeds[0],
        settings: plan.paths().map(|(path, value)| (path.to_owned(), value.to_owned())).collect(),
        files: args.files.clone(),
        every: plan.sample_every,
        reserve: reserve.get(),
        keeps_snapshots: args.output.is_some(),
        journal: None,
    }
}

/// Every run of the plan, one after another.
fn all(
    plan: &LivePlan,
    job: &Job,
    title: &str,
    journal: &Journal,
    interrupted: &AtomicBool,
) -> Result<(Vec<order9_record::Run>, Vec<ExtraFile>), Failure> {
    let (mut runs, mut snapshots) = (Vec::new(), Vec::new());
    for &seed in &plan.seeds {
        let job = Job { seed, journal: Some(journal.path().to_owned()), ..job.clone() };
        let benched = bench(&job, title, journal, interrupted, "program", &meaning);
        let benched = benched.map_err(|error| Failure::Usage(error.to_string()))?;
        runs.push(benched.run);
        snapshots.extend(benched.snapshots);
        if benched.interrupted {
            break;
        }
    }
    Ok((runs, snapshots))
}

/// Meaning of a counter, whether the lab has it or only real kernels do.
fn meaning(name: &str) -> Option<CounterMeaning> {
    counter_meaning(name).or_else(|| own_meaning(name))
}

/// The machine, for the manifest.
fn machine(facts: &Facts) -> Machine {
    let Facts { memory, cpus, nodes, kernel, disk, available } = facts;
    let mut text = format!(
        "kernel = \"{kernel}\"\ncpus = {cpus}\nmemory_bytes = {memory}\nnode_bytes = {nodes:?}\navailable_bytes = {available}\n"
    );
    if let Some(disk) = disk {
        writeln!(text, "disk_bytes = {disk}").expect("text can be written");
    }
    Machine { name: "live".to_owned(), text }
}

/// What a run would do.
fn dry(job: &Job, plan: &LivePlan, facts: &Facts) -> String {
    let mib = |bytes: u64| bytes >> 20;
    let mut text = format!(
        "{} on Linux {}, {} CPUs, {} MiB of memory, {} of them available beside {} that are left to others\n",
        job.workload,
        facts.kernel,
        facts.cpus,
        mib(facts.memory),
        mib(facts.available),
        mib(job.reserve)
    );
    let mut line = |name: &str, value: &str| writeln!(text, "  {name:36} {value}").expect("text can be written");
    line("runs, one after another", &plan.seeds.len().to_string());
    let files = job.files.as_deref().map_or_else(|| "on a tmpfs of its own".to_owned(), order9_escape::path);
    line("files", &files);
    for (path, value) in &job.settings {
        let now = std::fs::read_to_string(path).unwrap_or_else(|_| "not there".to_owned());
        line(path, &format!("{} -> {value}, and back", now.trim_end()));
    }
    text + "nothing was changed\n"
}

/// Says which settings were put back, and which were not.
fn tell(undone: &Undone, why: &str) -> Result<(), Failure> {
    for (path, value) in &undone.restored {
        say(&format!("order9: {path} = {value} again: {why}\n"))?;
    }
    for (path, error) in &undone.failed {
        say(&format!("order9: {path} could not be put back: {error}\n"))?;
    }
    Ok(())
}
