//! Tables of runs as text: those of mmtests, with the spread between runs beside each mean, and without rows of zeros.
//!
//! Columns are as wide as they need to be, and no narrower than published ones: with one run each, a table is the published
//! one without marks and without the rows that say nothing.

use super::by_run::{ByRun, RunCount};
use super::grid::{Grid, GridRow};
use super::text::width;
use super::verdict::MainRow;
use super::{Cell, Comparison, Report, Row, Table, Unit};
use crate::table::wrap;

/// Width of sentences, in columns.
const TEXT_WIDTH: usize = 98;
/// Characters for a value whose spread is shown beside it, the blank before it included.
const LEAST_WIDTH: usize = 11;
/// Rows that are named in a sentence at most.
const NAMED: usize = 4;

/// All tables, verdicts, and how to read them.
pub(super) fn draw(report: &Report, by_run: &ByRun) -> String {
    let tables: Vec<_> = report.tables.iter().filter_map(|table| draw_table(table, by_run)).collect();
    let verdicts = verdicts(by_run);
    let foot: String = foot(report, by_run, "* x.xx%*").iter().map(|sentence| wrap(sentence, TEXT_WIDTH)).collect();
    let parts = tables.into_iter().chain((!verdicts.is_empty()).then_some(verdicts)).chain([foot]);
    parts.collect::<Vec<_>>().join("\n")
}

/// The verdict on each column but the first, a line for each main quantity.
pub(super) fn verdicts(by_run: &ByRun) -> String {
    let label = by_run.main.iter().map(|row| width(&row.quantity.label())).max().unwrap_or(0);
    let line = |row: &MainRow, column| format!("  {:label$}  {}\n", row.quantity.label(), row.words(column));
    let of_column = |(at, column): (usize, &RunCount)| {
        let heading = format!("{} against {}", column.title.as_str(), by_run.columns[0].title.as_str());
        if column.identical_to_first {
            return format!("{heading}: identical results: policies and settings do not differ here\n");
        }
        let lines: String = by_run.main.iter().map(|row| line(row, at)).collect();
        if lines.is_empty() { String::new() } else { format!("{heading}\n{lines}") }
    };
    by_run.columns.iter().enumerate().skip(1).map(of_column).collect()
}

/// `3 runs`, `3 and 10 runs`: how many each column has.
pub(super) fn runs_in_words(by_run: &ByRun) -> String {
    let mut counts: Vec<_> = by_run.columns.iter().map(|column| column.different).collect();
    counts.sort_unstable();
    counts.dedup();
    let counts: Vec<_> = counts.iter().map(usize::to_string).collect();
    let plural = if counts == ["1"] { "run" } else { "runs" };
    format!("{} {plural}", counts.join(" and "))
}

/// Copies of runs, column by column, where there are any.
pub(super) fn copies(by_run: &ByRun) -> impl Iterator<Item = String> {
    let copied = by_run.columns.iter().filter(|column| column.different < column.runs);
    copied.map(|RunCount { title, runs, different, .. }| match different {
        1 => format!("{}: all {runs} runs are equal and count as one.", title.as_str()),
        _ => format!("{}: of {runs} runs {different} are different; copies do not count.", title.as_str()),
    })
}

/// Whether any column has several runs that differ.
pub(super) fn has_several(by_run: &ByRun) -> bool {
    by_run.columns.iter().any(|column| column.different > 1)
}

/// Notes that explain the tables, in which `mark` shows a difference.
pub(super) fn foot(report: &Report, by_run: &ByRun, mark: &str) -> Vec<String> {
    let mut foot: Vec<String> = copies(by_run).collect();
    let single = by_run.columns.iter().filter(|column| column.different == 1).count();
    let several = single < by_run.columns.len();
    if several {
        foot.push(
            "Values are means over runs, \u{b1} reaches to the ends of their 95 % confidence interval (Student's t); \
             durations and counters have the least and the most of a run in brackets."
                .to_owned(),
        );
    }
    if several && by_run.columns.len() > 1 {
        foot.push(format!(
            "{mark} marks what a test over runs tells apart (Welch's t-test, p < 0.05). Where nothing differs, one row of \
             20 is marked nevertheless."
        ));
    }
    if single > 0 && by_run.columns.len() > 1 {
        foot.push("One run: differences are not tested.".to_owned());
    }
    let named = fewer(report, by_run);
    if !named.is_empty() {
        foot.push(format!("Some runs have no value of: {}.", shortened(&named)));
    }
    let zeros = report.tables.iter().flat_map(|table| &table.rows).filter(|row| is_zero(row)).count();
    if zeros > 0 {
        foot.push(format!("Left out: {zeros} rows that are 0 in every run."));
    }
    foot.push(format!("Statistics as of {}. Units: {}.", report.style.generation, report.units()));
    foot
}

