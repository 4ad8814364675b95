//! Combinations tried in the lab, and their measurements.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use order9_import::value_shown;
use order9_lab::{Cell, Observer, Plan};
use order9_machine::Tick;
use order9_measures::{Measure, named};
use order9_procfs::sysctl::{self, Access, SETTINGS};
use order9_record::{Digest, Experiment, Inputs, Run};
use order9_report::stats::Estimate;
use order9_sweep::{Course, Done, Ended, Folder, Making, Point, Statistic, follow};

use super::TuneError;
use super::space::{Choice, Space, Today};

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
    pub(super) plans: Vec<Arc<Plan>>,
    pub(super) space: Space,
    cells: Cells<'a>,
    progress: &'a dyn Progress,
    runs: BTreeMap<(usize, Choice), Vec<Values>>,
    /// Runs that did not come to their end, a sentence each.
    pub(super) failures: Vec<String>,
}

/// Place and means of runs: each is a cell of a sweep, which does not run again where it has run before.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a> {
    /// Cells that are there already, and place of the others.
    pub folder: &'a Folder,
    /// Cells at the same time, and their memory.
    pub making: Making<'a>,
}

impl<'a> Trials<'a> {
    pub(super) fn new(plans: Vec<Plan>, space: Space, cells: Cells<'a>, progress: &'a dyn Progress) -> Self {
        let plans = plans.into_iter().map(Arc::new).collect();
        Self { plans, space, cells, progress, runs: BTreeMap::new(), failures: Vec::new() }
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
        let mut course = Vec::new();
        let mut asked = Vec::new();
        for ((demand, done), choices) in groups {
            let plan = &self.plans[demand];
            for choice in choices {
                let changes = self.space.changes(&choice).into_iter();
                let point = Point::of(plan, changes.map(|(name, value)| (name.to_owned(), value.to_owned())));
                for &seed in &plan.seeds[done..part.seeds] {
                    asked.push((demand, choice.clone(), point.cell_name(seed)));
                    course.push((point.clone(), seed));
                }
            }
        }
        let ended = Counting { progress: self.progress, ended: RefCell::default() };
        follow(Course::of(course), self.cells.folder, self.cells.making, &ended)?;
        let ended = ended.ended.into_inner();
        for (demand, choice, cell) in asked {
            // Whoever interrupts a search lets no part of it end.
            let done = ended.get(&cell).ok_or(TuneError::Interrupted)?;
            self.keep(demand, choice, done);
        }
        Ok(())
    }

    /// Takes runs that were made otherwise, of the settings of today under the demand as it was asked for.
    pub(super) fn keep_today(&mut self, experiment: &Experiment) {
        let today = self.space.today();
        for run in &experiment.runs {
            let values = match run.outcome.message() {
                None => values(run),
                Some(message) => self.failed(&today, run.seed, message),
            };
            self.runs.entry((AS_ASKED, today.clone())).or_default().push(values);
        }
    }

    /// Takes a cell of a combination.
    fn keep(&mut self, demand: usize, choice: Choice, done: &Done) {
        let values = match done.message.as_str() {
            "" => values_of(done),
            message => self.failed(&choice, done.seed, message),
        };
        self.runs.entry((demand, choice)).or_default().push(values);
    }

    /// Notes a run that did not come to its end, and measured nothing.
    fn failed(&mut self, choice: &Choice, seed: u64, message: &str) -> Values {
        let changes = words(&self.space.changes(choice));
        self.failures.push(format!("with {changes}, seed {seed}: {message}"));
        Values::new()
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
    named().filter_map(|measure| Some((measure.word, (measure.read)(run)?))).collect()
}

/// Measured values of a cell.
fn values_of(done: &Done) -> Values {
    let value = |word| done.values(word, Statistic::Run).next().map(|measure| measure.value);
    named().filter_map(|measure| Some((measure.word, value(measure.word)?))).collect()
}

/// Changes in words.
pub(super) fn words(changes: &[(&str, &str)]) -> String {
    let words: Vec<String> = changes.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if words.is_empty() { "today's settings".to_owned() } else { words.join(" ") }
}

/// Counts runs, and keeps what came of them.
struct Counting<'a> {
    progress: &'a dyn Progress,
    ended: RefCell<HashMap<Digest, Done>>,
}

impl order9_sweep::Progress for Counting<'_> {
    fn ended(&self, ended: Ended<'_>) {
        self.ended.borrow_mut().insert(ended.done.cell, ended.done.clone());
        self.progress.ended();
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
