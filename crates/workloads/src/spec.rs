//! Everything there is to say of a workload but its program: [`Spec`], of which each workload's file has one.

use std::collections::BTreeMap;

use order9_units::Nanos;

use crate::demand::{Chosen, Demand};
use crate::measure::Measure;
use crate::parameters::{Parameter, Value};

/// A setting of Linux by sysctl's name, and the text that is written to it.
pub type Setting = (&'static str, &'static str);

/// A workload, but for its program.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// Name in scenario files and on the command line.
    pub name: &'static str,
    /// Purpose, in one line.
    pub summary: &'static str,
    /// Course and measurements, in a few sentences.
    pub description: &'static str,
    /// Parameters that can be chosen, beside [`GENERAL`](crate::GENERAL).
    pub parameters: &'static [Parameter],
    /// Tables of measurements, the main one first, beside [`GENERAL_MEASURES`](crate::GENERAL_MEASURES).
    pub measures: &'static [Measure],
    /// See [`Spec::settings`].
    pub(crate) settings: fn(&BTreeMap<&str, Value>) -> &'static [Setting],
    /// Time between two readings of the counters, unless somebody wants more or less.
    pub counters_every: Nanos,
    /// Whether a run is long by default, whatever the machine: it lasts for days, or fills memory many times over.
    pub is_long: bool,
    /// See [`Workload::demand`](crate::Workload::demand).
    pub(crate) demand: fn(&Chosen<'_>) -> Demand,
}

pub(crate) const SECOND: Nanos = Nanos::new(1_000_000_000);

impl Spec {
    /// A program from outside, without parameters of its own: its name, its purpose in one line, and the tables of what it measures.
    #[must_use]
    pub const fn own(name: &'static str, summary: &'static str, measures: &'static [Measure]) -> Self {
        Self {
            name,
            summary,
            description: summary,
            parameters: &[],
            measures,
            settings: |_| &[],
            counters_every: SECOND,
            is_long: false,
            demand: |_| Demand::default(),
        }
    }

    /// Settings of Linux that belong to the benchmark with these parameters; they are written before the start. A parameter that
    /// was not chosen has its default.
    ///
    /// The benchmarks of huge pages were published with `enabled=always` and the kernel's own `defrag`, or with a `defrag` that
    /// is a part of the variant; those that fragment memory with base pages, with `enabled=madvise`.
    #[must_use]
    pub fn settings(&self, chosen: &BTreeMap<&str, Value>) -> &'static [Setting] {
        (self.settings)(chosen)
    }
}
