//! The table of facts as one Parquet file: a row for each host, owner, node and zone.

use std::io::Write;
use std::panic::catch_unwind;

use order9_record::table::{ByteArray, Group, KeyValue, Kind, ParquetError, TableReader, TableWriter, Values};

use crate::columns::{numbers, settings};
use crate::host::{FileId, Host, Level, Row};

/// Version of the columns, in the file's metadata. It goes up when a column changes its meaning or goes.
pub const VERSION: &str = "1";
const VERSION_KEY: &str = "order9.fleet";
/// Version of the program, whose facts another one need not agree with.
const PROGRAM_KEY: &str = "order9.version";

/// Rows of a row group, which are held in memory twice while they are written.
const GROUP: usize = 1 << 16;

/// Why a file is no table of facts.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file is none of this kind.
    #[error("no table of a fleet's facts: expected one that `order9 fleet` wrote")]
    Other,
    /// The file was written by another version.
    #[error("written by another version of order9")]
    Version,
    /// A value that the table cannot have.
    #[error("damaged: {0}")]
    Damaged(&'static str),
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// The file is no Parquet, or is damaged.
    #[error(transparent)]
    Parquet(#[from] ParquetError),
}

const TEXTS: [&str; 9] = ["host", "level", "zone", "owner", "kernel", "series", "source", "file", "digest"];

/// Writes all rows of `hosts`; `groups` has a number for each host that is in a group.
///
/// # Errors
/// Those of writing.
pub fn write(hosts: &[Host], groups: &[Option<usize>], out: &mut (dyn Write + Send)) -> Result<(), StoreError> {
    let (numbers, settings) = (numbers(), settings().collect::<Vec<_>>());
    let mut columns: Vec<(&str, Kind)> = TEXTS.iter().map(|&name| (name, Kind::Text)).collect();
    columns.extend(["node", "host_group"].map(|name| (name, Kind::MaybeNumber)));
    columns.extend(["file_bytes", "file_mtime_ns"].map(|name| (name, Kind::Number)));
    columns.extend(settings.iter().map(|(name, _)| (name.as_str(), Kind::Text)));
    columns.extend(numbers.iter().map(|number| (number.name.as_str(), Kind::MaybeNumber)));
    let note = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let notes = vec![note(VERSION_KEY, VERSION), note(PROGRAM_KEY, env!("CARGO_PKG_VERSION"))];
    let mut table = TableWriter::new(out, &columns, notes)?;
    let rows: Vec<(&Host, Option<usize>, &Row)> = hosts
        .iter()
        .zip(groups)
        .flat_map(|(host, &group)| host.rows.iter().map(move |row| (host, group, row)))
        .collect();
    for part in rows.chunks(GROUP) {
        table.rows(values(part, settings.len(), numbers.len()))?;
    }
    Ok(table.finish()?)
}

fn values(rows: &[(&Host, Option<usize>, &Row)], settings: usize, numbers: usize) -> Vec<Values> {
    let text = |read: &dyn Fn(&Host, &Row) -> String| {
        Values::Text(rows.iter().map(|(host, _, row)| ByteArray::from(read(host, row).as_str())).collect())
    };
    let mut values = vec![
        text(&|host, _| host.name.clone()),
        text(&|_, row| row.level.name().to_owned()),
        text(&|_, row| row.zone.clone()),
        text(&|_, row| row.owner.clone()),
        text(&|host, _| host.kernel.clone()),
        text(&|host, _| host.series()),
        text(&|host, _| host.source.clone()),
        text(&|host, _| host.file.path.clone()),
        text(&|host, _| host.file.digest.clone()),
        Values::Maybe(rows.iter().map(|(_, _, row)| row.node).collect()),
        Values::Maybe(rows.iter().map(|(_, group, _)| group.map(|group| group as u64 + 1)).collect()),
        Values::Number(rows.iter().map(|(host, ..)| host.file.bytes).collect()),
        Values::Number(rows.iter().map(|(host, ..)| host.file.mtime_ns).collect()),
    ];
    // Settings are the host's: they stand in its row alone, so that counting rows counts hosts.
    let setting = |host: &Host, row: &Row, at: usize| {
        if row.level == Level::Host { host.settings[at].clone() } else { String::new() }
    };
    values.extend((0..settings).map(|at| text(&|host, row| setting(host, row, at))));
    values.extend((0..numbers).map(|at| Values::Maybe(rows.iter().map(|(.., row)| row.numbers[at]).collect())));
    values
}

/// Reads the hosts of a table again.
///
/// # Errors
/// Another file, another version, or damage.
pub fn read(file: Vec<u8>) -> Result<Vec<Host>, StoreError> {
    // On some damaged files the Parquet library panics.
    catch_unwind(|| rows(file)).unwrap_or(Err(StoreError::Damaged("lengths or encodings that cannot be")))
}

fn rows(file: Vec<u8>) -> Result<Vec<Host>, StoreError> {
    let table = TableReader::new(file)?;
    let of_version = |key: &str, expected: &str| table.note(key).map(|found| found == expected);
    match (of_version(VERSION_KEY, VERSION), of_version(PROGRAM_KEY, env!("CARGO_PKG_VERSION"))) {
        (Some(true), Some(true)) => {}
        (None, _) => return Err(StoreError::Other),
        _ => return Err(StoreError::Version),
    }
    let mut hosts = Vec::new();
    for group in table.groups() {
        add(&group?, &mut hosts)?;
    }
    Ok(hosts)
}

fn add(table: &Group<'_>, hosts: &mut Vec<Host>) -> Result<(), StoreError> {
    let text = |name: &str| -> Result<Vec<String>, StoreError> {
        let texts = table.text(name)?.into_iter();
        texts
            .map(|text| String::from_utf8(text.data().to_vec()).map_err(|_| StoreError::Damaged("a text is no UTF-8")))
            .collect()
    };
    let [names, levels, zones, owners, kernels, _, sources, files, digests] = TEXTS.map(text);
    let (names, levels, zones, owners) = (names?, levels?, zones?, owners?);
    let (kernels, sources, files, digests) = (kernels?, sources?, files?, digests?);
    let nodes = table.maybe_numbers("node")?;
    let (bytes, mtimes) = (table.numbers("file_bytes")?, table.numbers("file_mtime_ns")?);
    let settings = settings().map(|(name, _)| text(&name)).collect::<Result<Vec<_>, _>>()?;
    let numbers = numbers().iter().map(|number| table.maybe_numbers(&number.name)).collect::<Result<Vec<_>, _>>()?;
    for at in 0..table.rows() {
        let level = Level::ALL.into_iter().find(|level| level.name() == levels[at]);
        let row = Row {
            level: level.ok_or(StoreError::Damaged("a row is of no level"))?,
            node: nodes[at],
            zone: zones[at].clone(),
            owner: owners[at].clone(),
            numbers: numbers.iter().map(|column| column[at]).collect(),
        };
        if row.level == Level::Host {
            let (path, digest) = (files[at].clone(), digests[at].clone());
            hosts.push(Host {
                file: FileId { path, bytes: bytes[at], mtime_ns: mtimes[at], digest },
                name: names[at].clone(),
                kernel: kernels[at].clone(),
                source: sources[at].clone(),
                settings: settings.iter().map(|column| column[at].clone()).collect(),
                rows: Vec::new(),
            });
        }
        let host = hosts.last_mut().filter(|host| host.file.path == files[at]);
        host.ok_or(StoreError::Damaged("a row is of no host"))?.rows.push(row);
    }
    Ok(())
}
