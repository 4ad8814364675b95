//! Switches of allocations that found no page above the low watermark.

use order9_mm::policy::{EarlyFail, FirstCompaction, RetryRule, StallCounts, Withdrawn};

use crate::switch::{Case, Switch, Value, Values};

/// Switches of the slow path, in the order of the fields of their groups.
pub(super) static SWITCHES: &[Switch] = &[
    choice!(
        slow_path.first_compaction,
        "Which requests compact before they reclaim",
        "compaction comes before reclaim for",
        FirstCompaction::HighOrders: "high_orders",
            "every request above order 0", "up to 4.8";
        FirstCompaction::CostlyOrUnmovable: "costly_or_unmovable",
            "costly requests, and those above order 0 that are not movable", "4.9 to 6.8";
        FirstCompaction::CostlyOrUnmovableWithIo: "costly_or_unmovable_with_io",
            "costly requests, and those above order 0 that are not movable, if they may start I/O", "6.9+";
    ),
    choice!(
        slow_path.early_fail,
        "Which requests fail right after their first compaction",
        "right after their first compaction fail",
        EarlyFail::HugeNoRetry: "huge_no_retry",
            "huge pages without retries, if it was deferred or contended", "up to 4.8";
        EarlyFail::NoRetryDeferred: "no_retry_deferred",
            "costly requests without retries, if it was deferred", "4.9 to 5.3";
        EarlyFail::HugeUnlessRetryMayFail: "huge_unless_retry_may_fail",
            "costly requests without retries, if it was deferred, and order 9 with I/O and without \
             __GFP_RETRY_MAYFAIL, if it was skipped or deferred", "5.4";
        EarlyFail::NoRetrySkippedOrDeferred: "no_retry_skipped_or_deferred",
            "costly requests without retries, if it was skipped or deferred", "5.5 to 6.19";
        EarlyFail::NoRetrySkippedDeferredOrThisNode: "no_retry_skipped_deferred_or_thisnode",
            "costly requests without retries, if it was skipped or deferred or they are for one node alone",
            "never in a first release; stable releases of March 2026";
        EarlyFail::NoRetryThisNode: "no_retry_thisnode",
            "costly requests without retries, if they are for one node alone", "7.0+";
        EarlyFail::UnlessReclaimHelps: "unless_reclaim_helps",
            "costly requests without retries, if it was skipped or deferred, and order 9 if it was and reclaim cannot make \
             the difference", "order9";
        EarlyFail::HugeNoRetryAlways: "huge_no_retry_always",
            "costly requests without retries, if it was deferred, and order 9 without retries always, kernel threads \
             excepted", "proposed in 2018";
    ),
    choice!(
        slow_path.retry,
        "How long requests go on after reclaim",
        "requests go on",
        RetryRule::Repeat: "repeat",
            "only with __GFP_REPEAT if costly, until as many pages are reclaimed as they asked for", "up to 4.6";
        RetryRule::WhileHopeful: "while_hopeful",
            "while reclaim or compaction can still help", "4.7+";
    ),
    choice!(
        slow_path.withdrawn,
        "Effect of a deferred, contended or partial compaction on the next try",
        "after compaction that was deferred, contended or left a part out, a request tries again",
        Withdrawn::ByReclaimable: "by_reclaimable",
            "while a zone would be suitable with what can be reclaimed", "4.9 to 5.3";
        Withdrawn::SkippedOnly: "skipped_only",
            "with more effort, until none is left", "5.4+";
    ),
    flag!(
        slow_path.retry_waits_for_writeback,
        "Whether a retry without progress waits while most reclaimable pages are under writeback",
        off: "a retry without progress does not wait for writeback", "up to 4.6, and 5.16+",
        on: "a retry without progress waits up to 100 ms while most of what could be reclaimed is under writeback",
            "4.7 to 5.15"
    ),
    choice!(
        slow_path.stall_counts,
        "Which direct compactions count as compact_stall",
        "compact_stall counts",
        StallCounts::Tried: "tried",
            "direct compactions that did something", "up to 5.0, and 7.2+";
        StallCounts::All: "all",
            "all direct compactions, even skipped and deferred ones", "5.1 to 5.12";
        StallCounts::AllButSkipped: "all_but_skipped",
            "all direct compactions but skipped ones", "5.13 to 7.1";
    ),
    flag!(
        slow_path.thisnode_needs_reclaim,
        "Whether a request for one node only that may not reclaim fails before kswapd is asked for",
        off: "a request for one node only that may not reclaim wakes kswapd and looks again", "4.6+",
        on: "a request for one node only that may not reclaim fails before kswapd is asked for", "up to 4.5"
    ),
];
