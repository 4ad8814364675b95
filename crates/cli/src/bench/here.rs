//! Runs on the kernel of this host.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use order9_lab::scenario::LivePlan;
use order9_live::{Facts, Job, Journal, Undone, read_facts};
use order9_record::{ExtraFile, Run};
use order9_referee::{bench, check_host, journal_directory, reserve_of};
use order9_units::Bytes;
use order9_workloads::Parameters;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::{Measured, Place, job, machine, meaning};
use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::output::say;

fn usage(error: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// Makes all runs; every setting is as before afterwards.
pub(super) fn run(args: &BenchArgs, plan: &LivePlan) -> Result<Measured, Failure> {
    let (facts, parameters) = facts_and_parameters(args, plan)?;
    check_host().map_err(|error| usage(&error))?;
    let (journal, undone) = Journal::open(journal_directory()).map_err(|error| usage(&error))?;
    tell(&undone, "left by an order9 that was killed")?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let title = format!("live-{}", facts.kernel);
    let first = job(plan, &parameters, place(args, &facts), 0);
    let measured = all(plan, &first, &title, &journal, &interrupted);
    let undone = journal.restore().map_err(|error| usage(&error))?;
    tell(&Undone { restored: Vec::new(), ..undone }, "")?;
    let (runs, snapshots) = measured?;
    Ok(Measured { titles: vec![title], runs, snapshots, parameters, machine: machine("live", &facts) })
}

fn facts_and_parameters(args: &BenchArgs, plan: &LivePlan) -> Result<(Facts, Parameters), Failure> {
    let facts = facts(args)?;
    let parameters = plan.parameters(&facts.for_workloads()).map_err(|error| usage(&error))?;
    Ok((facts, parameters))
}

fn place<'a>(args: &'a BenchArgs, facts: &Facts) -> Place<'a> {
    let files = args.files.as_deref();
    Place { files, reserve: reserve(args, facts).get(), keeps_snapshots: args.keeps_snapshots(), events: &args.events }
}

/// Memory that is left to others.
fn reserve(args: &BenchArgs, facts: &Facts) -> Bytes {
    args.reserve.unwrap_or_else(|| reserve_of(Bytes::new(facts.memory)))
}

/// The size of this machine, less what is to be left to others.
fn facts(args: &BenchArgs) -> Result<Facts, Failure> {
    let unknown = |error| Failure::Usage(format!("the size of this machine: {error}"));
    let read = |reserve: Bytes| read_facts(reserve.get(), args.files.as_deref()).map_err(unknown);
    let whole = read(Bytes::ZERO)?;
    let reserve = reserve(args, &whole);
    let facts = read(reserve)?;
    if facts.available == 0 {
        let available = whole.available >> 20;
        let text = format!("{available} MiB of memory are available, and {} are to be left", reserve.get() >> 20);
        return Err(Failure::Usage(text));
    }
    Ok(facts)
}

/// Every run of the plan, one after another.
fn all(
    plan: &LivePlan,
    job: &Job,
    title: &str,
    journal: &Journal,
    interrupted: &AtomicBool,
) -> Result<(Vec<Run>, Vec<ExtraFile>), Failure> {
    let (mut runs, mut snapshots) = (Vec::new(), Vec::new());
    for &seed in &plan.seeds {
        let job = Job { seed, journal: Some(journal.path().to_owned()), ..job.clone() };
        let benched = bench(&job, title, journal, interrupted, "program", &meaning);
        let benched = benched.map_err(|error| usage(&error))?;
        runs.push(benched.run);
        snapshots.extend(benched.snapshots);
        if benched.interrupted {
            break;
        }
    }
    Ok((runs, snapshots))
}

/// Text that says what a run would do.
pub(super) fn dry(args: &BenchArgs, plan: &LivePlan) -> Result<String, Failure> {
    let (facts, parameters) = facts_and_parameters(args, plan)?;
    let job = job(plan, &parameters, place(args, &facts), 0);
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
    Ok(text + "nothing was changed\n")
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
