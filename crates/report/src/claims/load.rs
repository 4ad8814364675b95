//! Reads the files of `claims/` and checks that what they say fits together.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml::Spanned;

use super::raw::{RawClaim, RawCounter, RawKind, RawRow, RawStatement};
use super::resolve::statement;
use super::{Claim, Counter, Kind, PercentOnly, RatioRow, RowKey, Side, Table, TableRow};
use crate::stats::{Direction, Generation, UnknownGeneration};

/// Why a claim cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ClaimError {
    /// A file or the folder cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Why it cannot be.
        source: io::Error,
    },
    /// A file is no valid claim.
    #[error("{file}:{line}: {problem}")]
    Invalid {
        /// Name of the file.
        file: String,
        /// Line, counted from 1.
        line: usize,
        /// The error, with the expected text.
        problem: String,
    },
}

/// A problem and where in the text it begins.
struct Problem {
    offset: usize,
    text: String,
}

impl Problem {
    fn at<T>(place: &Spanned<T>, text: impl Into<String>) -> Self {
        Self { offset: place.span().start, text: text.into() }
    }
}

/// Reads every `*.toml` of a folder, in the order of their names.
///
/// # Errors
/// At the first file that cannot be read or is no valid claim.
pub fn load_all(folder: &Path) -> Result<Vec<Claim>, ClaimError> {
    let read_error = |path: &Path| {
        let path = path.to_owned();
        move |source| ClaimError::Read { path, source }
    };
    let entries = fs::read_dir(folder).map_err(read_error(folder))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let mut paths = paths.map_err(read_error(folder))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let load = |path: &PathBuf| {
        let text = fs::read_to_string(path).map_err(read_error(path))?;
        parse(&path.file_name().unwrap_or_default().to_string_lossy(), &text)
    };
    paths.iter().map(load).collect()
}

/// Reads one claim from the text of the file of this name.
///
/// # Errors
/// If the text is no valid claim, with the first line that is wrong.
pub fn parse(file: &str, text: &str) -> Result<Claim, ClaimError> {
    let invalid = |offset: usize, problem: String| {
        let line = 1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count();
        ClaimError::Invalid { file: file.to_owned(), line, problem: printable(&problem) }
    };
    let raw: RawClaim = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        invalid(offset, error.message().to_owned())
    })?;
    claim(file, raw).map_err(|problem| invalid(problem.offset, problem.text))
}

/// The text with control characters spelt out: a message is one line, and what a file holds steers no terminal.
fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match char.is_control() {
            true => shown.extend(char.escape_default()),
            false => shown.push(char),
        }
    }
    shown
}

fn claim(file: &str, raw: RawClaim) -> Result<Claim, Problem> {
    if file.strip_suffix(".toml") != Some(raw.id.get_ref()) {
        return Err(Problem::at(
            &raw.id,
            format!("expected the id to be the name of the file without .toml, {file:?}"),
        ));
    }
    let kind = match raw.kind.get_ref() {
        RawKind::Table => Kind::Table(table(&raw)?),
        RawKind::PercentOnly => Kind::PercentOnly(percent_only(&raw)?),
        RawKind::Facts => match raw.rows.first() {
            Some(row) => return Err(Problem::at(row, "a claim of kind \"facts\" has no rows")),
            None => Kind::Facts,
        },
    };
    named_once(&raw)?;
    let generation = generation(&raw)?;
    let mut claim = Claim {
        id: raw.id.into_inner(),
        title: raw.title,
        headline: raw.headline,
        source: raw.seed,
        workload: Some(raw.workload).filter(|name| !name.is_empty()),
        spec: raw.spec,
        variant: raw.variant,
        machine: raw.machine,
        generation,
        kind,
        counters: raw.counters.into_iter().map(|raw| counter(raw.into_inner())).collect(),
        counters_in: raw.counters_in,
        facts: raw.facts.into_iter().map(Spanned::into_inner).collect(),
        source_note: raw.source_note,
        shape: Vec::new(),
    };
    let printed = claim.printed();
    let resolve = |raw: Spanned<RawStatement>| {
        let offset = raw.span().start;
        statement(raw.into_inner(), &printed).map_err(|text| Problem { offset, text })
    };
    claim.shape = raw.shape.into_iter().map(resolve).collect::<Result<_, _>>()?;
    Ok(claim)
}

/// Statistics are those of our reports where the file names none.
fn generation(raw: &RawClaim) -> Result<Generation, Problem> {
    let Some(name) = &raw.statistics else { return Ok(Generation::default()) };
    name.get_ref().parse().map_err(|error: UnknownGeneration| Problem::at(name, error.to_string()))
}

/// A row, counter or fact that is there twice could mean either number.
fn named_once(raw: &RawClaim) -> Result<(), Problem> {
    let rows = raw.rows.iter().map(|row| (key(row.get_ref()), row.span()));
    let counters = raw.counters.iter().map(|counter| (RowKey::counter(&counter.get_ref().name), counter.span()));
    let facts = raw.facts.iter().map(|fact| (RowKey::fact(&fact.get_ref().name), fact.span()));
    let mut seen = BTreeSet::new();
    for (key, span) in rows.chain(counters).chain(facts) {
        if let Some(key) = seen.replace(key) {
            return Err(Problem { offset: span.start, text: format!("{key} is there twice") });
        }
    }
    Ok(())
}

