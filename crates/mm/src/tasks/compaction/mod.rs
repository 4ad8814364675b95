//! Compaction as tasks run it: for a request ([`try_to_compact_pages`]), in the background ([`kcompactd`]), for kswapd, and by hand
//! ([`compact_node`]). The steps between the waits are in [`crate::compaction`].

mod capture;
pub(crate) mod direct;
pub(crate) mod kcompactd;
pub(crate) mod kswapd;
pub(crate) mod proactive;
pub(crate) mod request;
pub(crate) mod reserve;
pub(crate) mod run;
mod targets;

pub use crate::compaction::daemon::proactive::PROACTIVE_INTERVAL;
pub use direct::try_to_compact_pages;
pub use kcompactd::kcompactd;
pub use request::{compact_memory, compact_node};
