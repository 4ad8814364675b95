//! The handful of facts by which hosts are compared with each other.

use order9_report::number::{decimal, percent, size};

use crate::columns::numbers;
use crate::host::Host;

/// A fact of a host as a number that hosts of any size share.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Name, in words.
    pub name: &'static str,
    /// Head of a narrow column.
    pub short: &'static str,
    /// Least difference that matters to anybody, however alike the hosts are.
    pub worth: f64,
    /// Whether the value is a share of 1; else it is the binary logarithm of a size in GiB.
    pub is_share: bool,
    part: &'static [&'static str],
    whole: &'static str,
}

/// Least difference of shares that is worth a word: five points.
const POINTS: f64 = 0.05;

const fn share([name, short]: [&'static str; 2], part: &'static [&'static str], whole: &'static str) -> Feature {
    Feature { name, short, worth: POINTS, is_share: true, part, whole }
}

/// All of them. A share without a whole is 0.
pub const FEATURES: [Feature; 8] = [
    Feature { name: "memory", short: "GiB", worth: 1.0, is_share: false, part: &["present_pages"], whole: "" },
    share(["free memory", "free"], &["free_pages"], "present_pages"),
    share(["free memory in huge pages", "2 MiB"], &["free_huge"], "free_pages"),
    share(["recoverable pageblocks", "gain"], &["recoverable"], "blocks"),
    share(["lost pageblocks", "lost"], &["blocks_lost", "blocks_slab"], "blocks"),
    share(["huge pages in use", "huge"], &["blocks_huge"], "blocks"),
    share(["anonymous memory in base pages", "anon"], &["anon_pages"], "present_pages"),
    share(["clean page cache", "cache"], &["file_clean_pages"], "present_pages"),
];

/// Position of a column of the table.
///
/// # Panics
/// If there is no such column.
#[must_use]
pub fn column(name: &str) -> usize {
    numbers().iter().position(|number| number.name == name).unwrap_or_else(|| panic!("no column is called {name}"))
}

/// A feature, ready to be read from many hosts.
pub(crate) struct Reader {
    feature: Feature,
    part: Vec<usize>,
    whole: Option<usize>,
}

impl Reader {
    /// Readers of all features.
    pub(crate) fn all() -> Vec<Self> {
        let reader = |feature: Feature| Self {
            feature,
            part: feature.part.iter().map(|name| column(name)).collect(),
            whole: (!feature.whole.is_empty()).then(|| column(feature.whole)),
        };
        FEATURES.map(reader).into_iter().collect()
    }

    /// Value of a host; `None` where it has no map.
    pub(crate) fn of(&self, host: &Host) -> Option<f64> {
        /// Base pages of a huge page, for the one share of pages that are huge ones.
        const HUGE: f64 = order9_units::PAGEBLOCK_PAGES.get() as f64;
        const GIB: f64 = (1_u64 << 18) as f64;
        let part = self.part.iter().map(|&column| host.number(column)).sum::<Option<u64>>()? as f64;
        let Some(whole) = self.whole else { return Some((part / GIB).max(f64::MIN_POSITIVE).log2()) };
        let scale = if self.feature.part == ["free_huge"] { HUGE } else { 1.0 };
        Some(match host.number(whole)? {
            0 => 0.0,
            whole => scale * part / whole as f64,
        })
    }
}

impl Feature {
    /// A value for a column under the short name: a percentage, or a number of GiB.
    #[must_use]
    pub fn number(&self, value: f64) -> String {
        let value = if self.is_share { 100.0 * value } else { value.exp2() };
        decimal(value, usize::from(value > 0.0 && value < 9.95))
    }

    /// A value in words: a share in percent, or a size.
    #[must_use]
    pub fn shown(&self, value: f64) -> String {
        if self.is_share {
            return percent((value * 1e4).round() as u64, 10_000);
        }
        size(order9_units::Bytes::new((value.exp2() * (1_u64 << 30) as f64).round() as u64))
    }
}
