//! Combinations tried in the lab, and their measurements.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use order9_import::value_shown;
use order9_lab::{Cell, Observer, Plan};
use order9_machine::Tick;
use order9_procfs::sysctl::{self, Access, SETTINGS};
use order9_record::{Experiment, Inputs, Run};
use order9_report::stats::Estimate;

use super::TuneError;
use super::space::{Choice, Space, Today};
use crate::measures::{self, Measure};

/// Hears how a search goes on.
pub trait Progress: Sync {
    /// Part of the search that begins now, in words, with so many runs; about so many follow in later parts.
    fn part(&self, name: &'static str, runs: usize, later: usize);

    /// A run has ended.
    fn ended(&self);
}

/// Measured values of a run, by the words of measures; nothing of a run that did not come to its end.
type Values = BTreeMap<&'static str, f64>;

/// Place of the demand as it was asked for, among its variants.
pub(super) const AS_ASKED: usize = 0;

/// All runs that were made. Each combination has runs of the first seeds, under some variants of the demand.
pub(super) struct Trials<'a> {
    /// An experiment with the settings of today, for each variant of the demand.
    pub(super) plans: Vec<Plan>,
    pub(super) space: Space,
    jobs: NonZeroUsize,
    progress: &'a dyn Progress,
    runs: BTreeMap<(usize, Choice), Vec<Values>>,
    /// Runs that did not come to their end, a sentence each.
    pub(super) failures: Vec<String>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(plans: Vec<Plan>, space: Space, jobs: NonZeroUsize, progress: &'a dyn Progress) -> Self {
        Self { plans, space, jobs, progress, runs: BTreeMap::new(), failures: Vec::new() }
    }

    /// Number of runs.
    pub(super) fn count(&self) -> usize {
        self.runs.values().map(Vec::len).sum()
    }

    /// Combinations that were tried under the demand as it was asked for.
    pub(super) fn tried(&self) -> impl Iterator<Item = &Choice> {
        self.runs.keys().filter(|(demand, _)| *demand == AS_ASKED).map(|(_, choice)| choice)
    }

    /// Makes each of `choices` have `seeds` runs under each of `demands`; `later` runs are expected in later parts.
    pub(super) fn run(&mut self, part: &Part, choices: &[Choice]) -> Result<(), TuneError> {
        let groups = self.missing(part, choices);
        let runs = groups.iter().map(|((_, done), choices)| (part.seeds - done) * choices.len()).sum();
        if runs > 0 {
            self.progress.part(part.name, runs, part.later);
        }
        for ((demand, done), choices) in groups {
            let plan = self.plan(demand, done..part.seeds, &choices);
            let experiment = order9_lab::run(&plan, self.jobs, &Counting(self.progress))?;
            self.keep(demand, &plan, &choices, &experiment);
        }
        Ok(())
    }

    /// Takes runs that were made otherwise, of the settings of today under the demand as it was asked for.
    pub(super) fn keep_today(&mut self, experiment: &Experiment) {
        let today = self.space.today();
        let plan = self.plans[AS_ASKED].clone();
        self.keep(AS_ASKED, &plan, &[today], experiment);
    }

    /// Combinations that miss runs, by the demand and the number of runs that they have.
    fn missing(&self, part: &Part, choices: &[Choice]) -> BTreeMap<(usize, usize), Vec<Choice>> {
        let mut groups: BTreeMap<(usize, usize), Vec<Choice>> = BTreeMap::new();
        for demand in part.demands.clone() {
            for choice in choices {
                let done = self.runs.get(&(demand, choice.clone())).map_or(0, Vec::len);
                let group = groups.entry((demand, done)).or_default();
                if done < part.seeds && !group.contains(choice) {
                    group.push(choice.clone());
                }
            }
        }
        groups.retain(|_, choices| !choices.is_empty());
        groups
    }

