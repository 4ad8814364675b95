//! Tables as rows of finished texts, for formats that lay out cells themselves: [`markdown`](super::markdown) and
//! [`latex`](super::latex).
//!
//! Cells show the digits of the text tables, and rows of zeros are left out as there. A format says only how it marks a
//! difference and how it writes characters that it would obey.

use super::run_text::{self, Parts};
use super::{Report, Row, Table};

/// A table of finished texts.
pub(super) struct Sheet {
    pub(super) heading: String,
    /// Titles of the columns of values.
    pub(super) titles: Vec<String>,
    pub(super) rows: Vec<SheetRow>,
}

/// One line of a sheet.
pub(super) struct SheetRow {
    /// Statistic and operation: `Amean fault-huge-3`.
    pub(super) label: String,
    pub(super) unit: &'static str,
    pub(super) cells: Vec<SheetCell>,
}

/// One value with its spread and its change.
pub(super) struct SheetCell {
    /// The value, and the spread between runs where there is one.
    pub(super) value: String,
    /// Change against the first column in percent; empty where nothing is compared.
    pub(super) change: String,
    /// Whether the change is taken to be outside the noise.
    pub(super) significant: bool,
}

/// The tables of a report, without rows that are 0 everywhere and tables of nothing else.
pub(super) fn sheets(report: &Report) -> Vec<Sheet> {
    report.tables.iter().filter_map(|table| sheet(report, table)).collect()
}

fn sheet(report: &Report, table: &Table) -> Option<Sheet> {
    let several = report.by_run.as_ref().is_some_and(run_text::has_several);
    let rows = table.rows.iter().filter(|row| !run_text::is_zero(row));
    let rows: Vec<SheetRow> = rows.map(|row| sheet_row(table, row, several)).collect();
    if rows.is_empty() {
        return None;
    }
    let heading = match &report.by_run {
        Some(by_run) => run_text::heading(table, several, by_run).trim_end().to_owned(),
        None => table.heading.clone().unwrap_or_default(),
    };
    let titles = table.columns.iter().map(|title| title.as_str().to_owned()).collect();
    Some(Sheet { heading, titles, rows })
}

fn sheet_row(table: &Table, row: &Row, several: bool) -> SheetRow {
    let cells = run_text::row_parts(table, row, several).into_iter().zip(&row.cells).map(|(parts, cell)| {
        let Parts { value, spread, change } = parts;
        let is_mark = |c: char| matches!(c, '*' | '(' | ')') || c.is_whitespace();
        let significant = !change.is_empty() && cell.change().is_some_and(|change| change.significant);
        SheetCell { value: format!("{value}{spread}"), change: change.trim_matches(is_mark).to_owned(), significant }
    });
    SheetRow {
        label: format!("{} {}", row.statistic, row.operation).trim().to_owned(),
        unit: row.unit.name(),
        cells: cells.collect(),
    }
}

/// Sentences below the tables: verdicts, and how to read marks and intervals. `mark` is how the format marks a difference.
pub(super) fn sentences(report: &Report, mark: &str) -> Vec<String> {
    match &report.by_run {
        Some(by_run) => {
            let verdicts = verdicts(&run_text::verdicts(by_run));
            verdicts.into_iter().chain(run_text::foot(report, by_run, mark)).collect()
        }
        None => {
            let marks = report.style.rule.map_or("nothing is marked", crate::stats::Rule::explanation);
            vec![format!("Statistics as of {}; {marks}. Units: {}.", report.style.generation, report.units())]
        }
    }
}

/// A sentence for each line of a verdict, behind the columns that it is about.
fn verdicts(text: &str) -> Vec<String> {
    let mut columns = String::new();
    let mut sentences = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("  ") {
            Some(verdict) => sentences.push(format!("{columns}: {}", squeezed(verdict))),
            None if line.contains(": ") => sentences.push(line.to_owned()),
            None => columns = line.to_owned(),
        }
    }
    sentences
}

/// The words of a line, which columns set apart, with single blanks.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
