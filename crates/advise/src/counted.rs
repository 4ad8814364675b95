//! Counters of a run as the efforts that memory cost.

use order9_record::Run;
use order9_report::stats::Estimate;

/// Growth of a counter over the run; 0 where the kernel does not count it.
pub(crate) fn growth(run: &Run, name: &str) -> f64 {
    run.growth(name).unwrap_or(0) as f64
}

/// Growth of all counters that begin so: older kernels count by zone.
pub(crate) fn growth_of_all(run: &Run, beginning: &str) -> f64 {
    let names = run.counters.columns.iter().map(|counter| counter.name.as_str());
    names.filter(|name| name.starts_with(beginning)).map(|name| growth(run, name)).sum()
}

/// Pages that were moved.
pub(crate) fn moved(run: &Run) -> f64 {
    growth(run, "pgmigrate_success")
}

/// Pages that were reclaimed, whoever did it.
pub(crate) fn reclaimed(run: &Run) -> f64 {
    ["pgsteal_kswapd", "pgsteal_direct", "pgsteal_khugepaged"].map(|by| growth_of_all(run, by)).iter().sum()
}

/// Pages that were written to swap.
pub(crate) fn swapped(run: &Run) -> f64 {
    growth(run, "pswpout")
}

/// Number of waits for direct compaction.
pub(crate) fn compaction_stalls(run: &Run) -> f64 {
    growth(run, "compact_stall")
}

/// Number of waits for direct reclaim.
pub(crate) fn reclaim_stalls(run: &Run) -> f64 {
    growth_of_all(run, "allocstall")
}

/// Mean and spread of `value` over runs, of which there is at least one.
pub(crate) fn over<'a>(runs: impl Iterator<Item = &'a Run>, value: impl Fn(&Run) -> f64) -> Estimate {
    Estimate::new(runs.map(value)).expect("an experiment has runs, and counters are finite")
}
