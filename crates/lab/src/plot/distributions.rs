//! Distributions of the samples of operations, policy by policy.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use order9_record::{Loaded, Run, Sample, Unit as SampleUnit};
use order9_report::plot::{Distribution, Distributions, Spread};

use super::{PlotChoice, PlotError, Plotted, chosen, groups, legend, span, subtitle, unit_of, unknown};

/// Panels where no operation is asked for.
const USUAL: usize = 4;

/// The samples of the chosen operations, or of those times of which there are most: a panel for each.
///
/// # Errors
/// A policy, seed or operation that the runs do not have; no operation at all; nothing within the chosen time.
pub fn distributions(loaded: &Loaded, choice: &PlotChoice) -> Result<Plotted<Distributions>, PlotError> {
    let (runs, notes) = chosen(loaded, choice)?;
    let policies = groups(&runs);
    let (from, to) = span(&runs, choice)?;
    let counts = counts(&runs);
    let names: Vec<&str> = match choice.operations.as_slice() {
        [] => usual(&counts),
        named => named.iter().map(String::as_str).collect(),
    };
    let known: Vec<&str> = counts.keys().copied().collect();
    if names.is_empty() {
        return Err(unknown("--cdf", "", &known));
    }
    let panel = |name: &str| {
        let (unit, _) = counts.get(name).ok_or_else(|| unknown("--cdf", name, &known))?;
        let scale = if *unit == SampleUnit::Nanos { 1e-9 } else { 1.0 };
        let spread = |run: &&Run| {
            let own = |sample: &&Sample| run.operation_of(sample).is_some_and(|of| of.name == name);
            let seen = run.samples.iter().filter(own).filter(|sample| (from..=to).contains(&sample.at));
            let group = policies.iter().position(|policy| *policy == run.policy);
            let group = group.expect("policies are those of the runs");
            Spread { group, seed: run.seed, values: seen.map(|sample| sample.value * scale).collect() }
        };
        Ok(Distribution { title: name.to_owned(), unit: unit_of(*unit), runs: runs.iter().map(spread).collect() })
    };
    let chart = Distributions {
        title: loaded.manifest.inputs.workload.name.clone(),
        subtitle: subtitle(&loaded.manifest.inputs),
        groups: policies.iter().map(|policy| legend(policy, &runs)).collect(),
        panels: names.into_iter().map(panel).collect::<Result<_, PlotError>>()?,
    };
    Ok(Plotted { chart, notes })
}

/// Unit and number of samples of every operation.
fn counts<'a>(runs: &[&'a Run]) -> BTreeMap<&'a str, (SampleUnit, usize)> {
    let mut counts = BTreeMap::new();
    for run in runs {
        for operation in run.samples.iter().filter_map(|sample| run.operation_of(sample)) {
            counts.entry(operation.name.as_str()).or_insert((operation.unit, 0)).1 += 1;
        }
    }
    counts
}

/// Times before all else, those with most samples first.
fn usual<'a>(counts: &BTreeMap<&'a str, (SampleUnit, usize)>) -> Vec<&'a str> {
    let mut names: Vec<_> =
        counts.iter().map(|(name, (unit, count))| (*unit != SampleUnit::Nanos, Reverse(*count), *name)).collect();
    names.sort_unstable();
    let has_times = names.first().is_some_and(|(is_other, ..)| !is_other);
    names.retain(|(is_other, ..)| *is_other != has_times);
    names.into_iter().take(USUAL).map(|(.., name)| name).collect()
}
