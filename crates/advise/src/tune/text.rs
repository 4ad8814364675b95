//! An answer as text: the verdict, the trade-off, the effect of each setting.

use order9_report::number::{count_of, grouped};
use order9_report::table::{Table, wrap};
use order9_report::terminal::ColourDepth;

use super::answer::{Bound, Change, Tried, Tuning};
use super::choose::Outcome;
use super::goal::Goal;
use super::sensitivity::{Effect, Sensitivity};
use super::trials::words;
use crate::measures::Unit;
use crate::what_if::text::{number, shown};

/// Columns of the text.
const WIDTH: usize = 98;
/// Lines that a screen has.
const LINES: usize = 25;
/// Combinations that the table shows beside today's settings and those that were found.
const OTHERS: usize = 3;

/// The verdict in sentences.
pub(super) fn sentences(tuning: &Tuning, goal: &Goal) -> Vec<String> {
    let limits = if tuning.limits.iter().any(|limit| limit.bound.is_some()) { " within the limits" } else { "" };
    let best = tuning.best.as_ref().map(|best| (changed(best), effects(tuning, best)));
    let first = match (tuning.outcome, best) {
        (Outcome::Found, Some((changes, effects))) if tuning.goal.bound.is_some() => {
            format!("{changes} reaches the goal{limits}: {effects}.")
        }
        (Outcome::Found, Some((changes, effects))) => format!("Best{limits} is {changes}: {effects}."),
        (Outcome::Nearer, Some((changes, effects))) => {
            format!("Nothing reaches {goal}{limits}; nearest is {changes}: {effects}.")
        }
        (Outcome::OutsideLimits, Some((changes, effects))) => {
            format!("Keep what you have: no settings that were tried keep the limits; nearest is {changes}: {effects}.")
        }
        _ => keep(tuning, goal, limits),
    };
    std::iter::once(first).chain(robust(tuning)).collect()
}

fn keep(tuning: &Tuning, goal: &Goal, limits: &str) -> String {
    let why = match tuning.goal.bound {
        _ if tuning.now.reaches_goal && tuning.now.keeps_limits => format!("today's settings reach the goal{limits}"),
        Some(_) => format!("nothing reaches {goal}{limits}, and nothing comes nearer than today's settings beyond the spread of runs"),
        None => format!("nothing{limits} is better than today's settings beyond the spread of runs"),
    };
    format!("Keep what you have: {why} ({}).", effects(tuning, &tuning.now))
}

/// A sentence about the variants of the demand.
fn robust(tuning: &Tuning) -> Option<String> {
    let best = tuning.best.as_ref().filter(|_| matches!(tuning.outcome, Outcome::Found | Outcome::Nearer))?;
    let demands: Vec<&str> = tuning.demands.iter().map(|demand| demand.parameter.as_str()).collect();
    if demands.len() < 2 {
        return None;
    }
    let broken = |bound: &Bound| {
        let values = best.values(bound.measure).iter().zip(&demands);
        let breaks = |mean: f64| bound.bound.is_some_and(|limit| !bound.holds(mean, limit));
        let of = values.filter_map(|(value, demand)| Some((value.as_ref()?.mean(), demand)));
        of.filter(|(mean, _)| breaks(*mean)).map(|(mean, demand)| {
            format!("{} is {} with {demand}", bound.name, number(mean, bound.unit))
        }).next()
    };
    let goal = std::iter::once(&tuning.goal).filter(|_| tuning.outcome == Outcome::Found);
    let broken: Vec<String> = goal.chain(&tuning.limits).filter_map(broken).collect();
    Some(match broken.is_empty() {
        true => format!("It holds with {} as well.", demands[1..].join(" and ")),
        false => format!("It does not hold everywhere: {}.", broken.join(", ")),
    })
}

fn changed(tried: &Tried) -> String {
    words(&tried.changes.iter().map(|Change { setting, value }| (*setting, value.as_str())).collect::<Vec<_>>())
}

/// Goal and limits of a combination, with those of today.
fn effects(tuning: &Tuning, tried: &Tried) -> String {
    let effect = |bound: &Bound| {
        let value = |tried: &Tried| tried.value(bound.measure).map(|value| number(value.mean(), bound.unit));
        let (then, now) = (value(tried)?, value(&tuning.now)?);
        let now = if then == now { String::new() } else { format!(", now {now}") };
        Some(format!("{} {then}{now}", bound.name))
    };
    std::iter::once(&tuning.goal).chain(&tuning.limits).filter_map(effect).collect::<Vec<_>>().join("; ")
}

