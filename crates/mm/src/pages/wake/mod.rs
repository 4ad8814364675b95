//! Wake-ups that follow from taking and writing pages: for kswapd, kcompactd, and tasks that wait.
//!
//! Decisions only: [`crate::daemons`] keeps the requests, and the daemons are tasks.

mod kcompactd;
mod kswapd;
mod node_reclaim;
pub(crate) mod reserve;
mod written;

pub(crate) use node_reclaim::{UNMAP, WRITE};

pub use kswapd::FAILURES_MAX;
