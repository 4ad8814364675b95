//! Compaction: moves pages inside a zone so that free frames merge into blocks of the order that somebody needs.
//!
//! Key types: `CompactControl` (one run over one zone), [`Compactor`] (who runs it, which says how thoroughly),
//! `compact_zone` (the run from its start to its end). Started by the allocation slow path ([`try_to_compact_pages`]),
//! by the daemon of a node ([`kcompactd`]) and on request ([`compact_node`]); pages are moved by [`crate::migrate`].
//! Where pages are taken from and where to is behind `ChooseSource` and `ChooseTargets`. A page never leaves its zone,
//! and nothing here is priced or waits but the loops around bounded steps. Behaviour and sources: docs/compaction.md.

mod check;
mod daemon;
mod direct;
mod index;
mod request;
mod run;
mod source;
mod target;
mod zone;

pub use daemon::{PROACTIVE_INTERVAL, kcompactd};
pub use direct::try_to_compact_pages;
pub use request::{compact_memory, compact_node};
pub use run::control::{CompactTotals, Compaction, Compactor};

pub(crate) use daemon::kswapd_compact;
pub(crate) use run::account::Costs;
pub(crate) use run::capture::Capture;
pub(crate) use run::control::CompactControl;
pub(crate) use source::skipped_entries::SkippedEntriesCache;
pub(crate) use zone::skip_hints::BlockBits;

use order9_units::Pages;

use run::control::CompactId;

/// Pages isolated before they are moved: `COMPACT_CLUSTER_MAX`.
const CLUSTER: usize = 32;
/// Pageblocks passed over before others may run, and before the task looks whether it is due for rescheduling: some µs.
/// Linux looks every 32, which nobody could tell.
const BLOCKS_AT_ONCE: usize = 4096;
/// A pageblock, as a length.
const BLOCK: Pages = order9_units::PAGEBLOCK_PAGES;

#[cfg(test)]
mod tests;
