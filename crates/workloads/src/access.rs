//! Speed of memory once a program has it: the purpose of huge pages.
//!
//! Beside what it costs to get memory, workloads that use it load words of it at random, each waiting for the one before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use order9_units::Nanos;

use crate::measure::{Better, Family, Measure, Unit};
use crate::sys::{Area, Loads, Measuring, Stop, Sys};

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

/// Loads of all threads.
#[derive(Clone, Default)]
pub(crate) struct Accesses(Arc<Sums>);

#[derive(Default)]
struct Sums {
    loads: AtomicU64,
    nanos: AtomicU64,
    /// Loads of which it is known how many missed the TLB, and how many did.
    counted: AtomicU64,
    tlb_misses: AtomicU64,
}

impl Accesses {
    /// Measures loads from `area`.
    pub(crate) async fn measure<S: Sys>(&self, sys: &S, area: Area) -> Result<(), Stop> {
        let Loads { loads, time, tlb_misses } = sys.load(area, LOADS).await?;
        self.0.loads.fetch_add(loads, Ordering::Relaxed);
        self.0.nanos.fetch_add(time.get(), Ordering::Relaxed);
        if let Some(misses) = tlb_misses {
            self.0.counted.fetch_add(loads, Ordering::Relaxed);
            self.0.tlb_misses.fetch_add(misses, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Mean time of a load, in ns; 0 without loads.
    pub(crate) fn mean(&self) -> f64 {
        let loads = self.0.loads.load(Ordering::Relaxed).max(1);
        self.0.nanos.load(Ordering::Relaxed) as f64 / loads as f64
    }

    /// Records what all of them came to, under names that end with `suffix`; nothing where there were none.
    pub(crate) fn report<S: Measuring>(&self, sys: &S, suffix: &str) {
        let loads = self.0.loads.load(Ordering::Relaxed);
        if loads > 0 {
            sys.mean(&format!("access{suffix}"), Nanos::new(self.0.nanos.load(Ordering::Relaxed)), loads);
        }
        let counted = self.0.counted.load(Ordering::Relaxed);
        if counted > 0 {
            let misses = self.0.tlb_misses.load(Ordering::Relaxed);
            sys.percent(&format!("tlb-miss{suffix}"), 100.0 * misses as f64 / counted as f64);
        }
    }
}
