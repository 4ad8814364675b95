//! Quantities that can be plotted: counters that changed during a run, and operations with samples.

use std::collections::{BTreeMap, BTreeSet};

use order9_record::Loaded;

use super::{PlotChoice, PlotError, chosen};
use crate::tables::counts_events;

/// Counters and operations of a stored run that changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Levels of memory, and others that rise and fall, with the smallest and the largest value of all runs.
    pub levels: Vec<(String, u64, u64)>,
    /// Counters, with how much they grew in the run in which they grew most.
    pub counters: Vec<(String, u64)>,
    /// Operations, with how many samples they have.
    pub samples: Vec<(String, u64)>,
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
        levels: levels.into_iter().map(|(name, (low, high, _))| (name.to_owned(), low, high)).collect(),
        counters: counters.into_iter().map(|(name, (_, _, growth))| (name.to_owned(), growth)).collect(),
        samples: samples.into_iter().map(|(name, count)| (name.to_owned(), count)).collect(),
    })
}
