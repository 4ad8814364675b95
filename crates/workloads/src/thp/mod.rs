//! Benchmarks of huge pages in page faults: threads touch memory unit by unit, some of which become huge pages.
//!
//! Shared here: what a thread does with its units, and the tables that come of it.

mod beside_load;
pub(crate) mod challenge;
mod file_load;
pub(crate) mod fioscale;
pub(crate) mod scale;
pub(crate) mod tally;

use order9_units::Bytes;
use tally::Tally;

use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Value};
use crate::sys::{Area, Stop, Sys};
use crate::unit::{UNIT, fill_unit};

/// Whether programs ask for huge pages.
pub(crate) const MADVISE: Parameter = Parameter {
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

/// Place of units, in percent of the units of their kind.
const LOCALITY: Measure = Measure {
    heading: "Locality",
    operations: &["local-base", "remote-base", "local-huge", "remote-huge"],
    family: Family::Single("Percentage"),
    better: Better::Higher,
    unit: Unit::Percent,
    decimals: 2,
    main: &[],
};

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