impl Tuning {
    /// The answer as text for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text: String = self.sentences.iter().map(|sentence| wrap(sentence, WIDTH)).collect();
        text += "\n";
        text += &self.table();
        text += "\n";
        let mut end = self.how();
        self.notes.iter().for_each(|note| end += &wrap(&format!("Note: {note}."), WIDTH));
        let room = LINES.saturating_sub(text.lines().count() + end.lines().count() + 1);
        text + &self.effects_of_settings(room) + "\n" + &end
    }

    /// Today's settings, those found, and others of the trade-off, side by side.
    fn table(&self) -> String {
        let columns = self.columns();
        let name = |at: usize| if at == 0 { "now".to_owned() } else if Some(columns[at]) == self.best.as_ref() { "found".to_owned() } else { format!("other {}", at - usize::from(self.best.is_some())) };
        let mut table = Table::with_header(std::iter::once(String::new()).chain((0..columns.len()).map(name)).collect());
        for setting in self.sensitivity.iter() {
            let value = |tried: &&Tried| tried.changes.iter().find(|change| change.setting == setting.setting).map(|change| change.value.clone());
            if columns.iter().any(|tried| value(tried).is_some()) {
                let others = columns[1..].iter().map(|tried| value(tried).unwrap_or_else(|| "=".to_owned()));
                table.row([setting.setting.to_owned(), setting.today.clone()].into_iter().chain(others).collect());
            }
        }
        for bound in std::iter::once(&self.goal).chain(&self.limits) {
            table.row(std::iter::once(bound.title()).chain(columns.iter().map(|tried| shown(tried.value(bound.measure), bound.unit))).collect());
            if self.demands.len() > 1 {
                let range = |tried: &&Tried| over_demands(tried, bound);
                table.row(std::iter::once("  over demands".to_owned()).chain(columns.iter().map(range)).collect());
            }
        }
        table.render(WIDTH, ColourDepth::None)
    }

    /// Combinations of the table: as many as fit beside each other.
    fn columns(&self) -> Vec<&Tried> {
        let known = |tried: &&Tried| **tried != self.now && Some(*tried) != self.best.as_ref();
        let others = self.front.iter().filter(known).take(OTHERS);
        std::iter::once(&self.now).chain(&self.best).chain(others).collect()
    }

    /// The effect of each setting, in at most `room` lines.
    fn effects_of_settings(&self, room: usize) -> String {
        let matters = |of: &&Sensitivity| of.effects.iter().any(|effect| effect.is_told_apart);
        let (mut mattering, mut others): (Vec<_>, Vec<_>) = self.sensitivity.iter().partition(matters);
        let fit = room.saturating_sub(3).min(mattering.len());
        others.splice(0..0, mattering.split_off(fit));
        let bounds: Vec<&Bound> = std::iter::once(&self.goal).chain(&self.limits).collect();
        let unit = |effect: &Effect| bounds.iter().find(|bound| bound.measure == effect.measure).map_or(Unit::Events, |bound| bound.unit);
        let mut text = String::new();
        if !mattering.is_empty() {
            let titles = mattering[0].effects.iter().flat_map(|of| [format!("{} alone", of.measure), "on average".to_owned()]);
            let mut table = Table::with_header(std::iter::once("over its values".to_owned()).chain(titles).collect());
            for setting in mattering {
                let cells = setting.effects.iter().flat_map(|effect| {
                    let alone = if effect.is_told_apart { span(effect.alone, unit(effect)) } else { "=".to_owned() };
                    [alone, span(effect.on_average, unit(effect))]
                });
                table.row(std::iter::once(setting.setting.to_owned()).chain(cells).collect());
            }
            text += &table.render(WIDTH, ColourDepth::None);
        }
        if !others.is_empty() {
            let names: Vec<&str> = others.iter().map(|of| of.setting).collect();
            text += &wrap(&format!("No difference alone: {}.", names.join(", ")), WIDTH);
        }
        text
    }

    /// How it was found.
    fn how(&self) -> String {
        let demands: Vec<&str> = self.demands.iter().map(|demand| demand.parameter.as_str()).collect();
        let demands = if demands.len() > 1 { format!(", over {}", demands.join(", ")) } else { String::new() };
        let how = format!(
            "{} of {} combinations in {}; means of {}, \u{b1} half of the 95 % interval; = as today. Demand: {}{demands}; \
             as {}. Prices: {}.",
            grouped(self.tried.len() as u64), grouped(self.combinations as u64), count_of(self.runs as u64, "run"),
            count_of(self.seeds as u64, "run"), self.demand, self.policy, self.prices
        );
        wrap(&how, WIDTH)
    }
}

impl Bound {
    fn title(&self) -> String {
        let side = if self.direction == order9_report::stats::Direction::LowerIsBetter { "\u{2264}" } else { "\u{2265}" };
        match self.bound {
            Some(bound) => format!("{} ({side} {})", self.name, number(bound, self.unit)),
            None => self.name.to_owned(),
        }
    }

    fn holds(&self, value: f64, bound: f64) -> bool {
        match self.direction {
            order9_report::stats::Direction::LowerIsBetter => value <= bound,
            order9_report::stats::Direction::HigherIsBetter => value >= bound,
        }
    }
}

/// Least and largest mean over the variants of the demand.
fn over_demands(tried: &Tried, bound: &Bound) -> String {
    let means = || tried.values(bound.measure).iter().flatten().map(|value| value.mean());
    let range = [means().reduce(f64::min), means().reduce(f64::max)];
    let [Some(least), Some(most)] = range else { return String::new() };
    span(Some([least, most]), bound.unit)
}

fn span(range: Option<[f64; 2]>, unit: Unit) -> String {
    let Some([least, most]) = range else { return String::new() };
    let (least, most) = (number(least, unit), number(most, unit));
    if least == most { least } else { format!("{} to {most}", without_unit(&least, &most)) }
}

/// The first of two numbers without its unit where the second has the same.
fn without_unit<'a>(first: &'a str, second: &str) -> &'a str {
    match (first.split_once(' '), second.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => first,
    }
}
