//! The course of a search: every setting alone, a sample of combinations, neighbours of the best; then successive halving, what is
//! needless taken out, and the last few under variants of the demand.

use super::TuneError;
use super::halving::{Entrant, promoted, rounds};
use super::sample::latin;
use super::score::{Aim, Marks, compared};
use super::space::Choice;
use super::trials::{AS_ASKED, Part, Trials};
use crate::what_if::Verdict;

/// Size of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// Combinations of the sample.
    pub(super) sample: usize,
    /// Seed of the sample.
    pub(super) seed: u64,
    /// Runs of each combination that goes far.
    pub(super) seeds: usize,
}

/// Fewest combinations that a round leaves.
const LEAST: usize = 6;
/// Combinations that are tried under all demands, beside the settings of today.
const FINALISTS: usize = 5;

/// Results of a search beside its runs.
pub(super) struct Found {
    /// Combinations that were drawn at random, or all.
    pub(super) sample: Vec<Choice>,
    /// Combinations that were tried under all demands; the settings of today are the first.
    pub(super) finalists: Vec<Choice>,
}

/// Searches the space of `trials`, in which the settings of today have been tried already.
pub(super) fn search(trials: &mut Trials<'_>, aim: &Aim, effort: Effort) -> Result<Found, TuneError> {
    let (today, seeds) = (trials.space.today(), effort.seeds);
    let singles = trials.space.around(&today);
    let sample = sample(trials, effort);
    let ahead = Ahead { trials, effort };
    let (first, second, third) = (ahead.after_singles(sample.len()), ahead.after_sample(), ahead.after_around());
    trials.run(&Part { name: "each setting alone", demands: AS_ASKED..AS_ASKED + 1, seeds, later: first }, &singles)?;
    trials.run(&part("combinations at random", 1, second), &sample)?;
    let mut field = distinct([vec![today.clone()], singles, sample.clone()].concat());
    let best = promote(trials, aim, &field, 1).swap_remove(0);
    let around = trials.space.around(&best);
    trials.run(&part("around the best", 1, third), &around)?;
    field = distinct([field, around].concat());
    for round in rounds(field.len(), seeds, LEAST) {
        field = promote(trials, aim, &field, round.kept);
        trials.run(&part("the better ones again", round.seeds, third / 2), &field)?;
    }
    field = promote(trials, aim, &field, LEAST);
    simplify(trials, aim, field, seeds)?;
    let finalists = promote(trials, aim, &plainest(trials, aim, seeds), FINALISTS);
    let finalists = [vec![today], finalists].concat();
    let demands = AS_ASKED..trials.plans.len();
    trials.run(&Part { name: "the last few, other demands", demands, seeds, later: 0 }, &finalists)?;
    Ok(Found { sample, finalists })
}

/// A part under the demand as it was asked for.
fn part(name: &'static str, seeds: usize, later: usize) -> Part {
    Part { name, demands: AS_ASKED..AS_ASKED + 1, seeds, later }
}

/// Estimates of the runs to come, for who waits.
struct Ahead<'a, 'b> {
    trials: &'a Trials<'b>,
    effort: Effort,
}

impl Ahead<'_, '_> {
    fn after_around(&self) -> usize {
        let demands = self.trials.plans.len();
        LEAST * self.effort.seeds * 2 + FINALISTS * self.effort.seeds * (demands - 1)
    }

    fn after_sample(&self) -> usize {
        self.trials.space.around(&self.trials.space.today()).len() + self.after_around()
    }

    fn after_singles(&self, sample: usize) -> usize {
        sample + self.after_sample()
    }
}

/// Combinations at random; all of them where they are as few.
fn sample(trials: &Trials<'_>, effort: Effort) -> Vec<Choice> {
    let space = &trials.space;
    if space.size() <= effort.sample {
        return space.all();
    }
    distinct(latin(&space.lengths(), effort.sample, effort.seed).into_iter().map(Choice).collect())
}

/// Each once, in the order in which they come.
fn distinct(choices: Vec<Choice>) -> Vec<Choice> {
    let mut kept: Vec<Choice> = Vec::new();
    for choice in choices {
        if !kept.contains(&choice) {
            kept.push(choice);
        }
    }
    kept
}

/// The `kept` that go on.
fn promote(trials: &Trials<'_>, aim: &Aim, field: &[Choice], kept: usize) -> Vec<Choice> {
    let entrant = |choice: &Choice| -> Entrant { (aim.marks(trials, choice, AS_ASKED), choice.count()) };
    let entrants: Vec<Entrant> = field.iter().map(entrant).collect();
    promoted(&entrants, kept).into_iter().map(|at| field[at].clone()).collect()
}

/// Takes out of each combination, one setting after the other, the changes without which nothing gets worse.
fn simplify(trials: &mut Trials<'_>, aim: &Aim, mut field: Vec<Choice>, seeds: usize) -> Result<(), TuneError> {
    for at in 0..trials.space.0.len() {
        let without: Vec<Choice> = field.iter().map(|choice| choice.with(at, 0)).collect();
        let later = (trials.space.0.len() - 1 - at) * seeds + FINALISTS * seeds * (trials.plans.len() - 1);
        trials.run(&part("without needless changes", seeds, later), &without)?;
        for (choice, without) in field.iter_mut().zip(without) {
            if *choice != without && is_no_worse(trials, aim, &without, choice) {
                *choice = without;
            }
        }
    }
    Ok(())
}

/// Combinations that have all runs, without those that one with no more changes equals.
fn plainest(trials: &Trials<'_>, aim: &Aim, seeds: usize) -> Vec<Choice> {
    let has_all = |choice: &&Choice| choice.count() > 0 && trials.runs_of(choice) >= seeds;
    let mut all: Vec<&Choice> = trials.tried().filter(has_all).collect();
    all.sort_by_key(|choice| choice.count());
    let mut kept: Vec<Choice> = Vec::new();
    for choice in all {
        if !kept.iter().any(|plainer| is_no_worse(trials, aim, plainer, choice)) {
            kept.push(choice.clone());
        }
    }
    kept
}

/// Whether `simpler` is not worse than `choice` in the goal or any price beyond the spread of runs, and misses no goal or limit that
/// `choice` does not miss.
fn is_no_worse(trials: &Trials<'_>, aim: &Aim, simpler: &Choice, choice: &Choice) -> bool {
    let marks = |choice| aim.marks(trials, choice, AS_ASKED);
    let (Marks { excess, short, .. }, before) = (marks(simpler), marks(choice));
    let is_as_near = aim.goal.reach.is_none() || before.short > 0.0 || short == 0.0;
    let not_worse = |measure| match compared(trials, measure, simpler, choice) {
        Verdict::Better | Verdict::Same => true,
        Verdict::Worse | Verdict::Unknown => false,
    };
    excess <= before.excess && is_as_near && aim.measures().all(not_worse)
}
