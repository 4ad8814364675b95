//! The cost of a demand, in time: all that a program pays to get its memory and to use it, and what others pay for that.
//!
//! Key types: [`Costs`] (of one run), [`Case`] (of all runs of a remedy). The terms and their sources: docs/advise.md.

use order9_measures::counted::{compaction_stalls, growth, moved, over, reclaim_stalls, swapped};
use order9_measures::{at_end, huge_share};
use order9_record::Run;
use order9_report::stats::Estimate;
use order9_units::{Bytes, Nanos, Pages};
use order9_workloads::BEFOREHAND;
use schemars::JsonSchema;
use serde::Serialize;

/// Phase in which `map-and-write` gets its memory.
const WRITE: &str = "write";

/// Cost of the demand with a remedy, or as the host is, and the amounts behind it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Case {
    /// Cost of the demand, in nanoseconds: the sum of `costs`.
    pub cost_ns: Estimate,
    /// Terms of the cost, means of the runs.
    pub costs: Costs,
    /// Share of the faults that could have become huge and did, in percent.
    pub huge_percent: Option<Estimate>,
    /// Memory that the program got, where it says so; the least of the runs.
    pub written: Option<Bytes>,
    /// Mean time of a load from the memory of the demand, in nanoseconds.
    pub access_ns: Option<Estimate>,
    /// Huge pages free while the program still has its memory.
    pub huge_free: Option<Estimate>,
    /// Time of waits for direct compaction, in nanoseconds.
    pub compact_stall_ns: Estimate,
    /// Number of waits for direct compaction and direct reclaim.
    pub stalls: Estimate,
    /// Pages that were moved.
    pub moved: Estimate,
    /// Pages of page cache and reclaimable slab that are gone at the end.
    pub cache_lost: Estimate,
    /// Pages that were written to swap.
    pub swapped_out: Estimate,
    /// Reasons for which runs ended before their time; such a remedy is never worth it.
    pub ended: Vec<String>,
}

/// Terms of a cost, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Costs {
    /// Time in which the program got its memory: faults with all their waits.
    pub faults_ns: f64,
    /// Time of the loads that the use of the memory consists of.
    pub use_ns: f64,
    /// CPU time of kcompactd, kswapd and khugepaged.
    pub daemons_ns: f64,
    /// Time of the requests before the demand.
    pub requests_ns: f64,
    /// Time to read again what went out of page cache, slab and to swap.
    pub reread_ns: f64,
    /// Time that as long a use of the memory of a process which was collapsed takes more than before: less than 0 where it saves.
    pub holder_ns: f64,
}

impl Costs {
    /// The sum.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.faults_ns + self.use_ns + self.cpu() + self.reread_ns + self.holder_ns
    }

    /// CPU time beside the program's.
    #[must_use]
    pub fn cpu(&self) -> f64 {
        self.daemons_ns + self.requests_ns
    }

    fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        Self {
            faults_ns: mean(|of| of.faults_ns),
            use_ns: mean(|of| of.use_ns),
            daemons_ns: mean(|of| of.daemons_ns),
            requests_ns: mean(|of| of.requests_ns),
            reread_ns: mean(|of| of.reread_ns),
            holder_ns: mean(|of| of.holder_ns),
        }
    }
}

/// Prices and amounts that make one time of all terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rates {
    /// Loads that the use of the memory consists of.
    loads: f64,
    /// Price of a page that has to be read again.
    reread: f64,
    /// Time of the use as things are.
    time: f64,
}

impl Rates {
    /// Use that takes `time` as things are, in `runs`.
    pub(super) fn new(runs: &[&Run], time: Nanos, reread: Nanos) -> Self {
        let access = Estimate::new(runs.iter().filter_map(|run| access(run)));
        let loads = access.filter(|access| access.mean() > 0.0).map_or(0.0, |access| time.get() as f64 / access.mean());
        Self { loads, reread: reread.get() as f64, time: time.get() as f64 }
    }

    /// Costs of a run; `share` is that of the collapsed memory in the memory of its process.
    fn of(&self, run: &Run, share: f64) -> Costs {
        let daemons = ["kcompactd", "kswapd", "khugepaged"].map(|name| growth(run, &format!("order9_{name}_cpu_ns")));
        Costs {
            faults_ns: phase(run, WRITE).unwrap_or_else(|| fault_samples(run)),
            use_ns: self.loads * access(run).unwrap_or(0.0),
            daemons_ns: daemons.iter().sum(),
            requests_ns: phase(run, BEFOREHAND).unwrap_or(0.0),
            reread_ns: self.reread * (cache_lost(run) + swapped(run)),
            holder_ns: self.time * share * slower(run).unwrap_or(0.0),
        }
    }
}

