//! Statements about the shape of a result that a program can check.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CellRef, Field, RowKey};

/// A statement that a re-run has to show.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The rows it is about; at least one, all of one metric.
    pub rows: Vec<RowKey>,
    /// The number on the left of the relation.
    pub left: Field,
    /// Relation that must hold.
    pub relation: Relation,
    /// Number of rows in which the relation must hold, from 1 to all.
    pub need: usize,
    /// Weight of the statement.
    pub level: Level,
    /// Reason for the statement, in words.
    pub note: String,
}

/// Relation that must hold in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// The left number against another.
    Order(Op, Term),
    /// The left number divided by another, against a bound.
    Ratio(Bound, Reference, f64),
    /// The difference of the row is outside the noise.
    Significant,
}

/// Comparison of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

/// Side of a bound on which a ratio must lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `ratio<=`
    AtMost,
    /// `ratio>=`
    AtLeast,
}

/// The right side of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// A number.
    Number(f64),
    /// Another number of the result.
    Of(Reference),
}

/// Another number of the result.
#[derive(Clone, Debug, PartialEq)]
pub enum Reference {
    /// The baseline of the same row.
    Baseline,
    /// A certain cell.
    Cell(CellRef),
}

/// Weight of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The claim itself: a re-run must show it.
    Core,
    /// Worth showing; may depend on the machine.
    Detail,
}

impl Op {
    /// Whether the relation holds.
    #[must_use]
    pub fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Self::Less => left < right,
            Self::AtMost => left <= right,
            Self::Greater => left > right,
            Self::AtLeast => left >= right,
        }
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }
}

impl Bound {
    /// Whether `left / right` lies on this side of `value`. Nothing divided by nothing lies on neither side.
    #[must_use]
    pub fn holds(self, left: f64, right: f64, value: f64) -> bool {
        match self {
            Self::AtMost => left / right <= value,
            Self::AtLeast => left / right >= value,
        }
    }

    const fn sign(self) -> &'static str {
        match self {
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
        }
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Baseline => f.write_str("baseline"),
            Self::Cell(cell) => write!(f, "{cell}"),
        }
    }
}

/// `fault-base|Amean|1, 3, 5: patched < baseline (in at least 2 of 3)`.
impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params: Vec<_> = self.rows.iter().map(|row| row.param.as_str()).collect();
        write!(f, "{}|{}|{}: ", self.rows[0].metric, self.rows[0].stat, params.join(", "))?;
        match &self.relation {
            Relation::Order(op, Term::Number(value)) => write!(f, "{} {} {value}", self.left, op.sign())?,
            Relation::Order(op, Term::Of(reference)) => write!(f, "{} {} {reference}", self.left, op.sign())?,
            Relation::Ratio(bound, of, value) => write!(f, "{} / {of} {} {value}", self.left, bound.sign())?,
            Relation::Significant => f.write_str("outside the noise")?,
        }
        if self.need < self.rows.len() {
            write!(f, " (in at least {} of {})", self.need, self.rows.len())?;
        }
        Ok(())
    }
}
