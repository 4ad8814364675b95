//! Worth of the switches of an ablation, from a stored run. The titles of its policies tell their roles.

use order9_record::{Loaded, Outcome, Run};
use order9_report::plot::{SwitchWorth, Worth};

use super::{PlotError, Plotted, subtitle, unknown};
use crate::tables::counts_events;

/// Change that each switch of an ablation brings to `quantity`: the mean of an operation's samples, or the growth of a
/// counter. Switches that change most come first.
///
/// # Errors
/// Runs that are no ablation, or do not have the quantity.
pub fn worth(loaded: &Loaded, quantity: &str) -> Result<Plotted<Worth>, PlotError> {
    let titles: Vec<&str> = loaded.manifest.inputs.policies.iter().map(|policy| policy.title.as_str()).collect();
    let [against, ablate, rest @ ..] = titles.as_slice() else { return Err(PlotError::NoAblation) };
    let (plus, minus) = (format!("{against}+"), format!("{ablate}-"));
    let switch = |title: &&str| title.strip_prefix(&minus).or(title.strip_prefix(&plus)).map(str::to_owned);
    let mut switches: Vec<String> = rest.iter().map(switch).collect::<Option<_>>().ok_or(PlotError::NoAblation)?;
    switches.sort();
    switches.dedup();
    if switches.is_empty() {
        return Err(PlotError::NoAblation);
    }
    let known = quantities(loaded);
    if !known.contains(&quantity) {
        return Err(unknown("--worth", quantity, &known));
    }
    let change = |from: &str, to: &str| changes(loaded, quantity, from, to);
    let mut rows: Vec<SwitchWorth> = switches
        .into_iter()
        .map(|switch| SwitchWorth {
            changes: [change(against, &format!("{plus}{switch}")), change(ablate, &format!("{minus}{switch}"))],
            switch,
        })
        .collect();
    let size = |row: &SwitchWorth| row.changes.iter().flatten().fold(0.0_f64, |most, change| most.max(change.abs()));
    rows.sort_by(|one, other| size(other).total_cmp(&size(one)).then_with(|| one.switch.cmp(&other.switch)));
    let whole = changes(loaded, quantity, against, ablate);
    let whole = if whole.is_empty() { 0.0 } else { whole.iter().sum::<f64>() / whole.len() as f64 };
    let chart = Worth {
        title: format!("{}: {quantity}", loaded.manifest.inputs.workload.name),
        subtitle: format!("{}; {ablate} as a whole: {whole:+.1} %", subtitle(&loaded.manifest.inputs)),
        kinds: [format!("{against} with the switch"), format!("{ablate} without it")],
        switches: rows,
    };
    Ok(Plotted { chart, notes: Vec::new() })
}

/// Operations and counters of the runs.
fn quantities(loaded: &Loaded) -> Vec<&str> {
    let operations = loaded.runs.iter().flat_map(|run| &run.operations).map(|operation| operation.name.as_str());
    let counters = loaded.runs.iter().flat_map(|run| &run.counters.columns).filter(|counter| counts_events(counter));
    let mut names: Vec<&str> = operations.chain(counters.map(|counter| counter.name.as_str())).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Changes in percent from one policy to another, seed by seed; none for a seed under which one of them did not come to its
/// end, or had 0 before.
fn changes(loaded: &Loaded, quantity: &str, from: &str, to: &str) -> Vec<f64> {
    let value = |policy: &str, seed: u64| {
        let run = loaded.runs.iter().find(|run| run.policy == policy && run.seed == seed)?;
        if run.outcome == Outcome::Completed { measured(run, quantity) } else { None }
    };
    let change = |&seed: &u64| {
        let (before, after) = (value(from, seed)?, value(to, seed)?);
        if before == after { Some(0.0) } else { (before != 0.0).then(|| 100.0 * (after - before) / before) }
    };
    loaded.manifest.inputs.seeds.iter().filter_map(change).collect()
}

fn measured(run: &Run, quantity: &str) -> Option<f64> {
    let values: Vec<f64> = run.values(quantity).collect();
    if values.is_empty() {
        run.growth(quantity).map(|growth| growth as f64)
    } else {
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }
}
