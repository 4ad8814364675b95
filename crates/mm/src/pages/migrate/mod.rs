//! Page migration: the content of a page goes to another frame, and whoever maps or owns the page finds it there.
//!
//! Key types: `migrate_pages` (a list of isolated pages), `Targets` (where their new frames come from),
//! [`MigrateMode`] (what it may wait for), [`MigrateFailures`] and [`MigrateWaits`] (what went wrong and what was waited for).
//! Callers isolate pages first and put back what is left; compaction is one, whoever else moves pages is another.
//! A page is unmapped, copied and mapped again by one step, so that no program ever meets a half-moved one; what
//! others would wait for meanwhile is part of the price of that step. Never chooses pages or targets.
//! Behaviour and sources: docs/migration.md.

pub(crate) mod driver;
mod follow;
mod gather;
pub(crate) mod page;
mod place;
pub(crate) mod place_pages;
pub(crate) mod run;

pub use crate::migrate_counts::{MigrateFailures, MigrateWaits, Waits};
pub use crate::migrate_reason::{MigrateMode, MigrateReason};
pub use driver::DriverPages;
pub use driver::{DriverAnswer, DriverPageId};
pub(crate) use place_pages::Destination;
pub use run::Migrated;

#[cfg(test)]
pub(crate) mod tests;
