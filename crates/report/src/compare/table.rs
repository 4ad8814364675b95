//! A table with every number in it, ready to be drawn.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Title, Unit};
use crate::stats::Estimate;

/// Rows of numbers, one column per kernel or policy.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// Line above the table, if it has one: `thpscale Fault Latencies`.
    pub heading: Option<String>,
    /// Titles of the columns.
    pub columns: Vec<Title>,
    /// Whether cells are compared with the first column.
    pub comparison: Comparison,
    /// Characters for a value.
    pub field_width: usize,
    /// Decimals of a value.
    pub decimals: usize,
    /// The rows, each with one cell per column.
    pub rows: Vec<Row>,
}

/// Whether a table shows changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Comparison {
    /// Values alone.
    None,
    /// Every value with its change against the first column.
    WithFirst,
}

/// One statistic of one operation, in every column.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Name of the statistic: `Amean`, `Duration`, `Ops`.
    pub statistic: String,
    /// `fault-both-3`, `Elapsed`, `Swap Outs`.
    pub operation: String,
    /// Unit of the values.
    pub unit: Unit,
    /// One cell per column.
    pub cells: Vec<Cell>,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum Cell {
    /// Too little was measured for this statistic: a single sample has no spread. Text shows 0, change 0.
    Missing,
    /// The samples have no such value: samples that are not positive have no harmonic mean. Text shows NaN.
    Undefined,
    /// A finite value.
    Measured {
        /// The value in the unit of the row.
        value: f64,
        /// The values of single runs, of which `value` is the mean; `None` where iterations were pooled.
        #[serde(skip_serializing_if = "Option::is_none")]
        estimate: Option<Estimate>,
        /// Against the first column; `None` in tables without comparison, or if that column has no value.
        change: Option<Change>,
    },
}

/// Difference of a value from the first column.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Change {
    /// Percent, positive is better; 0 in the first column itself.
    pub percent: f64,
    /// Taken to be outside the noise.
    pub significant: bool,
    /// The 95 % confidence interval of `percent`, where it was tested over runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval_95: Option<[f64; 2]>,
}

impl Cell {
    /// A value without comparison; `None` means that it is not defined.
    #[must_use]
    pub fn plain(value: Option<f64>) -> Self {
        Self::compared(value, None)
    }

    /// A value and its change. What is not finite is not defined.
    #[must_use]
    pub fn compared(value: Option<f64>, change: Option<Change>) -> Self {
        match value.filter(|value| value.is_finite()) {
            Some(value) => {
                let change = change.filter(|change| change.percent.is_finite());
                Self::Measured { value, estimate: None, change }
            }
            None => Self::Undefined,
        }
    }

    /// The mean of runs.
    #[must_use]
    pub fn estimated(estimate: Estimate, change: Option<Change>) -> Self {
        let change = change.filter(|change| change.percent.is_finite());
        Self::Measured { value: estimate.mean(), estimate: Some(estimate), change }
    }

    /// The values of single runs, where there are any.
    #[must_use]
    pub const fn estimate(&self) -> Option<&Estimate> {
        match self {
            Self::Measured { estimate, .. } => estimate.as_ref(),
            Self::Missing | Self::Undefined => None,
        }
    }

    /// The value, where there is one.
    #[must_use]
    pub const fn value(&self) -> Option<f64> {
        match self {
            Self::Measured { value, .. } => Some(*value),
            Self::Missing | Self::Undefined => None,
        }
    }

    /// The change, where there is one.
    #[must_use]
    pub const fn change(&self) -> Option<Change> {
        match self {
            Self::Measured { change, .. } => *change,
            Self::Missing | Self::Undefined => None,
        }
    }
}
