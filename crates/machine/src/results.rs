//! Results of a run: samples, counters over time, phases, events, and its end.

use std::collections::{BTreeMap, BTreeSet};

use order9_units::{CounterMeaning, Nanos};
use order9_workloads::{Stop, Times};

use crate::events::{Kept, Traced, TracedSwitch};
use crate::guard::Guarded;
use crate::hugetlb::PoolResized;
use crate::kernel::Kernel;
use crate::oom::OutOfMemory;
use crate::time::{RunError, TaskId};

/// Results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// End of the run.
    pub outcome: Outcome,
    /// Time at which the last program ended.
    pub elapsed: Nanos,
    /// CPU time of all programs.
    pub times: Times,
    /// The operations that were measured, in the order in which they were first.
    pub operations: Vec<Operation>,
    /// Samples in the order in which they were taken.
    pub samples: Vec<Sample>,
    /// Phases, in order; the first begins with the run.
    pub phases: Vec<Phase>,
    /// Counters over time: at the beginning, at every tick, at the end.
    pub series: Series,
    /// Trace events, in order.
    pub events: Vec<Traced>,
    /// Switches of CPUs, in order, each with its place among the events.
    pub switches: Vec<TracedSwitch>,
    /// Events that were not kept, the log being full.
    pub events_lost: u64,
    /// Names of tasks, by number.
    pub tasks: Vec<String>,
    /// Kills for memory, in order.
    pub kills: Vec<OutOfMemory>,
    /// Changes of the size of hugetlb pools, in order.
    pub pools: Vec<PoolResized>,
    /// /proc/PID/numa_maps of processes as they were when they ended, of each name the last, where somebody has chosen nodes.
    pub numa_maps: Vec<(String, String)>,
    /// Notes that a reader of the results needs, a sentence each.
    pub notes: Vec<&'static str>,
    /// Steps of the guard, where one ran beside the programs.
    pub guard: Option<Guarded>,
    /// Hash of everything the scheduler did.
    pub schedule: u64,
}

/// End of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All programs came to their end.
    Completed,
    /// Memory ran out, which ended the workload.
    OutOfMemory(OutOfMemory),
    /// The workload ended before its time.
    Stopped(Stop),
    /// No task could go on.
    Stuck(RunError),
}

/// Operation that samples measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Name in tables.
    pub name: String,
    /// Unit of all its samples.
    pub unit: Unit,
}

/// Unit of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Durations in nanoseconds.
    Nanos,
    /// Rates: so many per second.
    PerSecond,
    /// Shares of a hundred.
    Percent,
    /// Counts.
    Count,
}

/// One measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Position of its operation in [`Results::operations`].
    pub operation: u32,
    /// Time at which it was taken.
    pub at: Nanos,
    /// The value, in the unit of its operation.
    pub value: f64,
}

/// A part of a run with counters of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Name of the phase.
    pub name: String,
    /// Begin of the phase. It ends with the begin of the next one.
    pub begin: Nanos,
    /// The counters then, in the order of [`Series::counters`].
    pub counters: Vec<u64>,
}

/// Fields of /proc/vmstat, and counters that Linux does not have, over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Names of the counters, with their meanings.
    pub counters: Vec<(String, CounterMeaning)>,
    /// Times of the readings.
    pub times: Vec<Nanos>,
    /// Values of all counters, one row for each time.
    pub rows: Vec<Vec<u64>>,
}

impl Series {
    /// Position of the counter called `name` in every row.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.counters.iter().position(|(known, _)| known == name)
    }
}

/// Record of a run up to now.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) operations: Vec<Operation>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) phases: Vec<Phase>,
    pub(crate) series: Series,
    pub(crate) pools: Vec<PoolResized>,
    /// Path and content by name of the process.
    pub(crate) numa_maps: BTreeMap<String, (String, String)>,
    pub(crate) notes: BTreeSet<&'static str>,
}

impl Record {
    /// Every operation has one unit: its first.
    pub(crate) fn sample(&mut self, operation: &str, unit: Unit, at: Nanos, value: f64) {
        // Samples of an operation come in a row.
        let known = self.operations.iter().rposition(|known| known.name == operation);
        let operation = known.unwrap_or_else(|| {
            self.operations.push(Operation { name: operation.to_owned(), unit });
            self.operations.len() - 1
        });
        self.samples.push(Sample { operation: operation as u32, at, value });
    }
}

impl Kernel {
    /// Begins a phase of the workload.
    pub(crate) fn begin_phase(&self, name: &str) {
        let phase = Phase { name: name.to_owned(), begin: self.handle.now(), counters: self.counters() };
        self.record.borrow_mut().phases.push(phase);
    }

    /// Reads the counters, for now.
    pub(crate) fn read_counters(&self) {
        self.read_counters_at(self.handle.now());
    }

    /// Reads the counters, which have not changed since `at`.
    pub(crate) fn read_counters_at(&self, at: Nanos) {
        let (row, is_first) = (self.counters(), self.record.borrow().series.counters.is_empty());
        let counters = if is_first { self.counter_names() } else { Vec::new() };
        let series = &mut self.record.borrow_mut().series;
        series.counters.extend(counters);
        if series.times.last() != Some(&at) {
            series.times.push(at);
            series.rows.push(row);
        }
    }

    /// Number of readings of the counters that are held.
    pub(crate) fn readings(&self) -> usize {
        self.record.borrow().series.times.len()
    }

    /// Drops every other reading of the counters, the second first.
    pub(crate) fn thin_readings(&self) {
        let series = &mut self.record.borrow_mut().series;
        let mut nth = 0..;
        series.times.retain(|_| nth.next().is_some_and(|nth: usize| nth.is_multiple_of(2)));
        let mut nth = 0..;
        series.rows.retain(|_| nth.next().is_some_and(|nth: usize| nth.is_multiple_of(2)));
    }

    /// Puts together what came of a run.
    pub(crate) fn results(&self, outcome: Outcome, elapsed: Nanos, times: Times) -> Results {
        let Record { operations, samples, phases, series, pools, numa_maps, notes } = self.record.take();
        let kills = self.kills.take();
        let Kept { events, switches, lost: events_lost } = self.log.borrow_mut().take();
        let name = |task: TaskId| self.handle.task_name(task).to_string();
        let tasks = self.handle.tasks().map(name).collect();
        let schedule = self.handle.digest();
        Results {
            outcome,
            elapsed,
            times,
            operations,
            samples,
            phases,
            series,
            events,
            switches,
            events_lost,
            tasks,
            kills,
            pools,
            numa_maps: numa_maps.into_values().collect(),
            notes: notes.into_iter().collect(),
            guard: self.guarded(),
            schedule,
        }
    }
}