/// Compared values that not every run has: row, column, how many.
fn fewer(report: &Report, by_run: &ByRun) -> Vec<String> {
    let compared = report.tables.iter().filter(|table| table.comparison == Comparison::WithFirst);
    let cells = compared.flat_map(|table| &table.rows).flat_map(|row| {
        row.cells.iter().zip(&by_run.columns).filter_map(move |(cell, column)| {
            let count = cell.estimate()?.count();
            let name = || format!("{} {} ({count} of {}", row.statistic, row.operation, column.different);
            (count < column.different).then(|| format!("{} under {})", name(), column.title.as_str()))
        })
    });
    cells.collect()
}

fn shortened(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let named = names[..names.len() - more].join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}

/// Whether every run of every column has 0 here, or nothing.
pub(super) fn is_zero(row: &Row) -> bool {
    let zero = |cell: &Cell| match cell {
        Cell::Missing => true,
        Cell::Undefined => false,
        Cell::Measured { value, estimate, .. } => {
            *value == 0.0 && estimate.iter().all(|estimate| estimate.range() == [0.0, 0.0])
        }
    };
    row.cells.iter().all(zero)
}

/// Parts of a cell as they are printed.
pub(super) struct Parts {
    pub(super) value: String,
    /// Spread between runs; empty where there is none.
    pub(super) spread: String,
    /// Change against the first column, in brackets or stars; empty where nothing is compared.
    pub(super) change: String,
}

impl Parts {
    fn widths(&self) -> [usize; 3] {
        [&self.value, &self.spread, &self.change].map(|part| width(part))
    }

    fn joined(self) -> String {
        self.value + &self.spread + &self.change
    }
}

/// The table cell by cell; `None` if all its rows are zeros.
pub(super) fn grid(table: &Table, by_run: &ByRun) -> Option<Grid> {
    let text = draw_table(table, by_run)?;
    let several = has_several(by_run);
    let texts = |row: &Row| row_parts(table, row, several).into_iter().map(Parts::joined).collect();
    let rows = table.rows.iter().filter(|row| !is_zero(row)).map(|row| GridRow::new(row, texts(row))).collect();
    Some(Grid::new(table, heading(table, several, by_run).trim_end().to_owned(), rows, text))
}

