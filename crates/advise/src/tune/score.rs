//! Marks of a combination: what it measures, how far it is from the goal, and how far beyond limits.

use std::cmp::Ordering;

use order9_measures::{Measure, find};
use order9_report::stats::{Difference, Direction};

use super::goal::{Goal, Limit};
use super::space::Choice;
use super::trials::{AS_ASKED, Trials};
use crate::what_if::{Verdict, judge};

/// Goal, limits, and prices that are weighed against the goal.
#[derive(Clone, Debug)]
pub(super) struct Aim {
    pub(super) goal: Goal,
    pub(super) limits: Vec<Limit>,
    /// Measures of the limits, or the usual prices where there is none.
    pub(super) prices: Vec<&'static Measure>,
}

/// Prices where nobody names a limit: the slow faults, and the work of kcompactd.
const USUAL: [&str; 2] = ["p99", "kcompactd"];

/// Marks of a combination.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Marks {
    /// Sum of the shares by which limits are exceeded.
    pub(super) excess: f64,
    /// Share by which the goal is missed; of a goal without a value, the measure itself with its sign turned where more is
    /// better.
    pub(super) short: f64,
    /// Goal, then prices; less is better, and infinity stands for what was not measured.
    pub(super) objectives: Vec<f64>,
}

impl Aim {
    pub(super) fn new(goal: Goal, limits: Vec<Limit>) -> Self {
        let limited = limits.iter().map(|limit| limit.measure);
        let usual = USUAL.iter().filter_map(|word| find(word).ok());
        let prices: Vec<_> = if limits.is_empty() { usual.collect() } else { limited.collect() };
        let prices = prices.into_iter().filter(|price| price.word != goal.measure.word).collect();
        Self { goal, limits, prices }
    }

    /// The goal and the prices.
    pub(super) fn measures(&self) -> impl Iterator<Item = &'static Measure> {
        std::iter::once(self.goal.measure).chain(self.prices.iter().copied())
    }

    /// Marks by the means of all runs under a demand.
    pub(super) fn marks(&self, trials: &Trials<'_>, choice: &Choice, demand: usize) -> Marks {
        self.marks_by(|measure| trials.estimate(choice, demand, measure).map(|estimate| estimate.mean()))
    }

    fn marks_by(&self, value: impl Fn(&Measure) -> Option<f64>) -> Marks {
        let objective =
            |measure: &Measure| value(measure).map_or(f64::INFINITY, |value| less_is_better(measure, value));
        let excess = |limit: &Limit| value(limit.measure).map_or(f64::INFINITY, |value| limit.excess(value));
        let short = match (self.goal.reach, value(self.goal.measure)) {
            (_, None) => f64::INFINITY,
            (Some(_), Some(value)) => self.goal.short(value),
            (None, Some(value)) => less_is_better(self.goal.measure, value),
        };
        Marks {
            excess: self.limits.iter().map(excess).sum(),
            short,
            objectives: self.measures().map(objective).collect(),
        }
    }

    /// Whether the limits are kept under every demand, and the goal is reached where it has a value.
    pub(super) fn holds_everywhere(&self, trials: &Trials<'_>, choice: &Choice) -> bool {
        (0..trials.plans.len()).all(|demand| {
            let marks = self.marks(trials, choice, demand);
            marks.excess == 0.0 && (self.goal.reach.is_none() || marks.short == 0.0)
        })
    }

    /// Judgement on the goal of `choice` beside that of `other`, over runs.
    pub(super) fn compared(&self, trials: &Trials<'_>, choice: &Choice, other: &Choice) -> Verdict {
        compared(trials, self.goal.measure, choice, other)
    }
}

/// Judgement on a measure of `choice` beside that of `other`, over runs under the demand as it was asked for.
pub(super) fn compared(trials: &Trials<'_>, measure: &Measure, choice: &Choice, other: &Choice) -> Verdict {
    let estimate = |choice| trials.estimate(choice, AS_ASKED, measure);
    match (estimate(choice), estimate(other)) {
        (Some(value), Some(base)) => {
            judge(&Difference::of(&base, &value), value.mean() - base.mean(), measure.direction)
        }
        _ => Verdict::Unknown,
    }
}

fn less_is_better(measure: &Measure, value: f64) -> f64 {
    if measure.direction == Direction::HigherIsBetter { -value } else { value }
}

impl Marks {
    /// Order of worth: within limits first, then nearer to the goal.
    pub(super) fn better(&self, other: &Self) -> Ordering {
        self.excess.total_cmp(&other.excess).then(self.short.total_cmp(&other.short))
    }
}
