//! A summary as text: at most one screen. Queries of the results have the rest.

use std::fmt::Write as _;

use order9_report::number::{count_of, decimal, duration, grouped};
use order9_report::stats::Estimate;
use order9_report::table::Table;
use order9_report::terminal::ColourDepth;
use order9_units::Nanos;

use crate::axes::Axes;
use crate::summary::{AxisRow, Named, OfWorkload, PointRow, Spread, Summary};

/// Most rows of all tables together.
const ROWS_MAX: usize = 24;
/// Most failures that are named.
const FAILURES_MAX: usize = 3;
const WIDTH: usize = 100;

impl Summary {
    /// The summary in lines of up to 100 columns.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let of_each = ROWS_MAX / self.workloads.len().max(1);
        for workload in &self.workloads {
            let _ = writeln!(text, "{}", workload.to_text(of_each.max(4)));
        }
        if let Some(until) = &self.until {
            let of = until.reached + until.missed;
            let _ = writeln!(text, "Stop rule ({}): {} of {} reached it.", until.rule, until.reached, count_of(of as u64, "point"));
        }
        if !self.failures.is_empty() {
            let _ = writeln!(text, "{} did not complete:", count_of(self.failures.len() as u64, "cell"));
            for failure in self.failures.iter().take(FAILURES_MAX) {
                let _ = writeln!(text, "  {}, seed {}: {}: {}", place(&failure.axes), failure.seed, failure.end.word(), failure.message);
            }
        }
        text
    }
}

/// Labels in one line, without those that are parameters and settings of all.
fn place(axes: &Axes) -> String {
    let labels = axes.labels().map(|(axis, label)| if axes.is_chosen(axis) { format!("{axis}={label}") } else { label.to_owned() });
    labels.collect::<Vec<_>>().join(" ")
}

impl OfWorkload {
    /// Points where there is room for all, else axes, else as many rows of them as there is room for.
    fn to_text(&self, rows: usize) -> String {
        if self.points.len() <= rows { self.by_point() } else { self.by_axis(rows) }
    }

    fn by_point(&self) -> String {
        let axes: Vec<&str> = self.differing();
        let mut header: Vec<String> = axes.iter().map(|axis| (*axis).to_owned()).collect();
        if header.is_empty() {
            header.push("policy".to_owned());
        }
        let labels = header.len();
        header.extend(["seeds".to_owned(), "failed".to_owned()]);
        header.extend(self.figures.iter().map(Named::title));
        let mut table = Table::with_header(header).with_labels(labels);
        for point in &self.points {
            let label = |axis: &&str| point.axes.label(axis).unwrap_or_default().to_owned();
            let mut row: Vec<String> = axes.iter().map(label).collect();
            if row.is_empty() {
                row.push(point.axes.policy.clone());
            }
            row.extend([point.seeds.to_string(), point.failed.to_string()]);
            row.extend(self.figures.iter().zip(&point.figures).map(|(of, estimate)| of.estimate(estimate.as_ref())));
            table.row(row);
        }
        let what = "mean over seeds and 95 % confidence interval";
        format!("{}: {}, {what}\n{}", self.workload, count_of(self.points.len() as u64, "point"), rendered(table))
    }

    /// Axes whose labels differ between points.
    fn differing(&self) -> Vec<&str> {
        let Some(first) = self.points.first() else { return Vec::new() };
        let differs = |axis: &str, label: &str| self.points.iter().any(|point| point.axes.label(axis) != Some(label));
        first.axes.labels().filter(|(axis, label)| differs(axis, label)).map(|(axis, _)| axis).collect()
    }

    fn by_axis(&self, rows: usize) -> String {
        let mut header = vec!["axis".to_owned(), "value".to_owned(), "cells".to_owned(), "failed".to_owned()];
        header.extend(self.figures.iter().map(Named::title));
        let mut table = Table::with_header(header).with_labels(2);
        let mut before = "";
        for AxisRow { axis, value, cells, failed, figures } in self.axes.iter().take(rows) {
            let name = if axis == before { String::new() } else { axis.clone() };
            before = axis;
            let mut row = vec![name, value.clone(), grouped(*cells as u64), failed.to_string()];
            row.extend(self.figures.iter().zip(figures).map(|(of, spread)| of.spread(spread.as_ref())));
            table.row(row);
        }
        let left = self.axes.len().saturating_sub(rows);
        let left = if left == 0 { String::new() } else { format!("  and {} more\n", count_of(left as u64, "value")) };
        let cells: usize = self.points.iter().map(|PointRow { seeds, .. }| seeds).sum();
        let what = "median of cells, and the range from 5 % to 95 % of them";
        let counts = format!("{}, {}", count_of(self.points.len() as u64, "point"), count_of(cells as u64, "cell"));
        format!("{}: {counts}; {what}\n{}{left}", self.workload, rendered(table))
    }
}

fn rendered(table: Table) -> String {
    table.without_empty_columns().render(WIDTH, ColourDepth::None)
}

impl Named {
    fn title(&self) -> String {
        match self.statistic {
            crate::measures::Statistic::Mean => self.operation.clone(),
            statistic => format!("{} {}", self.operation, statistic.word()),
        }
    }

    fn estimate(&self, estimate: Option<&Estimate>) -> String {
        let Some(estimate) = estimate else { return String::new() };
        let half = estimate.half_width().map(|half| format!(" ± {}", shown(half, &self.unit)));
        shown(estimate.mean(), &self.unit) + &half.unwrap_or_default()
    }

    fn spread(&self, spread: Option<&Spread>) -> String {
        let Some(Spread { median, low, high }) = spread else { return String::new() };
        let [median, low, high] = [median, low, high].map(|value| shown(*value, &self.unit));
        format!("{median} ({low} to {high})")
    }
}

/// A value of this unit as people read it.
fn shown(value: f64, unit: &str) -> String {
    match unit {
        "nanos" => duration(Nanos::new(value.round().max(0.0) as u64)),
        "percent" => format!("{} %", decimal(value, 1)),
        "count" if value.abs() >= 100.0 => grouped(value.round().max(0.0) as u64),
        _ => decimal(value, if value.abs() >= 100.0 { 0 } else { 2 }),
    }
}
