//! Distributions of samples: one panel for each operation, whose curves show the share of samples up to each value.
//!
//! The axis of values is logarithmic, since times of an allocation lie between a fast path and a wait that is a million
//! times as long. A thick line is of all runs of a policy together; where there are several, each has a thin one, so that
//! the spread between seeds is seen. Nothing is smoothed: a curve rises where samples are.

use std::fmt::Write as _;

use super::draw::{AXIS, DIM, GAP, GRID, INK, PANEL_HEAD, Page, Size, fitting, look_of};
use super::{Quantity, Unit};
use crate::number::grouped;
use crate::picture::{Anchor, Picture, Shape, Stroke, TextSize};

/// Distributions that are to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Distributions {
    /// Name of the workload.
    pub title: String,
    /// Machine and settings of the runs.
    pub subtitle: String,
    /// Names of the policies.
    pub groups: Vec<String>,
    /// Panels from top to bottom.
    pub panels: Vec<Distribution>,
}

/// Distribution of one operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// Name of the operation.
    pub title: String,
    /// Unit of all values.
    pub unit: Unit,
    /// Samples of each run.
    pub runs: Vec<Spread>,
}

/// Samples of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// Index into [`Distributions::groups`].
    pub group: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Finite, in any order.
    pub values: Vec<f64>,
}

/// Pixels of a panel where no height is asked for.
const PANEL_USUAL: u32 = 220;
const PANEL_MIN: u32 = 80;
/// Below each panel: labels of values.
const FOOT: u32 = 40;

impl Distributions {
    /// Lays out the picture.
    #[must_use]
    pub fn draw(&self, size: Size) -> Picture {
        let mut page = Page::new(size.width);
        page.heading(&self.title, &self.subtitle, &self.groups);
        let each = PANEL_HEAD + GAP + FOOT;
        let spare = size.height.map(|height| height.saturating_sub(page.y) / (self.panels.len() as u32).max(1));
        let height = spare.map_or(PANEL_USUAL, |room| room.saturating_sub(each).max(PANEL_MIN));
        for panel in &self.panels {
            panel.draw(&mut page, self.groups.len(), height);
        }
        let height = size.height.unwrap_or(0).max(page.y);
        page.into_picture(height)
    }
}

impl Distribution {
    fn draw(&self, page: &mut Page, groups: usize, height: u32) {
        let (left, width) = (Page::LEFT, page.plot());
        let count: usize = self.runs.iter().map(|run| run.values.len()).sum();
        let title = fitting(&format!("{}, {} samples", self.title, grouped(count as u64)), TextSize::Bold, width);
        page.text(left, page.y, TextSize::Bold, Anchor::Start, INK, &title);
        page.text(left - 10, page.y, TextSize::Small, Anchor::End, DIM, "% at most");
        let top = page.y + PANEL_HEAD;
        let at = |share: f64| top + ((1.0 - share) * f64::from(height)).round() as u32;
        for percent in [0, 25, 50, 75, 100] {
            let y = at(f64::from(percent) / 100.0);
            page.shapes.push(Shape::Rect {
                x: left,
                y,
                width,
                height: 1,
                fill: if percent == 0 { AXIS } else { GRID },
            });
            page.text(left - 10, y.saturating_sub(8), TextSize::Small, Anchor::End, DIM, &percent.to_string());
        }
        let values = self.runs.iter().flat_map(|run| run.values.iter().copied());
        let axis = LogAxis::new(values, self.unit, (width / 80).max(2) as usize);
        for (value, label) in &axis.ticks {
            let x = left + (axis.place(*value) * f64::from(width)).round() as u32;
            page.shapes.push(Shape::Rect { x, y: top, width: 1, height, fill: GRID });
            page.shapes.push(Shape::Rect { x, y: top + height, width: 1, height: 6, fill: AXIS });
            page.text(x, top + height + 10, TextSize::Small, Anchor::Middle, DIM, label);
        }
        page.shapes.push(Shape::Rect { x: left, y: top, width: 1, height, fill: AXIS });
        let area = (f64::from(left), f64::from(width), f64::from(top), f64::from(height));
        for group in 0..groups {
            let of_group: Vec<&Spread> = self.runs.iter().filter(|run| run.group == group).collect();
            let look = look_of(group);
            if of_group.len() > 1 {
                for run in &of_group {
                    let stroke = Stroke { colour: look.pale(), width: 1.0, dashes: &[] };
                    page.shapes.push(Shape::Path { d: curve(run.values.clone(), &axis, area), stroke });
                }
            }
            let all: Vec<f64> = of_group.iter().flat_map(|run| run.values.iter().copied()).collect();
            let stroke = Stroke { colour: look.colour, width: 2.0, dashes: look.dashes };
            page.shapes.push(Shape::Path { d: curve(all, &axis, area), stroke });
        }
        page.y = top + height + FOOT + GAP;
    }
}

