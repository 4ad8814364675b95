//! Facts of one host: the file that tells of it, and rows of numbers.

use order9_snapshot::census::Census;
use order9_snapshot::classify::LayoutError;
use order9_snapshot::inspection::Inspection;
use order9_snapshot::prices::Prices;
use order9_snapshot::{Snapshot, Source};
use std::num::NonZeroUsize;

use crate::columns::{Number, Subject, chosen, numbers, settings};

/// A snapshot file, as far as it tells whether it has been read before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileId {
    /// Path, as it was named.
    pub path: String,
    /// Length in bytes.
    pub bytes: u64,
    /// Time of the last change, in nanoseconds since 1970.
    pub mtime_ns: u64,
    /// Digest of all bytes.
    pub digest: String,
}

/// Facts of one host.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// File of the snapshot.
    pub file: FileId,
    /// Name of the host: that of the file without folder and ending, or the whole path where several have that name.
    pub name: String,
    /// Release of the kernel.
    pub kernel: String,
    /// Origin of the snapshot: `host`, `directory`, `lab` or `synthetic`.
    pub source: String,
    /// Values of settings, in the order of [`settings`]; empty where there is none.
    pub settings: Vec<String>,
    /// Rows: that of the host first, then its owners, then each node with its zones.
    pub rows: Vec<Row>,
}

/// Facts of a host, or of a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Kind of the subject.
    pub level: Level,
    /// Number of the node, for nodes and zones.
    pub node: Option<u64>,
    /// Name of the zone, for zones.
    pub zone: String,
    /// Class of frames, for owners.
    pub owner: String,
    /// Values, in the order of [`numbers`].
    pub numbers: Vec<Option<u64>>,
}

/// Kind of a row's subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The whole machine.
    Host,
    /// A class of frames that holds pageblocks.
    Owner,
    /// A NUMA node.
    Node,
    /// A zone of a node.
    Zone,
}

impl Level {
    /// All levels.
    pub const ALL: [Self; 4] = [Self::Host, Self::Owner, Self::Node, Self::Zone];

    /// Name in the table.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Owner => "owner",
            Self::Node => "node",
            Self::Zone => "zone",
        }
    }
}

impl Host {
    /// Facts of a snapshot on one thread; without a map those that counters and lists tell.
    ///
    /// # Errors
    /// Where zones and map do not fit together.
    pub fn of(file: FileId, snapshot: &Snapshot) -> Result<Self, LayoutError> {
        let census = match Census::with_threads(snapshot, NonZeroUsize::MIN) {
            Ok(census) => Some(census),
            Err(LayoutError::NoMap) => None,
            Err(error) => return Err(error),
        };
        let inspection = Inspection::of(snapshot, census.as_ref(), &Prices::of(snapshot));
        let value = |path: &str| inspection.settings.iter().find(|setting| setting.path == path);
        let values =
            settings().map(|(_, path)| value(&path).map_or_else(String::new, |setting| chosen(&setting.value)));
        Ok(Self {
            name: String::new(),
            kernel: inspection.machine.kernel_release.clone(),
            source: source(&snapshot.source).to_owned(),
            settings: values.collect(),
            rows: rows(&inspection),
            file,
        })
    }

    /// Value of a column in the row of the host.
    ///
    /// # Panics
    /// If there is no such column.
    #[must_use]
    pub fn number(&self, column: usize) -> Option<u64> {
        self.rows.first().and_then(|row| row.numbers[column])
    }

    /// First two numbers of the kernel's release, `6.12`; all of it where it does not begin so.
    #[must_use]
    pub fn series(&self) -> String {
        let mut parts = self.kernel.split(['.', '-']);
        match (parts.next(), parts.next()) {
            (Some(major), Some(minor)) => format!("{major}.{minor}"),
            _ => self.kernel.clone(),
        }
    }
}

const fn source(source: &Source) -> &'static str {
    match source {
        Source::Host => "host",
        Source::Directory => "directory",
        Source::Lab => "lab",
        Source::Synthetic(_) => "synthetic",
    }
}

fn rows(inspection: &Inspection) -> Vec<Row> {
    let columns = numbers();
    let row = |level, subject| Row {
        level,
        node: None,
        zone: String::new(),
        owner: String::new(),
        numbers: columns.iter().map(|column: &Number| column.of(subject)).collect(),
    };
    let mut rows = vec![row(Level::Host, Subject::Host(inspection))];
    let held = inspection.total.findings.iter().flat_map(|findings| &findings.lost.by_holder);
    rows.extend(
        held.map(|held| Row { owner: held.class.name().to_owned(), ..row(Level::Owner, Subject::Owner(held)) }),
    );
    for node in &inspection.nodes {
        let of_node = Some(u64::from(node.id.0));
        rows.push(Row { node: of_node, ..row(Level::Node, Subject::Node(node)) });
        rows.extend(node.zones.iter().map(|zone| Row {
            node: of_node,
            zone: zone.name.to_owned(),
            ..row(Level::Zone, Subject::Zone(zone))
        }));
    }
    rows
}

#[cfg(test)]
pub(crate) mod tests {
    use order9_snapshot::synth::{SynthSpec, synth};
    use order9_units::Bytes;

    use super::*;
    use crate::features::column;

    /// A host with a map of 200 pageblocks, half of them lost, half of its memory free.
    pub(crate) fn host(name: &str) -> Host {
        let mut numbers = vec![Some(0); numbers().len()];
        for (name, value) in [("present_pages", 102_400), ("blocks", 200), ("blocks_lost", 100), ("free_pages", 51_200)]
        {
            numbers[column(name)] = Some(value);
        }
        let digest = order9_record::Digest::of_bytes(name.as_bytes()).to_string();
        let file = FileId { path: format!("{name}.o9snap"), bytes: 1000, mtime_ns: 5, digest };
        let row = Row { level: Level::Host, node: None, zone: String::new(), owner: String::new(), numbers };
        let settings = settings().map(|_| String::new()).collect();
        Host {
            file,
            name: name.to_owned(),
            kernel: "6.12.3".to_owned(),
            source: "host".to_owned(),
            settings,
            rows: vec![row],
        }
    }

    #[test]
    fn facts_are_those_of_an_inspection() {
        let spec = SynthSpec { size: Bytes::from_gib(8), nodes: 2, ..SynthSpec::default() };
        let (snapshot, _) = synth(&spec).expect("a machine");
        let host = Host::of(FileId::default(), &snapshot).expect("a sound map");
        let census = Census::of(&snapshot).expect("a sound map");
        let inspection = Inspection::of(&snapshot, Some(&census), &Prices::of(&snapshot));
        let found = inspection.total.findings.as_ref().expect("a map");
        let number = |name: &str| host.number(column(name));
        assert_eq!(number("recoverable"), Some(found.by_moving.huge_pages));
        assert_eq!(number("gib_tainted"), Some(found.gigabytes.tainted));
        assert_eq!(number("nodes"), Some(2));
        let of = |level: Level| host.rows.iter().filter(move |row| row.level == level);
        let zones: u64 = of(Level::Zone).filter_map(|row| row.numbers[column("blocks_lost")]).sum();
        assert_eq!((Some(zones), of(Level::Node).count()), (number("blocks_lost"), 2));
        let held: u64 = of(Level::Owner).filter_map(|row| row.numbers[column("held_blocks")]).sum();
        assert_eq!(held, found.lost.blocks);
        // Classes are counted once.
        let classes = ["movable_pages", "staying_pages", "free_pages"].map(|name| number(name).unwrap());
        assert_eq!(Some(classes.iter().sum()), number("present_pages"));
    }
}
