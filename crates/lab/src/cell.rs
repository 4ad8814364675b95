//! One run of an experiment: from a machine and a workload to a record.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use order9_machine::{GuardStep, Guarded, Outcome, Results, Series, Tick};
use order9_procfs::command_line::LogLine;
use order9_record::{self as record, Counters, Durations, ProcFile, Run, Unit};
use order9_report::number::size;
use order9_snapshot::Snapshot;
use order9_snapshot::maps::MapSeries;
use order9_units::Nanos;
use order9_workloads::{Facts, Parameters, Recording, Value, Workload};

use crate::error::PlanError;
use crate::events::events;
use crate::export::export;
use crate::limits;
use crate::maps::Maps;
use crate::monitors::Monitors;
use crate::plan::{Cell, Plan};
use crate::pools::pool_notes;
use crate::proc_files::machine_files;
use crate::run::Making;
use crate::start::Started;

/// A cell that has run.
pub(crate) struct Ran {
    pub(crate) run: Run,
    /// Parameters of the workload.
    pub(crate) parameters: Parameters,
    /// The snapshots that the workload asked for, with their names; none where nobody keeps them.
    pub(crate) snapshots: Vec<(String, Snapshot)>,
    /// Maps of memory over time; empty unless they were asked for.
    pub(crate) maps: MapSeries,
}

/// Runs one cell; `watch` sees the engine whenever counters are read.
pub(crate) fn run_cell(making: &Making<'_>, cell: Cell, mut watch: impl FnMut(&Tick<'_>)) -> Result<Ran, PlanError> {
    let Making { plan, start, program, keeps_snapshots, stop } = making;
    let Started { mut machine, boot_log, notes } = start.machine(plan, cell, stop.clone())?;
    let snapshots = Rc::new(RefCell::new(Vec::new()));
    let (kept, cpus) = (Rc::clone(&snapshots), start.cpus(&plan.machine));
    let mut maps = Maps::new(plan.maps_every, cpus.clone());
    if *keeps_snapshots {
        machine.keep_snapshots(move |name, engine, processes| {
            kept.borrow_mut().push((name.to_owned(), export(engine, &cpus, processes)));
        });
    }
    let facts = machine.facts();
    let parameters = parameters(plan.workload, &plan.chosen, &facts)?;
    limits::check(plan.workload, plan.sample_every, &parameters, &facts)?;
    let mut monitors = Monitors::new();
    let mut last = Vec::new();
    let watch = |tick: &Tick<'_>| {
        if tick.is_last {
            last = machine_files(tick);
        } else if tick.is_usual {
            monitors.tick(tick);
        }
        maps.tick(tick);
        watch(tick);
    };
    let results = match program {
        None => machine.run(plan.workload, &parameters, watch),
        Some(program) => {
            let program = Arc::clone(program);
            machine.run_as_chosen(plan.workload, &parameters, move |thread| program.begin(cell, thread), watch)
        }
    };
    let mut run = record_of(plan, cell, &results);
    run.notes.extend(replay_note(&parameters));
    run.notes.extend(notes);
    run.notes.extend(boot_log.iter().filter(|line| line.is_warning).map(|line| line.text.clone()));
    run.traces = monitors.into_traces(facts.cpus, last);
    run.traces.events = events(&results);
    run.traces.end.extend(
        results.numa_maps.iter().map(|(path, content)| ProcFile { path: path.clone(), content: content.clone() }),
    );
    run.traces.end.extend(kernel_log(&boot_log, &results));
    Ok(Ran { run, parameters, snapshots: snapshots.take(), maps: maps.series })
}

/// The chosen parameters, and defaults on a machine with these facts.
pub(crate) fn parameters(
    workload: Workload,
    chosen: &BTreeMap<&'static str, Value>,
    facts: &Facts,
) -> Result<Parameters, PlanError> {
    let refused = |parameter: &'static order9_workloads::Parameter| {
        let available = facts.available.map_or_else(String::new, |of| format!(", {} are available", size(of)));
        let by_default =
            || format!("{} by default ({}{available})", (parameter.default)(facts), parameter.default_text);
        PlanError::Parameter {
            workload: workload.name(),
            key: parameter.key,
            value: chosen.get(parameter.key).map_or_else(by_default, ToString::to_string),
            expected: parameter.kind.expected(),
        }
    };
    Parameters::new(workload, chosen, facts).map_err(refused)
}

/// A note about what no recording tells, where one was replayed.
fn replay_note(parameters: &Parameters) -> Option<String> {
    let is_recording = |(_, value): (_, &Value)| matches!(value, Value::Recording(_));
    parameters.iter().any(is_recording).then(|| Recording::LIMITS.to_owned())
}

