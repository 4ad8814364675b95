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
            let _ = writeln!(
                text,
                "Stop rule ({}): {} of {} reached it.",
                until.rule,
                until.reached,
                count_of(of as u64, "point")
            );
        }
        if !self.failures.is_empty() {
            let _ = writeln!(text, "{} did not complete:", count_of(self.failures.len() as u64, "cell"));
            for failure in self.failures.iter().take(FAILURES_MAX) {
                let _ = writeln!(
                    text,
                    "  {}, seed {}: {}: {}",
                    place(&failure.axes),
                    failure.seed,
                    failure.end.word(),
                    failure.message
                );
            }
        }
        text
    }
}

/// Labels in one line, without those that are parameters and settings of all.
fn place(axes: &Axes) -> String {
    let labels = axes
        .labels()
        .map(|(axis, label)| if axes.is_chosen(axis) { format!("{axis}={label}") } else { label.to_owned() });
    labels.collect::<Vec<_>>().join(" ")
}

impl OfWorkload {
    /// Points where there is room for all, else axes, else as many rows of them as there is room for.
    fn to_text(&self, rows: usize) -> String {
        if self.points.len() <= rows { self.by_point() } else { self.by_axis(rows) }
    }

    fn by_point(&self) -> String {
        let axes = self.differing();
        let axes = if axes.is_empty() { vec!["policy"] } else { axes };
        let header = axes.iter().copied().chain(["seeds", "failed"]);
        let label = |point: &PointRow, axis: &str| point.axes.label(axis).unwrap_or_default().to_owned();
        let rows = self.points.iter().map(|point| {
            let labels = axes.iter().map(|axis| label(point, axis));
            let head = labels.chain([point.seeds.to_string(), count(point.failed)]).collect();
            let figures = self.figures.iter().zip(&point.figures);
            (head, figures.map(|(of, estimate)| of.estimate(estimate.as_ref())).collect())
        });
        let table = self.table(&header.map(str::to_owned).collect::<Vec<_>>(), axes.len(), &rows.collect::<Vec<_>>());
        let what = "mean over seeds and 95 % confidence interval";
        format!("{}: {}, {what}\n{table}", self.workload, count_of(self.points.len() as u64, "point"))
    }

    /// Axes whose labels differ between points.
    fn differing(&self) -> Vec<&str> {
        let Some(first) = self.points.first() else { return Vec::new() };
        let differs = |axis: &str, label: &str| self.points.iter().any(|point| point.axes.label(axis) != Some(label));
        first.axes.labels().filter(|(axis, label)| differs(axis, label)).map(|(axis, _)| axis).collect()
    }

    fn by_axis(&self, rows: usize) -> String {
        let mut before = "";
        let mut shown = Vec::new();
        for AxisRow { axis, value, cells, failed, figures } in self.axes.iter().take(rows) {
            let name = if axis == before { String::new() } else { axis.clone() };
            before = axis;
            let head = vec![name, value.clone(), grouped(*cells as u64), count(*failed)];
            let figures = self.figures.iter().zip(figures);
            shown.push((head, figures.map(|(of, spread)| of.spread(spread.as_ref())).collect()));
        }
        let header = ["axis", "value", "cells", "failed"].map(str::to_owned).to_vec();
        let table = self.table(&header, 2, &shown);
        let left = self.axes.len().saturating_sub(rows);
        let left = if left == 0 { String::new() } else { format!("  and {} more\n", count_of(left as u64, "value")) };
        let cells: usize = self.points.iter().map(|PointRow { seeds, .. }| seeds).sum();
        let what = "median of cells, and the range from 5 % to 95 % of them";
        let counts = format!("{}, {}", count_of(self.points.len() as u64, "point"), count_of(cells as u64, "cell"));
        format!("{}: {counts}; {what}\n{table}{left}", self.workload)
    }

    /// A table of rows, each with its head and its figures: as many of these as fit beside each other.
    fn table(&self, header: &[String], labels: usize, rows: &[(Vec<String>, Vec<String>)]) -> String {
        for figures in (1..=self.figures.len().max(1)).rev() {
            let titles = self.figures.iter().map(Named::title).take(figures);
            let mut table =
                Table::with_header(header.iter().cloned().chain(titles).collect()).with_labels(labels).with_zeros();
            for (head, values) in rows {
                table.row(head.iter().chain(values.iter().take(figures)).cloned().collect());
            }
            let text = table.without_empty_columns().render(WIDTH, ColourDepth::None);
            let left = self.figures.len().saturating_sub(figures);
            // Columns that do not fit would follow below an empty line.
            if figures == 1 || !text.trim_end().contains("\n\n") {
                let left =
                    if left == 0 { String::new() } else { format!("  and {} more\n", count_of(left as u64, "figure")) };
                return text + &left;
            }
        }
        String::new()
    }
}

/// A number of failures, of which none is nothing to say.
fn count(failed: usize) -> String {
    if failed == 0 { String::new() } else { failed.to_string() }
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
        let (mean, half) = (estimate.mean(), estimate.half_width());
        let half = half.map(|half| format!(" ± {}", shown(half, mean, &self.unit)));
        shown(mean, mean, &self.unit) + &half.unwrap_or_default()
    }

    fn spread(&self, spread: Option<&Spread>) -> String {
        let Some(Spread { median, low, high }) = spread else { return String::new() };
        let [middle, low, high] = [median, low, high].map(|value| shown(*value, *median, &self.unit));
        format!("{middle} ({low} to {high})")
    }
}

/// A value of this unit as people read it, as exact as one of the size of `like`.
fn shown(value: f64, like: f64, unit: &str) -> String {
    match unit {
        "nanos" => duration(Nanos::new(value.round().max(0.0) as u64)),
        "percent" => format!("{} %", decimal(value, 1)),
        _ if like.abs() >= 100.0 && value >= 0.0 => grouped(value.round() as u64),
        _ => decimal(value, 2),
    }
}
