//! Cells as Parquet: `results/policy=…/machine=…/cells.parquet`, as engines of queries know partitions, and the times of hosts apart.
//!
//! A row is a figure of a cell, a row group is a cell. Cells stand in the order of the space, so that the same cells give the same bytes
//! whoever ran them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use order9_record::table::{ByteArray, KeyValue, Kind, TableWriter, Values};

use crate::SweepError;
use crate::folder::Folder;
use crate::measures::Measure;
use crate::run::Done;

/// Folder of the results below that of the sweep.
const RESULTS: &str = "results";
/// File of the times of hosts.
const TIMES: &str = "times.parquet";
/// Version of the columns, in the metadata of every file as `order9.sweep`.
const VERSION: &str = "1";
/// Columns of every sweep. Between `memory` and `seed` stand parameters and settings; `policy` and `machine` are those of the folders.
pub(crate) const COLUMNS: [&str; 12] = [
    "cell",
    "workload",
    "memory",
    "seed",
    "engine",
    "digest",
    "outcome",
    "message",
    "operation",
    "statistic",
    "value",
    "unit",
];

/// Writes all results of `cells` into the folder, in place of those that were there. `names` are the parameters and settings that have a
/// column.
///
/// # Errors
/// A file system that refuses; what stood there before may be gone then, and is made again by the next call.
pub fn write_results(folder: &Folder, mut cells: Vec<Done>) -> Result<(), SweepError> {
    cells.sort_by(|one, other| one.axes.order(&other.axes).then(one.seed.cmp(&other.seed)));
    let chosen = Chosen::of(&cells);
    let root = folder.root();
    let made = tempfile::Builder::new()
        .prefix(".order9-")
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777))
        .tempdir_in(root)
        .map_err(SweepError::io(root))?;
    let new = made.path().join(RESULTS);
    fs::create_dir(&new).map_err(SweepError::io(&new))?;
    let mut parts: BTreeMap<(&str, &str), Vec<&Done>> = BTreeMap::new();
    for done in &cells {
        parts.entry((&done.axes.policy, &done.axes.machine)).or_default().push(done);
    }
    for ((policy, machine), cells) in parts {
        let part = new.join(format!("policy={}", encoded(policy))).join(format!("machine={}", encoded(machine)));
        fs::create_dir_all(&part).map_err(SweepError::io(&part))?;
        write_part(&part.join("cells.parquet"), &chosen, &cells)?;
    }
    let times = made.path().join(TIMES);
    write_times(&times, &cells)?;
    let place = root.join(RESULTS);
    if place.exists() {
        fs::rename(&place, made.path().join("before")).map_err(SweepError::io(&place))?;
    }
    fs::rename(&new, &place).map_err(SweepError::io(&place))?;
    fs::rename(&times, root.join(TIMES)).map_err(SweepError::io(root))?;
    Ok(())
}

/// Parameters and settings that have a column, each with the type of its values.
struct Chosen<'a>(Vec<(&'a str, Kind)>);

impl<'a> Chosen<'a> {
    /// A column for each that any cell names, in the order of the first cell that does. Numbers where all values are.
    fn of(cells: &'a [Done]) -> Self {
        let mut columns: Vec<(&str, Kind)> = Vec::new();
        let mut seen = BTreeSet::new();
        for done in cells {
            for (name, value) in done.axes.parameters.iter().chain(&done.axes.settings) {
                if seen.insert(name.as_str()) {
                    columns.push((name, Kind::MaybeNumber));
                }
                if !is_number(value) {
                    let column = columns.iter_mut().find(|(of, _)| of == name).expect("it was seen");
                    column.1 = Kind::Text;
                }
            }
        }
        Self(columns)
    }

    fn columns(&self) -> Vec<(&'a str, Kind)> {
        let kind = |name| match name {
            "seed" => Kind::Number,
            "value" => Kind::MaybeReal,
            _ => Kind::Text,
        };
        let (before, behind) = COLUMNS.split_at(3);
        let fixed = |names: &'static [&'static str]| names.iter().map(move |&name| (name, kind(name)));
        fixed(before).chain(self.0.iter().copied()).chain(fixed(behind)).collect()
    }
}

/// A number as a column holds it: written back as it was read.
fn is_number(value: &str) -> bool {
    value.parse::<u64>().is_ok_and(|number| number.to_string() == value)
}

