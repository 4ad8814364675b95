//! These settings beside today's, on the same memory under the same demand.
//!
//! Key types: [`WhatIf`] (the question), [`Comparison`] (the answer). `text` draws it.

pub(crate) mod text;

use std::num::NonZeroUsize;

use order9_lab::{Nobody, Plan};
use order9_measures::{ALL, Measure};
use order9_record::{Experiment, Run};
use order9_report::stats::{Difference, Direction, Estimate, Finding};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use order9_measures::Unit;
pub use text::number;

use crate::demand::Demand;
use crate::trial::{AdviseError, Trial, prices};

/// Settings to try beside those of the host.
#[derive(Clone, Debug)]
pub struct WhatIf {
    /// Cases, each some settings `NAME=VALUE` that are written together.
    pub cases: Vec<Vec<String>>,
    /// Program that runs on the copy.
    pub demand: Demand,
}

/// Cases beside what is now.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The comparison in words, one sentence for each case.
    pub sentences: Vec<String>,
    /// Settings of each case.
    pub cases: Vec<Vec<String>>,
    /// Everything that was measured.
    pub rows: Vec<Row>,
    /// Program that ran, with the parameters that were chosen.
    pub demand: String,
    /// Policy of the kernel.
    pub policy: String,
    /// Origin of the prices behind every time.
    pub prices: String,
    /// Notes that a reader needs, one sentence each.
    pub notes: Vec<String>,
}

/// A measure with its values now and in each case.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Name of the measure.
    pub name: &'static str,
    /// Unit of the values.
    pub unit: Unit,
    /// Direction in which values are better.
    pub direction: Direction,
    /// Values with the settings of the host; nothing where there is nothing to measure.
    pub now: Option<Estimate>,
    /// Values of each case.
    pub cases: Vec<Changed>,
}

/// A measure in a case.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Changed {
    /// Values of the case; nothing where there is nothing to measure.
    pub value: Option<Estimate>,
    /// Difference of the values from what is now.
    pub difference: Option<Difference>,
    /// Judgement on the difference.
    pub verdict: Verdict,
}

/// Judgement on a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better than now, beyond the spread of runs.
    Better,
    /// Worse than now, beyond the spread of runs.
    Worse,
    /// No difference beyond the spread of runs, or one of less than a hundredth.
    Same,
    /// Nothing to judge by.
    Unknown,
}

impl WhatIf {
    /// The experiment that answers the question: a column for what is now, and one for each case.
    ///
    /// # Errors
    /// A setting, parameter or policy that the lab refuses.
    pub fn plan(&self, trial: &Trial) -> Result<Plan, AdviseError> {
        let mut scenario = self.demand.scenario(trial)?;
        scenario.argument("--policy", trial.policy())?;
        for case in &self.cases {
            scenario.vary(trial.policy(), case)?;
        }
        Ok(scenario.plan(trial.command.clone())?)
    }

    /// Tries it, on so many cores.
    ///
    /// # Errors
    /// A run that could not start.
    pub fn compare(&self, trial: &Trial, plan: &Plan, jobs: NonZeroUsize) -> Result<Comparison, AdviseError> {
        let experiment = order9_lab::run(plan, jobs, &Nobody)?;
        Ok(self.comparison(trial, plan, &experiment))
    }

    fn comparison(&self, trial: &Trial, plan: &Plan, experiment: &Experiment) -> Comparison {
        let columns: Vec<Vec<&Run>> = plan
            .policies
            .iter()
            .map(|policy| experiment.runs.iter().filter(|run| run.policy == policy.name).collect())
            .collect();
        let rows: Vec<Row> = ALL.iter().filter_map(|measure| Row::of(measure, &columns)).collect();
        let ended = |run: &Run| Some(format!("{}, seed {}: {}", run.policy, run.seed, run.outcome.message()?));
        Comparison {
            sentences: (0..self.cases.len()).map(|case| text::sentence(&rows, case, &self.cases)).collect(),
            cases: self.cases.clone(),
            rows,
            demand: self.demand.to_string(),
            policy: plan.policies[0].name.clone(),
            prices: prices(plan),
            notes: experiment
                .runs
                .iter()
                .filter_map(ended)
                .chain(plan.notes.iter().chain(&trial.notes).cloned())
                .collect(),
        }
    }
}

