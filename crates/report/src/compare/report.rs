//! From columns to tables.

use serde::Serialize;

use super::counter_rows::{COMPACTION_ROWS, COUNTER_ROWS, CounterRow, DAEMON_ROWS, HUGE_ROWS};
use super::{Benchmark, Cell, Change, Column, Comparison, Durations, Row, Section, Table, Unit, text};
use crate::stats::{Convention, Generation, Rule, Samples, Statistic};

/// By which statistics columns are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Style {
    /// Whose definitions count.
    pub generation: Generation,
    /// What marks a difference; `None` marks nothing.
    pub rule: Option<Rule>,
}

impl From<Generation> for Style {
    /// The tables of this generation as they were.
    fn from(generation: Generation) -> Self {
        Self { generation, rule: generation.rule() }
    }
}

/// All tables of one comparison, in the order of mmtests: the benchmark's own, `Duration`, counters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Name of the benchmark.
    pub benchmark: String,
    /// By which statistics the columns are compared.
    pub style: Style,
    /// The tables.
    pub tables: Vec<Table>,
}

/// Characters for a value, and in the counter table.
const FIELD_WIDTH: usize = 12;
const COUNTER_WIDTH: usize = 15;

/// Compares every column with the first one.
#[must_use]
pub fn compare(benchmark: &Benchmark, columns: &[Column], style: Style) -> Report {
    let sections = benchmark.sections.iter().map(|section| section_table(benchmark, section, columns, style));
    let totals = [duration_table(columns), counter_table(columns)];
    let own = [huge_table(columns), compaction_table(columns), daemon_table(columns)];
    let tables = sections.chain(totals).chain(own.into_iter().flatten()).collect();
    Report { benchmark: benchmark.name.clone(), style, tables }
}

impl Report {
    /// The tables as mmtests prints them, and below them by which statistics they were made, and the units, which that
    /// layout leaves to the reader to know.
    #[must_use]
    pub fn to_text(&self, fit: text::Fit) -> String {
        let tables: Vec<_> = self.tables.iter().map(|table| text::with_heading(table, fit)).collect();
        let marks = self.style.rule.map_or("nothing is marked", Rule::explanation);
        let units = self.units();
        format!("{}\nStatistics as of {}; {marks}.\nUnits: {units}.\n", tables.join("\n"), self.style.generation)
    }

    /// What the benchmark's own tables and durations are measured in.
    fn units(&self) -> String {
        let of_own = |table: &Table| match table.comparison {
            Comparison::WithFirst => Some(format!("{} {}", table.heading.as_ref()?, table.rows.first()?.unit)),
            Comparison::None => None,
        };
        let own = self.tables.iter().filter_map(of_own);
        own.chain([format!("Duration {}", Unit::Seconds)]).collect::<Vec<_>>().join(", ")
    }

    /// The tables for other programs. A value that is not a number is `null` or its cell says why there is none.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and finite numbers can be written as JSON")
    }
}

fn section_table(benchmark: &Benchmark, section: &Section, columns: &[Column], style: Style) -> Table {
    let convention = Convention { direction: section.direction, generation: style.generation };
    let statistics = section.family.rows(style.generation);
    let rows = statistics.into_iter().flat_map(|statistic| {
        section.operations.iter().map(move |operation| {
            let samples: Vec<_> = columns.iter().map(|column| column.samples.get(operation)).collect();
            Row {
                statistic: convention.label(statistic),
                operation: operation.clone(),
                unit: if statistic == Statistic::CoeffVar { Unit::Percent } else { section.unit },
                cells: compared_cells(convention, style.rule, statistic, &samples),
            }
        })
    });
    Table {
        heading: Some(format!("{} {}", benchmark.name, section.heading).trim_end().to_owned()),
        columns: columns.iter().map(|column| column.title.clone()).collect(),
        comparison: Comparison::WithFirst,
        field_width: FIELD_WIDTH,
        decimals: section.decimals,
        rows: rows.collect(),
    }
}

