//! Benchmarks of huge pages in page faults: threads touch memory unit by unit, some of which become huge pages.
//!
//! Shared here: what a thread does with its units, and the tables that come of it.

pub(crate) mod challenge;
mod file_load;
pub(crate) mod scale;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use order9_units::Bytes;

use crate::parameters::{Kind, Parameter, Value};
use crate::sys::{Area, Stop, Sys};
use crate::unit::{Filled, UNIT, fill_unit};
use crate::workload::{Better, Family, Figure, Measure, Unit};

/// Whether programs ask for huge pages.
const MADVISE: Parameter = Parameter {
    key: "madvise",
    meaning: "whether the memory that is measured is advised MADV_HUGEPAGE",
    kind: Kind::Word(&["no", "yes"]),
    default: |_| Value::Word("no"),
    default_text: "no",
};

/// Latencies of units and how many became huge.
pub(crate) const FAULTS: [Measure; 2] = [
    Measure {
        heading: "Fault Latencies",
        operations: &["fault-base", "fault-huge", "fault-both"],
        family: Family::Samples,
        better: Better::Lower,
        unit: Unit::Microseconds,
        decimals: 2,
        main: &[("fault-huge", Figure::Median), ("fault-huge", Figure::P95), ("fault-both", Figure::Mean)],
    },
    Measure {
        heading: "Percentage Faults Huge",
        operations: &["huge"],
        family: Family::Single("Percentage"),
        better: Better::Higher,
        unit: Unit::Percent,
        decimals: 2,
        main: &[("huge", Figure::Mean)],
    },
];

/// Where units were, in percent of those of their kind.
const LOCALITY: Measure = Measure {
    heading: "Locality",
    operations: &["local-base", "remote-base", "local-huge", "remote-huge"],
    family: Family::Single("Percentage"),
    better: Better::Higher,
    unit: Unit::Percent,
    decimals: 2,
    main: &[],
};

/// What the units of all threads came to.
#[derive(Clone, Default)]
struct Tally(Arc<[[AtomicU64; 2]; 2]>);

impl Tally {
    fn add(&self, filled: &Filled) {
        self.0[usize::from(filled.huge)][usize::from(filled.local)].fetch_add(1, Ordering::Relaxed);
    }

    /// Units of a kind on a node that is local or not.
    fn units(&self, huge: bool, local: bool) -> u64 {
        self.0[usize::from(huge)][usize::from(local)].load(Ordering::Relaxed)
    }

    fn of_kind(&self, huge: bool) -> u64 {
        self.units(huge, false) + self.units(huge, true)
    }

    /// Records what was not recorded unit by unit. A kind that did not occur has one sample of 0.
    fn report<S: Sys>(&self, sys: &S, threads: u64) {
        let (base, huge) = (self.of_kind(false), self.of_kind(true));
        for (kind, count) in [("base", base), ("huge", huge), ("both", base + huge)] {
            if count == 0 {
                sys.sample(&format!("fault-{kind}-{threads}"), order9_units::Nanos::ZERO);
            }
        }
        sys.percent(&format!("huge-{threads}"), percent(huge, base + huge));
    }

    fn report_locality<S: Sys>(&self, sys: &S, threads: u64) {
        for (kind, huge) in [("base", false), ("huge", true)] {
            for (place, local) in [("local", true), ("remote", false)] {
                let share = percent(self.units(huge, local), self.of_kind(huge));
                sys.percent(&format!("{place}-{kind}-{threads}"), share);
            }
        }
    }
}

fn percent(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { 100.0 * part as f64 / all as f64 }
}

/// Fills units one after another, as one of `threads` threads.
async fn fill_units<S: Sys>(sys: &S, area: Area, units: u64, threads: u64, tally: &Tally) -> Result<(), Stop> {
    let (base, huge) = (format!("fault-base-{threads}"), format!("fault-huge-{threads}"));
    let both = format!("fault-both-{threads}");
    for unit in 0..units {
        let filled = fill_unit(sys, area.part(Bytes::new(unit * UNIT.get()), UNIT)).await?;
        tally.add(&filled);
        sys.sample(if filled.huge { &huge } else { &base }, filled.latency);
        sys.sample(&both, filled.latency);
    }
    Ok(())
}
