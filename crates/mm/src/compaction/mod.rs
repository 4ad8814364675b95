//! Compaction: moves pages inside a zone so that free frames merge into blocks of the order that somebody needs.
//!
//! Key types: `CompactControl` (one run over one zone), [`Compactor`] (who runs it, which says how thoroughly),
//! `compact_zone` (the run from its start to its end). Started by the allocation slow path ([`try_to_compact_pages`]),
//! by the daemon of a node ([`kcompactd`]) and on request ([`compact_node`]); pages are moved by [`crate::migrate`].
//! Where pages are taken from and where to is behind `ChooseSource` and `ChooseTargets`. A page never leaves its zone,
//! and nothing here is priced or waits but the loops around bounded steps. Behaviour and sources: docs/compaction.md.

mod account;
mod ahead;
mod capture;
mod check;
mod claim;
mod control;
mod cursors;
mod deferral;
mod direct;
mod drain;
mod finished;
mod hints;
mod indexed;
mod kcompactd;
mod kswapd;
mod node;
mod pass_over;
mod proactive;
mod request;
mod reset;
mod run;
mod source;
mod source_fast;
mod source_scan;
mod stretch;
mod survey;
mod target;
mod target_fast;
mod target_index;
mod target_scan;
mod zone;

pub use control::{CompactTotals, Compactor};
pub use direct::try_to_compact_pages;
pub use kcompactd::kcompactd;
pub use proactive::PROACTIVE_INTERVAL;
pub use request::{compact_memory, compact_node};

pub(crate) use account::Costs;
pub(crate) use capture::Capture;
pub(crate) use control::CompactControl;
pub use control::Compaction;
pub(crate) use hints::BlockBits;
pub(crate) use kswapd::compact_for_kswapd;
pub(crate) use stretch::Stretches;

use order9_units::Pages;

use control::CompactId;

/// Pages isolated before they are moved: `COMPACT_CLUSTER_MAX`.
const CLUSTER: usize = 32;
/// Pageblocks passed over before others may run, and before the task looks whether it is due for rescheduling: some µs.
/// Linux looks every 32, which nobody could tell.
const BLOCKS_AT_ONCE: usize = 4096;
/// A pageblock, as a length.
const BLOCK: Pages = order9_units::PAGEBLOCK_PAGES;

#[cfg(test)]
mod tests;
