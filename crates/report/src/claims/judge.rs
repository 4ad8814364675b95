//! Whether a re-run shows what was published.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CellRef, Claim, Field, Level, Reading, Reference, Relation, RowKey, Statement, Term};

/// Numbers of a re-run, by the names of the claim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    rows: BTreeMap<RowKey, Reading>,
    /// Half width of the 95 % confidence interval of a number that is a mean over runs.
    spreads: BTreeMap<(RowKey, Field), f64>,
}

/// Verdict on one statement.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema, Deserialize)]
pub struct Verdict {
    /// The statement in words and signs.
    pub statement: String,
    /// Weight of the statement.
    pub level: Level,
    /// Why it is there, in words.
    pub note: String,
    /// Whether the statement holds.
    pub outcome: Outcome,
    /// Number of rows in which it must hold.
    pub need: usize,
    /// Number of rows in which it holds.
    pub held: usize,
    /// The numbers that decided it, one entry per row.
    pub evidence: Vec<Evidence>,
}

/// Whether a statement holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The statement holds in as many rows as it must.
    Holds,
    /// The statement holds in too few rows, whatever the missing numbers are.
    Fails,
    /// Numbers are missing that could decide it.
    NotMeasured,
}

/// Finding in one row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema, Deserialize)]
pub struct Evidence {
    /// The row.
    pub row: RowKey,
    /// The finding in that row.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Finding in one row.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "finding")]
pub enum Finding {
    /// A number was not measured.
    Missing {
        /// Name of the missing number.
        what: String,
    },
    /// Two numbers were compared.
    Compared {
        /// The number on the left.
        left: f64,
        /// Half width of its 95 % confidence interval, where it is a mean over runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_half_width: Option<f64>,
        /// The number with which it was compared.
        right: f64,
        /// Half width of the interval of that number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        right_half_width: Option<f64>,
        /// Whether the relation holds between them.
        holds: bool,
    },
    /// A difference was tested against the noise.
    Tested {
        /// Whether it is outside.
        significant: bool,
    },
}

/// Judges every statement of `claim`, in the order of its file.
#[must_use]
pub fn judge(claim: &Claim, measured: &Measured) -> Vec<Verdict> {
    claim.shape.iter().map(|statement| verdict(statement, measured)).collect()
}

impl Measured {
    /// The printed numbers of a claim, as if a re-run had given exactly those.
    #[must_use]
    pub fn printed(claim: &Claim) -> Self {
        Self { rows: claim.printed().into_iter().collect(), spreads: BTreeMap::new() }
    }

    /// Adds what was measured for a row, in place of what was there.
    pub fn insert(&mut self, row: RowKey, reading: Reading) {
        self.rows.insert(row, reading);
    }

    /// Says how far the 95 % confidence interval of a number reaches to either side, if it is a mean over several runs.
    pub fn spread(&mut self, row: RowKey, field: Field, half_width: Option<f64>) {
        if let Some(half_width) = half_width {
            self.spreads.insert((row, field), half_width);
        }
    }

    fn number(&self, row: &RowKey, field: Field) -> Result<Number, Finding> {
        let value = self.rows.get(row).and_then(|reading| reading.field(field));
        let value = value.ok_or_else(|| missing(CellRef { row: row.clone(), field }.to_string()))?;
        Ok(Number { value, half_width: self.spreads.get(&(row.clone(), field)).copied() })
    }

