//! Figures of published claims about where huge pages come from: ratios that were published alone, and what was seen in a stall.

use order9_record::{Run, Sample};
use order9_report::claims::{Claim, Kind, RatioRow};
use order9_report::compare::is_operation;
use order9_report::stats::Estimate;

/// Machines that stand for the processors of published access times, with the node that is meant by "remote" there: within a
/// socket the next one, else the last.
const PLATFORMS: [(&str, &str, Remote); 4] = [
    ("Haswell", "xeon-2s", Remote::Last),
    ("Broadwell", "broadwell-2s", Remote::Last),
    ("Naples intrasocket", "naples-2s", Remote::Next),
    ("Naples intersocket", "naples-2s", Remote::Last),
];

#[derive(Clone, Copy)]
enum Remote {
    Next,
    Last,
}

/// Rows of `claim` that are ratios, as far as these runs measure them. `machines` are all runs that there are, each with the
/// name of its machine.
pub(super) fn ratios<'c>(
    claim: &'c Claim,
    baseline: &[&Run],
    patched: &[&Run],
    machines: &[(&str, &Run)],
) -> Vec<(&'c RatioRow, Estimate)> {
    let Kind::PercentOnly(of) = &claim.kind else { return Vec::new() };
    let estimate = |row: &RatioRow| match row.key.metric.as_str() {
        "fault-latency" => of_latencies(baseline, patched),
        "access-latency" => of_accesses(row, machines),
        _ => None,
    };
    of.rows.iter().filter_map(|row| Some((row, estimate(row)?))).collect()
}

/// Mean latency of a slot, patched by baseline, seed by seed.
fn of_latencies(baseline: &[&Run], patched: &[&Run]) -> Option<Estimate> {
    let of_seed = |run: &&Run| {
        let other = patched.iter().find(|other| other.seed == run.seed)?;
        Some(mean(other, "fault-both")? / mean(run, "fault-both")?)
    };
    Estimate::new(baseline.iter().filter_map(of_seed))
}

fn of_accesses(row: &RatioRow, machines: &[(&str, &Run)]) -> Option<Estimate> {
    let platform = row.platform.as_deref()?;
    let (_, machine, remote) = PLATFORMS.iter().find(|(name, ..)| *name == platform)?;
    let runs = machines.iter().filter(|(name, _)| name == machine).map(|(_, run)| run);
    let ratio = |run: &&Run| Some(access(run, &row.subject, *remote)? / access(run, &row.reference, *remote)?);
    Estimate::new(runs.filter_map(ratio))
}

/// Time of an access to the memory that a claim calls "remote huge", in percent of local base pages.
fn access(run: &Run, what: &str, remote: Remote) -> Option<f64> {
    let (place, size) = what.split_once(' ')?;
    let nodes = run.operations.iter().filter(|operation| operation.name.starts_with("base-ratio-")).count();
    let node = match (place, remote) {
        ("local", _) => 0,
        ("remote", Remote::Next) => 1,
        ("remote", Remote::Last) => nodes.checked_sub(1)?,
        _ => return None,
    };
    run.values(&format!("{size}-ratio-{node}")).next()
}

/// The fact called so, of slots under the kernel before the patch; `None` for facts that are no figures of a run.
pub(super) fn fact(name: &str, run: &Run) -> Option<f64> {
    let (at, longest) = slowest(run)?;
    match name {
        "stall" => Some(longest / 1e6),
        "smallest latency, baseline" => slots(run).map(|slot| slot.value / 1e3).reduce(f64::min),
        "largest latency, baseline" => Some(longest / 1e3),
        "system free" => Some(level(run, "nr_free_pages", at)),
        // The guest's node is the only one that any file lies on.
        "node 1 inactive_file" => Some(level(run, "nr_inactive_file", at)),
        _ => None,
    }
}

/// Reading of the counters in which the slowest slot ends, and the latency of that slot in ns.
fn slowest(run: &Run) -> Option<(usize, f64)> {
    let slowest = slots(run).max_by(|one, other| one.value.total_cmp(&other.value))?;
    let after = run.counters.times.iter().position(|time| *time >= slowest.at);
    Some((after.or(run.counters.times.len().checked_sub(1))?, slowest.value))
}

/// Faults of any outcome, by any number of threads.
fn slots(run: &Run) -> impl Iterator<Item = &Sample> {
    run.samples.iter().filter(|sample| run.operation_of(sample).is_some_and(|of| is_operation("fault-both", &of.name)))
}

fn level(run: &Run, name: &str, row: usize) -> f64 {
    run.counters.position(name).map_or(0.0, |at| run.counters.columns[at].values[row] as f64)
}

fn mean(run: &Run, operation: &str) -> Option<f64> {
    let values: Vec<f64> = run.values(operation).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
