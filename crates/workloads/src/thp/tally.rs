//! Tally of a program's units, or slots: huge or base pages, local or remote, and their latencies.

use order9_units::Nanos;

use crate::sys::{Measuring, Processes, Shared, Stop};
use crate::unit::Filled;

/// Units of all threads of all processes together: their numbers by whether they are huge and whether they are local, and behind
/// them the sum of their latencies in ns.
#[derive(Clone)]
pub(crate) struct Tally(Shared);

/// Place of the sum of latencies.
const NANOS: usize = 4;

fn place(huge: bool, local: bool) -> usize {
    usize::from(huge) * 2 + usize::from(local)
}

impl Tally {
    /// A tally to which this process and its later children add.
    pub(crate) fn new<S: Processes>(sys: &S) -> Result<Self, Stop> {
        sys.share(NANOS + 1).map(Self)
    }

    /// Counts a unit.
    pub(crate) fn add(&self, filled: &Filled) {
        self.0.add(place(filled.huge, filled.local), 1);
        self.0.add(NANOS, filled.latency.get());
    }

    /// Units of a kind on a node that is local or not.
    fn units(&self, huge: bool, local: bool) -> u64 {
        self.0.get(place(huge, local))
    }

    fn of_kind(&self, huge: bool) -> u64 {
        self.units(huge, false) + self.units(huge, true)
    }

    /// Number of all units.
    pub(crate) fn all(&self) -> u64 {
        self.of_kind(false) + self.of_kind(true)
    }

    /// Latencies of all units together.
    pub(crate) fn time(&self) -> Nanos {
        Nanos::new(self.0.get(NANOS))
    }

    /// Records what was not recorded unit by unit. A kind that did not occur has one sample of 0.
    pub(super) fn report<S: Measuring>(&self, sys: &S, threads: u64) {
        let (base, huge) = (self.of_kind(false), self.of_kind(true));
        for (kind, count) in [("base", base), ("huge", huge), ("both", base + huge)] {
            if count == 0 {
                sys.sample(&format!("fault-{kind}-{threads}"), Nanos::ZERO);
            }
        }
        sys.percent(&format!("huge-{threads}"), percent(huge, base + huge));
    }

    /// Records where units are, in percent of those of their kind.
    pub(super) fn report_locality<S: Measuring>(&self, sys: &S, threads: u64) {
        for (kind, huge) in [("base", false), ("huge", true)] {
            for (place, local) in [("local", true), ("remote", false)] {
                let share = percent(self.units(huge, local), self.of_kind(huge));
                sys.percent(&format!("{place}-{kind}-{threads}"), share);
            }
        }
    }

    /// Records what units became and where they are, in percent of all, under names that end with `suffix`.
    pub(crate) fn report_slots<S: Measuring>(&self, sys: &S, suffix: &str) {
        for (kind, huge) in [("huge", true), ("base", false)] {
            for (place, local) in [("local", true), ("remote", false)] {
                let share = percent(self.units(huge, local), self.all());
                sys.percent(&format!("{kind}-{place}{suffix}"), share);
            }
        }
    }
}

fn percent(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { 100.0 * part as f64 / all as f64 }
}
