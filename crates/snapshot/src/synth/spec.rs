//! Specification of a synthetic machine, and refusal of impossible ones.

use std::fmt;
use std::str::FromStr;

use order9_units::{Bytes, NodeId, PAGE_SIZE, ZoneKind};

use crate::limits::NODES_MAX;

/// The smallest machine: room for the zones below 16 MiB, a kernel and some memory.
pub const SIZE_MIN: Bytes = Bytes::new(256 << 20);

/// The largest machine.
pub const SIZE_MAX: Bytes = Bytes::from_gib(16 << 10);

/// Sizes are multiples of this: a memory section of x86-64.
pub(super) const SIZE_STEP: Bytes = Bytes::new(128 << 20);

/// Least memory of each of several nodes: node 0 has to hold the zones below 4 GiB.
pub(super) const NODE_MIN: Bytes = Bytes::from_gib(4);

/// A machine to make up. Shares are of the memory of zones DMA32 and Normal that the kernel image leaves; zone DMA
/// stays free, as on real machines.
#[derive(Clone, Debug, PartialEq)]
pub struct SynthSpec {
    /// Memory of the machine: [`SIZE_MIN`] to [`SIZE_MAX`], a multiple of 128 MiB.
    pub size: Bytes,
    /// NUMA nodes, of equal size up to 128 MiB; each of several needs 4 GiB.
    pub nodes: u16,
    /// Share in use, 0 to 1. What the shares below do not name is anonymous memory in base pages.
    pub fill: f64,
    /// Share that the kernel holds and nothing can move: slab, page tables and unnamed uses as 3:1:1.
    pub unmovable: f64,
    /// Share in slab pages of reclaimable caches.
    pub reclaimable: f64,
    /// Share in anonymous pages with a long-term pin.
    pub pinned: f64,
    /// Share in anonymous huge pages of 2 MiB.
    pub huge: f64,
    /// Share in clean, unmapped page cache.
    pub clean_cache: f64,
    /// Arrangement of used and free frames.
    pub pattern: Pattern,
    /// Share of the free memory that lies scattered in partly used pageblocks, 0 to 1; the rest is whole free
    /// pageblocks.
    pub degree: f64,
    /// Share of the partly used pageblocks that hold one unmovable page, 0 to 1, for the patterns that say so.
    pub contamination: f64,
    /// Seed of the machine. Equal seeds give equal machines.
    pub seed: u64,
}

impl SynthSpec {
    /// Memory that making the machine up takes: a byte and a bit for each frame, and what is written of them.
    #[must_use]
    pub fn memory(&self) -> Bytes {
        const BYTES_PER_FRAME: u64 = 2;
        Bytes::new(self.size.get() / PAGE_SIZE.get() * BYTES_PER_FRAME)
    }
}

impl Default for SynthSpec {
    /// A 16 GiB server after some weeks.
    fn default() -> Self {
        Self {
            size: Bytes::from_gib(16),
            nodes: 1,
            fill: 0.7,
            unmovable: 0.03,
            reclaimable: 0.02,
            pinned: 0.0,
            huge: 0.1,
            clean_cache: 0.25,
            pattern: Pattern::Aged,
            degree: 0.8,
            contamination: 0.2,
            seed: 1,
        }
    }
}

/// Arrangement of used and free frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// From the bottom of each zone: kernel memory, huge pages, user pages, then one run of free memory.
    Packed,
    /// Every frame of a partly used pageblock is used or free at random, whatever uses it.
    Random,
    /// Random, but in runs of equal frames whose lengths are geometric with a mean of 32.
    Clustered,
    /// Free frames at equal distances; kernel memory has pageblocks of its own.
    Checkerboard,
    /// Random, but kernel memory has pageblocks of its own, except for one page in some of the others.
    Contaminated,
    /// As `Contaminated`, but in runs of 1, 2, 4 to 256 frames, each length equally often.
    Aged,
}

/// A name that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no pattern {0:?}: expected packed, random, clustered, checkerboard, contaminated or aged")]
pub struct PatternError(String);

impl Pattern {
    /// All patterns, from orderly to like real memory.
    pub const ALL: [Self; 6] =
        [Self::Packed, Self::Random, Self::Clustered, Self::Checkerboard, Self::Contaminated, Self::Aged];

    /// Name of the pattern on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Packed => "packed",
            Self::Random => "random",
            Self::Clustered => "clustered",
            Self::Checkerboard => "checkerboard",
            Self::Contaminated => "contaminated",
            Self::Aged => "aged",
        }
    }

    /// Whether kernel memory has pageblocks of its own.
    pub(super) const fn groups_kernel_memory(self) -> bool {
        !matches!(self, Self::Random | Self::Clustered)
    }

    /// Whether `contamination` applies.
    pub(super) const fn contaminates(self) -> bool {
        matches!(self, Self::Contaminated | Self::Aged)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Pattern {
    type Err = PatternError;
    fn from_str(name: &str) -> Result<Self, PatternError> {
        Self::ALL.into_iter().find(|pattern| pattern.name() == name).ok_or_else(|| PatternError(name.to_owned()))
    }
}

/// Why a machine cannot be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SynthError {
    /// Too small, too large or uneven.
    #[error("a machine of {}: expected {} to {} in steps of {}", Size(*.0), Size(SIZE_MIN), Size(SIZE_MAX), Size(SIZE_STEP))]
    Size(Bytes),
    /// No node, or more than Linux supports.
    #[error("{0} nodes: expected 1 to {NODES_MAX}")]
    Nodes(u16),
    /// Nodes of less than 4 GiB.
    #[error("{nodes} nodes in {}: each needs {} at least, so at most {max} fit", Size(*.size), Size(NODE_MIN))]
    NodeSize {
        /// Number of nodes that were asked for.
        nodes: u16,
        /// Size of memory.
        size: Bytes,
        /// Largest number of nodes of that memory.
        max: u64,
    },
    /// A share that is none.
    #[error("{name} is {value}: expected a share from 0 to 1")]
    Share {
        /// Field of the spec.
        name: &'static str,
        /// The given share.
        value: f64,
    },
    /// More in use than the fill.
    #[error("unmovable, reclaimable, pinned, huge and clean_cache add up to {sum}, more than fill, {fill}")]
    Sum {
        /// Sum of the shares.
        sum: f64,
        /// The share that they must not exceed.
        fill: f64,
    },
    /// Not enough unmovable pages to contaminate so many pageblocks.
    #[error(
        "contamination {contamination} means {needed} pageblocks with an unmovable page in zone {kind} of node {node}, \
         but the unmovable share gives {pages} pages only"
    )]
    Contamination {
        /// The share of pageblocks.
        contamination: f64,
        /// Node of the zone.
        node: NodeId,
        /// Kind of the zone.
        kind: ZoneKind,
        /// Number of pageblocks to contaminate.
        needed: u64,
        /// Number of unmovable pages.
        pages: u64,
    },
}

