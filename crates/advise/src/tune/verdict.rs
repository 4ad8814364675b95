//! The verdict in sentences.

use super::answer::{Bound, Change, Tried, Tuning};
use super::choose::Outcome;
use super::goal::Goal;
use super::trials::words;
use crate::what_if::number;

/// The verdict, and whether it holds under every variant of the demand.
pub(super) fn sentences(tuning: &Tuning, goal: &Goal) -> Vec<String> {
    let limits = if tuning.limits.iter().any(|limit| limit.bound.is_some()) { " within the limits" } else { "" };
    let best = tuning.best.as_ref().map(|best| (changed(best), effects(tuning, best)));
    let first = match (tuning.outcome, best) {
        (Outcome::Found, Some((changes, effects))) if tuning.goal.bound.is_some() => {
            format!("With {changes} the goal is reached{limits}: {effects}.")
        }
        (Outcome::Found, Some((changes, effects))) => format!("Best{limits} is {changes}: {effects}."),
        (Outcome::Nearer, Some((changes, effects))) => {
            format!("Nothing reaches the goal ({goal}){limits}; nearest is {changes}: {effects}.")
        }
        (Outcome::OutsideLimits, Some((changes, effects))) => {
            format!("Keep what you have: nothing that was tried keeps the limits; nearest is {changes}: {effects}.")
        }
        _ => keep(tuning, goal, limits),
    };
    std::iter::once(first).chain(everywhere(tuning)).chain(today(tuning)).collect()
}

/// A sentence about today's settings, where they are given up although they reach the goal under the demand as it was asked for.
fn today(tuning: &Tuning) -> Option<String> {
    let now =
        Some(&tuning.now).filter(|now| tuning.outcome == Outcome::Found && now.reaches_goal && now.keeps_limits)?;
    let bounds = std::iter::once(&tuning.goal).chain(&tuning.limits);
    let broken: Vec<String> = bounds.filter_map(|bound| broken(tuning, now, bound)).collect();
    Some(format!("Today's settings do not hold everywhere: {}.", broken.join(", ")))
}

fn keep(tuning: &Tuning, goal: &Goal, limits: &str) -> String {
    const SPREAD: &str = "today's settings beyond the spread of runs";
    let why = match tuning.goal.bound {
        _ if tuning.now.reaches_goal && tuning.now.keeps_limits => format!("today's settings reach the goal{limits}"),
        Some(_) => format!("nothing reaches the goal ({goal}){limits}, or comes nearer than {SPREAD}"),
        None => format!("nothing{limits} is better than {SPREAD}"),
    };
    format!("Keep what you have: {why} ({}).", effects(tuning, &tuning.now))
}

/// A sentence about the other variants of the demand.
fn everywhere(tuning: &Tuning) -> Option<String> {
    let about = match tuning.outcome {
        Outcome::Found | Outcome::Nearer => tuning.best.as_ref()?,
        Outcome::Keep => &tuning.now,
        Outcome::OutsideLimits => return None,
    };
    let others: Vec<&str> = tuning.demands.iter().skip(1).map(|demand| demand.parameter.as_str()).collect();
    if others.is_empty() || !about.keeps_limits {
        return None;
    }
    let goal = Some(&tuning.goal).filter(|_| about.reaches_goal);
    let broken: Vec<String> =
        goal.into_iter().chain(&tuning.limits).filter_map(|bound| broken(tuning, about, bound)).collect();
    let bounds = goal.is_some() || tuning.limits.iter().any(|limit| limit.bound.is_some());
    match (broken.is_empty(), bounds) {
        (true, false) => None,
        (true, true) => Some(format!("That holds with {} as well.", others.join(" and "))),
        (false, _) => Some(format!("That does not hold everywhere: {}.", broken.join(", "))),
    }
}

/// The first variant of the demand under which a bound does not hold.
fn broken(tuning: &Tuning, tried: &Tried, bound: &Bound) -> Option<String> {
    let values = tried.values(bound.measure).iter().zip(&tuning.demands);
    let mut means = values.filter_map(|(value, demand)| Some((value.as_ref()?.mean(), demand)));
    let (mean, demand) = means.find(|(mean, _)| !bound.holds(*mean))?;
    Some(format!("{} {} with {}", bound.name, number(mean, bound.unit), demand.parameter))
}

fn changed(tried: &Tried) -> String {
    words(&tried.changes.iter().map(|Change { setting, value }| (*setting, value.as_str())).collect::<Vec<_>>())
}

/// Goal and prices of a combination, with those of today.
fn effects(tuning: &Tuning, tried: &Tried) -> String {
    let effect = |bound: &Bound| {
        let value = |tried: &Tried| tried.value(bound.measure).map(|value| number(value.mean(), bound.unit));
        let (then, now) = (value(tried)?, value(&tuning.now)?);
        let now = if then == now { String::new() } else { format!(", now {now}") };
        Some(format!("{} {then}{now}", bound.name))
    };
    std::iter::once(&tuning.goal).chain(&tuning.limits).filter_map(effect).collect::<Vec<_>>().join("; ")
}
