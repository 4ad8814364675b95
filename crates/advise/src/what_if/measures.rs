//! Measures that are compared: the one list that tables and judgements read.

use order9_record::Run;
use order9_report::stats::{Direction, Samples};
use order9_units::PAGEBLOCK_PAGES;
use schemars::JsonSchema;
use serde::Serialize;

use crate::counted::{compaction_stalls, growth, moved, reclaim_stalls, reclaimed, swapped};
use crate::latencies::percentile;

/// Measure of a run.
pub(super) struct Measure {
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    pub(super) direction: Direction,
    /// Value of a run; `None` where the run measured nothing of the kind.
    pub(super) read: fn(&Run) -> Option<f64>,
}

/// Unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Shares in percent.
    Percent,
    /// Times in nanoseconds.
    Nanoseconds,
    /// Numbers of events.
    Events,
    /// Numbers of base pages.
    Pages,
    /// Numbers of huge pages.
    HugePages,
}

const fn measure(name: &'static str, unit: Unit, direction: Direction, read: fn(&Run) -> Option<f64>) -> Measure {
    Measure { name, unit, direction, read }
}

use Direction::{HigherIsBetter as Higher, LowerIsBetter as Lower};

/// All of them, in the order of rows.
pub(super) const ALL: &[Measure] = &[
    measure("faults that became huge", Unit::Percent, Higher, huge_share),
    measure("anonymous memory that is huge then", Unit::Percent, Higher, anonymous_huge),
    measure("fault p50", Unit::Nanoseconds, Lower, |run| fault(run, 50)),
    measure("fault p95", Unit::Nanoseconds, Lower, |run| fault(run, 95)),
    measure("fault p99", Unit::Nanoseconds, Lower, |run| fault(run, 99)),
    measure("access to the memory", Unit::Nanoseconds, Lower, |run| run.values("access").next()),
    measure("waits for direct compaction", Unit::Events, Lower, |run| Some(compaction_stalls(run))),
    measure("time of these waits", Unit::Nanoseconds, Lower, |run| Some(growth(run, "order9_compact_stall_ns"))),
    measure("waits for direct reclaim", Unit::Events, Lower, |run| Some(reclaim_stalls(run))),
    measure("pages moved", Unit::Pages, Lower, |run| Some(moved(run))),
    measure("CPU time of kcompactd", Unit::Nanoseconds, Lower, |run| Some(growth(run, "order9_kcompactd_cpu_ns"))),
    measure("CPU time of kswapd", Unit::Nanoseconds, Lower, |run| Some(growth(run, "order9_kswapd_cpu_ns"))),
    measure("CPU time of khugepaged", Unit::Nanoseconds, Lower, |run| Some(growth(run, "order9_khugepaged_cpu_ns"))),
    measure("pages reclaimed", Unit::Pages, Lower, |run| Some(reclaimed(run))),
    measure("pages swapped out", Unit::Pages, Lower, |run| Some(swapped(run))),
    measure("page cache lost", Unit::Pages, Lower, |run| Some((-growth(run, "nr_file_pages")).max(0.0))),
    measure("huge pages free then", Unit::HugePages, Higher, |run| at_end(run, "order9_nr_huge_free")),
];

/// First faults of 2 MiB, whatever they became, as workloads of huge pages name them.
const FAULTS: [&str; 3] = ["fault-huge", "fault-base", "alloc"];

fn fault(run: &Run, percent: usize) -> Option<f64> {
    let is_fault = |name: &str| {
        FAULTS.iter().any(|of| name == *of || name.strip_prefix(of).is_some_and(|rest| rest.starts_with('-')))
    };
    let names = run.operations.iter().map(|operation| operation.name.as_str()).filter(|name| is_fault(name));
    let samples = Samples::new(names.flat_map(|name| run.values(name))).ok()?;
    Some(percentile(&samples, percent))
}

/// Share of the faults that could have become huge and did.
pub(crate) fn huge_share(run: &Run) -> Option<f64> {
    let (huge, base) = (growth(run, "thp_fault_alloc"), growth(run, "thp_fault_fallback"));
    run.values("huge").next().or_else(|| (huge + base > 0.0).then(|| 100.0 * huge / (huge + base)))
}

fn anonymous_huge(run: &Run) -> Option<f64> {
    let (huge, all) = (at_end(run, "nr_anon_transparent_hugepages")?, at_end(run, "nr_anon_pages")?);
    (all > 0.0).then(|| 100.0 * huge * PAGEBLOCK_PAGES.get() as f64 / all)
}

/// Phase of programs in which they keep the memory that they have.
const KEPT: &str = "hold";

/// A level while the program still has its memory, or at the end of the run where no phase says so.
fn at_end(run: &Run, level: &str) -> Option<f64> {
    let phase = run.phases.iter().find(|phase| phase.name == KEPT).or(run.phases.last())?;
    phase.at_end.get(run.counters.position(level)?).map(|&value| value as f64)
}