    fn referred(&self, row: &RowKey, reference: &Reference) -> Result<Number, Finding> {
        match reference {
            Reference::Baseline => self.number(row, Field::Baseline),
            Reference::Cell(cell) => self.number(&cell.row, cell.field),
        }
    }
}

fn missing(what: String) -> Finding {
    Finding::Missing { what }
}

fn verdict(statement: &Statement, measured: &Measured) -> Verdict {
    let find = |row: &RowKey| Evidence {
        row: row.clone(),
        finding: find(statement, row, measured).unwrap_or_else(|missing| missing),
    };
    let evidence: Vec<_> = statement.rows.iter().map(find).collect();
    let held = evidence.iter().filter(|evidence| evidence.finding.holds() == Some(true)).count();
    let missing = evidence.iter().filter(|evidence| evidence.finding.holds().is_none()).count();
    let outcome = match held {
        held if held >= statement.need => Outcome::Holds,
        held if held + missing >= statement.need => Outcome::NotMeasured,
        _ => Outcome::Fails,
    };
    Verdict {
        statement: statement.to_string(),
        level: statement.level,
        note: statement.note.clone(),
        outcome,
        need: statement.need,
        held,
        evidence,
    }
}

/// The finding in one row; the error is a finding about a missing number.
fn find(statement: &Statement, row: &RowKey, measured: &Measured) -> Result<Finding, Finding> {
    let left = || measured.number(row, statement.left);
    match &statement.relation {
        Relation::Order(op, term) => {
            let left = left()?;
            let right = match term {
                Term::Number(value) => Number { value: *value, half_width: None },
                Term::Of(reference) => measured.referred(row, reference)?,
            };
            Ok(Finding::compared(left, right, op.holds(left.value, right.value)))
        }
        Relation::Ratio(bound, of, value) => {
            let (left, right) = (left()?, measured.referred(row, of)?);
            Ok(Finding::compared(left, right, bound.holds(left.value, right.value, *value)))
        }
        Relation::Significant => {
            let tested = measured.rows.get(row).and_then(|reading| reading.significant());
            let significant = tested.ok_or_else(|| missing(format!("a test of significance of {row}")))?;
            Ok(Finding::Tested { significant })
        }
    }
}

/// A number, and how sure it is.
#[derive(Clone, Copy)]
struct Number {
    value: f64,
    half_width: Option<f64>,
}

impl Finding {
    const fn compared(left: Number, right: Number, holds: bool) -> Self {
        let (left_half_width, right_half_width) = (left.half_width, right.half_width);
        Self::Compared { left: left.value, left_half_width, right: right.value, right_half_width, holds }
    }

    /// Whether the statement holds in this row; `None` if a number is missing.
    #[must_use]
    pub const fn holds(&self) -> Option<bool> {
        match *self {
            Self::Missing { .. } => None,
            Self::Compared { holds, .. } => Some(holds),
            Self::Tested { significant } => Some(significant),
        }
    }
}

impl Outcome {
    /// The outcome in plain words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::NotMeasured => "not measured",
        }
    }
}

/// A number with four decimals at most, and none that say nothing.
fn short(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { what } => write!(f, "{what} was not measured"),
            Self::Compared { left, left_half_width, right, right_half_width, .. } => {
                let [left, right] = [(left, left_half_width), (right, right_half_width)].map(|(value, half)| {
                    let spread = half.map(|half| format!(" \u{b1} {}", short(half))).unwrap_or_default();
                    short(*value) + &spread
                });
                write!(f, "{left} against {right}")
            }
            Self::Tested { significant: true } => f.write_str("outside the noise"),
            Self::Tested { significant: false } => f.write_str("within the noise"),
        }
    }
}

/// The row and what was found there; what is missing names its row itself.
impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.finding {
            Finding::Missing { .. } => write!(f, "{}", self.finding),
            finding => write!(f, "{}: {finding}", self.row),
        }
    }
}

