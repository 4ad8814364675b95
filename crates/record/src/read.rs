//! Loads a run directory. Checksums are verified before anything is parsed: damage is named, never interpreted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use order9_units::{CounterMeaning, Nanos};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result as TableResult};

use crate::counters::RESERVED;
use crate::ftrace;
use crate::manifest::{Cell, Manifest};
use crate::table::{Group, TableReader};
use crate::tables::{COUNTERS, EDGES, LATENCIES, MEANINGS};
use crate::{Counter, Counters, Digest, Event, OperationId, Phase, ReadError, Run, Sample, Traces};

/// Name of the manifest.
pub(crate) const MANIFEST: &str = "manifest.toml";
/// A manifest of more bytes is not one: that would be a hundred thousand cells.
const LONGEST_MANIFEST: u64 = 256 << 20;

/// A table of more bytes is not read: no run of a day comes near, and all of it is taken into memory.
const LONGEST_TABLE: u64 = 8 << 30;

/// A run directory in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// Inputs, digests and files.
    pub manifest: Manifest,
    /// One run per cell of the manifest, in its order. `traces` are empty, and a run without phases and readings has no
    /// counters either; so do not take their digests: those of the whole runs stand in the manifest.
    pub runs: Vec<Run>,
}

/// Reads only `manifest.toml` of a run directory: what a repetition needs.
///
/// # Errors
///
/// No run there, or no manifest that this version reads.
pub fn read_manifest(directory: &Path) -> Result<Manifest, ReadError> {
    let file = directory.join(MANIFEST);
    let bytes = match load(&file, LONGEST_MANIFEST) {
        Err(ReadError::Io { cause, .. })
            if matches!(cause.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory) =>
        {
            return Err(ReadError::NoRun { directory: directory.to_owned() });
        }
        other => other?,
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        ReadError::Manifest { file: file.clone(), line, problem: "not UTF-8".to_owned() }
    })?;
    Manifest::parse(text, &file)
}

/// Reads a run directory: manifest, samples and counters, well enough to compare runs.
///
/// # Errors
///
/// No run there, a manifest that this version cannot read, files that are missing, damaged or contradict it.
pub fn read(directory: &Path) -> Result<Loaded, ReadError> {
    let manifest = read_manifest(directory)?;
    let mut runs: Vec<Run> = manifest.cells.iter().map(run_of).collect();
    for (name, take) in [(LATENCIES, take_samples as Take), (COUNTERS, take_counters)] {
        let file = directory.join(name);
        let table = |error: ParquetError| ReadError::Table { file: file.clone(), problem: error.to_string() };
        let bytes = verified(&manifest, directory, name)?;
        fenced(|| {
            let reader = TableReader::new(bytes)?;
            reader.groups().try_for_each(|group| take(&reader, &group?, &mut runs))
        })
        .map_err(table)?;
    }
    check(&runs).map_err(|problem| ReadError::Table { file: directory.to_owned(), problem })?;
    Ok(Loaded { manifest, runs })
}

/// Reads the file `name` of the run directory that `manifest` describes.
///
/// # Errors
///
/// A file that is not in the manifest, is missing, or is not the one that was written.
pub fn read_file(directory: &Path, manifest: &Manifest, name: &str) -> Result<Vec<u8>, ReadError> {
    verified(manifest, directory, name)
}

/// Reads the events of a cell of `manifest`, which is that of `directory`; none where none were kept. Times are whole microseconds.
///
/// # Errors
///
/// A trace file that is missing, damaged or no trace.
pub fn read_events(directory: &Path, manifest: &Manifest, cell: &Cell) -> Result<Vec<Event>, ReadError> {
    let name = ftrace::path(&cell.policy, cell.seed);
    if !manifest.files.iter().any(|file| file.path == name) {
        return Ok(Vec::new());
    }
    let bytes = verified(manifest, directory, &name)?;
    ftrace::read(&bytes).map_err(|problem| ReadError::Table { file: directory.join(name), problem })
}

