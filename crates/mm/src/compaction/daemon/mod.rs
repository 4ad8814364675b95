//! Compaction in the background: kcompactd, its proactive runs, and kswapd where there is no kcompactd.

pub(in crate::compaction) mod kcompactd;
mod kswapd;
pub(in crate::compaction) mod proactive;

pub use kcompactd::kcompactd;
pub(crate) use kswapd::kswapd_compact;
pub use proactive::PROACTIVE_INTERVAL;