fn write_part(path: &Path, chosen: &Chosen<'_>, cells: &[&Done]) -> Result<(), SweepError> {
    let mut table = Table::create(path, &chosen.columns())?;
    for done in cells {
        table.rows(rows(chosen, done))?;
    }
    table.finish()
}

/// The rows of a cell; one without figures where it did not start.
fn rows(chosen: &Chosen<'_>, done: &Done) -> Vec<Values> {
    let count = done.measures.len().max(1);
    let text = |text: &str| Values::Text(vec![ByteArray::from(text); count]);
    let mut columns = vec![text(&done.cell.to_string()), text(&done.axes.workload), text(&done.axes.memory)];
    for (name, kind) in &chosen.0 {
        let label = done.axes.label(name);
        columns.push(match kind {
            Kind::MaybeNumber => Values::Maybe(vec![label.and_then(|label| label.parse().ok()); count]),
            _ => text(label.unwrap_or_default()),
        });
    }
    let digest = done.digest.map(|digest| digest.to_string()).unwrap_or_default();
    columns.push(Values::Number(vec![done.seed; count]));
    columns.extend([text(&done.engine), text(&digest), text(done.end.word()), text(&done.message)]);
    let of_measures = |text: fn(&Measure) -> &str| {
        let texts = done.measures.iter().map(|measure| ByteArray::from(text(measure)));
        Values::Text(if done.measures.is_empty() { vec![ByteArray::from("")] } else { texts.collect() })
    };
    columns.push(of_measures(|measure| &measure.operation));
    columns.push(of_measures(|measure| measure.statistic.word()));
    let values = done.measures.iter().map(|measure| Some(measure.value));
    columns.push(Values::MaybeReal(if done.measures.is_empty() { vec![None] } else { values.collect() }));
    columns.push(of_measures(|measure| &measure.unit));
    columns
}

/// Times of hosts, a row for each cell: the same cells have other times elsewhere.
fn write_times(path: &Path, cells: &[Done]) -> Result<(), SweepError> {
    let columns = [("cell", Kind::Text), ("cpu_ns", Kind::Number), ("elapsed_ns", Kind::Number)];
    let mut table = Table::create(path, &columns)?;
    let name = |done: &Done| ByteArray::from(done.cell.to_string().as_str());
    table.rows(vec![
        Values::Text(cells.iter().map(name).collect()),
        Values::Number(cells.iter().map(|done| done.host.cpu_ns.get()).collect()),
        Values::Number(cells.iter().map(|done| done.host.elapsed_ns.get()).collect()),
    ])?;
    table.finish()
}

/// A Parquet file in the making.
struct Table {
    path: PathBuf,
    writer: TableWriter<BufWriter<File>>,
}

impl Table {
    fn create(path: &Path, columns: &[(&str, Kind)]) -> Result<Self, SweepError> {
        let file = File::create_new(path).map_err(SweepError::io(path))?;
        let note = KeyValue::new("order9.sweep".to_owned(), VERSION.to_owned());
        let writer = TableWriter::new(BufWriter::new(file), columns, vec![note]);
        let parquet = |cause| SweepError::Parquet { path: path.to_owned(), cause };
        Ok(Self { path: path.to_owned(), writer: writer.map_err(parquet)? })
    }

    fn rows(&mut self, columns: Vec<Values>) -> Result<(), SweepError> {
        self.writer.rows(columns).map_err(|cause| SweepError::Parquet { path: self.path.clone(), cause })
    }

    fn finish(self) -> Result<(), SweepError> {
        self.writer.finish().map_err(|cause| SweepError::Parquet { path: self.path, cause })
    }
}

/// A value as part of a folder's name, as Hive writes it and engines read it: everything but letters, digits and some marks is written
/// as %XX.
fn encoded(value: &str) -> String {
    let mut name = String::new();
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'+' | b',' => name.push(byte.into()),
            _ => {
                let _ = write!(name, "%{byte:02X}");
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_names_of_folders() {
        assert_eq!(encoded("linux-6.18+vm.swappiness=60"), "linux-6.18+vm.swappiness%3D60");
        assert_eq!(encoded("a/b é"), "a%2Fb%20%C3%A9");
    }

    #[test]
    fn only_what_is_written_back_alike_is_a_number() {
        assert!(is_number("0") && is_number("18446744073709551615"));
        assert!(!is_number("010") && !is_number("+1") && !is_number("-1") && !is_number("1.5") && !is_number(""));
    }
}