/// The share of `values` that is at most so large, at every pixel where it changes. The area is left, width, top, height.
fn curve(mut values: Vec<f64>, axis: &LogAxis, (left, width, top, height): (f64, f64, f64, f64)) -> String {
    values.sort_by(f64::total_cmp);
    let mut path = String::new();
    let count = values.len();
    let mut done = 0;
    while done < count {
        // All samples of one column of pixels are one step.
        let x = (axis.place(values[done]) * width).round();
        let same = values[done..].iter().take_while(|value| (axis.place(**value) * width).round() <= x).count();
        let y = |done: usize| top + height * (1.0 - done as f64 / count as f64);
        let command = if done == 0 { format!("M{:.1} {:.1}", left + x, y(0)) } else { format!("H{:.1}", left + x) };
        let _ = write!(path, "{command}V{:.1}", y(done + same));
        done += same;
    }
    if count > 0 {
        let _ = write!(path, "H{:.1}", left + width);
    }
    path
}

/// A range of values, each power of ten as wide as the others.
struct LogAxis {
    low: f64,
    high: f64,
    /// Values with their labels, ascending.
    ticks: Vec<(f64, String)>,
}

impl LogAxis {
    /// An axis from the smallest positive value to the largest one, with up to `count` ticks.
    fn new(values: impl Iterator<Item = f64>, unit: Unit, count: usize) -> Self {
        let positive = values.filter(|value| *value > 0.0);
        let (low, high) =
            positive.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if high == 0.0 { (1.0, 10.0) } else { (low, high) };
        // Values that are all alike stand in the middle.
        let (low, high) = if high / low < 1.2 { (low / 1.2, high * 1.2) } else { (low, high) };
        let steps: [&[f64]; 4] =
            [&[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], &[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
        let ticks = |steps: &[f64]| -> Vec<f64> {
            let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
            let all = decades.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
            all.filter(|value| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value)).collect()
        };
        let fits = |ticks: &Vec<f64>| ticks.len() <= count;
        let chosen = steps.into_iter().map(ticks).find(fits).unwrap_or_else(|| {
            let decades = ticks(&[1.0]);
            let every = decades.len().div_ceil(count);
            decades.into_iter().step_by(every).collect()
        });
        Self { low, high, ticks: chosen.into_iter().map(|value| (value, label(value, unit))).collect() }
    }

    /// Position of a value from 0, the smallest, to 1, the largest. Smaller values stand at the edge.
    fn place(&self, value: f64) -> f64 {
        if value <= self.low { 0.0 } else { (value / self.low).ln() / (self.high / self.low).ln() }
    }
}

/// `200 µs`, `1.5 ms`, `20k`.
fn label(value: f64, unit: Unit) -> String {
    let scales: &[(f64, &str)] = match unit.quantity {
        Quantity::Seconds => &[(1.0, " s"), (1e-3, " ms"), (1e-6, " \u{b5}s"), (1e-9, " ns")],
        _ => &[(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m")],
    };
    let found = scales.iter().find(|(factor, _)| value >= factor * (1.0 - 1e-9));
    let (factor, suffix) = found.or(scales.last()).expect("there are scales");
    let digits = format!("{:.1}", value / factor);
    format!("{}{suffix}", digits.strip_suffix(".0").unwrap_or(&digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_the_unit_that_reads_well() {
        let seconds = Unit::of(Quantity::Seconds);
        assert_eq!(
            [2e-9, 1.5e-6, 3e-4, 0.02, 7.0].map(|value| label(value, seconds)),
            ["2 ns", "1.5 \u{b5}s", "300 \u{b5}s", "20 ms", "7 s"]
        );
        assert_eq!([3.0, 2e4].map(|value| label(value, Unit::of(Quantity::Count))), ["3", "20k"]);
    }

    #[test]
    fn ticks_are_as_many_as_fit() {
        let axis = |values: &[f64], count| LogAxis::new(values.iter().copied(), Unit::of(Quantity::Count), count);
        let labels = |axis: LogAxis| axis.ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" ");
        assert_eq!(labels(axis(&[1.0, 100.0], 8)), "1 2 5 10 20 50 100");
        assert_eq!(labels(axis(&[1.0, 100.0], 5)), "1 3 10 30 100");
        assert_eq!(labels(axis(&[1.0, 1e6], 4)), "1 100 10k 1M");
        assert_eq!(labels(axis(&[], 12)), "1 1.5 2 3 4 5 6 7 8 9 10");
        let alike = axis(&[5.0, 5.0], 8);
        assert!((alike.place(5.0) - 0.5).abs() < 1e-9);
        assert_eq!(alike.place(0.0), 0.0);
    }

    #[test]
    fn a_curve_rises_where_samples_are() {
        let axis = LogAxis::new([1.0, 100.0].into_iter(), Unit::of(Quantity::Count), 8);
        let path = curve(vec![100.0, 1.0, 10.0, 10.0], &axis, (0.0, 100.0, 0.0, 100.0));
        assert_eq!(path, "M0.0 100.0V75.0H50.0V25.0H100.0V0.0H100.0");
        assert_eq!(curve(Vec::new(), &axis, (0.0, 100.0, 0.0, 100.0)), "");
    }
}