impl Case {
    /// The case that these runs are; there is at least one.
    pub(super) fn of(runs: &[&Run], rates: Rates, share: f64) -> Self {
        let costs: Vec<Costs> = runs.iter().map(|run| rates.of(run, share)).collect();
        let all = |value: fn(&Run) -> f64| over(runs.iter().copied(), value);
        let some = |value: fn(&Run) -> Option<f64>| Estimate::new(runs.iter().filter_map(|run| value(run)));
        let written = runs.iter().flat_map(|run| run.values("Memory written")).reduce(f64::min);
        Self {
            cost_ns: Estimate::new(costs.iter().map(Costs::total)).expect("times are finite"),
            costs: Costs::mean(&costs),
            huge_percent: some(huge_share),
            written: written.map(|bytes| Bytes::new(bytes as u64)),
            access_ns: some(access),
            huge_free: some(|run| at_end(run, "order9_nr_huge_free")),
            compact_stall_ns: all(|run| growth(run, "order9_compact_stall_ns")),
            stalls: all(|run| compaction_stalls(run) + reclaim_stalls(run)),
            moved: all(moved),
            cache_lost: all(cache_lost),
            swapped_out: all(swapped),
            ended: runs
                .iter()
                .filter_map(|run| Some(format!("seed {}: {}", run.seed, run.outcome.message()?)))
                .collect(),
        }
    }

    /// Page cache and slab that are gone, as memory.
    pub(super) fn lost(&self) -> Bytes {
        Pages::new(self.cache_lost.mean().round() as u64).bytes()
    }
}

fn access(run: &Run) -> Option<f64> {
    run.values("access").next()
}

/// Time of a load from memory that was collapsed, over that before, less 1.
fn slower(run: &Run) -> Option<f64> {
    let [before, after] = ["access-before", "access-after"].map(|name| run.values(name).next());
    before.filter(|&before| before > 0.0).zip(after).map(|(before, after)| after / before - 1.0)
}

/// Length of a phase, in nanoseconds.
fn phase(run: &Run, name: &str) -> Option<f64> {
    run.phases.iter().find(|phase| phase.name == name).map(|phase| (phase.end - phase.begin).get() as f64)
}

/// Time of all faults that a workload measured.
fn fault_samples(run: &Run) -> f64 {
    let is_fault = |name: &str| name.starts_with("fault-huge") || name.starts_with("fault-base");
    let names = run.operations.iter().map(|operation| operation.name.as_str()).filter(|name| is_fault(name));
    names.flat_map(|name| run.values(name)).sum()
}

/// Pages that page cache and reclaimable slab have less at the end than at the start.
fn cache_lost(run: &Run) -> f64 {
    ["nr_file_pages", "nr_slab_reclaimable"].map(|level| (-growth(run, level)).max(0.0)).iter().sum()
}

#[cfg(test)]
mod tests {
    use order9_record::{Counters, Phase, Sample, Unit};
    use order9_units::{CounterMeaning, CounterUnit};

    use super::*;

    /// A run that took `write` ns for its faults after a request of 50 ns, whose loads take `access` ns, with these counters at its
    /// end; all were 1000 at its begin.
    fn run(write: u64, access: f64, counters: &[(&str, u64)]) -> Run {
        let mut run = Run::new("a", 1);
        let operation = run.operation("access", Unit::Nanos);
        run.samples.push(Sample { operation, at: Nanos::ZERO, value: access });
        let names = counters.iter().map(|(name, _)| (*name, CounterMeaning::level(CounterUnit::Pages)));
        run.counters = Counters::new(names);
        let (begin, end) = (vec![1000; counters.len()], counters.iter().map(|(_, value)| *value).collect::<Vec<_>>());
        run.counters.push(Nanos::ZERO, &begin);
        let phase = |name: &str, from: u64, to: u64| Phase {
            name: name.to_owned(),
            begin: Nanos::new(from),
            end: Nanos::new(to),
            at_begin: begin.clone(),
            at_end: end.clone(),
        };
        run.phases = vec![phase(BEFOREHAND, 0, 50), phase(WRITE, 50, 50 + write)];
        run
    }

    #[test]
    fn a_cost_is_the_time_of_all_that_the_demand_took() {
        let counters =
            [("nr_file_pages", 990), ("nr_slab_reclaimable", 1005), ("pswpout", 1002), ("order9_kswapd_cpu_ns", 1300)];
        let (now, then) = (run(400, 200.0, &counters), run(700, 100.0, &[]));
        let rates = Rates::new(&[&now], Nanos::new(10_000), Nanos::new(8));
        let case = Case::of(&[&now], rates, 0.0);
        let costs = Costs {
            faults_ns: 400.0,
            use_ns: 10_000.0,
            daemons_ns: 300.0,
            requests_ns: 50.0,
            reread_ns: 96.0,
            holder_ns: 0.0,
        };
        assert_eq!(case.costs, costs, "10 pages of cache and 2 of swap at 8 ns; slab grew");
        assert_eq!(case.cost_ns.mean(), 10_846.0);
        let case = Case::of(&[&then], rates, 0.0);
        assert_eq!((case.costs.use_ns, case.costs.faults_ns), (5_000.0, 700.0), "as many loads, at half the time");
        assert_eq!(case.ended, Vec::<String>::new());
    }

    #[test]
    fn memory_that_was_collapsed_is_used_as_long_as_the_demand_s() {
        let mut collapsed = run(400, 200.0, &[]);
        for (name, value) in [("access-before", 400.0), ("access-after", 300.0)] {
            let operation = collapsed.operation(name, Unit::Nanos);
            collapsed.samples.push(Sample { operation, at: Nanos::ZERO, value });
        }
        let rates = Rates::new(&[&collapsed], Nanos::new(10_000), Nanos::new(8));
        assert_eq!(Case::of(&[&collapsed], rates, 0.5).costs.holder_ns, -1_250.0, "a quarter of half of the use");
    }
}
