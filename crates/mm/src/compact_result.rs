//! Efforts of compaction and their results.

/// Effort of direct compaction; Linux counts down from `Async`, 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompactPriority {
    /// `SYNC_FULL`: the whole zone, skip hints and block types ignored.
    SyncFull,
    /// `SYNC_LIGHT`: may sleep on locks.
    SyncLight,
    /// `ASYNC`: never sleeps.
    Async,
}

/// Why compaction ended, from least to most done; Linux' `compact_result`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CompactResult {
    /// Not tried: too few free pages, or fragmentation is not the problem.
    Skipped,
    /// Not tried: it failed too often lately.
    Deferred,
    /// The whole zone was scanned.
    Complete,
    /// The scanners met, but did not start at the ends of the zone.
    PartialSkipped,
    /// Given up: a lock was taken or the task was due for rescheduling.
    Contended,
    /// There should be a block now.
    Success,
}

impl CompactResult {
    /// Name of the result in trace events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Skipped => "skipped",
            Self::Deferred => "deferred",
            Self::Complete => "complete",
            Self::PartialSkipped => "partial_skipped",
            Self::Contended => "contended",
            Self::Success => "success",
        }
    }
}
