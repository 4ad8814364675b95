//! Distributions of latencies: for each operation, how many samples of each run are at most so large, on a logarithmic grid.
//!
//! A grid is finer than a pixel of the picture, and percentiles are taken of the samples themselves. Operations of one
//! family with different numbers (`fault-huge-1`, `fault-huge-3`) stand behind each other, families beside each other:
//! faults of huge and of base pages are never mixed.

use std::collections::BTreeMap;

use order9_lab::{PlotChoice, PlotError, distributions};
use order9_record::{Loaded, Unit};
use order9_report::plot::{Distribution, Spread};
use serde::Serialize;

use crate::number::Shown;

/// All operations whose samples are times.
#[derive(Clone, Debug, Serialize)]
pub struct Latency {
    operations: Vec<Operation>,
    notes: Vec<String>,
}

/// Distributions of one operation.
#[derive(Clone, Debug, Serialize)]
struct Operation {
    name: String,
    /// Name without its number.
    family: String,
    /// Number at the end of the name.
    number: Option<u64>,
    /// Ends of the grid, in seconds.
    low: Shown,
    high: Shown,
    curves: Vec<Curve>,
}

/// Samples of one run, or of all runs of a policy.
#[derive(Clone, Debug, Serialize)]
struct Curve {
    group: usize,
    /// Seed of the run; none for all runs together.
    seed: Option<u64>,
    samples: usize,
    /// Number of samples that lie in each step of the grid; the first has what is at most its low end.
    steps: Vec<u32>,
    /// Values of [`PERCENTILES`], in seconds.
    percentiles: [Shown; PERCENTILES.len()],
}

/// Percentiles that tables show.
const PERCENTILES: [f64; 7] = [5.0, 25.0, 50.0, 90.0, 99.0, 99.9, 100.0];
/// Steps of a grid: more than a picture has pixels where it is read.
const STEPS: usize = 480;
/// Samples of a run from which on an operation has a distribution.
const SAMPLES_MIN: usize = 8;

impl Latency {
    /// The times of `loaded`; `None` where no operation has enough samples.
    ///
    /// # Errors
    /// None that runs which were read can cause.
    pub fn of(loaded: &Loaded) -> Result<Option<Self>, PlotError> {
        Self::chosen(loaded, &PlotChoice { operations: usual(loaded), ..PlotChoice::default() })
    }

    /// The operations, policies and seeds of `choice`; `None` where it names no operation.
    ///
    /// # Errors
    /// A name or seed that the runs do not have.
    pub fn chosen(loaded: &Loaded, choice: &PlotChoice) -> Result<Option<Self>, PlotError> {
        if choice.operations.is_empty() {
            return Ok(None);
        }
        let plotted = distributions(loaded, choice)?;
        let operations: Vec<_> = plotted.chart.panels.iter().map(Operation::of).collect();
        Ok(Some(Self { operations, notes: plotted.notes }))
    }
}

/// Operations that are measured in time and have enough samples, in the order of the runs' tables.
fn usual(loaded: &Loaded) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for run in &loaded.runs {
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        run.samples.iter().for_each(|sample| *counts.entry(sample.operation.index()).or_default() += 1);
        for (at, operation) in run.operations.iter().enumerate() {
            let enough = counts.get(&at).is_some_and(|&count| count >= SAMPLES_MIN);
            if operation.unit == Unit::Nanos && enough && !names.contains(&operation.name) {
                names.push(operation.name.clone());
            }
        }
    }
    names
}

impl Operation {
    fn of(panel: &Distribution) -> Self {
        let values = panel.runs.iter().flat_map(|run| &run.values).copied().filter(|value| *value > 0.0);
        let (low, high) = values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if high == 0.0 { (1e-9, 1e-8) } else { (low / 1.05, high * 1.05) };
        let groups: BTreeMap<usize, Vec<&Spread>> = panel.runs.iter().fold(BTreeMap::new(), |mut groups, run| {
            groups.entry(run.group).or_insert_with(Vec::new).push(run);
            groups
        });
        let mut curves = Vec::new();
        for (group, runs) in groups {
            let all = runs.iter().flat_map(|run| run.values.iter().copied()).collect();
            curves.extend(Curve::new(group, None, all, low, high));
            if runs.len() > 1 {
                let own = |run: &&Spread| Curve::new(group, Some(run.seed), run.values.clone(), low, high);
                curves.extend(runs.iter().filter_map(own));
            }
        }
        let (family, number) = match panel.title.rsplit_once('-') {
            Some((family, number)) => match number.parse() {
                Ok(number) => (family.to_owned(), Some(number)),
                Err(_) => (panel.title.clone(), None),
            },
            None => (panel.title.clone(), None),
        };
        Self { name: panel.title.clone(), family, number, low: Shown(low), high: Shown(high), curves }
    }
}

impl Curve {
    /// `None` without samples.
    fn new(group: usize, seed: Option<u64>, mut values: Vec<f64>, low: f64, high: f64) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let last = values.len().checked_sub(1)?;
        let mut steps = vec![0; STEPS + 1];
        for value in &values {
            steps[step(*value, low, high)] += 1;
        }
        let percentile = |percent: f64| {
            // The smallest value that so many of a hundred samples do not exceed.
            let rank = (percent / 100.0 * values.len() as f64).ceil() as usize;
            Shown(values[rank.saturating_sub(1).min(last)])
        };
        Some(Self { group, seed, samples: values.len(), steps, percentiles: PERCENTILES.map(percentile) })
    }
}

/// The first step of the grid whose end is not below `value`.
fn step(value: f64, low: f64, high: f64) -> usize {
    if value <= low {
        return 0;
    }
    let place = (value / low).ln() / (high / low).ln() * STEPS as f64;
    (place.ceil() as usize).min(STEPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_hold_all_samples_and_percentiles_are_samples() {
        let values = vec![1.0, 10.0, 10.0, 100.0];
        let curve = Curve::new(0, None, values, 1.0, 100.0).unwrap();
        assert_eq!(curve.steps.iter().sum::<u32>(), 4);
        assert_eq!((curve.steps[0], curve.steps[STEPS / 2], curve.steps[STEPS]), (1, 2, 1));
        assert_eq!(curve.percentiles.map(|Shown(value)| value), [1.0, 1.0, 10.0, 100.0, 100.0, 100.0, 100.0]);
        assert!(Curve::new(0, None, Vec::new(), 1.0, 2.0).is_none());
    }

    #[test]
    fn numbers_end_names() {
        let panel = |title: &str| Distribution {
            title: title.to_owned(),
            unit: order9_report::plot::Unit::of(order9_report::plot::Quantity::Seconds),
            runs: vec![Spread { group: 0, seed: 1, values: vec![1e-6] }],
        };
        let parts = |title| {
            let operation = Operation::of(&panel(title));
            (operation.family, operation.number)
        };
        assert_eq!(parts("fault-huge-12"), ("fault-huge".to_owned(), Some(12)));
        assert_eq!(parts("fault-huge"), ("fault-huge".to_owned(), None));
    }
}