/// The table with its heading; `None` if all its rows are zeros.
fn draw_table(table: &Table, by_run: &ByRun) -> Option<String> {
    let rows: Vec<&Row> = table.rows.iter().filter(|row| !is_zero(row)).collect();
    if rows.is_empty() {
        return None;
    }
    let several = has_several(by_run);
    let cells: Vec<Vec<Parts>> = rows.iter().map(|row| row_parts(table, row, several)).collect();
    let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
    let statistic = longest(&mut rows.iter().map(|row| width(&row.statistic)));
    let operation = longest(&mut rows.iter().map(|row| width(&row.operation)));
    // Where the spread stands beside them, values need no more room than they take.
    let least = if several { LEAST_WIDTH } else { table.field_width };
    let columns = (0..table.columns.len()).map(|column| {
        let widest = |part: usize| longest(&mut cells.iter().map(|row| row[column].widths()[part]));
        let value = (widest(0) + 1).max(least);
        let title = longest(&mut table.columns[column].lines().map(|line| width(line) + 1).into_iter());
        let beside = if table.comparison == Comparison::None { 0 } else { widest(1) + widest(2) };
        [value.max(title.saturating_sub(beside)), widest(1), widest(2)]
    });
    let columns: Vec<[usize; 3]> = columns.collect();

    let mut out = heading(table, several, by_run);
    for line in 0..2 {
        out.push_str(&" ".repeat(statistic + 1 + operation));
        for (title, [value, spread, change]) in table.columns.iter().zip(&columns) {
            // Above the values; above all of it where there is a change.
            let (above, beside) = match table.comparison {
                Comparison::WithFirst => (value + spread + change, 0),
                Comparison::None => (*value, spread + change),
            };
            out.push_str(&format!("{:>above$}{:beside$}", title.lines()[line], ""));
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    for (row, cells) in rows.iter().zip(&cells) {
        out.push_str(&format!("{:statistic$} {:operation$}", row.statistic, row.operation));
        for (Parts { value, spread, change }, [value_width, spread_width, change_width]) in cells.iter().zip(&columns) {
            out.push_str(&format!("{value:>value_width$}{spread:<spread_width$}{change:>change_width$}"));
        }
        out.truncate(out.trim_end_matches(' ').len());
        out.push('\n');
    }
    Some(out)
}

pub(super) fn heading(table: &Table, several: bool, by_run: &ByRun) -> String {
    let spread = match table.comparison {
        Comparison::WithFirst => "\u{b1} 95 %",
        Comparison::None => "(least..most)",
    };
    let means = format!("means of {} {spread}", runs_in_words(by_run));
    match &table.heading {
        Some(heading) if several => format!("{heading}, {means}\n"),
        Some(heading) => format!("{heading}\n"),
        None if several => format!("M{}\n", &means[1..]),
        None => String::new(),
    }
}

pub(super) fn row_parts(table: &Table, row: &Row, several: bool) -> Vec<Parts> {
    let decimals = decimals(table, row, several);
    let parts = |(at, cell): (usize, &Cell)| {
        let Cell::Measured { value, .. } = cell else {
            return Parts { value: "-".to_owned(), spread: String::new(), change: String::new() };
        };
        let change = match (table.comparison, cell.change()) {
            (Comparison::None, _) => String::new(),
            // Where runs differ there is enough to read.
            _ if several && at == 0 => String::new(),
            (Comparison::WithFirst, None) => format!(" ({:>8})", "-"),
            (Comparison::WithFirst, Some(change)) if change.significant => format!(" *{:7.2}%*", change.percent),
            (Comparison::WithFirst, Some(change)) => format!(" ({:7.2}%)", change.percent),
        };
        let spread = spread(table.comparison, cell, decimals);
        Parts { value: format!("{value:.decimals$}"), spread, change }
    };
    row.cells.iter().enumerate().map(parts).collect()
}

/// Half width of the interval between runs, where there are several.
fn spread(comparison: Comparison, cell: &Cell, decimals: usize) -> String {
    let Some(estimate) = cell.estimate() else { return String::new() };
    let [least, most] = estimate.range();
    match (comparison, estimate.half_width()) {
        (Comparison::WithFirst, Some(half)) => format!(" \u{b1} {half:.decimals$}"),
        (Comparison::None, Some(_)) => {
            let [least, most] = [least, most].map(|end| format!("{end:.decimals$}"));
            if least == most { String::new() } else { format!(" ({least}..{most})") }
        }
        _ => String::new(),
    }
}

/// Decimals of a row: more than the benchmark has where all values of its unit are small, none of counts of several runs.
fn decimals(table: &Table, row: &Row, several: bool) -> usize {
    let main = |row: &&Row| table.rows.first().is_some_and(|first| first.unit == row.unit);
    if table.comparison == Comparison::None && row.unit != Unit::Seconds || !main(&row) {
        return if several && row.unit.is_count() { 0 } else { table.decimals };
    }
    let values = table.rows.iter().filter(main).flat_map(|row| &row.cells).filter_map(Cell::value);
    decimals_for(values.fold(0.0, |largest, value| f64::max(largest, value.abs())), table.decimals)
}

/// Number of decimals: as asked for, or as many as `largest` needs to show three digits.
pub(super) fn decimals_for(largest: f64, asked: usize) -> usize {
    /// More digits say nothing that was measured.
    const MOST: usize = 6;
    if largest <= 0.0 || largest >= 1.0 { asked } else { (2 + (-largest.log10()).ceil() as usize).clamp(asked, MOST) }
}
