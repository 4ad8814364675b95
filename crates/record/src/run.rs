//! One cell of an experiment: everything that one policy did under one seed.

use std::sync::Arc;

use order9_units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Counters, Phase};

/// One policy, one seed: what was measured, and the traces that were asked for.
///
/// All times count from the start of the run, in virtual time in the lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Title of the column in tables; also the name of a directory, so it holds no `/` and does not start with a dot.
    pub policy: String,
    /// Number of the iteration, from which every random choice derives. Other readers of TOML may stop at `i64::MAX`.
    pub seed: u64,
    /// Operations of the samples, in the order in which tables show them.
    pub operations: Vec<Operation>,
    /// Samples in the order in which they were taken.
    pub samples: Vec<Sample>,
    /// Prepare, warm-up, measure, clean up, in order of their begin; they may nest. Together they are the whole test.
    pub phases: Vec<Phase>,
    /// Counters over time.
    pub counters: Counters,
    /// CPU time and elapsed time of the whole benchmark, children that were waited for included.
    pub durations: Durations,
    /// End of the run.
    pub outcome: Outcome,
    /// Notes that a reader of the results needs: one sentence each.
    pub notes: Vec<String>,
    /// Events and /proc files. They go into text files and the digest, and are not loaded back.
    pub traces: Traces,
}

impl Run {
    /// A run in which nothing has happened yet.
    #[must_use]
    pub fn new(policy: &str, seed: u64) -> Self {
        Self {
            policy: policy.to_owned(),
            seed,
            operations: Vec::new(),
            samples: Vec::new(),
            phases: Vec::new(),
            counters: Counters::default(),
            durations: Durations::default(),
            outcome: Outcome::Completed,
            notes: Vec::new(),
            traces: Traces::default(),
        }
    }

    /// The operation called `name`, which is added with `unit` where it is new. Keep the answer: this searches.
    ///
    /// # Panics
    ///
    /// If the operation exists with another unit.
    pub fn operation(&mut self, name: &str, unit: Unit) -> OperationId {
        let index = self.operations.iter().position(|operation| operation.name == name).unwrap_or_else(|| {
            self.operations.push(Operation { name: name.to_owned(), unit });
            self.operations.len() - 1
        });
        assert_eq!(self.operations[index].unit, unit, "operation {name} has one unit");
        OperationId(u32::try_from(index).expect("operations are named by hand: there are few"))
    }

    /// The operation of a sample of this run.
    #[must_use]
    pub fn operation_of(&self, sample: &Sample) -> Option<&Operation> {
        self.operations.get(sample.operation.index())
    }

    /// Values of all samples of the operation called `name`, in order; none where there is no such operation.
    pub fn values<'a>(&'a self, name: &str) -> impl Iterator<Item = f64> + use<'a> {
        let wanted = self.operations.iter().position(|operation| operation.name == name);
        self.samples.iter().filter(move |sample| Some(sample.operation.index()) == wanted).map(|sample| sample.value)
    }

    /// Begin of the first phase and end of the last one.
    #[must_use]
    pub fn span(&self) -> (Nanos, Nanos) {
        let begin = self.phases.iter().map(|phase| phase.begin).min().unwrap_or_default();
        let end = self.phases.iter().map(|phase| phase.end).max().unwrap_or_default();
        (begin, end)
    }

    /// Growth of the counter `name` from the begin of the first phase to the end of the last one, as published tables
    /// of /proc/vmstat show it. Levels (`nr_*`) may shrink. `None` without such a counter or any phase.
    #[must_use]
    pub fn growth(&self, name: &str) -> Option<i128> {
        let index = self.counters.position(name)?;
        let (begin, end) = self.span();
        let first = self.phases.iter().find(|phase| phase.begin == begin)?.at_begin.get(index)?;
        let last = self.phases.iter().rfind(|phase| phase.end == end)?.at_end.get(index)?;
        Some(i128::from(*last) - i128::from(*first))
    }
}

/// Operation that samples measure: `fault-huge-3`, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Operation {
    /// Name in tables.
    pub name: String,
    /// Of all its samples.
    pub unit: Unit,
}

