//! The disks of a machine, as a file lists them: `[disks.sda.read_latency]` and so on, figures like all others.

use std::sync::LazyLock;

use order9_machine::disk::{DiskSpec, Rotating, Transfer, WriteCache};
use order9_machine::{DiskLimits, FileSystem, MachineDisk};
use order9_toml::{FileError, Leaf, Place, Problem as AnyProblem};
use order9_units::{Bytes, Nanos, Pages};

use super::error::Problem;
use super::figure::{FigureInfo, FigureText, Needed, Unit};

/// Keys of a disk, required and optional.
const KEYS: [(&str, Unit, Needed, &str); 17] = [
    ("size", Unit::Size, Needed::Always, "How large the disk is."),
    ("read_latency", Unit::Time, Needed::Always, "What passes before the data of each read is transferred."),
    ("write_latency", Unit::Time, Needed::Always, "What passes before the data of each write is transferred."),
    ("read_bandwidth", Unit::Rate, Needed::Always, "How fast data is read, over all requests."),
    ("write_bandwidth", Unit::Rate, Needed::Always, "How fast data is written, over all requests."),
    ("queue_depth", Unit::Count, Needed::Always, "How many requests the disk serves at once."),
    (
        "nr_requests",
        Unit::Count,
        Needed::Always,
        "How many requests of each kind Linux queues: /sys/block/*/queue/nr_requests.",
    ),
    (
        "max_request",
        Unit::Size,
        Needed::Never,
        "The largest request: /sys/block/*/queue/max_sectors_kb. Linux' default of the release, if it is not given.",
    ),
    (
        "read_ahead",
        Unit::Size,
        Needed::Never,
        "How far Linux reads ahead: /sys/block/*/queue/read_ahead_kb. Linux' default of the release, if it is not given.",
    ),
    (
        "rotational",
        Unit::Count,
        Needed::Never,
        "1 where Linux takes it for a disk that rotates: /sys/block/*/queue/rotational.",
    ),
    ("seek_track", Unit::Time, Needed::Never, "Seek of a rotating disk to the next track."),
    ("seek", Unit::Time, Needed::Never, "Average seek of a rotating disk."),
    ("rotation", Unit::Time, Needed::Never, "One rotation of a rotating disk."),
    ("write_cache", Unit::Size, Needed::Never, "What the disk's write cache holds."),
    ("write_cache_bandwidth", Unit::Rate, Needed::Never, "How fast data goes into the disk's write cache."),
    ("swap", Unit::Size, Needed::Never, "How much of the disk is swap."),
    (
        "file_system",
        Unit::FileSystem,
        Needed::Never,
        "The filesystem, by the memory that it takes for files: `plain`, inodes alone, if it is not given, or `xfs`.",
    ),
];

/// Figures that belong together: who has one has all.
const GROUPS: [&[&str]; 2] = [&["seek_track", "seek", "rotation"], &["write_cache", "write_cache_bandwidth"]];

/// Linux' default of the largest request from 4.4 to 6.16: 2560 sectors (`BLK_DEF_MAX_SECTORS`).
const MAX_REQUEST: Pages = Pages::new(320);

/// Figures of compressed memory. It has no speed: the CPU that swaps a page pays its price.
const OF_ZRAM: [&str; 2] = ["size", "swap"];

/// Every figure that a disk may have.
pub static DISK_FIGURES: LazyLock<Vec<FigureInfo>> = LazyLock::new(|| {
    let info = |(key, unit, needed, meaning)| FigureInfo { key: format!("disks.NAME.{key}"), unit, meaning, needed };
    KEYS.into_iter().map(info).collect()
});

/// A disk as one file has it.
#[derive(Clone, Debug)]
pub(super) struct DiskText {
    pub(super) disk: MachineDisk,
    /// Figures in the order of [`DISK_FIGURES`].
    pub(super) figures: Vec<FigureText>,
}

/// The error, and the byte at which it is.
type Refused = (usize, Problem);

/// Longest name of a disk, as in Linux (`DISK_NAME_LEN`, less its end).
const NAME_MAX: usize = 31;

/// Reads the table `disks`.
pub(super) fn parse(leaf: &Leaf<'_>, place: Place<'_>) -> Result<Vec<DiskText>, FileError<Problem>> {
    let Some(disks) = leaf.entries() else {
        return Err(place.error(leaf.at, leaf.wrong("a table [disks.NAME] for each disk")));
    };
    disks.iter().map(|disk| read(disk).map_err(|(at, problem)| place.error(at, problem))).collect()
}