fn key(row: &RawRow) -> RowKey {
    RowKey::new(&row.metric, &row.stat, &row.param)
}

fn counter(raw: RawCounter) -> Counter {
    Counter { name: raw.name, vmstat: raw.vmstat, unit: raw.unit, baseline: raw.baseline, patched: raw.patched }
}

/// Kind of claim that the file describes.
fn kind_name(raw: &RawClaim) -> &'static str {
    match raw.kind.get_ref() {
        RawKind::Table => "table",
        RawKind::PercentOnly => "percent-only",
        RawKind::Facts => "facts",
    }
}

/// A key that this kind of claim must have.
fn required<T: Clone>(raw: &RawClaim, value: &Option<T>, name: &str) -> Result<T, Problem> {
    let missing = || Problem::at(&raw.kind, format!("a claim of kind {:?} needs the key `{name}`", kind_name(raw)));
    value.clone().ok_or_else(missing)
}

fn direction(raw: &RawClaim) -> Result<Direction, Problem> {
    let lower = required(raw, &raw.lower_is_better, "lower_is_better")?;
    let higher = required(raw, &raw.higher_is_better, "higher_is_better")?;
    match (lower, higher) {
        (true, false) => Ok(Direction::LowerIsBetter),
        (false, true) => Ok(Direction::HigherIsBetter),
        _ => Err(Problem::at(&raw.kind, "expected one of `lower_is_better`, `higher_is_better` to be true")),
    }
}

fn side(raw: &RawClaim, column: &Option<String>, behaviour: &Option<String>, which: &str) -> Result<Side, Problem> {
    Ok(Side {
        column: required(raw, column, &format!("{which}_column"))?,
        behaviour: required(raw, behaviour, &format!("{which}_behaviour"))?,
    })
}

fn sides(raw: &RawClaim) -> Result<[Side; 2], Problem> {
    Ok([
        side(raw, &raw.baseline_column, &raw.baseline_behaviour, "baseline")?,
        side(raw, &raw.patched_column, &raw.patched_behaviour, "patched")?,
    ])
}

fn table(raw: &RawClaim) -> Result<Table, Problem> {
    let [baseline, patched] = sides(raw)?;
    let mut table = Table {
        baseline,
        patched,
        decimals: required(raw, &raw.decimals, "decimals")?,
        change_printed: required(raw, &raw.change_printed, "change_printed")?,
        significance_marked: required(raw, &raw.significance_marked, "significance_marked")?,
        rows: Vec::new(),
    };
    let (unit, direction) = (required(raw, &raw.unit, "unit")?, direction(raw)?);
    for row in &raw.rows {
        let row = table_row(&table, &unit, direction, row.get_ref()).map_err(|text| Problem::at(row, text))?;
        table.rows.push(row);
    }
    Ok(table)
}

fn table_row(table: &Table, unit: &str, direction: Direction, raw: &RawRow) -> Result<TableRow, String> {
    let (Some(baseline), Some(patched)) = (raw.baseline, raw.patched) else {
        return Err("a row of a table needs the keys `baseline` and `patched`".to_owned());
    };
    if raw.change_percent.is_some() && !table.change_printed {
        return Err("the row has `change_percent`, but the source prints no changes".to_owned());
    }
    if raw.significant.is_some() && !table.significance_marked {
        return Err("the row has `significant`, but the source marks no rows".to_owned());
    }
    Ok(TableRow {
        key: key(raw),
        unit: raw.unit.clone().unwrap_or_else(|| unit.to_owned()),
        direction: match raw.lower_is_better {
            None => direction,
            Some(true) => Direction::LowerIsBetter,
            Some(false) => Direction::HigherIsBetter,
        },
        baseline,
        patched,
        baseline_text: raw.baseline_text.clone(),
        patched_text: raw.patched_text.clone(),
        change_percent: raw.change_percent,
        significant: raw.significant,
    })
}

fn percent_only(raw: &RawClaim) -> Result<PercentOnly, Problem> {
    let compares_kernels = raw.baseline_column.is_some() || raw.patched_column.is_some();
    let row = |row: &Spanned<RawRow>| ratio_row(row.get_ref()).map_err(|text| Problem::at(row, text));
    Ok(PercentOnly {
        sides: if compares_kernels { Some(sides(raw)?) } else { None },
        unit: required(raw, &raw.unit, "unit")?,
        direction: direction(raw)?,
        rows: raw.rows.iter().map(row).collect::<Result<_, _>>()?,
    })
}

fn ratio_row(raw: &RawRow) -> Result<RatioRow, String> {
    let missing = |name: &str| format!("a row of a claim of kind \"percent-only\" needs the key `{name}`");
    Ok(RatioRow {
        key: key(raw),
        platform: raw.platform.clone(),
        subject: raw.subject.clone().ok_or_else(|| missing("subject"))?,
        reference: raw.reference.clone().ok_or_else(|| missing("reference"))?,
        percent: raw.percent.ok_or_else(|| missing("percent"))?,
        sense: raw.sense.ok_or_else(|| missing("sense"))?,
        ratio: raw.ratio,
        note: raw.note.clone().unwrap_or_default(),
    })
}