/// Unit of the samples of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Nanoseconds.
    Nanos,
    /// Seconds.
    Seconds,
    /// Percent of a whole.
    Percent,
    /// A number of things.
    Count,
    /// Things per second.
    PerSecond,
}

impl Unit {
    /// Word in `latencies.parquet` and in the manifest.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Nanos => "nanos",
            Unit::Seconds => "seconds",
            Unit::Percent => "percent",
            Unit::Count => "count",
            Unit::PerSecond => "per-second",
        }
    }
}

/// An operation of one [`Run`]: its place in `operations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OperationId(pub(crate) u32);

impl OperationId {
    /// Place in [`Run::operations`].
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Operation that was measured.
    pub operation: OperationId,
    /// Time at which the measured operation ended.
    pub at: Nanos,
    /// The value in the unit of the operation, finite. Whole nanoseconds are exact up to 2^53, which is 104 days.
    pub value: f64,
}

/// Output of `time` for a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Durations {
    /// CPU time in user mode.
    #[serde(rename = "user_ns")]
    pub user: Nanos,
    /// CPU time in the kernel.
    #[serde(rename = "system_ns")]
    pub system: Nanos,
    /// Time from begin to end.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
}

/// End of a run. Each failure tells in a sentence what happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Outcome {
    /// The workload reached its end.
    Completed,
    /// Memory ran out for good.
    OutOfMemory {
        /// The task that asked for memory, and the memory that it asked for, in a sentence.
        message: String,
    },
    /// No task could run any more.
    Stalled {
        /// The waiting tasks, and the events that they wait for.
        message: String,
    },
    /// The workload gave up.
    Failed {
        /// Reason for the failure.
        message: String,
    },
}

impl Outcome {
    /// The message of a failure; `None` where the workload reached its end.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        match self {
            Outcome::Completed => None,
            Outcome::OutOfMemory { message } | Outcome::Stalled { message } | Outcome::Failed { message } => {
                Some(message)
            }
        }
    }
}

/// Files that were recorded beside the measurements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traces {
    /// Events in the order in which they happened.
    pub events: Vec<Event>,
    /// CPUs of the machine, which the head of a trace names.
    pub cpus: u32,
    /// /proc files at the begin of the test: vmstat, zoneinfo, meminfo, schedstat, diskstats as far as they exist.
    pub begin: Vec<ProcFile>,
    /// Files of /proc at the end of the run.
    pub end: Vec<ProcFile>,
    /// Further /proc files over time. `proc-vmstat` is written from the counters and not repeated here.
    pub monitors: Vec<Monitor>,
    /// Time since boot at the start of the run, as in /proc/uptime.
    pub uptime: Nanos,
    /// Time that all CPUs together were idle until then, as in /proc/uptime.
    pub idle: Nanos,
}

/// One event, as tracefs shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Time of the event.
    pub at: Nanos,
    /// Number of the CPU.
    pub cpu: u32,
    /// Name of the task. Shared: a trace holds millions of events of a few tasks.
    #[serde(with = "shared")]
    pub comm: Arc<str>,
    /// Number of the task.
    pub pid: u32,
    /// Name of the tracepoint.
    #[serde(with = "shared")]
    pub name: Arc<str>,
    /// `key=value`, with blanks between.
    pub fields: String,
}

impl Event {
    /// The value of the field `key`; `None` where the event has no such field. Some tracepoints have commas between fields.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&str> {
        let mut words = self.fields.split([' ', ',']).filter_map(|word| word.split_once('='));
        words.find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The value of the field `key` as a number, which may stand in hexadecimal digits behind `0x`.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        let text = self.field(key)?;
        match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        }
    }
}

/// A /proc file at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcFile {
    /// `/proc/vmstat`.
    pub path: String,
    /// Text of the file as read, final line end included.
    pub content: String,
}

/// One /proc file over time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Monitor {
    /// `proc-buddyinfo`: name of the file that is written, without the workload.
    pub name: String,
    /// Readings in ascending order of time.
    pub readings: Vec<Reading>,
}

/// A monitored file at one instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Time of the reading.
    pub at: Nanos,
    /// Text of the file as read, final line end included.
    pub content: String,
}

/// Shared texts are stored like any others.
mod shared {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(text)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Arc<str>, D::Error> {
        String::deserialize(from).map(Arc::from)
    }
}
