//! One run as a value: everything that decides what it gives, for whoever runs it and wherever.

use order9_lab::scenario::{memory_of, repetition_on};
use order9_record::{Digest, Inputs};
use order9_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SweepError;
use crate::axes::Axes;
use crate::named::{self, Namer};
use crate::run::{self, Done};

/// Digest of what this program computes with: sources of the engine, the lab and statistics, and their dependencies. Programs of one
/// digest have equal results.
pub const ENGINE: &str = env!("ORDER9_ENGINE");

/// A cell of a sweep. It needs no file but its snapshot, where it starts from one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The digest of everything that decides what it gives.
    pub name: Digest,
    /// Labels of the cell.
    pub axes: Axes,
    /// Seed of the cell.
    pub seed: u64,
    /// Inputs as a run directory has them: one policy and one seed.
    pub inputs: Inputs,
}

impl Cell {
    /// Runs the cell in this thread, with up to `available` of the host's memory for a snapshot.
    ///
    /// # Errors
    /// A description that is not that of its name, as one of another order9 is; a snapshot that is gone or another one. Whatever goes
    /// wrong in the run itself is an end of the cell.
    pub fn run(&self, available: Bytes) -> Result<Done, SweepError> {
        let computed = named::cell(Namer::default().point(&self.axes, &self.inputs), self.seed);
        if computed != self.name || self.inputs.seeds != [self.seed] || self.inputs.policies.len() != 1 {
            return Err(SweepError::OtherCell { stated: self.name, computed });
        }
        let experiment = repetition_on(&self.inputs, memory_of(&self.inputs.memory, available)?)?;
        Ok(run::run(self.name, self.axes.clone(), &experiment))
    }
}