/// One cell per column, each compared with the first.
fn compared_cells(
    convention: Convention,
    rule: Option<Rule>,
    statistic: Statistic,
    columns: &[Option<&Samples>],
) -> Vec<Cell> {
    let first = columns.first().copied().flatten();
    let change = |samples: &Samples, value: Option<f64>| {
        let first = first?;
        Some(Change {
            percent: convention.change_percent(statistic, convention.value(statistic, first)?, value?),
            significant: rule.is_some_and(|rule| convention.marks(rule, statistic, first, samples)),
        })
    };
    let cell = |samples: &Samples| match convention.value(statistic, samples) {
        None if statistic.is_spread() => Cell::Missing,
        value => Cell::compared(value, change(samples, value)),
    };
    columns.iter().map(|samples| samples.map_or(Cell::Missing, cell)).collect()
}

fn duration_table(columns: &[Column]) -> Table {
    let rows = ["User", "System", "Elapsed"].into_iter().enumerate().map(|(index, name)| {
        let seconds = |durations: &Durations| Cell::plain(Some(durations.rows()[index].1));
        let cells = columns.iter().map(|column| column.durations.as_ref().map_or(Cell::Missing, seconds));
        plain_row("Duration", name, Unit::Seconds, cells.collect())
    });
    plain_table(columns, FIELD_WIDTH, rows.collect())
}

fn counter_table(columns: &[Column]) -> Table {
    plain_table(columns, COUNTER_WIDTH, counter_rows(COUNTER_ROWS, columns))
}

/// What part of memory was huge, where any was.
fn huge_table(columns: &[Column]) -> Option<Table> {
    let huge = |column: &Column| column.counters.get("order9_mean_anon_huge").is_some_and(|pages| pages > 0);
    let table = || plain_table(columns, COUNTER_WIDTH, counter_rows(HUGE_ROWS, columns));
    columns.iter().any(huge).then(|| Table { heading: Some("Memory in huge pages".to_owned()), ..table() })
}

/// What compaction was worth, if it has moved anything.
fn compaction_table(columns: &[Column]) -> Option<Table> {
    let moved = |column: &Column| column.counters.get("order9_compact_pages_moved").is_some_and(|moved| moved > 0);
    let table = || plain_table(columns, COUNTER_WIDTH, counter_rows(COMPACTION_ROWS, columns));
    columns.iter().any(moved).then(|| Table { heading: Some("Compaction for huge pages".to_owned()), ..table() })
}

/// What daemons cost, where a run counts it and they did anything.
fn daemon_table(columns: &[Column]) -> Option<Table> {
    let mut rows = counter_rows(DAEMON_ROWS, columns);
    rows.retain(|row| row.cells.iter().any(|cell| cell.value().is_some_and(|percent| percent > 0.0)));
    let heading = Some("Daemons and stalls, in percent of the time of one CPU".to_owned());
    (!rows.is_empty()).then(|| Table { heading, ..plain_table(columns, COUNTER_WIDTH, rows) })
}

fn counter_rows(rows: &[CounterRow], columns: &[Column]) -> Vec<Row> {
    let cells = |row| columns.iter().map(|column| counter_cell(row, column)).collect();
    rows.iter().map(|row| plain_row("Ops", row.name, row.unit, cells(row))).collect()
}

fn counter_cell(row: &CounterRow, column: &Column) -> Cell {
    let elapsed = column.durations.as_ref().map(Durations::elapsed_seconds);
    row.value(&column.counters, elapsed).map_or(Cell::Missing, |value| Cell::plain(Some(value)))
}

fn plain_row(statistic: &str, operation: &str, unit: Unit, cells: Vec<Cell>) -> Row {
    Row { statistic: statistic.to_owned(), operation: operation.to_owned(), unit, cells }
}

fn plain_table(columns: &[Column], field_width: usize, rows: Vec<Row>) -> Table {
    let columns = columns.iter().map(|column| column.title.clone()).collect();
    Table { heading: None, columns, comparison: Comparison::None, field_width, decimals: 2, rows }
}
