//! Numbers with a source: prices, sizes and factors of a machine.

use std::sync::LazyLock;

use order9_machine::FileSystem;
use order9_machine::cost::{PRICES, Picos};
use order9_snapshot::prices::MEASURED;
use order9_toml::{Leaf, Problem as AnyProblem};
use order9_units::{Bytes, PAGE_SIZE};
use toml::de::DeValue;

use super::error::Problem;
use super::size;

/// A ratio in thousandths, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Factor(u64);

impl Factor {
    /// The factor that changes nothing.
    pub const ONE: Self = Self(1000);
    const MAX: Self = Self(100_000);

    /// A factor of `thousandths` thousandths.
    #[must_use]
    pub const fn from_thousandths(thousandths: u64) -> Self {
        Self(thousandths)
    }

    /// `price` times this, rounded down to a picosecond.
    #[must_use]
    pub const fn of(self, price: Picos) -> Picos {
        Picos::new(price.get().saturating_mul(self.0) / 1000)
    }
}

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds, kept in picoseconds.
    Time,
    /// A size with its unit, kept in bytes.
    Size,
    /// A ratio, kept in thousandths.
    Factor,
    /// Megabytes per second, kept in bytes per second.
    Rate,
    /// A number of things.
    Count,
    /// A filesystem, kept by its place in [`FileSystem::ALL`].
    FileSystem,
}

/// A figure that machine files may hold.
#[derive(Debug)]
pub struct FigureInfo {
    /// Table of the figure in the file; `NAME` in it stands for the name of a disk.
    pub key: String,
    /// Unit of the figure.
    pub unit: Unit,
    /// Meaning of the figure, in words.
    pub meaning: &'static str,
    /// Machines that must have the figure.
    pub needed: Needed,
}

/// Machines that must have a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needed {
    /// Every machine.
    Always,
    /// Machines with several nodes.
    SeveralNodes,
    /// Never: only the analysis of real hosts uses it, or there is something to take its place.
    Never,
}

/// A figure of some machine.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Description of the figure.
    pub info: &'static FigureInfo,
    /// Table of the figure in the file.
    pub key: String,
    /// Value of the figure, in the smallest step of its unit.
    pub value: u64,
    /// Source of the value: one line, never empty.
    pub source: String,
    /// File of the chain that set the value.
    pub set_in: String,
}

/// Sizes and ratios; times that are no price.
const OTHERS: [(&str, Unit, &str, Needed); 12] = [
    (
        "slice",
        Unit::Time,
        "How long a task may run while others wait for its CPU: the shortest slice of CFS, the base slice of EEVDF.",
        Needed::Always,
    ),
    (
        "tick",
        Unit::Time,
        "How long from one timer interrupt to the next, at which a task is found to have used its slice up; without it \
         slices end exactly.",
        Needed::Never,
    ),
    ("reserved.kernel_image", Unit::Size, "What the kernel's code and data keep from 16 MiB on.", Needed::Always),
    ("reserved.boot_tables", Unit::Size, "Hash tables and other large tables made at boot, on node 0.", Needed::Always),
    ("reserved.struct_page", Unit::Size, "Metadata per frame, on the node of the frame.", Needed::Always),
    (
        "remote.latency",
        Unit::Factor,
        "How many times longer touching a page of another node takes.",
        Needed::SeveralNodes,
    ),
    (
        "remote.bandwidth",
        Unit::Factor,
        "How many times longer clearing, copying or filling a page of another node takes.",
        Needed::SeveralNodes,
    ),
    ("remote.load_base", Unit::Time, "As `prices.load_base`, of the nearest other nodes.", Needed::SeveralNodes),
    ("remote.load_huge", Unit::Time, "As `prices.load_huge`, of the nearest other nodes.", Needed::SeveralNodes),
    ("remote.far_load_base", Unit::Time, "As `prices.load_base`, of nodes further away than these.", Needed::Never),
    ("remote.far_load_huge", Unit::Time, "As `prices.load_huge`, of nodes further away than these.", Needed::Never),
    ("tlb.entries", Unit::Count, "Translations that the TLB holds, each of a base or a huge page.", Needed::Always),
];

/// Prices that few machines have, as no literature tells them. Where there is none, the work takes no time of its own, but for three that fall
/// back on another price (`load`).
const SELDOM_MEASURED: [&str; 18] = [
    "clear_huge_part",
    "swap_out",
    "swap_in",
    "uncache_page",
    "uncache_part",
    "dirty_part",
    "writeback_part",
    "read_part",
    "collapse_range",
    "collapse_page",
    "collapse_part",
    "split_huge_part",
    "remap_huge_part",
    "free_huge_part",
    "unmap_huge_part",
    "split_pmd",
    "discard",
    "hypervisor_fault",
];

fn needed(price: &str) -> Needed {
    if SELDOM_MEASURED.contains(&price) { Needed::Never } else { Needed::Always }
}

/// Every figure there is: sizes and ratios, prices of the lab, prices for the analysis of real hosts.
pub static FIGURES: LazyLock<Vec<FigureInfo>> = LazyLock::new(|| {
    let price = |key, meaning, needed| FigureInfo { key: format!("prices.{key}"), unit: Unit::Time, meaning, needed };
    let others = OTHERS.map(|(key, unit, meaning, needed)| FigureInfo { key: key.to_owned(), unit, meaning, needed });
    let lab = PRICES.iter().map(|info| price(info.key, info.meaning, needed(info.key)));
    let analysis = MEASURED.iter().map(|(key, meaning)| price(key, meaning, Needed::Never));
    others.into_iter().chain(lab).chain(analysis).collect()
});

/// A terabyte per second.
const RATE_MAX: u64 = 1_000_000_000_000;
const COUNT_MAX: u64 = 65_536;

