//! A comparison in a few lines: what decides between policies, and the verdict on each.

use super::by_run::{ByRun, RunCount};
use super::run_text::{copies, decimals_for, runs_in_words, verdicts};
use super::verdict::{MainRow, Outcome};
use crate::number::decimal;
use crate::stats::Estimate;
use crate::table::Table;
use crate::terminal::ColourDepth;

/// Columns of a table.
const WIDTH: usize = 100;
/// Columns for which there is room to show the spread between runs.
const WITH_SPREAD: usize = 3;

/// Draws the report in at most `lines` lines.
pub(super) fn draw(benchmark: &str, by_run: &ByRun, lines: usize) -> String {
    let mut all = vec![heading(benchmark, by_run)];
    all.extend(copies(by_run));
    all.extend(table(by_run).lines().map(str::to_owned));
    let verdicts = match by_run.columns.len() {
        2 => verdicts(by_run),
        _ => by_run.columns.iter().enumerate().skip(1).map(|(at, column)| short(by_run, at, column)).collect(),
    };
    let verdicts: Vec<_> = verdicts.lines().map(str::to_owned).collect();
    let more = (all.len() + verdicts.len()).saturating_sub(lines);
    // The line that says how many are missing needs one as well.
    let shown = if more == 0 { verdicts.len() } else { verdicts.len().saturating_sub(more + 1) };
    all.extend_from_slice(&verdicts[..shown]);
    if more > 0 {
        all.truncate(lines.saturating_sub(1));
        all.push("...".to_owned());
    }
    all.join("\n") + "\n"
}

fn heading(benchmark: &str, by_run: &ByRun) -> String {
    let runs = runs_in_words(by_run);
    let several = by_run.columns.iter().any(|column| column.different > 1);
    match (several, by_run.columns.len()) {
        (true, columns) if columns <= WITH_SPREAD => format!("{benchmark}: means of {runs} \u{b1} 95 %"),
        (true, _) => format!("{benchmark}: means of {runs}"),
        (false, 1) => format!("{benchmark}: one run"),
        (false, _) => format!("{benchmark}: one run each"),
    }
}

fn table(by_run: &ByRun) -> String {
    let titles = by_run.columns.iter().map(|column| column.title.as_str().to_owned());
    let mut table = Table::with_header(std::iter::once("measured".to_owned()).chain(titles).collect());
    let spread = by_run.columns.len() <= WITH_SPREAD;
    for row in &by_run.main {
        let largest = row.values.iter().flatten().map(|estimate| estimate.mean().abs()).fold(0.0, f64::max);
        let decimals = decimals_for(largest, row.quantity.decimals);
        let shown = |estimate: &Option<Estimate>| {
            estimate.as_ref().map_or_else(|| "-".to_owned(), |estimate| shown(estimate, decimals, spread))
        };
        table.row(std::iter::once(row.quantity.label()).chain(row.values.iter().map(shown)).collect());
    }
    if table.is_empty() { String::new() } else { table.render(WIDTH, ColourDepth::None) }
}

fn shown(estimate: &Estimate, decimals: usize, spread: bool) -> String {
    let mean = decimal(estimate.mean(), decimals);
    match estimate.half_width().filter(|_| spread) {
        Some(half) => format!("{mean} \u{b1} {}", decimal(half, decimals)),
        None => mean,
    }
}

/// The verdict on a column in one line.
fn short(by_run: &ByRun, at: usize, column: &RunCount) -> String {
    let title = column.title.as_str();
    if column.identical_to_first {
        return format!("{title}: identical to {}\n", by_run.columns[0].title.as_str());
    }
    let of = |wanted: Outcome| {
        let rows = by_run.main.iter().filter_map(|row: &MainRow| {
            let verdict = row.verdicts[at].as_ref().filter(|verdict| verdict.outcome == wanted)?;
            let change = match wanted {
                Outcome::Same => String::new(),
                _ => format!(" ({})", verdict.change()),
            };
            Some(format!("{}{change}", row.quantity.name))
        });
        let rows: Vec<_> = rows.collect();
        (!rows.is_empty()).then(|| format!("{} {}", wanted.name(), rows.join(", ")))
    };
    let outcomes = [Outcome::Worse, Outcome::Better, Outcome::NotToldApart, Outcome::NotTested, Outcome::Same];
    let parts: Vec<_> = outcomes.into_iter().filter_map(of).collect();
    format!("{title}: {}\n", if parts.is_empty() { "nothing to compare".to_owned() } else { parts.join("; ") })
}
