//! `order9 record`: what the kernel of this host does while something else runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use order9_lab::live_inputs;
use order9_lab::scenario::{LivePlan, recorded_plan};
use order9_live::{Facts, Recorder, read_facts};
use order9_record::{Existing, Experiment, ExtraFile, Run, Target};
use order9_referee::{RECORDED_SEED, Recording, check_view, record};
use order9_report::number::{decimal, grouped, percent, size};
use order9_snapshot::format;
use order9_snapshot::owners::{Owners, Process};
use order9_units::Nanos;
use order9_workloads::Workload;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::args::{Layout, RecordArgs};
use crate::bench::{machine, meaning};
use crate::failure::Failure;
use crate::output::{print_json, say};
use crate::results::Results;
use crate::run::{command, refused};

/// Time between two readings, unless somebody wants another.
const EVERY: Nanos = Nanos::new(1_000_000_000);

fn usage(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// Records, stores the recording, and says in a few lines what is in it. Standard output is the command's, or that of the
/// results as JSON.
pub(crate) fn run(args: &RecordArgs) -> Result<(), Failure> {
    let (every, time) = (length("--every", args.every.as_deref())?, length("--for", args.time.as_deref())?);
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    let target = Target::new(&args.output, existing).map_err(|error| refused(&error))?;
    check_view().map_err(usage)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let facts = read_facts(0, None).map_err(usage)?;
    let title = format!("live-{}", facts.kernel);
    let every = every.unwrap_or(EVERY);
    let time = time.map(|time| Duration::from_nanos(time.get()));
    let recorder = Recorder { every, events: &args.events, cgroups: args.owners, time, interrupted: &interrupted };
    let Recording { run, snapshots, .. } = record(&recorder, child(args), &title, &meaning).map_err(usage)?;
    let lines = summary(&run) + &profile(&run, &snapshots);
    let experiment = experiment(run, &facts, &title, every)?;
    let results = Results::of_live(Workload::Trace, &experiment, &[&title], Layout::default());
    let files = [results.files().as_slice(), &snapshots].concat();
    target.write(&experiment, &files).map_err(|error| refused(&error))?;
    if args.json {
        return print_json(&results.json(Some(&args.output)));
    }
    let place = order9_escape::path(&args.output);
    say(&format!("{lines}order9: written to {place}; `order9 run trace {place}` replays it\n"))
}

/// A length of time that was asked for.
fn length(option: &str, text: Option<&str>) -> Result<Option<Nanos>, Failure> {
    let Some(text) = text else { return Ok(None) };
    let length = order9_lab::scenario::length_of_time(text).filter(|length| *length >= Nanos::new(1_000_000));
    let shown = order9_toml::shown(text);
    let expected = "expected a length of time such as \"30s\", at least \"1ms\"";
    length.map(Some).ok_or_else(|| Failure::Usage(format!("{option} {shown}: {expected}")))
}

/// The command that was asked for.
fn child(args: &RecordArgs) -> Option<Command> {
    let (program, words) = args.command.split_first()?;
    let mut command = Command::new(program);
    command.args(words);
    if args.json {
        command.stdout(Stdio::from(std::io::stderr()));
    }
    Some(command)
}

/// The recording as an experiment of one run, whose parameters a replay has, too.
fn experiment(run: Run, facts: &Facts, title: &str, every: Nanos) -> Result<Experiment, Failure> {
    let plan = LivePlan { seeds: vec![RECORDED_SEED], ..recorded_plan(&run, every, command()) };
    let of_host = facts.for_workloads();
    // What is too much to be replayed was recorded all the same.
    let bare = || LivePlan { chosen: BTreeMap::new(), ..plan.clone() }.parameters(&of_host);
    let parameters = plan.parameters(&of_host).or_else(|_| bare()).map_err(usage)?;
    Ok(Experiment::new(live_inputs(&plan, &parameters, machine("live", facts), &[title]), vec![run]))
}

/// Pressure and owners in a few lines, and what the recording does not know.
fn profile(run: &Run, snapshots: &[ExtraFile]) -> String {
    let mut lines = Vec::new();
    lines.extend(pressure(run).map(|[some, full]| {
        let shown = |share: f64| decimal(share, if share < 10.0 { 2 } else { 0 });
        format!("a task waited for memory in {} % of the time, all of them in {} %", shown(some), shown(full))
    }));
    let read = |file: &ExtraFile| format::read(file.content.as_slice()).ok()?.owners;
    let owners: Vec<Owners> = snapshots.iter().filter_map(read).collect();
    if let [before, .., after] = owners.as_slice() {
        lines.extend(processes(before, after).into_iter().map(|line| format!("holds memory: {line}")));
    }
    let of_names = if owners.is_empty() { "who holds memory (--owners tells), " } else { "" };
    lines.push(format!(
        "not known: {of_names}which page was whose in between, how long it lived, how memory was used, and whoever came and went \
         between two readings"
    ));
    lines.iter().map(|line| format!("order9: {line}\n")).collect()
}

/// Share of the recording, in percent, in which some task waited for memory, and all of them; `None` where the kernel does not count it.
fn pressure(run: &Run) -> Option<[f64; 2]> {
    let elapsed = run.durations.elapsed.get().max(1) as f64;
    let share = |name: &str| Some(100.0 * run.growth(name)? as f64 / elapsed);
    Some([share("order9_pressure_some_ns")?, share("order9_pressure_full_ns")?])
}

/// The largest processes at the end, a line for each, with what they had at the begin.
fn processes(before: &Owners, after: &Owners) -> Vec<String> {
    const NAMED: usize = 5;
    let mut largest: Vec<&Process> = after.processes().map(|(_, process)| process).collect();
    largest.sort_by_key(|process| std::cmp::Reverse(process.resident));
    let line = |process: &&Process| {
        let earlier = before.processes().find(|(_, of)| of.pid == process.pid).map(|(_, of)| of.resident);
        let change = match earlier {
            None => "new".to_owned(),
            Some(earlier) if earlier > process.resident => format!("-{}", size((earlier - process.resident).bytes())),
            Some(earlier) => format!("+{}", size((process.resident - earlier).bytes())),
        };
        let huge = percent(process.anon_huge.get(), process.anonymous.get().max(1));
        let Process { command, pid, cgroup, .. } = process;
        format!(
            "{command} ({pid}) {} ({change}), {huge} of its private memory huge, {cgroup}",
            size(process.resident.bytes())
        )
    };
    largest.iter().take(NAMED).map(line).collect()
}

/// A few lines about what was recorded.
fn summary(run: &Run) -> String {
    let mut text = String::new();
    let mut line = |sentence: &str| writeln!(text, "order9: {sentence}").expect("text can be written");
    let of = |name: &str| grouped(run.growth(name).and_then(|growth| u64::try_from(growth).ok()).unwrap_or(0));
    let allocated = run.counters.columns.iter().filter(|column| column.name.starts_with("pgalloc_"));
    let allocated = allocated.filter_map(|column| run.growth(&column.name)).sum::<i128>();
    line(&format!(
        "{:.1} s in {} readings: {} faults, {} of them with a huge page and {} without one that might have had it; {} pages allocated, \
         {} freed",
        run.durations.elapsed.get() as f64 / 1e9,
        run.counters.times.len(),
        of("pgfault"),
        of("thp_fault_alloc"),
        of("thp_fault_fallback"),
        grouped(u64::try_from(allocated).unwrap_or(0)),
        of("pgfree"),
    ));
    run.notes.iter().for_each(|note| line(note));
    text
}
