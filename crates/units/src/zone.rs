//! Nodes and kinds of zones.

use core::fmt;
use core::str::FromStr;

/// A NUMA node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct NodeId(pub u16);

impl NodeId {
    /// The number as an index into per-node arrays.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The zones of a node on x86-64, lowest first; spelled as in /proc/zoneinfo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[repr(u8)]
pub enum ZoneKind {
    /// Below 16 MiB.
    #[cfg_attr(feature = "serde", serde(rename = "DMA"))]
    Dma = 0,
    /// 16 MiB to 4 GiB.
    #[cfg_attr(feature = "serde", serde(rename = "DMA32"))]
    Dma32 = 1,
    /// From 4 GiB on. The kernel takes memory from this zone by default.
    Normal = 2,
    /// Holds movable memory only. Set up by `movablecore=` or by hotplug.
    Movable = 3,
}

/// A name that is no zone of x86-64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneKindError;

impl ZoneKind {
    /// Number of kinds of zones.
    pub const COUNT: usize = 4;

    /// All kinds, lowest first.
    pub const ALL: [Self; Self::COUNT] = [Self::Dma, Self::Dma32, Self::Normal, Self::Movable];

    /// The zone index, 0 to 3: what Linux calls `zone_idx`.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The name as Linux prints it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Dma => "DMA",
            Self::Dma32 => "DMA32",
            Self::Normal => "Normal",
            Self::Movable => "Movable",
        }
    }
}

impl fmt::Display for ZoneKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ZoneKind {
    type Err = ZoneKindError;
    fn from_str(name: &str) -> Result<Self, ZoneKindError> {
        Self::ALL.into_iter().find(|zone| zone.name() == name).ok_or(ZoneKindError)
    }
}

impl fmt::Display for ZoneKindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no zone: expected DMA, DMA32, Normal or Movable")
    }
}

impl core::error::Error for ZoneKindError {}
