//! Why pages are moved, and what moving them may wait for.

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
