//! Quantities that can be plotted: counters that changed during a run, and operations with samples.

use std::collections::{BTreeMap, BTreeSet};

use order9_record::Loaded;
use schemars::JsonSchema;
use serde::Serialize;

use super::{PlotChoice, PlotError, chosen};
use crate::tables::counts_events;

/// Counters and operations of a stored run that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Changed {
    /// Levels of memory, and others that rise and fall.
    pub levels: Vec<Level>,
    /// Counters of events.
    pub counters: Vec<Growth>,
    /// Operations.
    pub samples: Vec<Sampled>,
}

/// A level with its range over all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Level {
    /// Name of the counter.
    pub name: String,
    /// The smallest value.
    pub smallest: u64,
    /// The largest value.
    pub largest: u64,
}

/// A counter with its growth in the run in which it grew most.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Growth {
    /// Name of the counter.
    pub name: String,
    /// Number of events.
    pub growth: u64,
}

/// An operation with the number of its samples in all runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sampled {
    /// Name of the operation.
    pub name: String,
    /// Number of samples.
    pub samples: u64,
}

/// Levels and counters with more than one value in a run of the chosen policies and seeds, by name, and all operations.
///
/// # Errors
/// A policy or seed that the runs do not have.
pub fn changed(loaded: &Loaded, choice: &PlotChoice) -> Result<Changed, PlotError> {
    let (runs, _) = chosen(loaded, choice)?;
    let (mut ranges, mut events) = (BTreeMap::<&str, (u64, u64, u64)>::new(), BTreeSet::<&str>::new());
    for counter in runs.iter().flat_map(|run| &run.counters.columns) {
        let (Some(&low), Some(&high)) = (counter.values.iter().min(), counter.values.iter().max()) else { continue };
        if counts_events(counter) {
            events.insert(&counter.name);
        }
        let range = ranges.entry(&counter.name).or_insert((low, high, 0));
        *range = (range.0.min(low), range.1.max(high), range.2.max(high - low));
    }
    let mut samples: BTreeMap<&str, u64> = BTreeMap::new();
    for run in runs {
        for operation in run.samples.iter().filter_map(|sample| run.operation_of(sample)) {
            *samples.entry(&operation.name).or_default() += 1;
        }
    }
    let moved = ranges.into_iter().filter(|(_, (_, _, growth))| *growth > 0);
    let (counters, levels): (Vec<_>, Vec<_>) = moved.partition(|(name, _)| events.contains(name));
    Ok(Changed {
        levels: levels
            .into_iter()
            .map(|(name, (smallest, largest, _))| Level { name: name.to_owned(), smallest, largest })
            .collect(),
        counters: counters.into_iter().map(|(name, (_, _, growth))| Growth { name: name.to_owned(), growth }).collect(),
        samples: samples.into_iter().map(|(name, samples)| Sampled { name: name.to_owned(), samples }).collect(),
    })
}
