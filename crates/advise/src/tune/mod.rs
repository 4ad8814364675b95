//! "Which settings reach a goal within limits, at which prices?" Combinations of settings are tried on the copy.
//!
//! Key types: [`Tune`] (the question), [`Tuning`] (the answer), [`Goal`], [`Limit`], [`Progress`] (hears how the search goes on). `space`
//! holds settings and values, `search` the course, `trials` the runs, `choose` the verdict; `sample`, `halving`, `front` and `sensitivity` are
//! methods by their books. `text`, `file` and `chart` show the answer. Never changes a setting of the host.

mod answer;
mod chart;
mod choose;
mod demands;
mod file;
mod front;
mod goal;
mod halving;
mod sample;
mod score;
mod search;
mod sensitivity;
mod space;
mod text;
mod trials;
mod verdict;

use order9_lab::scenario::Problem;
use order9_lab::{Plan, PlanError};
use order9_sweep::SweepError;

pub use answer::{Bound, Change, Measured, Tried, Tuning, Variant};
pub use choose::Outcome;
pub use goal::{Goal, Limit};
pub use sensitivity::{Effect, Sensitivity};
pub use trials::{Cells, Progress};

use crate::demand::Demand;
use crate::trial::{AdviseError, Trial};
use crate::what_if::WhatIf;
use demands::demands;
use score::Aim;
use search::{Effort, search};
use space::Space;
use trials::{FirstLook, Trials};

/// A goal to search settings for.
#[derive(Clone, Debug)]
pub struct Tune {
    /// Goal of the search.
    pub goal: Goal,
    /// Limits that the settings must keep.
    pub limits: Vec<Limit>,
    /// Settings to search with their values, `NAME=VALUE,VALUE`; none stands for the usual ones.
    pub settings: Vec<String>,
    /// Program that runs on the copy.
    pub demand: Demand,
    /// Combinations that are drawn at random.
    pub sample: usize,
    /// Seed of the drawing.
    pub seed: u64,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// A choice about the copy or the demand.
    #[error(transparent)]
    Advise(#[from] AdviseError),
    /// A setting or a value that does not exist.
    #[error("--setting {text}: {problem}")]
    Setting {
        /// The argument.
        text: String,
        /// The error in the argument.
        problem: Box<Problem>,
    },
    /// A setting without values.
    #[error("--setting {0}: expected NAME=VALUE,VALUE,...")]
    NoValues(String),
    /// A setting or a limit that stands twice.
    #[error("{option} {name}: named twice, expected all values in one list")]
    Twice {
        /// The option.
        option: &'static str,
        /// Name of the setting.
        name: &'static str,
    },
    /// A limit that stands twice.
    #[error("--limit {0}: named twice, expected one limit of each measure")]
    TwoLimits(&'static str),
    /// A setting whose value today cannot be read.
    #[error("--setting {0}: it keeps no value, so there is nothing to search")]
    Unreadable(&'static str),
    /// A cell that could not run, or not be kept.
    #[error(transparent)]
    Cells(#[from] SweepError),
    /// End of a search that somebody has interrupted.
    #[error("interrupted; runs that have ended are kept where --cache names a folder")]
    Interrupted,
    /// A measure that the demand does not have.
    #[error("{option} {word}: {demand} measures nothing of the kind{why}")]
    NotMeasured {
        /// The option.
        option: &'static str,
        /// Word of the measure.
        word: &'static str,
        /// Name of the program.
        demand: &'static str,
        /// Reason where the run did not come to its end.
        why: String,
    },
}

impl From<PlanError> for TuneError {
    fn from(error: PlanError) -> Self {
        Self::Advise(error.into())
    }
}

impl TuneError {
    fn setting(text: String, problem: Problem) -> Self {
        Self::Setting { text, problem: Box::new(problem) }
    }
}

impl Tune {
    /// The experiment with the settings of today.
    ///
    /// # Errors
    /// A parameter or policy that the lab refuses, or two limits of one measure.
    pub fn plan(&self, trial: &Trial) -> Result<Plan, TuneError> {
        for (at, limit) in self.limits.iter().enumerate() {
            if self.limits[..at].iter().any(|before| before.measure.word == limit.measure.word) {
                return Err(TuneError::TwoLimits(limit.measure.word));
            }
        }
        Ok(self.today().plan(trial)?)
    }

    /// Searches. `plan` is that of [`Self::plan`]; runs, but for those with the settings of today, are cells.
    ///
    /// # Errors
    /// A setting or value that the kernel refuses, a measure that the demand does not have, a run that could not start.
    pub fn search(
        &self,
        trial: &Trial,
        plan: &Plan,
        cells: Cells<'_>,
        progress: &dyn Progress,
    ) -> Result<Tuning, TuneError> {
        let look = FirstLook::new(progress);
        progress.part("today's settings", plan.cells().count(), 0);
        let experiment = order9_lab::run(plan, cells.making.jobs, &look)?;
        let (today, policy) = (look.into_today(), &plan.policies[0]);
        let space = match self.settings.as_slice() {
            [] => Space::usual(policy, &today, trial.memory()),
            asked => Space::asked(asked, policy, &today)?,
        };
        let (plans, demands): (Vec<Plan>, Vec<String>) = demands(plan, &experiment.inputs).into_iter().unzip();
        let mut trials = Trials::new(plans, space, cells, progress);
        trials.keep_today(&experiment);
        let aim = Aim::new(self.goal, self.limits.clone());
        self.check_measured(&trials, &aim)?;
        let effort = Effort { sample: self.sample, seed: self.seed, seeds: plan.seeds.len() };
        let found = search(&mut trials, &aim, effort)?;
        Ok(Tuning::of(self, trial, plan, &aim, &trials, &found, demands))
    }

    /// The demand, with nothing changed.
    fn today(&self) -> WhatIf {
        WhatIf { cases: Vec::new(), demand: self.demand.clone() }
    }

    /// Refuses a goal or limit that nothing measures with the settings of today.
    fn check_measured(&self, trials: &Trials<'_>, aim: &Aim) -> Result<(), TuneError> {
        let today = trials.space.today();
        let limits = aim.limits.iter().map(|limit| ("--limit", limit.measure));
        let missing = std::iter::once(("--goal", aim.goal.measure))
            .chain(limits)
            .find(|(_, measure)| trials.estimate(&today, trials::AS_ASKED, measure).is_none());
        let Some((option, measure)) = missing else { return Ok(()) };
        let why = trials.failures.first().map(|failure| format!(" ({failure})")).unwrap_or_default();
        Err(TuneError::NotMeasured { option, word: measure.word, demand: self.demand.program.name(), why })
    }
}
