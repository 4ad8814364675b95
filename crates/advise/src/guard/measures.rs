//! Measures of a run in which somebody compacts: huge pages that are ready, and their price.

use order9_measures::counted::{compaction_stalls, growth, moved, over};
use order9_measures::huge_share;
use order9_record::Run;
use order9_report::stats::Estimate;
use order9_units::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// Measures of all runs of one way to compact.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// Free huge pages, as the mean over the time of a run.
    pub huge_free: Estimate,
    /// The fewest of them at any reading.
    pub huge_free_least: Estimate,
    /// Share of the time in which as many are free as the goal says, in percent.
    pub at_goal_percent: Estimate,
    /// CPU time of kcompactd and of the guard.
    pub cpu_ns: Estimate,
    /// Waits for direct compaction.
    pub waits: Estimate,
    /// Time of these waits.
    pub wait_ns: Estimate,
    /// Share of the faults that could have become huge and did, in percent; nothing where there were none.
    pub huge_percent: Option<Estimate>,
    /// Base pages that were moved.
    pub pages_moved: Estimate,
}

/// Free huge pages over time.
const LEVEL: &str = "order9_nr_huge_free";

impl Measured {
    /// Measures of runs, of which there is at least one.
    pub(super) fn of(runs: &[&Run], goal: u64) -> Self {
        let over = |value: &dyn Fn(&Run) -> f64| over(runs.iter().copied(), value);
        Self {
            huge_free: over(&|run| over_time(run, |huge| huge as f64)),
            huge_free_least: over(&|run| levels(run).map(|(_, huge)| huge).min().unwrap_or(0) as f64),
            at_goal_percent: over(&|run| over_time(run, |huge| if huge >= goal { 100.0 } else { 0.0 })),
            cpu_ns: over(&cpu),
            waits: over(&compaction_stalls),
            wait_ns: over(&|run| growth(run, "order9_compact_stall_ns")),
            huge_percent: Estimate::new(runs.iter().filter_map(|run| huge_share(run))),
            pages_moved: over(&moved),
        }
    }
}

/// CPU time of kcompactd and of the guard.
fn cpu(run: &Run) -> f64 {
    growth(run, "order9_kcompactd_cpu_ns") + run.values("guard-cpu").sum::<f64>()
}

/// Readings of the free huge pages.
fn levels(run: &Run) -> impl Iterator<Item = (Nanos, u64)> {
    let column = run.counters.position(LEVEL).map(|at| run.counters.columns[at].values.as_slice());
    run.counters.times.iter().copied().zip(column.unwrap_or_default().iter().copied())
}

/// Mean over the time of a run; a level counts until the next reading.
fn over_time(run: &Run, value: impl Fn(u64) -> f64) -> f64 {
    let (begin, end) = (levels(run).next(), levels(run).last());
    let (Some((begin, _)), Some((end, last))) = (begin, end) else { return 0.0 };
    let pairs = levels(run).zip(levels(run).skip(1));
    let sum: f64 = pairs.map(|((at, huge), (next, _))| value(huge) * (next - at).get() as f64).sum();
    if end > begin { sum / (end - begin).get() as f64 } else { value(last) }
}

#[cfg(test)]
mod tests {
    use order9_units::{CounterMeaning, CounterUnit};

    use super::*;

    #[test]
    fn levels_count_for_as_long_as_they_last() {
        let mut run = Run::new("a", 1);
        run.counters = order9_record::Counters::new([(LEVEL, CounterMeaning::level(CounterUnit::Blocks))]);
        [(0, 10), (10, 40), (40, 7)].iter().for_each(|&(at, huge)| run.counters.push(Nanos::new(at), &[huge]));
        assert_eq!(over_time(&run, |huge| huge as f64), 32.5);
        assert_eq!(over_time(&run, |huge| if huge >= 40 { 100.0 } else { 0.0 }), 75.0);
        assert_eq!(over_time(&Run::new("a", 1), |huge| huge as f64), 0.0);
    }
}