impl SynthSpec {
    /// Checks everything that does not depend on the layout of zones.
    ///
    /// # Errors
    /// The first value that no machine can have.
    pub fn check(&self) -> Result<(), SynthError> {
        if self.size < SIZE_MIN || self.size > SIZE_MAX || !self.size.get().is_multiple_of(SIZE_STEP.get()) {
            return Err(SynthError::Size(self.size));
        }
        if self.nodes == 0 || self.nodes > NODES_MAX {
            return Err(SynthError::Nodes(self.nodes));
        }
        let max = (self.size.get() / NODE_MIN.get()).max(1);
        if u64::from(self.nodes) > max {
            return Err(SynthError::NodeSize { nodes: self.nodes, size: self.size, max });
        }
        for (name, value) in self.shares() {
            if !(0.0..=1.0).contains(&value) {
                return Err(SynthError::Share { name, value });
            }
        }
        let sum = self.unmovable + self.reclaimable + self.pinned + self.huge + self.clean_cache;
        // Decimal shares such as 0.1 + 0.2 miss their sum by a rounding error.
        if sum > self.fill + 1e-12 {
            return Err(SynthError::Sum { sum, fill: self.fill });
        }
        Ok(())
    }

    fn shares(&self) -> [(&'static str, f64); 8] {
        [
            ("fill", self.fill),
            ("unmovable", self.unmovable),
            ("reclaimable", self.reclaimable),
            ("pinned", self.pinned),
            ("huge", self.huge),
            ("clean_cache", self.clean_cache),
            ("degree", self.degree),
            ("contamination", self.contamination),
        ]
    }
}

impl fmt::Display for SynthSpec {
    /// Writes the arguments of the command line that give this machine again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--size {} --nodes {}", Size(self.size), self.nodes)?;
        for (name, value) in self.shares() {
            write!(f, " --{} {value}", name.replace('_', "-"))?;
        }
        write!(f, " --pattern {} --seed {}", self.pattern, self.seed)
    }
}

/// Bytes in the largest unit that divides them, as the command line takes them: `1T`, `1536G`, `384M`.
struct Size(Bytes);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.get();
        let (unit, shift) = [("T", 40), ("G", 30), ("M", 20), ("K", 10)]
            .into_iter()
            .find(|&(_, shift)| bytes != 0 && bytes.trailing_zeros() >= shift)
            .unwrap_or(("", 0));
        write!(f, "{}{unit}", bytes >> shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_prints_as_arguments() {
        let spec = SynthSpec { size: Bytes::from_gib(1536), nodes: 2, ..SynthSpec::default() };
        let expected = "--size 1536G --nodes 2 --fill 0.7 --unmovable 0.03 --reclaimable 0.02 --pinned 0 --huge 0.1 \
                        --clean-cache 0.25 --degree 0.8 --contamination 0.2 --pattern aged --seed 1";
        assert_eq!(spec.to_string(), expected);
    }

    #[test]
    fn impossible_specs_are_refused() {
        let default = SynthSpec::default;
        let message = |spec: SynthSpec| spec.check().expect_err("impossible").to_string();
        assert!(default().check().is_ok());
        assert_eq!(
            message(SynthSpec { size: Bytes::from_gib(1) + Bytes::new(1), ..default() }),
            "a machine of 1073741825: expected 256M to 16T in steps of 128M"
        );
        assert_eq!(message(SynthSpec { nodes: 0, ..default() }), "0 nodes: expected 1 to 1024");
        assert_eq!(
            message(SynthSpec { nodes: 5, ..default() }),
            "5 nodes in 16G: each needs 4G at least, so at most 4 fit"
        );
        assert_eq!(message(SynthSpec { fill: 1.2, ..default() }), "fill is 1.2: expected a share from 0 to 1");
        assert_eq!(message(SynthSpec { huge: f64::NAN, ..default() }), "huge is NaN: expected a share from 0 to 1");
        assert_eq!(
            message(SynthSpec { fill: 0.25, ..default() }),
            "unmovable, reclaimable, pinned, huge and clean_cache add up to 0.4, more than fill, 0.25"
        );
        let exact = SynthSpec { fill: 0.3, unmovable: 0.1, huge: 0.2, reclaimable: 0.0, clean_cache: 0.0, ..default() };
        assert!(exact.check().is_ok());
    }

    #[test]
    fn names_of_patterns_are_read_back() {
        assert!(Pattern::ALL.into_iter().all(|pattern| pattern.name().parse() == Ok(pattern)));
        assert!("aging".parse::<Pattern>().is_err());
    }
}
