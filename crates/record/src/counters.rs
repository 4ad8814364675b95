//! Counters over time, and the phases of a run with the counters at both ends.

use order9_units::{CounterMeaning, Nanos};
use serde::{Deserialize, Serialize};

/// Columns of `counters.parquet` that are no counters.
pub(crate) const RESERVED: [&str; 5] = ["policy", "seed", "at_ns", "phase", "edge"];

/// Values of counters at ascending times: one row per time, one column per counter.
///
/// Counters carry their names in /proc/vmstat. What Linux does not count starts with [`Counters::OWN_PREFIX`], and is
/// left out of files that claim to be /proc/vmstat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Times of the readings, ascending.
    pub times: Vec<Nanos>,
    /// Counters in the order of /proc/vmstat. Each has as many values as there are times.
    pub columns: Vec<Counter>,
}

/// One counter or level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// Name of the counter in /proc/vmstat.
    pub name: String,
    /// Unit of the values, and whether they are levels; `None` in a run that was stored before runs kept it.
    pub meaning: Option<CounterMeaning>,
    /// Values of the counter, one for each time.
    pub values: Vec<u64>,
}

impl Counters {
    /// Start of the names of counters that Linux does not have.
    pub const OWN_PREFIX: &'static str = "order9_";

    /// Counters by name and meaning, no row yet.
    pub fn new<S: Into<String>>(counters: impl IntoIterator<Item = (S, CounterMeaning)>) -> Self {
        let column =
            |(name, meaning): (S, _)| Counter { name: name.into(), meaning: Some(meaning), values: Vec::new() };
        Self { times: Vec::new(), columns: counters.into_iter().map(column).collect() }
    }

    /// Adds a row.
    ///
    /// # Panics
    ///
    /// If there is not exactly one value per counter, or `at` lies before the last row.
    pub fn push(&mut self, at: Nanos, values: &[u64]) {
        assert_eq!(values.len(), self.columns.len(), "one value per counter");
        assert!(self.times.last().is_none_or(|&last| last <= at), "rows come in ascending order of time");
        self.times.push(at);
        for (column, &value) in self.columns.iter_mut().zip(values) {
            column.values.push(value);
        }
    }

    /// The column of the counter called `name`.
    #[must_use]
    pub fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// A part of a run, with all counters at both ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// `prepare`, `warm-up`, `measure-3` (with three threads), `clean-up`.
    pub name: String,
    /// First instant of the phase.
    pub begin: Nanos,
    /// The instant after its last one.
    pub end: Nanos,
    /// Counters at `begin`, in the order of the columns of [`Counters`].
    pub at_begin: Vec<u64>,
    /// Values of the counters at `end`.
    pub at_end: Vec<u64>,
}
