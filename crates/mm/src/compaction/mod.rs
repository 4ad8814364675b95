//! Compaction: moves pages inside a zone so that free frames merge into blocks of the order that somebody needs.
//!
//! | Part | Subject |
//! |---|---|
//! | `direct`, `daemon`, `request` | starters of runs: the slow path, kcompactd and kswapd, the administrator |
//! | `run` | one run over one zone: its state, its rounds, its end, and the block that its task captures |
//! | `source` | the migration scanner and the search of free lists for pageblocks to empty |
//! | `target` | the free scanner and the search of free lists for frames to move pages to |
//! | `index` | runs that claim the cheapest pageblock by the pageblock index, and kcompactd's reserve of huge pages |
//! | `zone` | state of a zone between runs: cached positions, deferral, skip hints |
//!
//! [`crate::migrate`] moves the pages. A page never leaves its zone. Only the loops around bounded steps wait, and only they are
//! priced. Behaviour and sources: docs/compaction.md.

mod check;
pub(crate) mod daemon;
mod direct;
pub(crate) mod index;
pub(crate) mod run;
pub(crate) mod source;
pub(crate) mod target;
pub(crate) mod zone;

use alloc::vec::Vec;

use order9_units::Pages;
use zone::ZoneCompaction;

use crate::heard::block_bits::BlockBits;

pub(crate) use run::control::CompactControl;
pub use run::control::{CompactTotals, Compactor};

/// Pages isolated before they are moved: `COMPACT_CLUSTER_MAX`.
const CLUSTER: usize = 32;
/// Pageblocks that a step skips before the task looks whether it is due for rescheduling: some µs. Linux looks every 32, with
/// no visible difference.
const BLOCKS_AT_ONCE: usize = 4096;
/// Length of a pageblock.
const BLOCK: Pages = order9_units::PAGEBLOCK_PAGES;

/// State that compaction runs share: cached positions, deferral and skip hints.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// Cached positions and deferral of each zone, by its number.
    pub(crate) zones: Vec<ZoneCompaction>,
    /// Skip hints: set for each pageblock that scanners skip.
    pub(crate) skip: BlockBits,
}

impl Compaction {
    /// State for so many zones and pageblocks before the first run.
    pub(crate) fn new(zones: usize, blocks: usize) -> Self {
        Self { zones: alloc::vec![ZoneCompaction::default(); zones], skip: BlockBits::new(blocks) }
    }
}

#[cfg(test)]
mod tests;
