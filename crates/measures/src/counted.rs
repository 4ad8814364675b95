//! Counters of a run as the efforts that memory cost.

use order9_record::Run;
use order9_report::stats::Estimate;
use order9_units::Nanos;

/// Growth of a counter over the run; 0 where the kernel does not count it.
#[must_use]
pub fn growth(run: &Run, name: &str) -> f64 {
    run.growth(name).unwrap_or(0) as f64
}

/// Growth of all counters that begin so: older kernels count by zone.
#[must_use]
pub fn growth_of_all(run: &Run, beginning: &str) -> f64 {
    let names = run.counters.columns.iter().map(|counter| counter.name.as_str());
    names.filter(|name| name.starts_with(beginning)).map(|name| growth(run, name)).sum()
}

/// Pages that were moved.
#[must_use]
pub fn moved(run: &Run) -> f64 {
    growth(run, "pgmigrate_success")
}

/// Pages that were reclaimed, whoever did it.
#[must_use]
pub fn reclaimed(run: &Run) -> f64 {
    ["pgsteal_kswapd", "pgsteal_direct", "pgsteal_khugepaged", "pgsteal_proactive"]
        .map(|by| growth_of_all(run, by))
        .iter()
        .sum()
}

/// Pages that were written to swap.
#[must_use]
pub fn swapped(run: &Run) -> f64 {
    growth(run, "pswpout")
}

/// Number of waits for direct compaction.
#[must_use]
pub fn compaction_stalls(run: &Run) -> f64 {
    growth(run, "compact_stall")
}

/// Number of waits for direct reclaim.
#[must_use]
pub fn reclaim_stalls(run: &Run) -> f64 {
    growth_of_all(run, "allocstall")
}

/// Share of a CPU, in percent, that a counter of nanoseconds took in the busiest [`SPAN`]; of the whole run where that is shorter.
#[must_use]
pub fn busiest(run: &Run, name: &str) -> Option<f64> {
    let times = &run.counters.times;
    let spent = &run.counters.columns.get(run.counters.position(name)?)?.values;
    let share = |from: usize, to: usize| {
        let time = (times[to].get() - times[from].get()).max(1);
        100.0 * spent[to].saturating_sub(spent[from]) as f64 / time as f64
    };
    let last = times.len().checked_sub(1)?;
    let begin = |to: usize| (0..to).rfind(|&from| times[to].get() - times[from].get() >= SPAN.get());
    let spans = (0..=last).filter_map(|to| begin(to).map(|from| share(from, to)));
    Some(spans.reduce(f64::max).unwrap_or_else(|| share(0, last)))
}

/// Span over which a share of a CPU is judged, as a change under watch is.
pub const SPAN: Nanos = Nanos::new(10_000_000_000);

/// Mean and spread of `value` over runs, of which there is at least one.
pub fn over<'a>(runs: impl Iterator<Item = &'a Run>, value: impl Fn(&Run) -> f64) -> Estimate {
    Estimate::new(runs.map(value)).expect("an experiment has runs, and counters are finite")
}

#[cfg(test)]
mod tests {
    use order9_record::Counters;
    use order9_units::{CounterKind, CounterMeaning, CounterUnit};

    use super::*;

    fn run(seconds: u64, spent: impl Fn(u64) -> u64) -> Run {
        let mut run = Run::new("a", 1);
        let meaning = CounterMeaning { unit: CounterUnit::Nanoseconds, kind: CounterKind::Event };
        run.counters = Counters::new([("cpu", meaning)]);
        (0..=seconds).for_each(|at| run.counters.push(Nanos::new(at * 1_000_000_000), &[spent(at) * 1_000_000_000]));
        run
    }

    #[test]
    fn a_share_is_that_of_the_busiest_ten_seconds() {
        let burst = run(30, |at| at.clamp(15, 20) - 15);
        assert_eq!(busiest(&burst, "cpu"), Some(50.0), "five seconds of ten");
        assert_eq!(busiest(&run(4, |at| at / 4), "cpu"), Some(25.0), "a run of four seconds");
        assert_eq!(busiest(&run(4, |at| at), "none"), None);
    }
}
