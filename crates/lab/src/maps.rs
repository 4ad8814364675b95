//! Maps of memory that a run takes as it goes on.

use std::num::NonZero;

use order9_machine::Tick;
use order9_snapshot::census::Census;
use order9_snapshot::maps::MapSeries;
use order9_units::{Nanos, NodeId};

use crate::export::export;

/// Takes a map at the first reading of the counters, at the first one after each interval, and at the end.
pub(crate) struct Maps {
    every: Option<Nanos>,
    next: Nanos,
    cpus: Vec<NodeId>,
    /// The maps so far.
    pub(crate) series: MapSeries,
}

impl Maps {
    /// A map after every `every`, of a machine with CPUs on these nodes; `None` takes none.
    pub(crate) fn new(every: Option<Nanos>, cpus: Vec<NodeId>) -> Self {
        Self { every, next: Nanos::ZERO, cpus, series: MapSeries::default() }
    }

    /// Counters are read.
    pub(crate) fn tick(&mut self, tick: &Tick<'_>) {
        let Some(every) = self.every else { return };
        if tick.now < self.next && !tick.is_last {
            return;
        }
        self.next = Nanos::new((tick.now.get() / every.get() + 1).saturating_mul(every.get()));
        // Other runs have the other cores.
        let census = Census::with_threads(&export(tick.engine, &self.cpus, &[]), NonZero::<usize>::MIN);
        self.series.push(tick.now, &census.expect("an exported map fits its zones"));
    }
}
