//! Page migration: the content of a page goes to another frame, and whoever maps or owns the page finds it there.
//!
//! Key types: `migrate_pages` (a list of isolated pages), `Targets` (where their new frames come from),
//! [`MigrateMode`] (what it may wait for), [`MigrateFailures`] and [`MigrateWaits`] (what went wrong and what was waited for).
//! Callers isolate pages first and put back what is left; compaction is one, whoever else moves pages is another.
//! A page is unmapped, copied and mapped again by one step, so that no program ever meets a half-moved one; what
//! others would wait for meanwhile is part of the price of that step. Never chooses pages or targets.
//! Behaviour and sources: docs/migration.md.

pub(crate) mod counts;
mod driver;
mod follow;
mod gather;
pub(crate) mod page;
mod place;
pub(crate) mod place_pages;
pub(crate) mod run;

pub use counts::{MigrateFailures, MigrateWaits, Waits};
pub(crate) use driver::DriverPages;
pub use driver::{DriverAnswer, DriverPageId};
pub(crate) use place_pages::Destination;
pub use run::Migrated;

/// Waits that a migration may make; Linux' `enum migrate_mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MigrateMode {
    /// `MIGRATE_ASYNC`: nothing.
    Async,
    /// `MIGRATE_SYNC_LIGHT`: page locks, not the end of writes.
    SyncLight,
    /// `MIGRATE_SYNC`: page locks and the end of writes; starts to write what cannot move while it is dirty.
    Sync,
}

impl MigrateMode {
    /// Name of the mode in trace events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Async => "MIGRATE_ASYNC",
            Self::SyncLight => "MIGRATE_SYNC_LIGHT",
            Self::Sync => "MIGRATE_SYNC",
        }
    }
}

/// Why pages migrate; Linux' `enum migrate_reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigrateReason {
    /// To make free blocks.
    Compaction,
    /// The memory of the pages is about to fail.
    MemoryFailure,
    /// The memory of the pages is taken out.
    MemoryHotplug,
    /// `move_pages` or `migrate_pages`, or another cpuset.
    Syscall,
    /// `mbind`.
    MempolicyMbind,
    /// The users of the pages run on another node.
    NumaMisplaced,
    /// A contiguous range is needed.
    ContigRange,
}

impl MigrateReason {
    /// Name of the reason in trace events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compaction => "compaction",
            Self::MemoryFailure => "memory_failure",
            Self::MemoryHotplug => "memory_hotplug",
            Self::Syscall => "syscall_or_cpuset",
            Self::MempolicyMbind => "mempolicy_mbind",
            Self::NumaMisplaced => "numa_misplaced",
            Self::ContigRange => "contig_range",
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
