//! One run as a value: everything that decides what it gives, for whoever runs it and wherever.

use std::sync::Arc;

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

/// Everything that decides the cells of a point, but for their seeds. It needs no file but its snapshot, where it starts from one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointInputs {
    /// The digest of all of it.
    pub name: Digest,
    /// Labels of the cells.
    pub axes: Axes,
    /// Inputs as a run directory has them: one policy, and no seeds.
    pub inputs: Inputs,
}

/// A cell of a sweep. All of a point can share what they are, which is much longer than a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// Everything but the seed.
    pub point: Arc<PointInputs>,
    /// Seed of the cell.
    pub seed: u64,
}

impl Cell {
    /// The digest of everything that decides what it gives.
    #[must_use]
    pub fn name(&self) -> Digest {
        named::cell(self.point.name, self.seed)
    }

    /// Runs the cell in this thread, with up to `available` of the host's memory for a snapshot.
    ///
    /// # Errors
    /// A description that is not that of its name, as one of another order9 is; a snapshot that is gone or another one. Whatever goes
    /// wrong in the run itself is an end of the cell.
    pub fn run(&self, available: Bytes) -> Result<Done, SweepError> {
        let PointInputs { name, axes, inputs } = &*self.point;
        let computed = Namer::default().point(axes, inputs);
        if computed != *name || inputs.policies.len() != 1 {
            return Err(SweepError::OtherCell { stated: *name, computed });
        }
        let inputs = Inputs { seeds: vec![self.seed], ..inputs.clone() };
        let experiment = repetition_on(&inputs, memory_of(&inputs.memory, available)?)?;
        Ok(run::run(self.name(), axes.clone(), &experiment))
    }
}
