//! The answer: what runs on the copy came to.

use std::collections::BTreeMap;

use order9_lab::Plan;
use order9_measures::counted::{self, growth, over};
use order9_record::{Experiment, Run};
use order9_report::stats::Estimate;
use order9_snapshot::inspection::Inspection;
use order9_units::{Bytes, NodeId, Pages, ZoneKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::Ask;
use super::course::Course;
use super::start::Start;
use crate::latencies::Latencies;
use crate::trial::prices;

/// Answer to an [`Ask`].
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Answer {
    /// The answer in words.
    pub sentence: String,
    /// Memory that was asked for.
    pub asked: Bytes,
    /// The least memory that the program could write in a run, before others would have been swapped out or killed for it.
    pub written: Bytes,
    /// Share of what was written that is in huge pages, in percent.
    pub huge_percent: Estimate,
    /// First faults of each 2 MiB that became huge; nothing where none did.
    pub huge_faults: Option<Latencies>,
    /// First faults of each 2 MiB that became base pages, vain efforts included.
    pub base_faults: Option<Latencies>,
    /// The first obstacle on the way, in the run with the fewest huge pages.
    pub obstacle: Obstacle,
    /// Zones that the program may have memory of, before it asks.
    pub zones: Vec<ZoneNow>,
    /// Memory that has to be reclaimed before what was asked for, or what could be written of it, fits above the low marks.
    pub to_reclaim: Bytes,
    /// Efforts of the kernel for it.
    pub efforts: Efforts,
    /// `transparent_hugepage/enabled` and `defrag`, as they were while the program asked.
    pub settings: BTreeMap<&'static str, String>,
    /// Whether the program advised its memory.
    pub advised: bool,
    /// Policy of the kernel.
    pub policy: String,
    /// Origin of the prices behind every time.
    pub prices: String,
    /// Notes that a reader needs, one sentence each.
    pub notes: Vec<String>,
}

/// Efforts of the kernel, run by run.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Efforts {
    /// Pages that were moved.
    pub pages_moved: Estimate,
    /// Pages that were reclaimed.
    pub pages_reclaimed: Estimate,
    /// Pages that were written to swap.
    pub pages_swapped: Estimate,
    /// Waits for direct compaction.
    pub compaction_stalls: Estimate,
    /// Time of these waits together, in ns.
    pub compaction_stall_ns: Estimate,
    /// Waits for direct reclaim.
    pub reclaim_stalls: Estimate,
    /// Answers of direct compaction in the same run, by the words of trace events, with their number.
    pub compaction_answers: BTreeMap<String, u64>,
}

/// A zone before the program asks.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ZoneNow {
    /// Node of the zone.
    pub node: NodeId,
    /// Kind of the zone.
    pub zone: ZoneKind,
    /// Free pages.
    pub free: Pages,
    /// Free huge pages: blocks of order 9, and two for each larger one.
    pub free_huge: u64,
    /// Watermark min.
    pub min: Pages,
    /// Watermark low.
    pub low: Pages,
    /// Watermark high.
    pub high: Pages,
    /// Answer of compaction to a request for a huge page.
    pub compaction: Compaction,
    /// Huge pages that moving pages could add, as Linux moves them.
    pub could_gain: u64,
    /// Pageblocks that no moving of pages can free.
    pub lost: u64,
}

/// Answer of compaction to a request for a huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Compaction {
    /// A huge page is free above the mark.
    NotNeeded,
    /// Compaction would start.
    Suitable,
    /// There are too few free pages to move others to.
    Skipped,
    /// Memory is short, and not fragmented.
    NotSuitable,
}

/// The first thing that stood between the program and a huge page at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Obstacle {
    /// Kind of the obstacle.
    pub kind: ObstacleKind,
    /// Huge pages that the program had before.
    pub huge_pages_before: u64,
    /// Node and zone, where it is one of these.
    pub place: Option<(NodeId, String)>,
    /// The obstacle in words.
    pub sentence: String,
}

/// Kinds of obstacles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ObstacleKind {
    /// Nothing stood in the way.
    None,
    /// Settings give this memory no huge pages.
    Settings,
    /// Free huge pages end, and faults do not compact.
    NoCompaction,
    /// Compaction does not start: too few pages are free.
    TooFewFree,
    /// Compaction does not start: it has failed lately.
    Deferred,
    /// Compaction ran and made no huge page.
    CompactionFails,
    /// Compaction makes every huge page, while the program waits.
    CompactionWaits,
    /// Memory ends.
    Memory,
}

impl Answer {
    /// The answer of runs, with further `notes`.
    pub(super) fn of(
        ask: &Ask,
        plan: &Plan,
        experiment: &Experiment,
        start: &Start,
        inspection: &Inspection,
        notes: &[String],
    ) -> Self {
        let runs = || experiment.runs.iter();
        let course = Course::of(worst(&experiment.runs));
        let written = runs().flat_map(|run| run.values("Memory written")).fold(f64::INFINITY, f64::min);
        let written = Bytes::new(if written.is_finite() { written as u64 } else { 0 });
        let zones: Vec<ZoneNow> = start.zones_with(inspection, ask.node);
        let free: u64 = zones.iter().map(|zone| zone.free.get().saturating_sub(zone.low.get())).sum();
        let to_reclaim = Bytes::new(ask.size.min(written).get().saturating_sub(Pages::new(free).bytes().get()));
        let ends = runs().filter_map(|run| Some(format!("seed {}: {}", run.seed, run.outcome.message()?)));
        let mut answer = Self {
            sentence: String::new(),
            asked: ask.size,
            written,
            huge_percent: over(runs(), |run| run.values("huge").next().unwrap_or(0.0)),
            huge_faults: Latencies::of(runs(), &["fault-huge"]),
            base_faults: Latencies::of(runs(), &["fault-base"]),
            obstacle: course.obstacle(ask, start, inspection, written),
            zones,
            to_reclaim,
            efforts: Efforts::of(&experiment.runs, course.answers()),
            settings: start.settings.clone(),
            advised: ask.advised,
            policy: plan.policies[0].name.clone(),
            prices: prices(plan),
            notes: ends.chain(plan.notes.iter().cloned()).chain(notes.iter().cloned()).collect(),
        };
        answer.sentence = super::text::sentence(&answer, ask);
        answer
    }
}

/// The run with the fewest huge pages; of equals, the one that waited most.
fn worst(runs: &[Run]) -> &Run {
    let share = |run: &Run| run.values("huge").next().unwrap_or(0.0);
    let key = |run: &Run| (share(run), -counted::compaction_stalls(run));
    let worse = |one, other| if key(other) < key(one) { other } else { one };
    runs.iter().reduce(worse).expect("an experiment has runs")
}

impl Efforts {
    fn of(runs: &[Run], compaction_answers: BTreeMap<String, u64>) -> Self {
        Self {
            pages_moved: over(runs.iter(), counted::moved),
            pages_reclaimed: over(runs.iter(), counted::reclaimed),
            pages_swapped: over(runs.iter(), counted::swapped),
            compaction_stalls: over(runs.iter(), counted::compaction_stalls),
            compaction_stall_ns: over(runs.iter(), |run| growth(run, "order9_compact_stall_ns")),
            reclaim_stalls: over(runs.iter(), counted::reclaim_stalls),
            compaction_answers,
        }
    }
}
