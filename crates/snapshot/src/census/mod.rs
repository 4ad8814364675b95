//! Census of a memory map: what every pageblock holds, and what that sums to per zone.
//!
//! [`BlockSummary`] counts one pageblock's frames by class; [`BlockState`] says what compaction can make of it.
//! Built on [`crate::classify`]; [`crate::inspection`] turns it into findings.

mod block;

pub use block::{BlockState, BlockSummary};
