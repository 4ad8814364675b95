//! Rules that a run must satisfy before it is written, so that everything on disk makes sense.

use std::collections::BTreeSet;

use crate::counters::RESERVED;
use crate::{Counters, Experiment, Run, WriteError};

/// Contradictions in a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The run's column is not among the policies of the inputs.
    #[error("its policy is not among the inputs")]
    UnknownPolicy,
    /// The run's seed is not among the seeds of the inputs.
    #[error("its seed is not among the inputs")]
    UnknownSeed,
    /// Two cells have the same policy and seed, or they do not stand in the order of the inputs.
    #[error("it does not stand behind the cell before it: expected by policy, then by seed, each once")]
    Order,
    /// Two operations, or two counters, of one name.
    #[error("two {what} are called '{name}'")]
    SameName {
        /// `operations` or `counters`.
        what: &'static str,
        /// The name that occurs twice.
        name: String,
    },
    /// A counter called like a column that every table has.
    #[error("no counter can be called '{0}': it is another column of the table")]
    Reserved(String),
    /// A sample of an operation that the run does not have.
    #[error("sample {index} is of operation {operation}, but there are {operations}")]
    UnknownOperation {
        /// Number of the sample.
        index: usize,
        /// Number of its operation.
        operation: usize,
        /// Number of operations of the run.
        operations: usize,
    },
    /// A sample that is infinite, or no number.
    #[error("sample {index} is {value}, expected a finite number")]
    NotFinite {
        /// Number of the sample.
        index: usize,
        /// The value as text.
        value: String,
    },
    /// Rows of counters out of order.
    #[error("row {row} of the counters lies before the one above it")]
    Unordered {
        /// Number of the row, from 0 on.
        row: usize,
    },
    /// More or fewer values than there must be.
    #[error("{what}: {found} values, expected {expected}")]
    Length {
        /// Name of the counter.
        what: String,
        /// Number of values of the counter.
        found: usize,
        /// Number of readings.
        expected: usize,
    },
    /// A phase that ends before it begins.
    #[error("phase '{0}' ends before it begins")]
    Backwards(String),
}

impl Experiment {
    /// Whether every cell is one of the inputs, stands in its place, and does not contradict itself.
    ///
    /// # Errors
    ///
    /// The first cell that is not so.
    pub fn check(&self) -> Result<(), WriteError> {
        let mut last = None;
        for run in &self.runs {
            let place = self.inputs.place(run);
            let problem = match place {
                (None, _) => Err(Problem::UnknownPolicy),
                (_, None) => Err(Problem::UnknownSeed),
                _ if last >= Some(place) => Err(Problem::Order),
                _ => run.check(),
            };
            problem.map_err(|problem| WriteError::Invalid { policy: run.policy.clone(), seed: run.seed, problem })?;
            last = Some(place);
        }
        Ok(())
    }
}

impl Run {
    /// Whether this run makes sense by itself.
    ///
    /// # Errors
    ///
    /// The first contradiction.
    pub fn check(&self) -> Result<(), Problem> {
        unique("operations", self.operations.iter().map(|operation| operation.name.as_str()))?;
        for (index, sample) in self.samples.iter().enumerate() {
            let (operation, operations) = (sample.operation.index(), self.operations.len());
            if operation >= operations {
                return Err(Problem::UnknownOperation { index, operation, operations });
            }
            if !sample.value.is_finite() {
                return Err(Problem::NotFinite { index, value: sample.value.to_string() });
            }
        }
        self.counters.check()?;
        for phase in &self.phases {
            if phase.end < phase.begin {
                return Err(Problem::Backwards(phase.name.clone()));
            }
            for (edge, values) in [("begin", &phase.at_begin), ("end", &phase.at_end)] {
                let what = || format!("counters at the {edge} of phase '{}'", phase.name);
                length(what, values.len(), self.counters.columns.len())?;
            }
        }
        Ok(())
    }
}

impl Counters {
    fn check(&self) -> Result<(), Problem> {
        unique("counters", self.columns.iter().map(|column| column.name.as_str()))?;
        if let Some(row) = self.times.windows(2).position(|pair| pair[1] < pair[0]) {
            return Err(Problem::Unordered { row: row + 1 });
        }
        for column in &self.columns {
            if RESERVED.contains(&column.name.as_str()) {
                return Err(Problem::Reserved(column.name.clone()));
            }
            length(|| format!("counter {}", column.name), column.values.len(), self.times.len())?;
        }
        Ok(())
    }
}

fn unique<'a>(what: &'static str, mut names: impl Iterator<Item = &'a str>) -> Result<(), Problem> {
    let mut seen = BTreeSet::new();
    names.find(|name| !seen.insert(*name)).map_or(Ok(()), |name| Err(Problem::SameName { what, name: name.to_owned() }))
}

fn length(what: impl Fn() -> String, found: usize, expected: usize) -> Result<(), Problem> {
    if found == expected { Ok(()) } else { Err(Problem::Length { what: what(), found, expected }) }
}
