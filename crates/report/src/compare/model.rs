//! Input of a comparison: the measures of a benchmark, and the results of each kernel or policy.

use std::collections::BTreeMap;

use order9_units::Nanos;

use super::{Counters, Quantity, Title, Unit};
use crate::stats::{Direction, Family, Samples};

/// Measures of a benchmark, in the order in which its tables show them.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    /// Name of the benchmark, such as `thpscale`.
    pub name: String,
    /// Tables of the benchmark, the main one first. `Duration` and counters follow by themselves.
    pub sections: Vec<Section>,
    /// Quantities that decide between policies.
    pub main: Vec<Quantity>,
}

/// One table of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// Heading of the table behind the name of the benchmark: `Fault Latencies`; may be empty.
    pub heading: String,
    /// Rows that the table prints.
    pub family: Family,
    /// Direction in which values of all its operations are better.
    pub direction: Direction,
    /// Unit of the samples.
    pub unit: Unit,
    /// Decimals printed: 2 as a rule.
    pub decimals: usize,
    /// Names of the operations, in the order of the benchmark.
    pub operations: Vec<String>,
}

/// Results of one kernel or policy, run by run.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    title: Title,
    runs: Vec<Results>,
    count: usize,
}

/// Results of one kernel or policy, all iterations as one, as published tables have it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    /// Title of the column.
    pub title: Title,
    /// Of all iterations together.
    pub results: Results,
}

/// Results of a run, or of several runs as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The samples of every operation; an operation may be missing.
    pub samples: BTreeMap<String, Samples>,
    /// Durations of the benchmark, if they were measured.
    pub durations: Option<Durations>,
    /// Events that the kernel counted meanwhile.
    pub counters: Counters,
}

impl Column {
    /// Takes all runs. One that is equal to another in everything measured is a copy of it, which proves nothing that the
    /// other does not: it is counted, but not kept.
    #[must_use]
    pub fn new(title: Title, runs: impl IntoIterator<Item = Results>) -> Self {
        let mut column = Self { title, runs: Vec::new(), count: 0 };
        for run in runs {
            column.count += 1;
            if !column.runs.contains(&run) {
                column.runs.push(run);
            }
        }
        column
    }

    /// Title of the column.
    #[must_use]
    pub const fn title(&self) -> &Title {
        &self.title
    }

    /// Runs of the column, without copies.
    #[must_use]
    pub fn runs(&self) -> &[Results] {
        &self.runs
    }

    /// Number of runs, copies included.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// Whether there are runs, and all of both gave the same.
    #[must_use]
    pub fn is_identical_to(&self, other: &Self) -> bool {
        let holds = |one: &Self, other: &Self| one.runs.iter().all(|run| other.runs.contains(run));
        !self.runs.is_empty() && holds(self, other) && holds(other, self)
    }
}

/// Time of a whole benchmark, preparation and clean-up included, as `/usr/bin/time` measures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Durations {
    /// CPU time in user space, of children that were waited for too.
    pub user: Nanos,
    /// CPU time in the kernel, likewise.
    pub system: Nanos,
    /// Time by the clock.
    pub elapsed: Nanos,
}

impl Durations {
    /// The elapsed time in seconds.
    #[must_use]
    pub fn elapsed_seconds(&self) -> f64 {
        seconds(self.elapsed)
    }

    /// The rows of the `Duration` table, in seconds.
    pub(super) fn rows(&self) -> [(&'static str, f64); 3] {
        [("User", seconds(self.user)), ("System", seconds(self.system)), ("Elapsed", seconds(self.elapsed))]
    }
}

fn seconds(time: Nanos) -> f64 {
    time.get() as f64 / 1e9
}
