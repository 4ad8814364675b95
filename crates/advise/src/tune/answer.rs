//! The answer of a search: everything that was tried, and the verdict.

use order9_lab::Plan;
use order9_measures::{Measure, Unit, named};
use order9_report::stats::{Direction, Estimate};
use schemars::JsonSchema;
use serde::Serialize;

use super::Tune;
use super::choose::{Outcome, choose};
use super::front::ranks;
use super::score::Aim;
use super::search::Found;
use super::sensitivity::{Sensitivity, sensitivities};
use super::space::Choice;
use super::trials::{AS_ASKED, Trials};
use super::verdict;
use crate::trial::{Trial, prices};

/// Settings that were searched for a goal.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Tuning {
    /// The verdict in words, one sentence each.
    pub sentences: Vec<String>,
    /// The verdict.
    pub outcome: Outcome,
    /// The goal; without a bound it is as good as can be.
    pub goal: Bound,
    /// Limits; without a bound it is a price that was weighed against the goal, since no limit was named.
    pub limits: Vec<Bound>,
    /// The settings of today.
    pub now: Tried,
    /// Settings that were found; where no settings keep the limits, those nearest to them.
    pub best: Option<Tried>,
    /// Trade-off: what no other one of the last few combinations beats in the goal and all prices. Best goal first.
    pub front: Vec<Tried>,
    /// All combinations that were tried, those tried most first.
    pub tried: Vec<Tried>,
    /// Effect of each setting.
    pub sensitivity: Vec<Sensitivity>,
    /// Variants of the demand, that as asked for first.
    pub demands: Vec<Variant>,
    /// Number of runs of each combination that went far, each with another seed.
    pub seeds: usize,
    /// Number of all runs.
    pub runs: usize,
    /// Number of combinations that there are.
    pub combinations: usize,
    /// Program that ran, with the parameters that were chosen.
    pub demand: String,
    /// Policy of the kernel.
    pub policy: String,
    /// Origin of the prices behind every time.
    pub prices: String,
    /// Notes that a reader needs, one sentence each.
    pub notes: Vec<String>,
    /// Command line that asked.
    pub command: Vec<String>,
}

/// A measure with a bound.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Bound {
    /// Word of the measure on the command line.
    pub measure: &'static str,
    /// Name of the measure.
    pub name: &'static str,
    /// Unit of all its values.
    pub unit: Unit,
    /// Direction in which values are better.
    pub direction: Direction,
    /// The bound.
    pub bound: Option<f64>,
}

/// A variant of the demand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Variant {
    /// The parameter that varies, with its value.
    pub parameter: String,
}

/// A combination that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Tried {
    /// Settings that differ from today's.
    pub changes: Vec<Change>,
    /// Number of its runs.
    pub runs: usize,
    /// Whether means keep all limits, under the demand as it was asked for.
    pub keeps_limits: bool,
    /// Whether the mean reaches the goal, where that has a value.
    pub reaches_goal: bool,
    /// Whether both hold under every variant of the demand; nothing where not all were tried.
    pub holds_everywhere: Option<bool>,
    /// Everything that was measured.
    pub measured: Vec<Measured>,
}

/// A setting with another value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Change {
    /// Name of the setting.
    pub setting: &'static str,
    /// The value.
    pub value: String,
}

/// A measure of a combination.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Measured {
    /// Word of the measure.
    pub measure: &'static str,
    /// Values over runs, for each variant of the demand; nothing where there is nothing to measure.
    pub values: Vec<Option<Estimate>>,
}

impl Bound {
    fn new(measure: &Measure, bound: Option<f64>) -> Self {
        Self { measure: measure.word, name: measure.name, unit: measure.unit, direction: measure.direction, bound }
    }

    /// Whether the bound is the most that values may be, and not the least.
    pub(super) fn is_most(&self) -> bool {
        self.direction == Direction::LowerIsBetter
    }

    /// Whether a value keeps the bound, if there is one.
    pub(super) fn holds(&self, value: f64) -> bool {
        self.bound.is_none_or(|bound| if self.is_most() { value <= bound } else { value >= bound })
    }
}

