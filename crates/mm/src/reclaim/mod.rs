//! Reclaim: takes pages from programs and files, oldest first, when memory is short.
//!
//! Key types: [`ReclaimControl`] (one run), [`ReclaimStep`] (what a bounded step of it came to), [`PageWrite`] (what it gives
//! its caller to write), [`PassStats`] and [`ReclaimFlags`] (what it met on its way), [`BalanceView`] (how a pass shares its
//! scanning), [`Progress`] (whether a run goes on), [`Reference`] (whether a page is in use). The lists are those of
//! [`crate::LruList`].

mod age;
mod balance;
mod budgets;
mod chunk;
pub(crate) mod control;
pub(crate) mod decide;
mod direct;
pub(crate) mod node;
pub(crate) mod pass;
mod shrink_page;
pub(crate) mod stats;
pub(crate) mod throttle;
mod walk;

pub use crate::lru::Pressure;
pub use crate::reclaimer::{PassStats, Reclaimer, Stalled};
pub use balance::{BalanceView, ScanBalance, inactive_ratio};
pub use control::{DEF_PRIORITY, PageWrite, Reclaim, ReclaimControl, ReclaimId};
pub use decide::{Progress, Reference, check_references, throttles_direct_reclaim, too_many_isolated};
pub(crate) use node::NodePass;
pub use pass::ReclaimStep;
pub use stats::ReclaimFlags;

#[cfg(test)]
mod file_tests;
#[cfg(test)]
mod random_tests;
#[cfg(test)]
pub(crate) mod tests;
