//! Tables of a comparison, whether its columns are pooled or hold single runs.

use super::counter_rows::{COMPACTION_ROWS, COUNTER_ROWS, CounterRow, DAEMON_ROWS, HUGE_ROWS, RECLAIM_ROWS};
use super::{Benchmark, Cell, Comparison, Durations, Results, Row, Section, Table, Title, Unit};
use crate::stats::{Convention, Generation, Statistic};

/// Columns of a comparison.
pub(super) trait Columns {
    /// Titles of the columns.
    fn titles(&self) -> Vec<Title>;

    /// A statistic of the samples of an operation, each compared with the first.
    fn statistic(&self, convention: Convention, statistic: Statistic, operation: &str) -> Vec<Cell>;

    /// A number of results, not compared.
    fn plain(&self, value: &dyn Fn(&Results) -> Option<f64>) -> Vec<Cell>;
}

/// Characters for a value, and in the counter table.
const FIELD_WIDTH: usize = 12;
const COUNTER_WIDTH: usize = 15;

/// All tables in the order of mmtests: the benchmark's own, `Duration`, counters.
pub(super) fn tables(benchmark: &Benchmark, generation: Generation, columns: &impl Columns) -> Vec<Table> {
    let sections = benchmark.sections.iter().map(|section| section_table(benchmark, section, generation, columns));
    let totals = [duration_table(columns), counter_table(columns)];
    let own = [huge_table(columns), compaction_table(columns), reclaim_table(columns), daemon_table(columns)];
    sections.chain(totals).chain(own.into_iter().flatten()).collect()
}

fn section_table(benchmark: &Benchmark, section: &Section, generation: Generation, columns: &impl Columns) -> Table {
    let convention = Convention { direction: section.direction, generation };
    let statistics = section.family.rows(generation);
    let rows = statistics.into_iter().flat_map(|statistic| {
        section.operations.iter().map(move |operation| Row {
            statistic: convention.label(statistic),
            operation: operation.clone(),
            unit: if statistic == Statistic::CoeffVar { Unit::Percent } else { section.unit },
            cells: columns.statistic(convention, statistic, operation),
        })
    });
    Table {
        heading: Some(format!("{} {}", benchmark.name, section.heading).trim_end().to_owned()),
        columns: columns.titles(),
        comparison: Comparison::WithFirst,
        field_width: FIELD_WIDTH,
        decimals: section.decimals,
        rows: rows.collect(),
    }
}

fn duration_table(columns: &impl Columns) -> Table {
    let rows = ["User", "System", "Elapsed"].into_iter().enumerate().map(|(index, name)| {
        let seconds = |results: &Results| results.durations.as_ref().map(|durations| durations.rows()[index].1);
        plain_row("Duration", name, Unit::Seconds, columns.plain(&seconds))
    });
    plain_table(columns, FIELD_WIDTH, rows.collect())
}

fn counter_table(columns: &impl Columns) -> Table {
    plain_table(columns, COUNTER_WIDTH, counter_rows(COUNTER_ROWS, columns))
}

/// Table of the share of memory that was huge, if any was.
fn huge_table(columns: &impl Columns) -> Option<Table> {
    let table = || plain_table(columns, COUNTER_WIDTH, counter_rows(HUGE_ROWS, columns));
    let heading = Some("Memory in huge pages".to_owned());
    counted(columns, "order9_mean_anon_huge").then(|| Table { heading, ..table() })
}

/// Table of the gain and cost of compaction, if it has moved anything.
fn compaction_table(columns: &impl Columns) -> Option<Table> {
    let table = || plain_table(columns, COUNTER_WIDTH, counter_rows(COMPACTION_ROWS, columns));
    let heading = Some("Compaction for huge pages".to_owned());
    counted(columns, "order9_compact_pages_moved").then(|| Table { heading, ..table() })
}

/// Table of the gain and cost of reclaim for huge pages, if it has freed anything.
fn reclaim_table(columns: &impl Columns) -> Option<Table> {
    let table = || plain_table(columns, COUNTER_WIDTH, counter_rows(RECLAIM_ROWS, columns));
    let heading = Some("Reclaim for huge pages".to_owned());
    counted(columns, "order9_huge_reclaimed").then(|| Table { heading, ..table() })
}

/// Table of the cost of daemons, where a run counts it and they did anything.
fn daemon_table(columns: &impl Columns) -> Option<Table> {
    let mut rows = counter_rows(DAEMON_ROWS, columns);
    rows.retain(|row| row.cells.iter().any(|cell| cell.value().is_some_and(|percent| percent > 0.0)));
    let heading = Some("Daemons and stalls, in percent of the time of one CPU".to_owned());
    (!rows.is_empty()).then(|| Table { heading, ..plain_table(columns, COUNTER_WIDTH, rows) })
}

/// Whether a counter is more than 0 in any column.
fn counted(columns: &impl Columns, counter: &str) -> bool {
    let cells = columns.plain(&|results| results.counters.get(counter).map(|count| count as f64));
    cells.iter().any(|cell| cell.value().is_some_and(|count| count > 0.0))
}

fn counter_rows(rows: &[CounterRow], columns: &impl Columns) -> Vec<Row> {
    let value = |row: &CounterRow, results: &Results| {
        row.value(&results.counters, results.durations.as_ref().map(Durations::elapsed_seconds))
    };
    let row = |row: &CounterRow| plain_row("Ops", row.name, row.unit, columns.plain(&|results| value(row, results)));
    rows.iter().map(row).collect()
}

fn plain_row(statistic: &str, operation: &str, unit: Unit, cells: Vec<Cell>) -> Row {
    Row { statistic: statistic.to_owned(), operation: operation.to_owned(), unit, cells }
}

fn plain_table(columns: &impl Columns, field_width: usize, rows: Vec<Row>) -> Table {
    Table { heading: None, columns: columns.titles(), comparison: Comparison::None, field_width, decimals: 2, rows }
}