fn record_of(plan: &Plan, cell: Cell, results: &Results) -> Run {
    let policy = &plan.policies[cell.policy];
    let mut run = Run::new(&policy.name, cell.seed);
    let operations = results.operations.iter();
    let ids: Vec<_> = operations.map(|operation| run.operation(&operation.name, unit(operation.unit))).collect();
    let sample = |sample: &order9_machine::Sample| record::Sample {
        operation: ids[sample.operation as usize],
        at: sample.at,
        value: sample.value,
    };
    run.samples = results.samples.iter().map(sample).collect();
    run.counters = counters(&results.series);
    run.phases = phases(results);
    run.durations = Durations { user: results.times.user, system: results.times.system, elapsed: results.elapsed };
    run.outcome = outcome(&results.outcome);
    let needs = policy.needs.iter();
    let needs = needs.map(|need| format!("{} is not modelled yet: {}", need.switch.key, need.switch.meaning));
    run.notes = results.notes.iter().map(|note| (*note).to_owned()).chain(needs).collect();
    results.guard.iter().for_each(|guard| guarded(&mut run, guard, results.elapsed));
    run.notes.extend(pool_notes(&results.pools));
    if let Some(base) = plan.machine.measured_over() {
        let note = format!(
            "copying, clearing and scanning pages is priced as measured on the host of the snapshot, all else as on {base}"
        );
        run.notes.push(note);
    }
    if results.events_lost > 0 {
        run.notes.push(format!("{} trace events came after the log was full", results.events_lost));
    }
    run
}

/// Steps of a guard as samples: CPU time and gain of each, and the CPU time of the guard as a whole.
fn guarded(run: &mut Run, guard: &Guarded, elapsed: Nanos) {
    let step = run.operation("guard-step", Unit::Nanos);
    let gain = run.operation("guard-gain", Unit::Count);
    let cpu = run.operation("guard-cpu", Unit::Nanos);
    for GuardStep { at, took, lesson, .. } in guard.steps.iter().copied() {
        let mut sample = |operation, value| run.samples.push(record::Sample { operation, at, value });
        sample(step, took.cpu.get() as f64);
        sample(gain, lesson.gain() as f64);
    }
    run.samples.push(record::Sample { operation: cpu, at: elapsed, value: guard.cpu.get() as f64 });
}

/// The kernel's log, if it has any lines: about its command line, and reports of kills for memory.
fn kernel_log(boot: &[LogLine], results: &Results) -> Option<ProcFile> {
    let boot = boot.iter().flat_map(|line| [line.text.as_str(), "\n"]);
    let content: String = boot.chain(results.kills.iter().map(|kill| kill.report.as_str())).collect();
    (!content.is_empty()).then(|| ProcFile { path: "/dev/kmsg".to_owned(), content })
}

const fn unit(unit: order9_machine::Unit) -> Unit {
    match unit {
        order9_machine::Unit::Nanos => Unit::Nanos,
        order9_machine::Unit::PerSecond => Unit::PerSecond,
        order9_machine::Unit::Count => Unit::Count,
        order9_machine::Unit::Percent => Unit::Percent,
    }
}

fn counters(series: &Series) -> Counters {
    let mut counters = Counters::new(series.counters.iter().map(|(name, meaning)| (name, *meaning)));
    series.times.iter().zip(&series.rows).for_each(|(&at, row)| counters.push(at, row));
    counters
}

/// Phases one after the other, the first from the start of the run on; one for all where the workload names none.
fn phases(results: &Results) -> Vec<record::Phase> {
    let (rows, ends) = (&results.series.rows, results.elapsed);
    let first = rows.first().cloned().unwrap_or_default();
    let last = rows.last().cloned().unwrap_or_default();
    let mut phases: Vec<record::Phase> = Vec::new();
    for phase in &results.phases {
        let (begin, at_begin) = match phases.last_mut() {
            Some(before) => {
                (before.end, before.at_end) = (phase.begin, phase.counters.clone());
                (phase.begin, phase.counters.clone())
            }
            None => (Nanos::ZERO, first.clone()),
        };
        phases.push(record::Phase { name: phase.name.clone(), begin, end: ends, at_begin, at_end: last.clone() });
    }
    if phases.is_empty() {
        phases.push(record::Phase {
            name: "run".to_owned(),
            begin: Nanos::ZERO,
            end: ends,
            at_begin: first,
            at_end: last,
        });
    }
    phases
}

fn outcome(outcome: &Outcome) -> record::Outcome {
    match outcome {
        Outcome::Completed => record::Outcome::Completed,
        Outcome::OutOfMemory(kill) => record::Outcome::OutOfMemory { message: kill.to_string() },
        Outcome::Stopped(stop) => record::Outcome::Failed { message: stop.to_string() },
        Outcome::Stuck(error) => record::Outcome::Stalled { message: error.to_string() },
    }
}
