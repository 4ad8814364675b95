//! Summaries of cells: figures by point and by axis, failures, and decisions of the stop rule.

use std::collections::BTreeMap;

use order9_record::Digest;
use order9_report::stats::{Convention, Direction, Estimate, Generation, Percent, Samples, Statistic as Row};
use order9_workloads::{Figure, Workload};
use schemars::JsonSchema;
use serde::Serialize;

use crate::axes::{Axes, by_size};
use crate::measures::Statistic;
use crate::run::{Done, End};
use crate::until::{Until, Values};

/// Summary of cells.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// Number of cells.
    pub cells: usize,
    /// Cells whose workload reached its end.
    pub completed: usize,
    /// Digest of the names and results of all cells, whoever ran them.
    pub digest: Digest,
    /// Figures of each workload.
    pub workloads: Vec<OfWorkload>,
    /// Cells that did not complete.
    pub failures: Vec<Failure>,
    /// Decisions of the stop rule, where there is one.
    pub until: Option<Decided>,
}

/// Figures of a workload.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OfWorkload {
    /// Name of the workload.
    pub workload: String,
    /// Figures that decide between policies.
    pub figures: Vec<Named>,
    /// Each combination of everything but the seed.
    pub points: Vec<PointRow>,
    /// Each value of each axis that has several.
    pub axes: Vec<AxisRow>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Named {
    /// Operation; where a run has several that differ in a number behind a dash, their mean stands for a cell.
    pub operation: String,
    /// Statistic over the samples of a cell.
    pub statistic: Statistic,
    /// Unit of the values.
    pub unit: String,
}

/// A point.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PointRow {
    /// Labels of the point.
    pub axes: Axes,
    /// Number of cells of the point, one for each seed.
    pub seeds: usize,
    /// Cells that did not complete.
    pub failed: usize,
    /// Each figure over the seeds: mean and its 95 % confidence interval.
    pub figures: Vec<Option<Estimate>>,
}

/// A value of an axis.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AxisRow {
    /// Name of the axis.
    pub axis: String,
    /// The value.
    pub value: String,
    /// Cells with this value.
    pub cells: usize,
    /// Cells that did not complete.
    pub failed: usize,
    /// Each figure over all these cells.
    pub figures: Vec<Option<Spread>>,
}

/// Values of many cells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// The value that half of the cells do not exceed.
    pub median: f64,
    /// The value that 5 % of the cells do not exceed.
    pub low: f64,
    /// The value that 95 % of the cells do not exceed.
    pub high: f64,
}

/// A cell that did not complete.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Failure {
    /// Name of the cell.
    pub cell: Digest,
    /// Labels of the cell.
    pub axes: Axes,
    /// Seed of the cell.
    pub seed: u64,
    /// End of the cell.
    pub end: End,
    /// Reason.
    pub message: String,
}

/// Decisions of a stop rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Decided {
    /// The rule in words.
    pub rule: String,
    /// Points that are known well enough.
    pub reached: usize,
    /// Points that are not, with all their seeds or with those that have run by now.
    pub missed: usize,
}

impl Summary {
    /// The summary of `cells`, in the order of the space.
    #[must_use]
    pub fn of(mut cells: Vec<Done>, until: Option<&Until>) -> Self {
        cells.sort_by(|one, other| one.axes.order(&other.axes).then(one.seed.cmp(&other.seed)));
        let mut by_workload: BTreeMap<&str, Vec<&Done>> = BTreeMap::new();
        for done in &cells {
            by_workload.entry(&done.axes.workload).or_default().push(done);
        }
        let failed = cells.iter().filter(|done| done.end != End::Completed);
        Self {
            cells: cells.len(),
            completed: cells.len() - failed.clone().count(),
            digest: digest(&cells),
            until: until.map(|until| decided(until, &cells)),
            failures: failed.map(Failure::of).collect(),
            workloads: by_workload.into_iter().map(|(workload, cells)| OfWorkload::of(workload, &cells)).collect(),
        }
    }
}

/// Digest of names and results, in the order of names.
fn digest(cells: &[Done]) -> Digest {
    let mut lines: Vec<String> = cells
        .iter()
        .map(|done| match done.digest {
            Some(digest) => format!("{} {digest}\n", done.cell),
            None => format!("{} {} {}\n", done.cell, done.end.word(), done.message),
        })
        .collect();
    lines.sort_unstable();
    Digest::of_bytes(lines.concat().as_bytes())
}

