//! Runs on the kernel of this host.

use std::fmt::Write as _;
use std::path::PathBuf;
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

/// This host as a place to run programs; every setting is as before once [`close`](Self::close) has been called, and at the next start of
/// order9 where it was not.
pub(crate) struct Host {
    options: HostOptions,
    facts: Facts,
    journal: Journal,
    interrupted: Arc<AtomicBool>,
}

/// Choices about runs on this host.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostOptions {
    /// Directory for files of workloads; a tmpfs otherwise.
    pub(crate) files: Option<PathBuf>,
    /// Memory that is left to others, if not the default.
    pub(crate) reserve: Option<Bytes>,
    pub(crate) keeps_snapshots: bool,
    pub(crate) events: Vec<String>,
}

/// Runs of a plan, with the snapshots that they asked for.
#[derive(Default)]
pub(crate) struct Runs {
    pub(crate) runs: Vec<Run>,
    pub(crate) snapshots: Vec<ExtraFile>,
}

impl Host {
    /// Opens the host, and puts back what an order9 left that was killed.
    ///
    /// # Errors
    /// A host on which nothing must be run, or where another instance works.
    pub(crate) fn open(options: HostOptions) -> Result<Self, Failure> {
        let facts = facts(&options)?;
        check_host().map_err(|error| usage(&error))?;
        let (journal, undone) = Journal::open(journal_directory()).map_err(|error| usage(&error))?;
        tell(&undone, "left by an order9 that was killed")?;
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
        }
        Ok(Self { options, facts, journal, interrupted })
    }

    /// The size of the machine, less what is left to others.
    pub(crate) const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Memory that is left to others.
    pub(crate) fn reserve(&self) -> Bytes {
        reserve(&self.options, &self.facts)
    }

    /// Title of its column.
    pub(crate) fn title(&self) -> String {
        format!("live-{}", self.facts.kernel)
    }

    /// Every run of the plan, one after another, until somebody interrupts one.
    pub(crate) fn measure(&self, plan: &LivePlan, parameters: &Parameters) -> Result<Runs, Failure> {
        let job = job(plan, parameters, place(&self.options, &self.facts), 0);
        let mut measured = Runs::default();
        for &seed in &plan.seeds {
            let job = Job { seed, journal: Some(self.journal.path().to_owned()), ..job.clone() };
            let benched = bench(&job, &self.title(), &self.journal, &self.interrupted, "program", &meaning);
            let benched = benched.map_err(|error| usage(&error))?;
            measured.runs.push(benched.run);
            measured.snapshots.extend(benched.snapshots);
            if benched.interrupted {
                break;
            }
        }
        Ok(measured)
    }

    /// Puts every setting back.
    pub(crate) fn close(self) -> Result<(), Failure> {
        let undone = self.journal.restore().map_err(|error| usage(&error))?;
        tell(&Undone { restored: Vec::new(), ..undone }, "")
    }
}

impl From<&BenchArgs> for HostOptions {
    fn from(args: &BenchArgs) -> Self {
        Self {
            files: args.files.clone(),
            reserve: args.reserve,
            keeps_snapshots: args.keeps_snapshots(),
            events: args.events.clone(),
        }
    }
}

/// Makes all runs.
pub(super) fn run(args: &BenchArgs, plan: &LivePlan) -> Result<Measured, Failure> {
    let options = HostOptions::from(args);
    // What the machine does not admit is refused before anything else.
    let parameters = plan.parameters(&facts(&options)?.for_workloads()).map_err(|error| usage(&error))?;
    let host = Host::open(options)?;
    let (titles, machine) = (vec![host.title()], machine("live", host.facts()));
    let measured = host.measure(plan, &parameters);
    host.close()?;
    let Runs { runs, snapshots } = measured?;
    Ok(Measured { titles, runs, snapshots, parameters, machine })
}

fn place<'a>(options: &'a HostOptions, facts: &Facts) -> Place<'a> {
    let HostOptions { files, keeps_snapshots, events, .. } = options;
    let reserve = reserve(options, facts).get();
    Place { files: files.as_deref(), reserve, keeps_snapshots: *keeps_snapshots, events }
}

/// Memory that is left to others.
fn reserve(options: &HostOptions, facts: &Facts) -> Bytes {
    options.reserve.unwrap_or_else(|| reserve_of(Bytes::new(facts.memory)))
}

/// The size of this machine, less what is to be left to others.
fn facts(options: &HostOptions) -> Result<Facts, Failure> {
    let unknown = |error| Failure::Usage(format!("the size of this machine: {error}"));
    let read = |reserve: Bytes| read_facts(reserve.get(), options.files.as_deref()).map_err(unknown);
    let whole = read(Bytes::ZERO)?;
    let reserve = reserve(options, &whole);
    let facts = read(reserve)?;
    if facts.available == 0 {
        let available = whole.available >> 20;
        let text = format!("{available} MiB of memory are available, and {} are to be left", reserve.get() >> 20);
        return Err(Failure::Usage(text));
    }
    Ok(facts)
}

/// Text that says what a run would do.
pub(super) fn dry(args: &BenchArgs, plan: &LivePlan) -> Result<String, Failure> {
    let options = HostOptions::from(args);
    let facts = facts(&options)?;
    let parameters = plan.parameters(&facts.for_workloads()).map_err(|error| usage(&error))?;
    let job = job(plan, &parameters, place(&options, &facts), 0);
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
