//! Mobility types of pageblocks and free lists.

use core::fmt;
use core::str::FromStr;

/// Mobility of what a pageblock is meant to hold; spelled as in /proc/pagetypeinfo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum Migratetype {
    /// Kernel memory that stays where it is.
    Unmovable = 0,
    /// Memory whose contents compaction may move: user pages, page cache.
    #[default]
    Movable = 1,
    /// Kernel memory that shrinkers can free, such as dentries.
    Reclaimable = 2,
    /// Reserve for high-order requests that may not sleep.
    HighAtomic = 3,
    /// Contiguous memory area: lent to movable requests only. Spelled `CMA`.
    #[cfg_attr(feature = "serde", serde(rename = "CMA"))]
    Cma = 4,
    /// Being taken offline or claimed as a contiguous range; its free pages are not counted as free.
    Isolate = 5,
}

/// A name that is no migratetype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MigratetypeError;

impl Migratetype {
    /// Number of migratetypes.
    pub const COUNT: usize = 6;

    /// All types, by number.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Unmovable, Self::Movable, Self::Reclaimable, Self::HighAtomic, Self::Cma, Self::Isolate];

    /// The three types that requests name and per-CPU lists keep apart.
    pub const PCP: [Self; 3] = [Self::Unmovable, Self::Movable, Self::Reclaimable];

    /// The number of the type as an index into per-type arrays.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The type with number `index`, or `None` above 5.
    #[must_use]
    pub const fn from_index(index: usize) -> Option<Self> {
        if index < Self::COUNT { Some(Self::ALL[index]) } else { None }
    }

    /// Whether pageblocks of this type may merge with those of another mergeable type and change type by stealing.
    #[must_use]
    pub const fn is_mergeable(self) -> bool {
        (self as usize) < Self::PCP.len()
    }

    /// The name as Linux prints it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unmovable => "Unmovable",
            Self::Movable => "Movable",
            Self::Reclaimable => "Reclaimable",
            Self::HighAtomic => "HighAtomic",
            Self::Cma => "CMA",
            Self::Isolate => "Isolate",
        }
    }
}

impl fmt::Display for Migratetype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Migratetype {
    type Err = MigratetypeError;
    fn from_str(name: &str) -> Result<Self, MigratetypeError> {
        Self::ALL.into_iter().find(|mt| mt.name() == name).ok_or(MigratetypeError)
    }
}

impl fmt::Display for MigratetypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no migratetype: expected Unmovable, Movable, Reclaimable, HighAtomic, CMA or Isolate")
    }
}

impl core::error::Error for MigratetypeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_round_trip() {
        for (index, mt) in Migratetype::ALL.into_iter().enumerate() {
            assert_eq!(mt.index(), index);
            assert_eq!(Migratetype::from_index(index), Some(mt));
            assert_eq!(mt.name().parse(), Ok(mt));
        }
        assert_eq!("movable".parse::<Migratetype>(), Err(MigratetypeError));
    }
}
