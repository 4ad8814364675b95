//! The verdict: which of the last few combinations, if any, is worth changing settings for.

use schemars::JsonSchema;
use serde::Serialize;

use super::score::Aim;
use super::space::Choice;
use super::trials::{AS_ASKED, Trials};
use crate::what_if::Verdict;

/// Outcome of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Settings were found that reach the goal within the limits, or are better where the goal has no value.
    Found,
    /// No settings reach the goal within the limits; those found come nearer than today's.
    Nearer,
    /// Today's settings are as good as any that were tried.
    Keep,
    /// No settings that were tried, today's included, keep the limits.
    OutsideLimits,
}

/// The outcome, and the settings that it is about; none where today's stay.
pub(super) fn choose(trials: &Trials<'_>, aim: &Aim, finalists: &[Choice]) -> (Outcome, Option<Choice>) {
    let (today, others) = finalists.split_first().expect("today's settings are among them");
    let marks = |choice: &Choice| aim.marks(trials, choice, AS_ASKED);
    let now = marks(today);
    let mut within: Vec<&Choice> = others.iter().filter(|choice| marks(choice).excess == 0.0).collect();
    if within.is_empty() && now.excess > 0.0 {
        let nearest = others.iter().min_by(|one, other| marks(one).better(&marks(other)));
        return (Outcome::OutsideLimits, nearest.cloned());
    }
    let is_better = |choice: &Choice| now.excess > 0.0 || aim.compared(trials, choice, today) == Verdict::Better;
    let has_value = aim.goal.reach.is_some();
    let mut reaching: Vec<&Choice> = within.iter().copied().filter(|choice| marks(choice).short == 0.0).collect();
    if has_value && now.excess == 0.0 && now.short == 0.0 {
        // What reaches the goal today is only given up for what does so under every demand.
        reaching.retain(|choice| aim.holds_everywhere(trials, choice) && !aim.holds_everywhere(trials, today));
        if reaching.is_empty() {
            return (Outcome::Keep, None);
        }
    }
    if has_value && !reaching.is_empty() {
        return (Outcome::Found, reaching.into_iter().min_by(|one, other| plainer(trials, aim, one, other)).cloned());
    }
    within.sort_by(|one, other| marks(one).better(&marks(other)));
    let Some(&best) = within.first() else { return (Outcome::Keep, None) };
    // Of all that the runs do not tell from the best, the plainest.
    let alike = |choice: &&Choice| *choice == best || aim.compared(trials, choice, best) == Verdict::Same;
    let chosen = within.iter().copied().filter(alike).filter(|choice| is_better(choice));
    match chosen.min_by(|one, other| plainer(trials, aim, one, other)) {
        None => (Outcome::Keep, None),
        Some(chosen) if has_value => (Outcome::Nearer, Some(chosen.clone())),
        Some(chosen) => (Outcome::Found, Some(chosen.clone())),
    }
}

/// Order among equals: what holds under every demand, what changes less, then prices in their order.
fn plainer(trials: &Trials<'_>, aim: &Aim, one: &Choice, other: &Choice) -> std::cmp::Ordering {
    let fails = |choice| !aim.holds_everywhere(trials, choice);
    let prices = |choice| aim.marks(trials, choice, AS_ASKED).objectives.split_off(1);
    let cheaper = || {
        let pairs = prices(one).into_iter().zip(prices(other));
        pairs.map(|(one, other)| one.total_cmp(&other)).find(|order| order.is_ne()).unwrap_or(one.cmp(other))
    };
    fails(one).cmp(&fails(other)).then(one.count().cmp(&other.count())).then_with(cheaper)
}
