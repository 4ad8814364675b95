//! Speed of memory once a program has it: the purpose of huge pages.
//!
//! Beside what it costs to get memory, workloads that use it load words of it at random, each waiting for the one before.

use order9_units::Nanos;

use crate::measure::{Better, Family, Measure, Unit};
use crate::sys::{Area, Loads, Measuring, Processes, Shared, Stop, Sys};

/// Time of a load, and how many miss the TLB.
pub(crate) const ACCESS: [Measure; 2] = [
    Measure {
        heading: "Access Latencies",
        operations: &["access"],
        family: Family::Single("Mean"),
        better: Better::Lower,
        unit: Unit::Nanoseconds,
        decimals: 2,
        main: &[],
    },
    Measure {
        heading: "Accesses Missing the TLB",
        operations: &["tlb-miss"],
        family: Family::Single("Percentage"),
        better: Better::Lower,
        unit: Unit::Percent,
        decimals: 2,
        main: &[],
    },
];

/// Loads of each program: too few to be noticed beside what it does, and enough for a mean.
pub(crate) const LOADS: u64 = 1000;

/// Loads of all threads of all processes.
#[derive(Clone)]
pub(crate) struct Accesses(Shared);

/// Place of the number of loads.
const NUMBER: usize = 0;
/// Place of their time in ns.
const NANOS: usize = 1;
/// Place of the number of loads of which it is known how many missed the TLB.
const COUNTED: usize = 2;
/// Place of the number of those that missed it.
const TLB_MISSES: usize = 3;

impl Accesses {
    /// Loads to which this process and its later children add.
    pub(crate) fn new<S: Processes>(sys: &S) -> Result<Self, Stop> {
        sys.share(TLB_MISSES + 1).map(Self)
    }

    /// Measures loads from `area`.
    pub(crate) async fn measure<S: Sys>(&self, sys: &S, area: Area) -> Result<(), Stop> {
        let Loads { loads, time, tlb_misses } = sys.load(area, LOADS).await?;
        self.0.add(NUMBER, loads);
        self.0.add(NANOS, time.get());
        if let Some(misses) = tlb_misses {
            self.0.add(COUNTED, loads);
            self.0.add(TLB_MISSES, misses);
        }
        Ok(())
    }

    /// Mean time of a load, in ns; 0 without loads.
    pub(crate) fn mean(&self) -> f64 {
        let loads = self.0.get(NUMBER).max(1);
        self.0.get(NANOS) as f64 / loads as f64
    }

    /// Records what all of them came to, under names that end with `suffix`; nothing where there were none.
    pub(crate) fn report<S: Measuring>(&self, sys: &S, suffix: &str) {
        let loads = self.0.get(NUMBER);
        if loads > 0 {
            sys.mean(&format!("access{suffix}"), Nanos::new(self.0.get(NANOS)), loads);
        }
        let counted = self.0.get(COUNTED);
        if counted > 0 {
            let misses = self.0.get(TLB_MISSES);
            sys.percent(&format!("tlb-miss{suffix}"), 100.0 * misses as f64 / counted as f64);
        }
    }
}
