//! Facts of published claims that are figures over time: how each is read off the counters of a run.

use std::collections::BTreeSet;

use order9_record::Run;
use order9_report::stats::Estimate;

use super::{cycle, numa};

/// A figure of every reading of the counters.
type Figure = fn(&Reading<'_>) -> f64;

/// One reading of the counters.
struct Reading<'r> {
    run: &'r Run,
    row: usize,
}

impl Reading<'_> {
    fn level(&self, name: &str) -> f64 {
        let counters = &self.run.counters;
        counters.position(name).map_or(0.0, |at| counters.columns[at].values[self.row] as f64)
    }

    fn slab(&self) -> f64 {
        self.level("nr_slab_reclaimable") + self.level("nr_slab_unreclaimable")
    }
}

/// Slab as a share of slab and page cache.
fn slab_share(reading: &Reading<'_>) -> f64 {
    reading.slab() / (reading.slab() + reading.level("nr_file_pages")).max(1.0)
}

/// Share of page cache in slab and page cache, in percent.
fn cache_percent(reading: &Reading<'_>) -> f64 {
    100.0 * (1.0 - slab_share(reading))
}

/// Dirty pages in percent of memory: of what is free, cached or slab, which is nearly all of it in these workloads.
fn dirty_percent(reading: &Reading<'_>) -> f64 {
    let memory = reading.level("nr_free_pages") + reading.level("nr_file_pages") + reading.slab();
    100.0 * reading.level("nr_dirty") / memory.max(1.0)
}

/// The fact called so, the mean over runs of the kernel that it is about; `None` for facts that are no figures of a run.
pub(super) fn value(name: &str, baseline: &[&Run], patched: &[&Run]) -> Option<Estimate> {
    if name == "fault reduction" {
        return Estimate::new(baseline.iter().filter_map(|run| fault_reduction(run, patched)));
    }
    let of_baseline = name == "slab share of slab + page cache, baseline";
    let runs = if of_baseline { baseline } else { patched };
    let of_runs = Estimate::new(runs.iter().filter_map(|run| figure(name, run)));
    of_runs.or_else(|| Estimate::new(baseline.iter().filter_map(|run| numa::fact(name, run))))
}

fn figure(name: &str, run: &Run) -> Option<f64> {
    match name {
        // "For much of the test": half of it.
        "slab share of slab + page cache, baseline" => quantile(run, slab_share, 0.5),
        // Most samples lie between the two: nine of ten.
        "slab share of slab + page cache, patched, low" => quantile(run, slab_share, 0.05),
        "slab share of slab + page cache, patched, high" => quantile(run, slab_share, 0.95),
        "dirty pages, patched" => quantile(run, dirty_percent, 0.5),
        "cache split when memory first fills" => readings(run).next().map(|reading| cache_percent(&reading)),
        "time between attempts" => seconds_between_attempts(run),
        "proactive compaction runs during the test" => measured(run, "order9_compact_proactive_runs"),
        "low mark at default" => cycle::low_mark(run),
        "high mark at default" => cycle::high_mark(run),
        "samples" => Some(run.samples.len() as f64),
        _ => None,
    }
}

/// Faults of a run by those of the run with the same seed among `others`, which writes the same memory.
fn fault_reduction(run: &Run, others: &[&Run]) -> Option<f64> {
    let other = others.iter().find(|other| other.seed == run.seed)?;
    Some(grown(run, "pgfault")? / grown(other, "pgfault")?.max(1.0))
}

/// Mean time, in seconds, between attempts of proactive compaction of a node: from the first reading that has one to the
/// last that has one more, of all nodes together.
fn seconds_between_attempts(run: &Run) -> Option<f64> {
    let counters = &run.counters;
    let attempts = &counters.columns[counters.position("order9_compact_proactive_runs")?].values;
    let mut rises = (1..attempts.len()).filter(|&at| attempts[at] > attempts[at - 1]);
    let (first, last) = (rises.clone().next()?, rises.next_back()?);
    let between = attempts[last] - attempts[first];
    let seconds = (counters.times[last] - counters.times[first]).get() as f64 / 1e9;
    (between > 0).then(|| seconds * nodes(run) / between as f64)
}

/// Number of nodes of a run's machine.
fn nodes(run: &Run) -> f64 {
    let names = run.counters.columns.iter().filter_map(|column| column.name.strip_prefix("order9_nr_extfrag_index_"));
    let nodes: BTreeSet<&str> = names.filter_map(|zone| zone.split('_').next()).collect();
    nodes.len() as f64
}

/// Readings from when memory was first full, which is when reclaim first found something, to the phase in which everything
/// is deleted.
fn readings(run: &Run) -> impl Iterator<Item = Reading<'_>> {
    let end = run.phases.iter().find(|phase| phase.name == "delete").map_or(run.span().1, |phase| phase.begin);
    let is_full = |reading: &Reading<'_>| reading.level("pgsteal_kswapd") + reading.level("pgsteal_direct") > 0.0;
    let rows = (0..run.counters.times.len()).filter(move |&row| run.counters.times[row] <= end);
    rows.map(move |row| Reading { run, row }).skip_while(move |reading| !is_full(reading))
}

/// Growth of a counter over the whole run.
fn grown(run: &Run, counter: &str) -> Option<f64> {
    let values = &run.counters.columns[run.counters.position(counter)?].values;
    Some((values.last()? - values.first()?) as f64)
}

/// Growth of a counter in the phase that is measured.
fn measured(run: &Run, counter: &str) -> Option<f64> {
    let at = run.counters.position(counter)?;
    let phase = run.phases.iter().find(|phase| phase.name == "measure")?;
    Some((phase.at_end[at] - phase.at_begin[at]) as f64)
}

fn quantile(run: &Run, figure: Figure, quantile: f64) -> Option<f64> {
    let mut values: Vec<f64> = readings(run).map(|reading| figure(&reading)).collect();
    values.sort_by(f64::total_cmp);
    let at = (values.len().checked_sub(1)? as f64 * quantile).round() as usize;
    Some(values[at])
}