impl Row {
    /// The measure in all columns; nothing where it is 0 or missing in all of them.
    fn of(measure: &Measure, columns: &[Vec<&Run>]) -> Option<Self> {
        let estimate = |runs: &Vec<&Run>| Estimate::new(runs.iter().filter_map(|run| (measure.read)(run)));
        let mut values = columns.iter().map(estimate).collect::<Vec<_>>().into_iter();
        let says =
            |value: &Option<Estimate>| value.as_ref().is_some_and(|value| value.values().iter().any(|&of| of != 0.0));
        if !values.as_slice().iter().any(says) {
            return None;
        }
        let now = values.next().flatten();
        let cases = values.map(|value| Changed::of(now.as_ref(), value, measure.direction)).collect();
        Some(Self { name: measure.name, unit: measure.unit, direction: measure.direction, now, cases })
    }
}

impl Changed {
    fn of(now: Option<&Estimate>, value: Option<Estimate>, direction: Direction) -> Self {
        let difference = now.zip(value.as_ref()).map(|(now, value)| Difference::of(now, value));
        let verdict = match (&difference, now.zip(value.as_ref())) {
            (Some(difference), Some((now, value))) => judge(difference, value.mean() - now.mean(), direction),
            _ => Verdict::Unknown,
        };
        Self { value, difference, verdict }
    }
}

/// Least difference in percent that is worth a word.
const WORTH: f64 = 1.0;

pub(crate) fn judge(difference: &Difference, by: f64, direction: Direction) -> Verdict {
    let is_small = difference.percent.is_some_and(|percent| percent.abs() < WORTH);
    let is_up_good = direction == Direction::HigherIsBetter;
    match difference.finding {
        Finding::OneRun => Verdict::Unknown,
        Finding::Same | Finding::NotToldApart => Verdict::Same,
        Finding::NoSpread | Finding::Less | Finding::More if is_small => Verdict::Same,
        Finding::NoSpread | Finding::Less | Finding::More if (by > 0.0) == is_up_good => Verdict::Better,
        Finding::NoSpread | Finding::Less | Finding::More => Verdict::Worse,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(now: &[f64], then: &[f64], direction: Direction) -> Verdict {
        let estimate = |values: &[f64]| Estimate::new(values.iter().copied());
        Changed::of(estimate(now).as_ref(), estimate(then), direction).verdict
    }

    #[test]
    fn only_a_difference_beyond_the_spread_is_judged() {
        use Direction::{HigherIsBetter as Higher, LowerIsBetter as Lower};
        let now = [10.0, 11.0, 12.0];
        assert_eq!(verdict(&now, &[20.0, 21.0, 22.0], Lower), Verdict::Worse);
        assert_eq!(verdict(&now, &[20.0, 21.0, 22.0], Higher), Verdict::Better);
        assert_eq!(verdict(&now, &[10.5, 11.5, 12.5], Lower), Verdict::Same, "runs differ that much");
        assert_eq!(verdict(&[5.0; 3], &[5.01; 3], Lower), Verdict::Same, "nobody changes a setting for a hundredth");
        assert_eq!(verdict(&[5.0; 3], &[0.0; 3], Lower), Verdict::Better, "without any spread");
        assert_eq!(verdict(&[0.0; 3], &[5.0; 3], Lower), Verdict::Worse, "from nothing to something");
        assert_eq!(verdict(&[5.0], &[9.0], Lower), Verdict::Unknown, "one run has no spread");
        assert_eq!(verdict(&[], &[9.0, 9.0], Lower), Verdict::Unknown, "there was nothing to measure");
    }
}