/// Moves the rows of one row group into their run.
type Take = fn(&TableReader, &Group<'_>, &mut [Run]) -> TableResult<()>;

/// The result of `parse`, or an error where it panics. Damage is found before, but on some files that somebody forged,
/// checksum and all, the Parquet library panics. The caller throws away everything that `parse` has changed until then.
fn fenced(parse: impl FnOnce() -> TableResult<()>) -> TableResult<()> {
    catch_unwind(AssertUnwindSafe(parse))
        .unwrap_or_else(|_| Err(wrong("lengths or encodings that cannot be".to_owned())))
}

/// Reads at most `longest` bytes of `file`.
fn load(file: &Path, longest: u64) -> Result<Vec<u8>, ReadError> {
    let failed = || ReadError::io(file);
    // To open a pipe is to wait for a writer.
    if !std::fs::metadata(file).map_err(failed())?.is_file() {
        return Err(damaged(file.to_owned(), "no regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    let opened = File::open(file).map_err(failed())?;
    let length = opened.metadata().map_err(failed())?.len();
    if length > longest {
        return Err(damaged(file.to_owned(), format!("{length} bytes, at most {longest} expected")));
    }
    opened.take(longest + 1).read_to_end(&mut bytes).map_err(failed())?;
    if bytes.len() as u64 > longest {
        return Err(damaged(file.to_owned(), format!("longer than the {longest} bytes expected")));
    }
    Ok(bytes)
}

/// The bytes of the file `name`, which are those that were written.
fn verified(manifest: &Manifest, directory: &Path, name: &str) -> Result<Vec<u8>, ReadError> {
    let file = directory.join(name);
    let Some(entry) = manifest.files.iter().find(|entry| entry.path == name) else {
        return Err(damaged(file, "not in the manifest".to_owned()));
    };
    if entry.bytes > LONGEST_TABLE {
        return Err(damaged(file, format!("{} bytes by the manifest, at most {LONGEST_TABLE} are read", entry.bytes)));
    }
    let bytes = load(&file, entry.bytes)?;
    if (bytes.len() as u64) < entry.bytes {
        return Err(damaged(file, format!("{} bytes, expected {}", bytes.len(), entry.bytes)));
    }
    let found = Digest::of_bytes(&bytes);
    if found != entry.digest {
        return Err(damaged(file, format!("checksum {found}, expected {}", entry.digest)));
    }
    Ok(bytes)
}

fn damaged(file: PathBuf, problem: String) -> ReadError {
    ReadError::Damaged { file, problem }
}

/// The run as far as the manifest alone tells it.
fn run_of(cell: &Cell) -> Run {
    let phases = cell.phases.iter().map(|phase| Phase {
        name: phase.name.clone(),
        begin: phase.begin,
        end: phase.end,
        at_begin: Vec::new(),
        at_end: Vec::new(),
    });
    Run {
        operations: cell.operations.clone(),
        phases: phases.collect(),
        durations: cell.durations,
        outcome: cell.outcome.clone(),
        notes: cell.notes.clone(),
        traces: Traces::default(),
        ..Run::new(&cell.policy, cell.seed)
    }
}

/// The run that all rows of `group` belong to.
fn owner<'a>(group: &Group<'_>, runs: &'a mut [Run]) -> TableResult<&'a mut Run> {
    let (policies, seeds) = (group.text("policy")?, group.numbers("seed")?);
    let key = |row: usize| (policies[row].data(), seeds[row]);
    if policies.is_empty() || (1..policies.len()).any(|row| key(row) != key(0)) {
        return Err(wrong("a row group is not of one cell".to_owned()));
    }
    let (policy, seed) = key(0);
    let found = runs.iter_mut().find(|run| run.policy.as_bytes() == policy && run.seed == seed);
    found.ok_or_else(|| {
        wrong(format!("policy {}, seed {seed}: no cell of the manifest", String::from_utf8_lossy(policy)))
    })
}

fn take_samples(_: &TableReader, group: &Group<'_>, runs: &mut [Run]) -> TableResult<()> {
    let run = owner(group, runs)?;
    let (names, times, values) = (group.text("operation")?, group.numbers("at_ns")?, group.reals("value")?);
    for ((name, at), value) in names.iter().zip(times).zip(values) {
        let position = run.operations.iter().position(|operation| operation.name.as_bytes() == name.data());
        let position = position.ok_or_else(|| wrong("an operation that is not in the manifest".to_owned()))?;
        let operation = OperationId(u32::try_from(position).map_err(|_| wrong("too many operations".to_owned()))?);
        run.samples.push(Sample { operation, at: Nanos::new(at), value });
    }
    Ok(())
}

fn take_counters(table: &TableReader, group: &Group<'_>, runs: &mut [Run]) -> TableResult<()> {
    let run = owner(group, runs)?;
    let edges = group.text("edge")?;
    let ends = 2 * run.phases.len();
    let [begin, end, between] = EDGES.map(ByteArray::from);
    let expected = |row: usize| if row >= ends { &between } else { [&begin, &end][row % 2] };
    if edges.len() < ends || edges.iter().enumerate().any(|(row, edge)| edge != expected(row)) {
        return Err(wrong("both ends of each phase and then the readings were expected".to_owned()));
    }
    let times = group.numbers("at_ns")?.into_iter().skip(ends).map(Nanos::new).collect();
    run.counters = Counters { times, columns: Vec::new() };
    let meanings = meanings(table)?;
    for name in table.names().into_iter().filter(|name| !RESERVED.contains(&name.as_str())) {
        let values = group.maybe_numbers(&name)?;
        if values.iter().all(Option::is_none) {
            continue; // A counter of other cells.
        }
        let missing = || wrong(format!("column {name}: expected a value in each row of a cell, or none"));
        let mut values = values.into_iter().collect::<Option<Vec<u64>>>().ok_or_else(missing)?;
        let readings = values.split_off(ends);
        for (phase, pair) in run.phases.iter_mut().zip(values.chunks_exact(2)) {
            phase.at_begin.push(pair[0]);
            phase.at_end.push(pair[1]);
        }
        run.counters.columns.push(Counter { meaning: meanings.get(name.as_str()).copied(), name, values: readings });
    }
    Ok(())
}

/// Meanings of counters by name. A run that was stored before runs kept them has none.
fn meanings(table: &TableReader) -> TableResult<BTreeMap<&str, CounterMeaning>> {
    let lines = table.note(MEANINGS).into_iter().flat_map(str::lines);
    let meaning = |line| {
        let (name, meaning) = str::split_once(line, '\t')?;
        Some((name, meaning.parse().ok()?))
    };
    let problem =
        |line: &str| wrong(format!("{MEANINGS}: expected `name, tab, event of UNIT or level of UNIT`, found {line:?}"));
    lines.map(|line| meaning(line).ok_or_else(|| problem(line))).collect()
}

/// Checks that stored runs satisfy the rules of a writer.
fn check(runs: &[Run]) -> Result<(), String> {
    let first = runs.iter().find_map(|run| run.check().err().map(|problem| (run, problem)));
    first.map_or(Ok(()), |(run, problem)| Err(format!("policy {}, seed {}: {problem}", run.policy, run.seed)))
}

fn wrong(problem: String) -> ParquetError {
    ParquetError::General(problem)
}
