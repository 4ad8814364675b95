//! The two tables of a run directory: `latencies.parquet` and `counters.parquet`. A row group is of one cell.

use order9_units::CounterMeaning;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;

use crate::files::{Files, Sink};
use crate::table::{Kind, TableWriter, Values};
use crate::{Counter, Phase, Run, Sample, WriteError};

/// One row per sample.
pub(crate) const LATENCIES: &str = "latencies.parquet";
/// One row per end of a phase and per reading of the counters.
pub(crate) const COUNTERS: &str = "counters.parquet";
/// Most samples in a row group, so that a cell of many millions needs no memory for all its texts at once.
const GROUP: usize = 1 << 20;
/// Values of the column `edge`: a row that opens a phase, closes one, or stands between.
pub(crate) const EDGES: [&str; 3] = ["begin", "end", ""];

pub(crate) fn write(files: &mut Files, runs: &[Run]) -> std::result::Result<(), WriteError> {
    let failed = |file| move |cause| WriteError::Parquet { file, cause };
    files.add(LATENCIES.to_owned(), |sink| latencies(sink, runs), failed(LATENCIES))?;
    files.add(COUNTERS.to_owned(), |sink| counters(sink, runs), failed(COUNTERS))
}

fn latencies(sink: &mut Sink, runs: &[Run]) -> Result<()> {
    let columns = [
        ("policy", Kind::Text),
        ("seed", Kind::Number),
        ("operation", Kind::Text),
        ("at_ns", Kind::Number),
        ("value", Kind::Real),
        ("unit", Kind::Text),
    ];
    let mut table = TableWriter::new(sink, &columns, Vec::new())?;
    for run in runs {
        // The bytes of a text are shared by all its rows.
        let names: Vec<ByteArray> = run.operations.iter().map(|each| each.name.as_str().into()).collect();
        let units: Vec<ByteArray> = run.operations.iter().map(|each| each.unit.name().into()).collect();
        for samples in run.samples.chunks(GROUP) {
            let text = |of: &[ByteArray], sample: &Sample| of[sample.operation.index()].clone();
            let [policy, seed] = key(run, samples.len());
            table.rows([
                policy,
                seed,
                Values::Text(samples.iter().map(|sample| text(&names, sample)).collect()),
                Values::Number(samples.iter().map(|sample| sample.at.get()).collect()),
                Values::Real(samples.iter().map(|sample| sample.value).collect()),
                Values::Text(samples.iter().map(|sample| text(&units, sample)).collect()),
            ])?;
        }
    }
    table.finish()
}

/// The columns that say which cell a row is of.
fn key(run: &Run, rows: usize) -> [Values; 2] {
    [Values::Text(vec![run.policy.as_str().into(); rows]), Values::Number(vec![run.seed; rows])]
}

fn counters(sink: &mut Sink, runs: &[Run]) -> Result<()> {
    let names = all_counters(runs);
    let fixed = [
        ("policy", Kind::Text),
        ("seed", Kind::Number),
        ("at_ns", Kind::Number),
        ("phase", Kind::Text),
        ("edge", Kind::Text),
    ];
    let columns: Vec<_> = fixed.into_iter().chain(names.iter().map(|(name, _)| (*name, Kind::MaybeNumber))).collect();
    let mut table = TableWriter::new(sink, &columns, vec![meanings(&names)])?;
    for run in runs {
        let rows = 2 * run.phases.len() + run.counters.times.len();
        if rows > 0 {
            let counters = names.iter().map(|(name, _)| match run.counters.position(name) {
                Some(index) => Values::Number(values(run, index, &run.counters.columns[index])),
                None => Values::Nothing(rows),
            });
            table.rows(place(run, rows).into_iter().chain(counters))?;
        }
    }
    table.finish()
}

/// Counters of all runs by name and meaning, each once, in the order in which they are first met.
fn all_counters(runs: &[Run]) -> Vec<(&str, Option<CounterMeaning>)> {
    let mut seen = std::collections::BTreeSet::new();
    let columns = runs.iter().flat_map(|run| &run.counters.columns);
    columns.map(|column| (column.name.as_str(), column.meaning)).filter(|(name, _)| seen.insert(*name)).collect()
}

/// Key of the meanings of counters among the notes of `counters.parquet`: a line for each, its name and its meaning.
pub(crate) const MEANINGS: &str = "order9.counters";

fn meanings(counters: &[(&str, Option<CounterMeaning>)]) -> KeyValue {
    let known = counters.iter().filter_map(|(name, meaning)| Some(format!("{name}\t{}\n", (*meaning)?)));
    KeyValue::new(MEANINGS.to_owned(), known.collect::<String>())
}

/// The columns that say where in a run each row is: both ends of all phases, then the readings.
fn place(run: &Run, rows: usize) -> [Values; 5] {
    let [policy, seed] = key(run, rows);
    let mut at: Vec<u64> = run.phases.iter().flat_map(|phase| [phase.begin.get(), phase.end.get()]).collect();
    at.extend(run.counters.times.iter().map(|time| time.get()));
    let [begin, end, between] = EDGES.map(ByteArray::from);
    let names = run.phases.iter().map(|phase| ByteArray::from(phase.name.as_str()));
    let mut phase: Vec<ByteArray> = names.flat_map(|name| [name.clone(), name]).collect();
    phase.resize(rows, between.clone());
    let mut edge: Vec<ByteArray> = run.phases.iter().flat_map(|_| [begin.clone(), end.clone()]).collect();
    edge.resize(rows, between);
    [policy, seed, Values::Number(at), Values::Text(phase), Values::Text(edge)]
}

fn values(run: &Run, index: usize, column: &Counter) -> Vec<u64> {
    let ends = |phase: &Phase| [phase.at_begin[index], phase.at_end[index]];
    run.phases.iter().flat_map(ends).chain(column.values.iter().copied()).collect()
}