/// A figure as one file has it.
#[derive(Clone, Debug)]
pub(super) struct FigureText {
    pub(super) info: &'static FigureInfo,
    pub(super) key: String,
    pub(super) value: u64,
    pub(super) source: String,
}

impl FigureText {
    /// Reads the table of a figure.
    ///
    /// # Errors
    /// What is wrong, and the byte where.
    pub(super) fn parse(info: &'static FigureInfo, leaf: &Leaf<'_>) -> Result<Self, (usize, Problem)> {
        let part = info.unit.part();
        let Some(entries) = leaf.entries() else {
            return Err((leaf.at, leaf.wrong(format!("a table with {part} and source")).into()));
        };
        let (mut value, mut source) = (None, None);
        for entry in &entries {
            let name = &entry.key[leaf.key.len() + 1..];
            let refused = |problem: AnyProblem| (entry.at, problem.into());
            if name == part {
                value = Some(info.value(entry).map_err(refused)?);
            } else if name == "source" {
                source = Some(source_of(entry).map_err(refused)?);
            } else {
                return Err(refused(AnyProblem::unknown_key(&entry.key, [part, "source"])));
            }
        }
        let missing = |part| (leaf.at, Problem::Missing { key: leaf.key.clone(), part });
        let value = value.ok_or_else(|| missing(part))?;
        Ok(Self { info, key: leaf.key.clone(), value, source: source.ok_or_else(|| missing("source"))? })
    }
}

/// The text of a source, with single spaces.
fn source_of(leaf: &Leaf<'_>) -> Result<String, AnyProblem> {
    let words: Vec<_> = leaf.value.as_str().unwrap_or_default().split_whitespace().collect();
    if words.is_empty() || words.iter().any(|word| word.chars().any(char::is_control)) {
        return Err(leaf.wrong("text that says where the figure is from"));
    }
    Ok(words.join(" "))
}

/// Figure of a guest that reports free blocks. A machine that is none, on the base of one that is, says 0.
pub(super) const HYPERVISOR_FAULT: &str = "prices.hypervisor_fault";

impl FigureInfo {
    fn value(&self, leaf: &Leaf<'_>) -> Result<u64, AnyProblem> {
        match leaf.whole_number() {
            Some(0) if self.key == HYPERVISOR_FAULT => Ok(0),
            _ => self.unit.value(leaf),
        }
    }
}

impl Unit {
    /// The key of the value, beside `source`.
    #[must_use]
    pub const fn part(self) -> &'static str {
        match self {
            Self::Time => "ns",
            Self::Size => "size",
            Self::Factor => "factor",
            Self::Rate => "mb_per_s",
            Self::Count => "count",
            Self::FileSystem => "name",
        }
    }

    fn value(self, leaf: &Leaf<'_>) -> Result<u64, AnyProblem> {
        let (value, expected) = match self {
            Self::Time => {
                let value = thousandths(leaf).filter(|ps| (1..=Picos::MAX_PRICE.get()).contains(ps));
                (value, "nanoseconds from 0.001 to 1000000000, with at most three decimals")
            }
            Self::Size => {
                let value = leaf.value.as_str().and_then(|text| text.parse::<Bytes>().ok()).map(Bytes::get);
                (value.filter(|bytes| *bytes > 0), "a size such as \"37676 KiB\"")
            }
            Self::Factor => {
                let value = thousandths(leaf).filter(|factor| (Factor::ONE.0..=Factor::MAX.0).contains(factor));
                (value, "a number from 1 to 100, with at most three decimals")
            }
            Self::Rate => {
                let value = thousandths(leaf).filter(|rate| (1..=RATE_MAX / 1000).contains(rate));
                (
                    value.map(|rate| rate * 1000),
                    "megabytes per second from 0.001 to 1000000, with at most three decimals",
                )
            }
            Self::Count => {
                (leaf.whole_number().filter(|count| (1..=COUNT_MAX).contains(count)), "a whole number from 1 to 65536")
            }
            Self::FileSystem => {
                let place = |name| FileSystem::ALL.iter().position(|&(known, _)| known == name);
                (leaf.value.as_str().and_then(place).map(|at| at as u64), "\"plain\" or \"xfs\"")
            }
        };
        value.ok_or_else(|| leaf.wrong(expected))
    }

    /// `value` as it is written in a file.
    #[must_use]
    pub fn written(self, value: u64) -> String {
        match self {
            Self::Size => format!("\"{}\"", size::in_units(Bytes::new(value))),
            Self::FileSystem => format!("\"{}\"", FileSystem::ALL[value as usize].0),
            Self::Count => value.to_string(),
            Self::Rate => Self::Time.written(value / 1000),
            Self::Time | Self::Factor if value.is_multiple_of(1000) => (value / 1000).to_string(),
            Self::Time | Self::Factor => {
                let text = format!("{}.{:03}", value / 1000, value % 1000);
                text.trim_end_matches('0').to_owned()
            }
        }
    }
}

/// A decimal number, exactly: binary fractions would print otherwise than they were written.
fn thousandths(leaf: &Leaf<'_>) -> Option<u64> {
    let text = match leaf.value {
        DeValue::Integer(_) => return leaf.whole_number()?.checked_mul(1000),
        DeValue::Float(number) => number.as_str(),
        _ => return None,
    };
    let (whole, decimals) = text.split_once('.')?;
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > 3 {
        return None;
    }
    let thousandths: u64 = format!("{decimals:0<3}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1000)?.checked_add(thousandths)
}

/// A price per frame must not be confused with one per byte.
const _: () = assert!(PAGE_SIZE.get() == 4096, "prices of pages are prices of 4096 bytes");