/// `holds: <statement>` and, where it does not hold, the rows that speak against it.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.outcome.name(), self.statement)?;
        if self.outcome != Outcome::Holds {
            let against = self.evidence.iter().filter(|evidence| evidence.finding.holds() != Some(true));
            let against: Vec<_> = against.map(Evidence::to_string).collect();
            write!(f, " [{}]", against.join("; "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Bound, Op};

    const PARAMS: [&str; 3] = ["1", "3", "5"];

    fn rows() -> Vec<RowKey> {
        PARAMS.map(|param| RowKey::new("fault-both", "Amean", param)).to_vec()
    }

    fn statement(relation: Relation, need: usize) -> Statement {
        Statement { rows: rows(), left: Field::Patched, relation, need, level: Level::Core, note: String::new() }
    }

    fn measured(patched: &[f64]) -> Measured {
        let mut measured = Measured::default();
        for (row, &patched) in rows().into_iter().zip(patched) {
            measured.insert(row, Reading::Pair { baseline: 10.0, patched, significant: Some(patched < 5.0) });
        }
        measured
    }

    fn outcome(statement: &Statement, patched: &[f64]) -> Outcome {
        verdict(statement, &measured(patched)).outcome
    }

    #[test]
    fn enough_rows_decide_even_if_others_are_missing() {
        let faster = statement(Relation::Order(Op::Less, Term::Of(Reference::Baseline)), 2);
        assert_eq!(outcome(&faster, &[9.0, 9.0]), Outcome::Holds);
        assert_eq!(outcome(&faster, &[9.0, 11.0]), Outcome::NotMeasured);
        assert_eq!(outcome(&faster, &[11.0, 11.0]), Outcome::Fails);
        assert_eq!(outcome(&faster, &[f64::NAN, 9.0, 9.0]), Outcome::Holds);
    }

    #[test]
    fn the_verdict_shows_what_speaks_against_it() {
        let faster = statement(Relation::Order(Op::Less, Term::Of(Reference::Baseline)), 3);
        let verdict = verdict(&faster, &measured(&[9.0, 11.5]));
        assert_eq!(verdict.held, 1);
        let text = "fails: fault-both|Amean|1, 3, 5: patched < baseline [fault-both|Amean|3: 11.5 against 10; \
                    fault-both|Amean|5|patched was not measured]";
        assert_eq!(verdict.to_string(), text);
        let json = serde_json::to_value(&verdict).unwrap();
        assert_eq!(json["outcome"], "fails");
        let compared = serde_json::json!({
            "row": "fault-both|Amean|3", "finding": "compared", "left": 11.5, "right": 10.0, "holds": false
        });
        assert_eq!(json["evidence"][1], compared);
    }

    #[test]
    fn cells_and_bounds_are_looked_up() {
        let first = CellRef::parse("fault-both|Amean|1|patched").unwrap();
        let growing = statement(Relation::Ratio(Bound::AtLeast, Reference::Cell(first), 2.0), 1);
        assert_eq!(outcome(&growing, &[1.0, 1.5, 1.9]), Outcome::Fails);
        assert_eq!(outcome(&growing, &[1.0, 1.5, 2.0]), Outcome::Holds);
        let small = statement(Relation::Order(Op::AtMost, Term::Number(3.0)), 3);
        assert_eq!(outcome(&small, &[1.0, 2.0, 3.0]), Outcome::Holds);
        let marked = statement(Relation::Significant, 2);
        assert_eq!(outcome(&marked, &[4.0, 4.0, 6.0]), Outcome::Holds);
        assert_eq!(outcome(&marked, &[4.0, 6.0, 6.0]), Outcome::Fails);
    }

    #[test]
    fn means_over_runs_show_their_spread() {
        let faster = statement(Relation::Order(Op::Less, Term::Of(Reference::Baseline)), 3);
        let mut measured = measured(&[9.0, 11.5, 9.0]);
        measured.spread(rows()[1].clone(), Field::Patched, Some(0.25));
        measured.spread(rows()[1].clone(), Field::Baseline, None);
        let verdict = verdict(&faster, &measured);
        assert_eq!(verdict.evidence[1].to_string(), "fault-both|Amean|3: 11.5 \u{b1} 0.25 against 10");
        assert_eq!(serde_json::to_value(&verdict).unwrap()["evidence"][1]["left_half_width"], 0.25);
    }

    #[test]
    fn nothing_divided_by_nothing_shows_nothing() {
        let gone = |bound| statement(Relation::Ratio(bound, Reference::Cell(zero()), 1.0), 3);
        fn zero() -> CellRef {
            CellRef { row: RowKey::counter("none"), field: Field::Value }
        }
        for bound in [Bound::AtMost, Bound::AtLeast] {
            let mut measured = measured(&[0.0, 0.0, 0.0]);
            measured.insert(zero().row, Reading::Value(0.0));
            assert_eq!(verdict(&gone(bound), &measured).outcome, Outcome::Fails);
        }
    }
}
