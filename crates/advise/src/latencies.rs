//! Latencies of faults of all runs together, as percentiles by nearest rank.

use order9_measures::percentile;
use order9_record::Run;
use order9_report::stats::Samples;
use order9_units::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// Percentiles of latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Latencies {
    /// Number of faults in each run, on average.
    pub faults: u64,
    /// Latency that half of them do not exceed.
    pub p50_ns: Nanos,
    /// Latency that 95 % do not exceed.
    pub p95_ns: Nanos,
    /// Latency that 99 % do not exceed.
    pub p99_ns: Nanos,
    /// Longest latency.
    pub max_ns: Nanos,
}

impl Latencies {
    /// Latencies of these operations in all runs; `None` where there is none.
    pub(crate) fn of<'a>(runs: impl Iterator<Item = &'a Run> + Clone, operations: &[&str]) -> Option<Self> {
        let values = runs.clone().flat_map(|run| operations.iter().flat_map(|operation| run.values(operation)));
        let samples = Samples::new(values).ok()?;
        let at = |percent| Nanos::new(percentile(&samples, percent) as u64);
        Some(Self {
            faults: samples.count().div_ceil(runs.count().max(1)) as u64,
            p50_ns: at(50),
            p95_ns: at(95),
            p99_ns: at(99),
            max_ns: at(100),
        })
    }
}

#[cfg(test)]
mod tests {
    use order9_record::{Sample, Unit};

    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let mut run = Run::new("a", 1);
        let operation = run.operation("fault-huge", Unit::Nanos);
        run.samples = (1..=200).map(|n| Sample { operation, at: Nanos::new(n), value: n as f64 }).collect();
        let of = |operations: &[&str]| Latencies::of([&run, &run].into_iter(), operations);
        let ns = Nanos::new;
        let all = Latencies { faults: 200, p50_ns: ns(100), p95_ns: ns(190), p99_ns: ns(198), max_ns: ns(200) };
        assert_eq!(of(&["fault-huge", "fault-base"]), Some(all));
        assert_eq!(of(&["fault-base"]), None);
    }
}
