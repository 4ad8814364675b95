//! Reclaim: takes pages from programs and files, oldest first, when memory is short.
//!
//! Key types: [`BalanceView`] (how a pass shares its scanning), [`Progress`] (whether a run goes on), [`Reference`] (whether
//! a page is in use). The lists are those of [`crate::LruList`].

mod balance;
mod decide;

pub use balance::{BalanceView, Pressure, ScanBalance, inactive_ratio};
pub use decide::{Progress, Reference, check_reference, is_within_workingset, throttles_direct_reclaim};
