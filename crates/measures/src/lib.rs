//! Measures of a run that goals, limits, tables and cells of sweeps name: huge pages, and what they cost. There is one list of them.
//!
//! Key types: [`Measure`] (a name, a unit, and how it is read from a run), [`ALL`]; [`counted`] has the counters by themselves.
#![forbid(unsafe_code)]

pub mod counted;

use order9_record::Run;
use order9_report::stats::{Direction, Samples};
use order9_toml::{nearest, proposal};
use order9_units::PAGEBLOCK_PAGES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use counted::{busiest, compaction_stalls, growth, moved, reclaim_stalls, reclaimed, swapped};

/// Measure of a run.
#[derive(Debug)]
pub struct Measure {
    /// Name on the command line.
    pub word: &'static str,
    /// Name in tables.
    pub name: &'static str,
    /// Unit of its value.
    pub unit: Unit,
    /// Whether more of it is better.
    pub direction: Direction,
    /// Value of a run; `None` where the run measured nothing of the kind.
    pub read: fn(&Run) -> Option<f64>,
}

/// Unit of a measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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

const fn measure(
    (word, name): (&'static str, &'static str),
    unit: Unit,
    direction: Direction,
    read: fn(&Run) -> Option<f64>,
) -> Measure {
    Measure { word, name, unit, direction, read }
}

use Direction::{HigherIsBetter as Higher, LowerIsBetter as Lower};

/// All of them, in the order of rows.
pub const ALL: &[Measure] = &[
    measure(("huge", "faults that became huge"), Unit::Percent, Higher, huge_share),
    measure(("anon-huge", "anonymous memory that is huge then"), Unit::Percent, Higher, anonymous_huge),
    measure(("p50", "fault p50"), Unit::Nanoseconds, Lower, |run| fault(run, 50)),
    measure(("p95", "fault p95"), Unit::Nanoseconds, Lower, |run| fault(run, 95)),
    measure(("p99", "fault p99"), Unit::Nanoseconds, Lower, |run| fault(run, 99)),
    measure(("access", "access to the memory"), Unit::Nanoseconds, Lower, |run| run.values("access").next()),
    measure(("stalls", "waits for direct compaction"), Unit::Events, Lower, |run| Some(compaction_stalls(run))),
    measure(("stall-time", "time of these waits"), Unit::Nanoseconds, Lower, |run| {
        Some(growth(run, "order9_compact_stall_ns"))
    }),
    measure(("reclaim-stalls", "waits for direct reclaim"), Unit::Events, Lower, |run| Some(reclaim_stalls(run))),
    measure(("moved", "pages moved"), Unit::Pages, Lower, |run| Some(moved(run))),
    measure(("kcompactd-time", "CPU time of kcompactd"), Unit::Nanoseconds, Lower, |run| {
        Some(growth(run, "order9_kcompactd_cpu_ns"))
    }),
    measure(("kswapd-time", "CPU time of kswapd"), Unit::Nanoseconds, Lower, |run| {
        Some(growth(run, "order9_kswapd_cpu_ns"))
    }),
    measure(("khugepaged-time", "CPU time of khugepaged"), Unit::Nanoseconds, Lower, |run| {
        Some(growth(run, "order9_khugepaged_cpu_ns"))
    }),
    measure(("reclaimed", "pages reclaimed"), Unit::Pages, Lower, |run| Some(reclaimed(run))),
    measure(("swapped", "pages swapped out"), Unit::Pages, Lower, |run| Some(swapped(run))),
    measure(("cache-lost", "page cache lost"), Unit::Pages, Lower, |run| {
        Some((-growth(run, "nr_file_pages")).max(0.0))
    }),
    measure(("free-huge", "huge pages free then"), Unit::HugePages, Higher, |run| at_end(run, "order9_nr_huge_free")),
];

/// Shares of a CPU that a goal or a limit may name beside the rows, as `order9 apply --limit` judges them.
const SHARES: &[Measure] = &[
    measure(("kcompactd", "CPU of kcompactd, busiest 10 s"), Unit::Percent, Lower, |run| {
        busiest(run, "order9_kcompactd_cpu_ns")
    }),
    measure(("kswapd", "CPU of kswapd, busiest 10 s"), Unit::Percent, Lower, |run| {
        busiest(run, "order9_kswapd_cpu_ns")
    }),
    measure(("khugepaged", "CPU of khugepaged, busiest 10 s"), Unit::Percent, Lower, |run| {
        busiest(run, "order9_khugepaged_cpu_ns")
    }),
];

/// All that a goal or a limit may name.
#[must_use = "an iterator does nothing by itself"]
pub fn named() -> impl Iterator<Item = &'static Measure> + Clone {
    ALL.iter().chain(SHARES)
}

/// The measure that the command line calls so.
///
/// # Errors
/// The nearest word, and all of them, in a sentence.
pub fn find(word: &str) -> Result<&'static Measure, String> {
    named().find(|measure| measure.word == word).ok_or_else(|| {
        let words: Vec<&str> = named().map(|measure| measure.word).collect();
        let near = proposal(nearest(word, words.iter().copied()));
        format!("'{}' is none of {}{near}", order9_toml::shown(word), words.join(", "))
    })
}

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

/// The value that `percent` percent of the samples do not exceed, by nearest rank.
#[must_use]
pub fn percentile(samples: &Samples, percent: usize) -> f64 {
    samples.ranked(Direction::LowerIsBetter, (samples.count() * percent).div_ceil(100))
}

/// Share of the faults that could have become huge and did, in percent.
#[must_use]
pub fn huge_share(run: &Run) -> Option<f64> {
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
#[must_use]
pub fn at_end(run: &Run, level: &str) -> Option<f64> {
    let phase = run.phases.iter().find(|phase| phase.name == KEPT).or(run.phases.last())?;
    phase.at_end.get(run.counters.position(level)?).map(|&value| value as f64)
}