impl Tried {
    fn of(aim: &Aim, trials: &Trials<'_>, choice: &Choice) -> Self {
        let marks = aim.marks(trials, choice, AS_ASKED);
        let demands = 0..trials.plans.len();
        let everywhere = demands.clone().all(|demand| trials.estimate(choice, demand, aim.goal.measure).is_some());
        let measured = named().map(|measure| Measured {
            measure: measure.word,
            values: demands.clone().map(|demand| trials.estimate(choice, demand, measure)).collect(),
        });
        let changes = trials.space.changes(choice).into_iter();
        Self {
            changes: changes.map(|(setting, value)| Change { setting, value: value.to_owned() }).collect(),
            runs: trials.runs_of(choice),
            keeps_limits: marks.excess == 0.0,
            reaches_goal: aim.goal.reach.is_some() && marks.short == 0.0,
            holds_everywhere: everywhere.then(|| aim.holds_everywhere(trials, choice)),
            measured: measured.filter(|measured| measured.values.iter().any(Option::is_some)).collect(),
        }
    }

    /// Values of a measure under each variant of the demand.
    pub(super) fn values(&self, word: &str) -> &[Option<Estimate>] {
        self.measured.iter().find(|measured| measured.measure == word).map_or(&[], |measured| &measured.values)
    }

    /// Values of a measure under the demand as it was asked for.
    pub(super) fn value(&self, word: &str) -> Option<&Estimate> {
        self.values(word).get(AS_ASKED)?.as_ref()
    }
}

impl Tuning {
    pub(super) fn of(
        tune: &Tune,
        trial: &Trial,
        plan: &Plan,
        aim: &Aim,
        trials: &Trials<'_>,
        found: &Found,
        demands: Vec<String>,
    ) -> Self {
        let tried = |choice: &Choice| Tried::of(aim, trials, choice);
        let (outcome, best) = choose(trials, aim, &found.finalists);
        let mut all: Vec<Tried> = trials.tried().map(tried).collect();
        all.sort_by_key(|tried| std::cmp::Reverse(tried.runs));
        let bound_of = |price: &&'static Measure| {
            let limit = aim.limits.iter().find(|limit| limit.measure.word == price.word);
            Bound::new(price, limit.map(|limit| limit.bound))
        };
        let mut tuning = Self {
            sentences: Vec::new(),
            outcome,
            goal: Bound::new(aim.goal.measure, aim.goal.reach),
            limits: aim.prices.iter().map(bound_of).collect(),
            now: tried(&found.finalists[0]),
            best: best.as_ref().map(tried),
            front: front(aim, trials, &found.finalists).iter().map(tried).collect(),
            tried: all,
            sensitivity: sensitivities(trials, aim, &found.sample),
            demands: demands.into_iter().map(|parameter| Variant { parameter }).collect(),
            seeds: plan.seeds.len(),
            runs: trials.count(),
            combinations: trials.space.size(),
            demand: tune.demand.to_string(),
            policy: plan.policies[0].name.clone(),
            prices: prices(plan),
            notes: failures(&trials.failures)
                .into_iter()
                .chain(plan.notes.iter().chain(&trial.notes).cloned())
                .collect(),
            command: trial.command.clone(),
        };
        tuning.sentences = verdict::sentences(&tuning, &aim.goal);
        tuning
    }
}

/// Combinations that no other one of `finalists` beats, best goal first.
fn front(aim: &Aim, trials: &Trials<'_>, finalists: &[Choice]) -> Vec<Choice> {
    let objectives = |choice: &Choice| aim.marks(trials, choice, AS_ASKED).objectives;
    let ranks = ranks(&finalists.iter().map(objectives).collect::<Vec<_>>());
    let mut front: Vec<&Choice> =
        finalists.iter().zip(ranks).filter(|(_, rank)| *rank == 0).map(|(of, _)| of).collect();
    front.sort_by(|one, other| objectives(one)[0].total_cmp(&objectives(other)[0]));
    front.into_iter().cloned().collect()
}

/// A sentence about runs that did not come to their end.
fn failures(failures: &[String]) -> Option<String> {
    let (first, others) = failures.split_first()?;
    let others =
        if others.is_empty() { String::new() } else { format!(" (and {} more runs did not end)", others.len()) };
    Some(format!("{first}{others}"))
}
