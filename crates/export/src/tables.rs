//! Rows of the tables, from a run or a snapshot into a file of any of the table formats.

use std::io::Write;

use order9_record::{Cell, Event, Loaded, Outcome, Run, read_events};
use order9_snapshot::Snapshot;

use crate::schema::{COUNTERS, EVENTS, FACTS, RUNS, SAMPLES, TABLES, Table, Value};
use crate::{ExportError, Exported, csv, facts, jsonl, parquet};

/// A format of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a header.
    Csv,
    /// A JSON object on each line.
    Jsonl,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// Ending of the files.
    #[must_use]
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
            Self::Parquet => "parquet",
        }
    }
}

/// A taker of rows.
pub trait Rows {
    /// Adds a row: a value for each column.
    ///
    /// # Errors
    /// A place that cannot be written to.
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), ExportError>;
}

/// A file of rows in the making.
pub(crate) trait RowFile: Rows {
    /// Writes what is left.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// Events of a cell, wherever they are kept.
pub type EventsOf<'a> = &'a dyn Fn(&Cell, &Run) -> Result<Vec<Event>, ExportError>;

/// The tables that have something to say.
#[must_use]
pub fn tables(exported: &Exported<'_>) -> Vec<Table> {
    let has = |table: &Table| if *table == FACTS { !exported.snapshots.is_empty() } else { exported.run.is_some() };
    TABLES.into_iter().filter(has).collect()
}

/// Writes `table` in this format.
///
/// # Errors
/// A damaged run directory, or a place that cannot be written to.
pub fn write(
    exported: &Exported<'_>,
    table: Table,
    format: Format,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    let mut rows: Box<dyn RowFile + '_> = match format {
        Format::Csv => Box::new(csv::Csv::new(out, table)?),
        Format::Jsonl => Box::new(jsonl::Jsonl::new(out, table)),
        Format::Parquet => Box::new(parquet::Parquet::new(out, table)?),
    };
    if table == FACTS {
        exported.snapshots.iter().try_for_each(|(name, snapshot)| fact_rows(name, snapshot, &mut *rows))?;
    } else if let Some((directory, loaded)) = exported.run {
        let events = |cell: &Cell, _: &Run| Ok(read_events(directory, &loaded.manifest, cell)?);
        run_rows(table, loaded, &events, &mut *rows)?;
    }
    rows.finish()
}

/// Adds the facts of `snapshot`, which is called `name`, to `rows` of the table [`FACTS`].
///
/// # Errors
/// Errors of the taker.
pub fn fact_rows(name: &str, snapshot: &Snapshot, rows: &mut dyn Rows) -> Result<(), ExportError> {
    facts::rows(name, snapshot, rows)
}

/// Adds what all cells of a run have for `table` to `rows`.
///
/// # Errors
/// Errors of the taker, and events that cannot be read.
pub fn run_rows(table: Table, loaded: &Loaded, events: EventsOf<'_>, rows: &mut dyn Rows) -> Result<(), ExportError> {
    let mut cells = loaded.manifest.cells.iter().zip(&loaded.runs);
    cells.try_for_each(|(cell, run)| of_cell(table, loaded, cell, run, events, rows))
}

fn of_cell(
    table: Table,
    loaded: &Loaded,
    cell: &Cell,
    run: &Run,
    events: EventsOf<'_>,
    rows: &mut dyn Rows,
) -> Result<(), ExportError> {
    if table == RUNS {
        run_row(loaded, cell, rows)
    } else if table == SAMPLES {
        samples(run, rows)
    } else if table == COUNTERS {
        counters(run, rows)
    } else if table == EVENTS {
        event_rows(run, &events(cell, run)?, rows)
    } else {
        Ok(())
    }
}

fn run_row(loaded: &Loaded, cell: &Cell, rows: &mut dyn Rows) -> Result<(), ExportError> {
    let inputs = &loaded.manifest.inputs;
    let digest = cell.digest.to_string();
    rows.row(&[
        Value::Text(&inputs.workload.name),
        Value::Text(&inputs.machine.name),
        Value::Text(&cell.policy),
        Value::Number(cell.seed),
        Value::Text(&digest),
        Value::Text(outcome(&cell.outcome)),
        Value::Text(cell.outcome.message().unwrap_or_default()),
        Value::Number(cell.durations.user.get()),
        Value::Number(cell.durations.system.get()),
        Value::Number(cell.durations.elapsed.get()),
    ])
}

/// Word of an outcome, as in the manifest.
const fn outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "completed",
        Outcome::OutOfMemory { .. } => "out-of-memory",
        Outcome::Stalled { .. } => "stalled",
        Outcome::Failed { .. } => "failed",
    }
}

fn samples(run: &Run, rows: &mut dyn Rows) -> Result<(), ExportError> {
    run.samples.iter().try_for_each(|sample| {
        let operation = &run.operations[sample.operation.index()];
        rows.row(&[
            Value::Text(&run.policy),
            Value::Number(run.seed),
            Value::Text(&operation.name),
            Value::Number(sample.at.get()),
            Value::Real(sample.value),
            Value::Text(operation.unit.name()),
        ])
    })
}

fn counters(run: &Run, rows: &mut dyn Rows) -> Result<(), ExportError> {
    let ends = run.phases.iter().flat_map(|phase| {
        let name = phase.name.as_str();
        [(phase.begin, name, "begin", &phase.at_begin), (phase.end, name, "end", &phase.at_end)]
    });
    let meanings: Vec<String> = run.counters.columns.iter().map(|column| meaning(column.meaning)).collect();
    for (at, phase, edge, values) in ends {
        for ((column, value), meaning) in run.counters.columns.iter().zip(values).zip(&meanings) {
            rows.row(&counter_row(run, at.get(), [phase, edge, &column.name, meaning], *value))?;
        }
    }
    for (index, at) in run.counters.times.iter().enumerate() {
        for (column, meaning) in run.counters.columns.iter().zip(&meanings) {
            rows.row(&counter_row(run, at.get(), ["", "", &column.name, meaning], column.values[index]))?;
        }
    }
    Ok(())
}

/// `level of pages`; empty where a run does not say.
fn meaning(meaning: Option<order9_units::CounterMeaning>) -> String {
    meaning.map(|meaning| meaning.to_string()).unwrap_or_default()
}

fn counter_row<'a>(run: &'a Run, at: u64, [phase, edge, name, meaning]: [&'a str; 4], value: u64) -> [Value<'a>; 8] {
    [
        Value::Text(&run.policy),
        Value::Number(run.seed),
        Value::Number(at),
        Value::Text(phase),
        Value::Text(edge),
        Value::Text(name),
        Value::Number(value),
        Value::Text(meaning),
    ]
}

fn event_rows(run: &Run, events: &[Event], rows: &mut dyn Rows) -> Result<(), ExportError> {
    events.iter().try_for_each(|event| {
        rows.row(&[
            Value::Text(&run.policy),
            Value::Number(run.seed),
            Value::Number(event.at.get()),
            Value::Number(event.cpu.into()),
            Value::Text(&event.comm),
            Value::Number(event.pid.into()),
            Value::Text(&event.name),
            Value::Text(&event.fields),
        ])
    })
}
