//! Outcome of a comparison in words: better, worse, or not told apart.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Column, Quantity};
use crate::number::percent_change;
use crate::stats::{Difference, Direction, Estimate, Finding};

/// A quantity that decides between policies, in every column.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MainRow {
    /// The quantity.
    #[serde(flatten)]
    pub quantity: Quantity,
    /// Estimates of its values, column by column; `None` where no run has one.
    pub values: Vec<Option<Estimate>>,
    /// Against the first column; `None` in the first itself, and where one of the two has no value.
    pub verdicts: Vec<Option<Verdict>>,
}

/// Comparison of a policy with the first one in a quantity.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// The comparison in a word.
    pub outcome: Outcome,
    /// The comparison in numbers.
    #[serde(flatten)]
    pub difference: Difference,
}

/// Outcome of a comparison of a policy with the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Worse by a test over runs.
    Worse,
    /// Better by a test over runs.
    Better,
    /// Runs differ that much among themselves.
    NotToldApart,
    /// There is nothing to test with.
    NotTested,
    /// The values are equal.
    Same,
}

impl MainRow {
    pub(super) fn new(quantity: &Quantity, columns: &[Column]) -> Self {
        let values: Vec<_> = columns.iter().map(|column| quantity.estimate(column.runs())).collect();
        let verdict = |(at, estimate): (usize, &Option<Estimate>)| {
            let first = values[0].as_ref().filter(|_| at > 0)?;
            Some(Verdict::of(quantity.direction, first, estimate.as_ref()?))
        };
        let verdicts = values.iter().enumerate().map(verdict).collect();
        Self { quantity: quantity.clone(), values, verdicts }
    }

    /// Whether any column has a value other than 0.
    pub(super) fn says_something(&self) -> bool {
        self.values.iter().flatten().any(|estimate| estimate.values().iter().any(|&value| value != 0.0))
    }

    /// The verdict on a column in words, or that there is none.
    pub(super) fn words(&self, column: usize) -> String {
        self.verdicts[column].as_ref().map_or_else(|| "nothing to compare".to_owned(), Verdict::to_string)
    }
}

impl Verdict {
    /// Compares `second` with `first`.
    #[must_use]
    pub fn of(direction: Direction, first: &Estimate, second: &Estimate) -> Self {
        let difference = Difference::of(first, second);
        let outcome = match (difference.finding, direction) {
            (Finding::Same, _) => Outcome::Same,
            (Finding::OneRun | Finding::NoSpread, _) => Outcome::NotTested,
            (Finding::NotToldApart, _) => Outcome::NotToldApart,
            (Finding::Less, Direction::LowerIsBetter) | (Finding::More, Direction::HigherIsBetter) => Outcome::Better,
            (Finding::Less | Finding::More, _) => Outcome::Worse,
        };
        Self { outcome, difference }
    }

    /// The difference in percent, `+38 %`.
    #[must_use]
    pub fn change(&self) -> String {
        percent_change(self.difference.percent)
    }
}

impl Outcome {
    /// The outcome in plain words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::NotToldApart => "not told apart",
            Self::NotTested => "not tested",
            Self::Same => "the same",
        }
    }
}

/// `worse (+38 %, 95 % CI 12 to 64, n = 3)`, or `one run, not tested: 12 % higher`.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { percent, interval_95, runs: [first, second], finding } = &self.difference;
        match finding {
            Finding::Same => return f.write_str(self.outcome.name()),
            Finding::OneRun => return write!(f, "one run, not tested: {}", higher_or_lower(*percent)),
            Finding::NoSpread => {
                return write!(f, "no spread between runs, not tested: {}", higher_or_lower(*percent));
            }
            Finding::NotToldApart | Finding::Less | Finding::More => {}
        }
        write!(f, "{} ({}", self.outcome.name(), self.change())?;
        if let Some([low, high]) = interval_95 {
            write!(f, ", 95 % CI {} to {}", whole(*low), whole(*high))?;
        }
        let and_other = if first == second { String::new() } else { format!(" and {second}") };
        write!(f, ", n = {first}{and_other})")
    }
}

/// The difference in words: `12 % higher`.
fn higher_or_lower(percent: Option<f64>) -> String {
    let which = if percent.is_some_and(|percent| percent < 0.0) { "lower" } else { "higher" };
    match percent {
        None => "up from 0".to_owned(),
        Some(0.0) => "no change of the mean".to_owned(),
        Some(percent) => {
            let text = percent_change(Some(percent.abs()));
            match text.strip_prefix('+') {
                Some(percent) => format!("{percent} {which}"),
                None => format!("{text} {which}"),
            }
        }
    }
}

/// The end of an interval: with a decimal where it is small, without elsewhere.
fn whole(percent: f64) -> String {
    let text = if percent.abs() < 9.95 { format!("{percent:.1}") } else { format!("{percent:.0}") };
    if text == "-0.0" { "0.0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{HigherIsBetter, LowerIsBetter};

    fn verdict(direction: Direction, first: &[f64], second: &[f64]) -> Verdict {
        let estimate = |values: &[f64]| Estimate::new(values.iter().copied()).expect("there are values");
        Verdict::of(direction, &estimate(first), &estimate(second))
    }

    #[test]
    fn verdicts_say_what_the_test_says_and_no_more() {
        let (slow, slower) = (&[282.0, 301.0, 275.0][..], &[564.0, 480.0, 511.0][..]);
        assert_eq!(verdict(LowerIsBetter, slow, slower).to_string(), "worse (+81 %, 95 % CI 48 to 114, n = 3)");
        assert_eq!(verdict(HigherIsBetter, slow, slower).outcome, Outcome::Better);
        assert_eq!(verdict(LowerIsBetter, slower, slow).outcome, Outcome::Better);
        let alike = verdict(LowerIsBetter, &[10.0, 12.0, 11.0], &[11.0, 12.5, 10.5]);
        assert_eq!(alike.to_string(), "not told apart (+3.0 %, 95 % CI -18 to 24, n = 3)");
        let more_runs = verdict(LowerIsBetter, &[10.0, 12.0], &[11.0, 12.5, 10.5]);
        assert!(more_runs.to_string().ends_with(", n = 2 and 3)"), "{more_runs}");
    }

    #[test]
    fn without_a_test_the_number_stands_alone() {
        assert_eq!(verdict(LowerIsBetter, &[100.0], &[112.0]).to_string(), "one run, not tested: 12 % higher");
        assert_eq!(verdict(LowerIsBetter, &[100.0], &[50.0]).to_string(), "one run, not tested: 50 % lower");
        assert_eq!(verdict(LowerIsBetter, &[0.0], &[50.0]).to_string(), "one run, not tested: up from 0");
        assert_eq!(verdict(LowerIsBetter, &[100.0], &[100.0]).to_string(), "the same");
        let copies = verdict(LowerIsBetter, &[100.0; 10], &[50.0; 10]);
        assert_eq!(copies.to_string(), "no spread between runs, not tested: 50 % lower");
    }
}