impl Failure {
    fn of(done: &Done) -> Self {
        let (axes, message) = (done.axes.clone(), done.message.clone());
        Self { cell: done.cell, axes, seed: done.seed, end: done.end, message }
    }
}

impl OfWorkload {
    fn of(name: &str, cells: &[&Done]) -> Self {
        let figures: Vec<Named> = Workload::by_name(name).map_or_else(Vec::new, |workload| mains(workload, cells));
        let mut points: Vec<Vec<&Done>> = Vec::new();
        for done in cells {
            match points.last_mut() {
                Some(point) if point[0].axes == done.axes => point.push(done),
                _ => points.push(vec![done]),
            }
        }
        let row = |cells: &Vec<&Done>| PointRow {
            axes: cells[0].axes.clone(),
            seeds: cells.len(),
            failed: failed(cells),
            figures: figures.iter().map(|figure| Estimate::new(figure.values(cells))).collect(),
        };
        let points: Vec<PointRow> = points.iter().map(row).collect();
        Self { workload: name.to_owned(), axes: axes(cells, &figures), points, figures }
    }
}

fn failed(cells: &[&Done]) -> usize {
    cells.iter().filter(|done| done.end != End::Completed).count()
}

impl Named {
    /// The value of each cell that has one.
    fn values<'a>(&'a self, cells: &'a [&Done]) -> impl Iterator<Item = f64> {
        cells.iter().filter_map(|done| {
            let values: Vec<f64> = done.values(&self.operation, self.statistic).map(|measure| measure.value).collect();
            Some(Estimate::new(values)?.mean())
        })
    }
}

/// Figures that decide between policies, as the workload says, as far as any cell has them.
fn mains(workload: Workload, cells: &[&Done]) -> Vec<Named> {
    let mains = workload.spec().measures.iter().flat_map(|measure| measure.main);
    mains
        .filter_map(|&(operation, figure)| {
            let statistic = match figure {
                Figure::Mean => Statistic::Mean,
                Figure::Median => Statistic::P50,
                Figure::P95 => Statistic::P95,
            };
            let unit = cells.iter().find_map(|done| done.values(operation, statistic).next())?.unit.clone();
            Some(Named { operation: operation.to_owned(), statistic, unit })
        })
        .collect()
}

/// Rows of all axes with several values.
fn axes(cells: &[&Done], figures: &[Named]) -> Vec<AxisRow> {
    let Some(first) = cells.first() else { return Vec::new() };
    let names: Vec<&str> = first.axes.labels().map(|(name, _)| name).collect();
    let mut rows = Vec::new();
    for name in names {
        let mut values: Vec<&str> = cells.iter().filter_map(|done| done.axes.label(name)).collect();
        values.sort_by(|one, other| by_size(one, other));
        values.dedup();
        if values.len() < 2 {
            continue;
        }
        for value in values {
            let of: Vec<&Done> = cells.iter().copied().filter(|done| done.axes.label(name) == Some(value)).collect();
            rows.push(AxisRow {
                axis: name.to_owned(),
                value: value.to_owned(),
                cells: of.len(),
                failed: failed(&of),
                figures: figures.iter().map(|figure| spread(figure.values(&of))).collect(),
            });
        }
    }
    rows
}

fn spread(values: impl Iterator<Item = f64>) -> Option<Spread> {
    let samples = Samples::new(values).ok()?;
    let convention = Convention { direction: Direction::LowerIsBetter, generation: Generation::default() };
    let at = |percent| convention.value(Row::Percentile(Percent::new(percent)), &samples);
    Some(Spread { median: at(50)?, low: at(5)?, high: at(95)? })
}

fn decided(until: &Until, cells: &[Done]) -> Decided {
    let mut points: Vec<(&Axes, Vec<Values>)> = Vec::new();
    for done in cells {
        match points.last_mut() {
            Some((axes, values)) if *axes == &done.axes => values.push(until.values(done)),
            _ => points.push((&done.axes, vec![until.values(done)])),
        }
    }
    let reached = points.iter().filter(|(_, values)| until.is_known(values)).count();
    Decided { rule: until.in_words(), reached, missed: points.len() - reached }
}