fn read(leaf: &Leaf<'_>) -> Result<DiskText, Refused> {
    let refused = |problem| (leaf.at, problem);
    let name = leaf.key["disks.".len()..].to_owned();
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-' || letter == b'_';
    if name.is_empty() || name.len() > NAME_MAX || !name.bytes().all(is_letter) {
        return Err(refused(Problem::DiskName(name.chars().take(NAME_MAX).collect())));
    }
    let Some(entries) = leaf.entries() else {
        return Err(refused(leaf.wrong("a table of figures").into()));
    };
    let mut figures = entries.iter().map(|entry| figure(leaf, entry)).collect::<Result<Vec<_>, _>>()?;
    figures.sort_by_key(|figure| DISK_FIGURES.iter().position(|info| std::ptr::eq(info, figure.info)));
    let is_zram = is_zram(&name);
    if let Some(entry) = entries.iter().filter(|_| is_zram).find(|entry| !OF_ZRAM.contains(&key_of(leaf, entry))) {
        return Err((entry.at, Problem::ZramFigure { key: entry.key.clone() }));
    }
    if let Some(part) = missing(&figures, is_zram) {
        return Err(refused(Problem::Missing { key: leaf.key.clone(), part }));
    }
    let spec = if is_zram { DiskSpec::in_memory(size(&figures)) } else { spec(&figures) };
    spec.validate().map_err(|error| refused(Problem::Disk { key: leaf.key.clone(), error }))?;
    let swap = Pages::from_bytes_floor(Bytes::new(value(&figures, "swap").unwrap_or(0)));
    if swap > spec.size {
        let (swap, size) = (swap.bytes(), spec.size.bytes());
        return Err(refused(Problem::SwapTooLarge { key: leaf.key.clone(), swap, size }));
    }
    let limits = DiskLimits {
        default_request: value(&figures, "max_request").is_none(),
        rotational: value(&figures, "rotational").is_some_and(|rotational| rotational > 0),
        read_ahead: value(&figures, "read_ahead").map(|bytes| Pages::from_bytes_floor(Bytes::new(bytes))),
    };
    let file_system = value(&figures, "file_system").map(|at| FileSystem::ALL[at as usize].1).unwrap_or_default();
    Ok(DiskText { disk: MachineDisk { name, spec, swap, limits, file_system }, figures })
}

fn figure(disk: &Leaf<'_>, entry: &Leaf<'_>) -> Result<FigureText, Refused> {
    let key = key_of(disk, entry);
    match KEYS.iter().position(|(known, ..)| *known == key) {
        Some(at) => FigureText::parse(&DISK_FIGURES[at], entry),
        None => Err((entry.at, AnyProblem::unknown_key(&entry.key, KEYS.map(|(known, ..)| known)).into())),
    }
}

/// Whether a disk of this name is compressed memory: no other driver makes disks of that name.
fn is_zram(name: &str) -> bool {
    name.strip_prefix("zram").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Key of a figure within its disk.
fn key_of<'a>(disk: &Leaf<'_>, entry: &'a Leaf<'_>) -> &'a str {
    &entry.key[disk.key.len() + 1..]
}

/// A figure that a disk with these figures has to have too.
fn missing(figures: &[FigureText], is_zram: bool) -> Option<&'static str> {
    let has = |key| value(figures, key).is_some();
    let always = KEYS.iter().filter(|(_, _, needed, _)| *needed == Needed::Always).map(|(key, ..)| *key);
    let always = always.filter(|key| !is_zram || OF_ZRAM.contains(key));
    let started = GROUPS.into_iter().filter(|group| group.iter().any(|key| has(key)));
    always.chain(started.flatten().copied()).find(|key| !has(key))
}

fn value(figures: &[FigureText], key: &str) -> Option<u64> {
    figures.iter().find(|figure| figure.key.rsplit('.').next() == Some(key)).map(|figure| figure.value)
}

fn size(figures: &[FigureText]) -> Pages {
    Pages::from_bytes_floor(Bytes::new(value(figures, "size").unwrap_or(0)))
}

/// The disk with these figures, none of which is missing.
fn spec(figures: &[FigureText]) -> DiskSpec {
    let number = |key| value(figures, key).unwrap_or(0);
    let time = |key| Nanos::new(number(key).div_ceil(1000));
    let bytes = |key| Bytes::new(number(key));
    // At most COUNT_MAX.
    let count = |key| number(key) as u32;
    let rotating = value(figures, "seek").map(|_| Rotating {
        seek_track: time("seek_track"),
        seek: time("seek"),
        rotation: time("rotation"),
    });
    let write_cache = value(figures, "write_cache");
    DiskSpec {
        size: size(figures),
        read: Transfer { latency: time("read_latency"), bandwidth: bytes("read_bandwidth") },
        write: Transfer { latency: time("write_latency"), bandwidth: bytes("write_bandwidth") },
        queue_depth: count("queue_depth"),
        nr_requests: count("nr_requests"),
        max_request: value(figures, "max_request")
            .map_or(MAX_REQUEST, |size| Pages::from_bytes_floor(Bytes::new(size))),
        rotating,
        write_cache: write_cache
            .map(|size| WriteCache { size: Bytes::new(size), bandwidth: bytes("write_cache_bandwidth") }),
        in_memory: false,
    }
}
