//! Plots of what runs measured over time: panels under each other, with one time axis.
//!
//! [`Metric`] is what a person asks for and [`Readings`] what a run has; [`Metric::evaluate`] makes a [`Series`] of them.
//! [`Chart`] holds what is to be drawn, and [`Chart::draw`] lays it out as a [`Picture`](crate::picture::Picture), the
//! same for SVG and PNG. [`Distributions`] are the samples of operations without their times,
//! [`Worth`] what the switches of an ablation change, [`Scatter`] one quantity over another. Knows nothing of run directories, and smooths nothing: every extreme value is drawn.

mod axis;
mod cdf;
mod curve;
mod draw;
mod evaluate;
mod metric;
mod scatter;
mod unit;
mod worth;

use order9_units::Nanos;

pub use cdf::{Distribution, Distributions, Spread};
pub use draw::Size;
pub use evaluate::{EvaluateError, Reading, Readings, Series};
pub use metric::{Metric, MetricError};
pub use scatter::{Pane, Scatter, Spot};
pub use unit::{Quantity, Unit};
pub use worth::{SwitchWorth, Worth};

/// A chart that is to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// Name of the workload.
    pub title: String,
    /// Machine and settings of the runs.
    pub subtitle: String,
    /// Ends of the time axis.
    pub span: (Nanos, Nanos),
    /// Names of the columns of the legend: a colour and a pattern of dashes for each.
    pub groups: Vec<String>,
    /// Marks at the beginnings of phases.
    pub marks: Vec<Mark>,
    /// Panels from top to bottom.
    pub panels: Vec<Panel>,
}

/// The begin of a phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Index into [`Chart::groups`].
    pub group: usize,
    /// Time of the mark.
    pub at: Nanos,
    /// Name of the phase.
    pub name: String,
}

/// Panel of one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Name of the metric.
    pub title: String,
    /// Unit of all values.
    pub unit: Unit,
    /// Whether values are lines or dots.
    pub style: Style,
    /// One for each run.
    pub lines: Vec<Line>,
}

/// Way in which values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Levels and rates: neighbours are joined.
    Joined,
    /// Samples: each stands alone.
    Dots,
}

/// Values of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// Index into [`Chart::groups`].
    pub group: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Points in order of time; NaN is a gap.
    pub points: Vec<(Nanos, f64)>,
}
