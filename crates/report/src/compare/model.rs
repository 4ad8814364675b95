//! What is compared: the plan of a benchmark, and what each kernel or policy gave.

use std::collections::BTreeMap;

use order9_units::Nanos;

use super::{Counters, Title, Unit};
use crate::stats::{Direction, Family, Samples};

/// What a benchmark measures and in which order its tables show it.
#[derive(Clone, Debug, PartialEq)]
pub struct Benchmark {
    /// `thpscale`.
    pub name: String,
    /// Its tables, the main one first; `Duration` and counters follow by themselves.
    pub sections: Vec<Section>,
}

/// One table of a benchmark.
#[derive(Clone, Debug, PartialEq)]
pub struct Section {
    /// What stands above it behind the name of the benchmark: `Fault Latencies`; may be empty.
    pub heading: String,
    /// Which rows it prints.
    pub family: Family,
    /// Which way is better for all its operations.
    pub direction: Direction,
    /// Unit of the samples.
    pub unit: Unit,
    /// Decimals printed: 2 as a rule.
    pub decimals: usize,
    /// Names of the operations, in the order of the benchmark.
    pub operations: Vec<String>,
}

/// What one kernel or policy gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// What it is called.
    pub title: Title,
    /// The samples of every operation, all iterations pooled; an operation may be missing.
    pub samples: BTreeMap<String, Samples>,
    /// How long all of it took, if that was measured.
    pub durations: Option<Durations>,
    /// What the kernel counted meanwhile.
    pub counters: Counters,
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