    /// The experiment that runs these combinations, each as a policy of its own.
    fn plan(&self, demand: usize, seeds: std::ops::Range<usize>, choices: &[Choice]) -> Plan {
        let base = &self.plans[demand];
        let mut plan = Plan { policies: Vec::new(), seeds: base.seeds[seeds].to_vec(), ..base.clone() };
        for (nth, choice) in choices.iter().enumerate() {
            let mut policy = base.policies[0].clone();
            policy.name = format!("{} {nth}", policy.name);
            let changes = self.space.changes(choice);
            let settings = changes.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            plan.own_settings.insert(policy.name.clone(), settings);
            plan.policies.push(policy);
        }
        plan
    }

    fn keep(&mut self, demand: usize, plan: &Plan, choices: &[Choice], experiment: &Experiment) {
        for (policy, choice) in plan.policies.iter().zip(choices) {
            let of_policy = experiment.runs.iter().filter(|run| run.policy == policy.name);
            for run in of_policy {
                let values = match run.outcome.message() {
                    None => values(run),
                    Some(message) => {
                        let changes = words(&self.space.changes(choice));
                        self.failures.push(format!("with {changes}, seed {}: {message}", run.seed));
                        Values::new()
                    }
                };
                self.runs.entry((demand, choice.clone())).or_default().push(values);
            }
        }
    }

    /// The measure of a combination under a demand; nothing where some run did not measure it.
    pub(super) fn estimate(&self, choice: &Choice, demand: usize, measure: &Measure) -> Option<Estimate> {
        let runs = self.runs.get(&(demand, choice.clone()))?;
        let values: Option<Vec<f64>> = runs.iter().map(|run| run.get(measure.word).copied()).collect();
        Estimate::new(values?)
    }

    /// The measure in the first run of a combination.
    pub(super) fn first(&self, choice: &Choice, measure: &Measure) -> Option<f64> {
        self.runs.get(&(AS_ASKED, choice.clone()))?.first()?.get(measure.word).copied()
    }

    /// Number of runs of a combination under all demands.
    pub(super) fn runs_of(&self, choice: &Choice) -> usize {
        (0..self.plans.len()).filter_map(|demand| self.runs.get(&(demand, choice.clone()))).map(Vec::len).sum()
    }
}

/// A part of a search.
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) demands: std::ops::Range<usize>,
    /// Number of runs, each with another seed.
    pub(super) seeds: usize,
    /// Number of runs expected in later parts.
    pub(super) later: usize,
}

fn values(run: &Run) -> Values {
    measures::named().filter_map(|measure| Some((measure.word, (measure.read)(run)?))).collect()
}

/// Changes in words.
pub(super) fn words(changes: &[(&str, &str)]) -> String {
    let words: Vec<String> = changes.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if words.is_empty() { "today's settings".to_owned() } else { words.join(" ") }
}

/// Counts runs.
struct Counting<'a>(&'a dyn Progress);

impl Observer for Counting<'_> {
    fn ended(&self, _cell: Cell, _run: &Run, _inputs: &Inputs) {
        self.0.ended();
    }
}

/// Reads the settings that the kernel has, at the first moment that anybody sees.
pub(super) struct FirstLook<'a> {
    progress: &'a dyn Progress,
    today: Mutex<Option<Today>>,
}

impl<'a> FirstLook<'a> {
    pub(super) fn new(progress: &'a dyn Progress) -> Self {
        Self { progress, today: Mutex::new(None) }
    }

    pub(super) fn into_today(self) -> Today {
        self.today.into_inner().unwrap_or_else(PoisonError::into_inner).unwrap_or_default()
    }
}

impl Observer for FirstLook<'_> {
    fn tick(&self, _cell: Cell, tick: &Tick<'_>) {
        let mut today = self.today.lock().unwrap_or_else(PoisonError::into_inner);
        today.get_or_insert_with(|| {
            let settings = SETTINGS.iter().filter(|setting| setting.access == Access::ReadWrite);
            let value = |name| Some((name, value_shown(&sysctl::read(tick.engine, name).ok()?)));
            settings.filter_map(|setting| value(setting.name)).collect()
        });
    }

    fn ended(&self, _cell: Cell, _run: &Run, _inputs: &Inputs) {
        self.progress.ended();
    }
}
