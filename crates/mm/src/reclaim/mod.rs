//! Reclaim: takes pages from programs and files, oldest first, when memory is short.
//!
//! Key types: [`ReclaimControl`] (one run), [`ReclaimStep`] (what a bounded step of it came to), [`BalanceView`] (how a pass shares its scanning), [`Progress`] (whether a run goes on), [`Reference`] (whether
//! a page is in use). The lists are those of [`crate::LruList`].

mod age;
mod balance;
mod chunk;
mod control;
mod decide;
mod pass;

pub use balance::{BalanceView, Pressure, ScanBalance, inactive_ratio};
pub use control::{DEF_PRIORITY, ReclaimControl, ReclaimId, Reclaimer};
pub use decide::{Progress, Reference, check_reference, is_within_workingset, throttles_direct_reclaim};
pub use pass::ReclaimStep;

pub(crate) use control::ReclaimState;

#[cfg(test)]
mod tests;
