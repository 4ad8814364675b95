//! Differences between releases about requests that find no page at once.

/// Way of an allocation that found no page above the low watermark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowPathPolicy {
    /// Requests that compact before they reclaim.
    pub first_compaction: FirstCompaction,
    /// Requests that fail right after the first compaction.
    pub early_fail: EarlyFail,
    /// Limit to the retries of a request.
    pub retry: RetryRule,
    /// Consequence of a compaction that gave up for the next try.
    pub withdrawn: Withdrawn,
    /// A retry without progress waits up to 100 ms while most of what could be reclaimed is under writeback. 4.7 to 5.15.
    pub retry_waits_for_writeback: bool,
    /// Direct compactions that count as `compact_stall`.
    pub stall_counts: StallCounts,
    /// A request for one node only that may not reclaim fails before kswapd is asked for. Up to 4.5.
    pub thisnode_needs_reclaim: bool,
}

/// Requests that compact before they reclaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstCompaction {
    /// Every request above order 0. Up to 4.8.
    HighOrders,
    /// Costly requests, and others above order 0 that are not movable. 4.9 to 6.8.
    CostlyOrUnmovable,
    /// Costly and unmovable requests, if they may start I/O. 6.9+.
    CostlyOrUnmovableWithIo,
}

/// Requests that fail after their first compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyFail {
    /// Huge pages without retries, after a deferred or contended compaction. Up to 4.8.
    HugeNoRetry,
    /// Costly requests without retries, if compaction is deferred. 4.9 to 5.3.
    NoRetryDeferred,
    /// Requests without retries, and order 9 with I/O and without `__GFP_RETRY_MAYFAIL` if compaction was skipped or deferred.
    /// 5.4.
    HugeUnlessRetryMayFail,
    /// Costly requests without retries, if compaction was skipped or deferred. 5.5+.
    NoRetrySkippedOrDeferred,
    /// Costly requests without retries, if compaction was skipped or deferred, and those for one node in every case. Stable releases
    /// of March 2026.
    NoRetrySkippedDeferredOrThisNode,
    /// Costly requests without retries for one node. 7.0+.
    NoRetryThisNode,
    /// As [`Self::NoRetrySkippedOrDeferred`], and order 9 in every case if it was skipped or deferred, unless reclaim of pages makes the difference.
    /// order9's own.
    UnlessReclaimHelps,
    /// Costly requests without retries if deferred, and order 9 without retries always, kernel threads excepted. Proposed in
    /// 2018, never merged.
    HugeNoRetryAlways,
}

impl EarlyFail {
    const ALL: [Self; 8] = [
        Self::HugeNoRetry,
        Self::NoRetryDeferred,
        Self::HugeUnlessRetryMayFail,
        Self::NoRetrySkippedOrDeferred,
        Self::NoRetrySkippedDeferredOrThisNode,
        Self::NoRetryThisNode,
        Self::UnlessReclaimHelps,
        Self::HugeNoRetryAlways,
    ];

    /// The rule of one request as the note that the request carries; 0 for none.
    pub(crate) const fn note(rule: Option<Self>) -> u8 {
        match rule {
            Some(rule) => 1 + rule as u8,
            None => 0,
        }
    }

    /// The rule that a request carries.
    pub(crate) fn of_note(note: u8) -> Option<Self> {
        Self::ALL.get(usize::from(note).checked_sub(1)?).copied()
    }
}

/// Limit to the retries of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryRule {
    /// Costly requests with `__GFP_REPEAT` until as many pages are reclaimed as they asked for. Up to 4.6.
    Repeat,
    /// While reclaim or compaction can still help. 4.7+.
    WhileHopeful,
}

/// Consequence of a compaction that was deferred, contended or skipped a part for the next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// Retry while a zone would be suitable with what can be reclaimed. 4.9 to 5.3.
    ByReclaimable,
    /// Try harder; only a skipped one depends on what can be reclaimed. 5.4+.
    SkippedOnly,
}

/// Direct compactions that count as `compact_stall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallCounts {
    /// Compactions that did something. Up to 5.0, and 7.2+.
    Tried,
    /// All, even skipped and deferred ones. 5.1 to 5.12.
    All,
    /// All but skipped ones. 5.13 to 7.1.
    AllButSkipped,
}

impl Default for SlowPathPolicy {
    fn default() -> Self {
        Self {
            first_compaction: FirstCompaction::CostlyOrUnmovable,
            early_fail: EarlyFail::NoRetryDeferred,
            retry: RetryRule::WhileHopeful,
            withdrawn: Withdrawn::ByReclaimable,
            retry_waits_for_writeback: true,
            stall_counts: StallCounts::All,
            thisnode_needs_reclaim: false,
        }
    }
}
