//! An answer as text: the verdict, the trade-off, the effect of each setting.

use order9_measures::Unit;
use order9_report::number::{count_of, grouped};
use order9_report::table::{Table, wrap};
use order9_report::terminal::ColourDepth;

use super::answer::{Bound, Tried, Tuning};
use super::choose::Outcome;
use super::sensitivity::{Effect, Sensitivity};
use crate::what_if::{number, text::shown};

/// Columns of the text.
const WIDTH: usize = 98;
/// Lines of the text, but for notes.
const LINES: usize = 24;
/// Combinations that the table shows at most, beside today's settings and those that were found.
const OTHERS: usize = 4;
/// Setting that a combination leaves as it is.
const SAME: &str = "=";

impl Tuning {
    /// The answer as text for a terminal.
    #[must_use]
    pub fn to_text(&self) -> String {
        let verdict = wrap(&self.sentences.join(" "), WIDTH) + "\n" + &self.table() + "\n";
        let how = self.how();
        let room = LINES.saturating_sub(verdict.lines().count() + how.lines().count() + 1);
        let mut text = verdict + &self.effects(room) + "\n" + &how;
        self.notes.iter().for_each(|note| text += &wrap(&format!("Note: {note}."), WIDTH));
        text
    }

    /// Today's settings, those that were found, and others of the trade-off, as many as stand beside each other.
    fn table(&self) -> String {
        let known = |tried: &&Tried| **tried != self.now && Some(*tried) != self.best.as_ref();
        let others: Vec<&Tried> = self.front.iter().filter(known).take(OTHERS).collect();
        let tables = (0..=others.len()).rev().map(|count| self.table_of(&others[..count]));
        let is_whole = |text: &String| !text.contains("\n\n");
        let mut tables = tables.skip_while(|text| !is_whole(text));
        tables.next().unwrap_or_else(|| self.table_of(&[]))
    }

    fn table_of(&self, others: &[&Tried]) -> String {
        let columns: Vec<&Tried> = std::iter::once(&self.now).chain(&self.best).chain(others.iter().copied()).collect();
        let found = if self.outcome == Outcome::OutsideLimits { "nearest" } else { "found" };
        let titles = ["", "now"].into_iter().chain(self.best.as_ref().map(|_| found)).map(str::to_owned);
        let numbers = (1..=others.len()).map(|nth| format!("other {nth}"));
        let mut table = Table::with_header(titles.chain(numbers).collect()).with_zeros();
        for of in &self.sensitivity {
            let value = |tried: &&Tried| {
                tried.changes.iter().find(|change| change.setting == of.setting).map(|of| of.value.clone())
            };
            if columns.iter().any(|tried| value(tried).is_some()) {
                let then = columns[1..].iter().map(|tried| value(tried).unwrap_or_else(|| SAME.to_owned()));
                table.row([of.setting.to_owned(), of.today.clone()].into_iter().chain(then).collect());
            }
        }
        for (nth, bound) in self.bounds().enumerate() {
            let values = columns.iter().map(|tried| shown(tried.value(bound.measure), bound.unit));
            table.row(std::iter::once(bound.title()).chain(values).collect());
            if nth == 0 && self.demands.len() > 1 {
                let range = |tried: &&Tried| over_demands(tried, bound);
                table.row(std::iter::once("  over all demands".to_owned()).chain(columns.iter().map(range)).collect());
            }
        }
        table.render(WIDTH, ColourDepth::None)
    }

    /// The goal, then the prices.
    fn bounds(&self) -> impl Iterator<Item = &Bound> {
        std::iter::once(&self.goal).chain(&self.limits)
    }

    /// The effect of each setting that has one, in about `room` lines.
    fn effects(&self, room: usize) -> String {
        let matters = |of: &&Sensitivity| of.effects.iter().any(|effect| effect.is_told_apart);
        let (mattering, others): (Vec<_>, Vec<_>) = self.sensitivity.iter().partition(matters);
        // A line is for titles, and one for the names of the rest.
        let (shown, left_out) = mattering.split_at(room.saturating_sub(2).min(mattering.len()));
        let mut text = String::new();
        if let Some(first) = shown.first() {
            let titles = first.effects.iter().flat_map(|of| [format!("{} alone", of.measure), "on average".to_owned()]);
            let mut table = Table::with_header(std::iter::once("effect of".to_owned()).chain(titles).collect());
            for of in shown {
                let cells = of.effects.iter().flat_map(|effect| self.effect(effect));
                table.row(std::iter::once(of.setting.to_owned()).chain(cells).collect());
            }
            text += &table.render(WIDTH, ColourDepth::None);
        }
        let names = |of: &[&Sensitivity]| of.iter().map(|of| of.setting).collect::<Vec<_>>().join(", ");
        if !left_out.is_empty() {
            text += &wrap(&format!("Effects of {}: in the JSON.", names(left_out)), WIDTH);
        }
        if self.seeds == 1 {
            text += &wrap("One run each tells no effect of a setting from chance: --seeds asks for more.", WIDTH);
        } else if !others.is_empty() {
            text += &wrap(&format!("No effect alone: {}.", names(&others)), WIDTH);
        }
        text
    }

    fn effect(&self, effect: &Effect) -> [String; 2] {
        let unit = self.bounds().find(|bound| bound.measure == effect.measure).map_or(Unit::Events, |bound| bound.unit);
        let alone = if effect.is_told_apart { span(effect.alone, unit) } else { SAME.to_owned() };
        [alone, span(effect.on_average, unit)]
    }

    /// Numbers of combinations and runs, the demand, and the origin of times.
    fn how(&self) -> String {
        let others: Vec<&str> = self.demands.iter().skip(1).map(|demand| demand.parameter.as_str()).collect();
        let others = if others.is_empty() { String::new() } else { format!(" (demands: also {})", others.join(", ")) };
        let how = format!(
            "Tried {} of {} combinations in {}; means of {}, \u{b1} half of the 95 % interval; {SAME}: as today. \
             Demand: {}{others}, as {}. Prices: {}.",
            grouped(self.tried.len() as u64),
            grouped(self.combinations as u64),
            count_of(self.runs as u64, "run"),
            self.seeds,
            self.demand,
            self.policy,
            self.prices
        );
        wrap(&how, WIDTH)
    }
}

impl Bound {
    fn title(&self) -> String {
        let side = if self.is_most() { "at most" } else { "at least" };
        self.bound
            .map_or_else(|| self.name.to_owned(), |bound| format!("{}, {side} {}", self.name, number(bound, self.unit)))
    }
}

/// Least and largest mean over the variants of the demand.
fn over_demands(tried: &Tried, bound: &Bound) -> String {
    let means = || tried.values(bound.measure).iter().flatten().map(|value| value.mean());
    let ends = means().reduce(f64::min).zip(means().reduce(f64::max));
    span(ends.map(|(least, most)| [least, most]), bound.unit)
}

fn span(range: Option<[f64; 2]>, unit: Unit) -> String {
    let Some([least, most]) = range else { return String::new() };
    let (least, most) = (number(least, unit), number(most, unit));
    if least == most { least } else { format!("{} to {most}", without_unit(&least, &most)) }
}

/// The first of two numbers, without its unit where the second has the same.
fn without_unit<'a>(first: &'a str, second: &str) -> &'a str {
    match (first.split_once(' '), second.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => number,
        _ => first,
    }
}
