//! Switches of compaction.

use order9_mm::policy::{
    Background, CompactGap, DrainMark, ProactiveBackoff, SkipReset, SourceSearch, TargetSearch, TargetStride,
};

use crate::switch::{Case, Switch, Value, Values};

/// Switches of compaction, in the order of the fields.
pub(super) static SWITCHES: &[Switch] = &[
    choice!(
        compaction.background,
        "Which thread compacts in the background",
        "in the background compacts",
        Background::Kswapd: "kswapd",
            "kswapd, at the end of its balancing", "up to 4.5";
        Background::Kcompactd: "kcompactd",
            "kcompactd, a thread of its own for each node", "4.6+";
    ),
    flag!(
        compaction.wake_when_balanced,
        "Whether requests that may not reclaim wake kcompactd where kswapd has nothing to do",
        off: "kcompactd is woken by kswapd alone", "up to 4.16",
        on: "a request that may not reclaim wakes kcompactd where kswapd has nothing to do", "4.17+"
    ),
    choice!(
        compaction.source_search,
        "How a run finds the pageblock to take pages from",
        "pages to move are looked for",
        SourceSearch::Linear: "linear",
            "by address", "up to 5.0";
        SourceSearch::FreeLists: "free_lists",
            "in pageblocks that have blocks on free lists, then by address", "5.1+";
        SourceSearch::Index: "index",
            "in the pageblock that costs least to empty", "order9";
    ),
    choice!(
        compaction.target_search,
        "How a run finds free frames to move pages to",
        "free frames are looked for",
        TargetSearch::Linear: "linear",
            "by address", "up to 5.0";
        TargetSearch::FreeLists: "free_lists",
            "on free lists, then by address", "5.1+";
        TargetSearch::Index: "index",
            "in the fullest pageblocks", "order9";
    ),
    choice!(
        compaction.target_stride,
        "How many frames the linear free scanner steps at a time",
        "the linear free scanner looks at",
        TargetStride::One: "one",
            "every frame", "up to 5.0";
        TargetStride::Adaptive: "adaptive",
            "every 32nd frame at most, and more closely where it finds some", "5.1+";
    ),
    flag!(
        compaction.nohandler_fail_fast,
        "Whether a page with private data of a file without migration handler fails at once in asynchronous mode",
        off: "a page with private data and no migration handler is tried ten times", "up to 5.0",
        on: "a page with private data and no migration handler fails at once in asynchronous mode", "5.1+"
    ),
    flag!(
        compaction.finish_block_always,
        "Whether a run scans the pageblock it is in to its end before it looks whether it has succeeded",
        off: "a run looks after every batch whether it has succeeded", "up to 5.0",
        on: "a run scans the pageblock it is in to its end before it looks whether it has succeeded", "5.1+"
    ),
    flag!(
        compaction.isolate_ignores_boost,
        "Whether free frames are isolated down to the min mark without its boost",
        off: "free frames are isolated down to the boosted min mark", "up to 5.0",
        on: "free frames are isolated down to the min mark without its boost", "5.1+"
    ),
    flag!(
        compaction.source_private,
        "Whether a pageblock is the migration source of one run only",
        off: "several runs may take pages from one pageblock", "up to 5.0",
        on: "a pageblock is the migration source of one run only", "5.1+"
    ),
    flag!(
        compaction.rescan_whole_block,
        "Whether a pageblock that a run comes to a second time is scanned to its end at once",
        off: "pages are always taken 32 at a time", "up to 5.0",
        on: "a pageblock that a run comes to a second time is scanned to its end at once", "5.1+"
    ),
    flag!(
        compaction.contention_finish_block,
        "Whether an asynchronous run that meets a busy lock finishes its pageblock before it stops",
        off: "an asynchronous run that meets a busy lock stops at once", "up to 5.0",
        on: "an asynchronous run that meets a busy lock waits for it and finishes its pageblock before it stops", "5.1+"
    ),
    flag!(
        compaction.skip_huge_block_early,
        "Whether pageblocks that begin with a huge page are passed over before they are looked at",
        off: "pageblocks that begin with a huge page are looked at", "up to 5.0",
        on: "pageblocks that begin with a huge page are passed over before they are looked at", "5.1+"
    ),
    flag!(
        compaction.sync_cached_unusable,
        "Whether unusable pageblocks advance both cached positions of the migration scanner",
        off: "unusable pageblocks advance one cached position of the migration scanner", "up to 5.0",
        on: "unusable pageblocks advance both cached positions of the migration scanner", "5.1+"
    ),
    flag!(
        compaction.free_cursor_slow,
        "Whether the cached position of the free scanner moves only past pageblocks that were searched",
        off: "the cached position of the free scanner follows every find", "up to 5.0",
        on: "the cached position of the free scanner moves only past pageblocks that were searched", "5.1+"
    ),
    flag!(
        compaction.target_order_rr,
        "Whether the search of free lists begins at the order that gave some last",
        off: "the search of free lists for free frames begins below the wanted order", "never released alone",
        on: "the search of free lists for free frames begins at the order that gave some last", "5.1+"
    ),
    flag!(
        compaction.capture,
        "Whether a block of the wanted order that the compacting task frees goes to it",
        off: "a block that is freed during direct compaction goes to the free lists, where others may take it", "up to 5.0",
        on: "a block of the wanted order that the compacting task frees goes to it", "5.1+"
    ),
    flag!(
        compaction.resched_aborts_async,
        "Whether an asynchronous run ends when its task should give up the CPU",
        off: "an asynchronous run goes on after its task gave up the CPU", "5.1+",
        on: "an asynchronous run ends when its task should give up the CPU", "up to 5.0"
    ),
    choice!(
        compaction.skip_reset,
        "Which pageblocks lose their skip hint at a reset",
        "at a reset the skip hint is lost by",
        SkipReset::Full: "full",
            "all pageblocks", "up to 5.0";
        SkipReset::Selective: "selective",
            "pageblocks in which a sample of frames shows pages to move or free frames", "5.1+";
    ),
    choice!(
        compaction.drain_mark,
        "From which frame on per-CPU lists are drained so that moved-away frames can merge",
        "per-CPU lists are drained once a run has left the aligned range of",
        DrainMark::LowestIsolated: "lowest_isolated",
            "the lowest frame isolated since it last did", "up to 5.0";
        DrainMark::IterationStart: "iteration_start",
            "where the scanner stood when it isolated something", "5.1 to 6.5";
        DrainMark::BlockStart: "block_start",
            "the pageblock in which it isolated something", "6.6+";
    ),
    flag!(
        compaction.fast_source_wasted,
        "Whether a source found in the free lists is skipped because the search itself marked it as scanned",
        off: "a source found in the free lists is scanned", "6.5+; 6.1.0 to about 6.1.10 as well",
        on: "a source found in the free lists is marked as searched, and passed over for that mark", "5.1 to 6.4"
    ),
    flag!(
        compaction.fast_source_fail,
        "Whether every search of the free lists that finds no source counts as failed",
        off: "the search of free lists for a source visits every entry of a marked pageblock, and fails only at its limit", "5.1 to 5.11",
        on: "the search of free lists for a source ends at its limit also among marked pageblocks, and fails whenever it finds none", "5.12+; stable 5.10.20 as well"
    ),
    flag!(
        compaction.private_aligned_only,
        "Whether a source is private only if its first frame is an LRU page",
        off: "a source is private wherever its first LRU page is", "6.5+",
        on: "a source is private only if its first frame is an LRU page", "5.1 to 6.4"
    ),
    flag!(
        compaction.cached_migrate_overshoot,
        "Whether the cached position of the migration scanner is one pageblock too far",
        off: "the cached position of the migration scanner is the end of the last pageblock", "never released",
        on: "the cached position of the migration scanner is one pageblock too far", "5.1+"
    ),
    flag!(
        compaction.finish_on_failure,
        "Whether a run scans a pageblock to its end once a page of it could not be moved",
        off: "a run goes on behind a page that could not be moved as if it had been moved", "up to 6.2",
        on: "a run scans the pageblock of a page that could not be moved to its end, so that none comes back to it",
            "6.5+; direct runs alone in 6.3 and 6.4"
    ),
    flag!(
        compaction.capture_before_drain,
        "Whether a run looks for its captured block before it drains the per-CPU lists",
        off: "a run ends as soon as its drain has completed the block that it captures", "up to 6.2",
        on: "a run moves one batch of the next pageblock before it sees the block that its drain has completed", "6.3+"
    ),
    flag!(
        compaction.reset_free_last_frame,
        "Whether the free scanner sees one frame of its first pageblock after a selective reset",
        off: "after a selective reset the free scanner sees its first pageblock whole", "never released",
        on: "after a selective reset the free scanner sees one frame of its first pageblock", "5.1+"
    ),
    flag!(
        compaction.target_limit_min,
        "Whether the search of free lists for free frames visits one entry per order",
        off: "the search of free lists for free frames visits up to half its limit of entries per order", "5.14+",
        on: "the search of free lists for free frames visits one entry per order", "5.1 to 5.13"
    ),
    choice!(
        compaction.gap,
        "How many free frames compaction wants beyond the mark",
        "compaction of a zone, and kswapd for a block, want beyond the mark",
        CompactGap::TwiceTheBlock: "twice_the_block",
            "twice the frames of the block", "up to 7.1";
        CompactGap::Cluster: "cluster",
            "twice the frames of the block, but 32 at most", "7.2+";
    ),
    flag!(
        compaction.proactive,
        "Whether kcompactd keeps the fragmentation score of its node down",
        off: "kcompactd compacts on request only", "up to 5.8",
        on: "kcompactd keeps the fragmentation score of its node down", "5.9+"
    ),
    flag!(
        compaction.proactive_zone_weighted,
        "Whether a proactive run over a zone ends by the zone's score weighted by its size",
        off: "a proactive run over a zone ends by the zone's own score", "5.12+",
        on: "a proactive run over a zone ends by the zone's score weighted by its size", "5.9 to 5.11"
    ),
    choice!(
        compaction.proactive_backoff,
        "How proactive compaction pauses after a run that gained nothing",
        "after a run that gained nothing proactive compaction",
        ProactiveBackoff::Count64: "count64",
            "lets 64 wake-ups pass", "5.9 to 5.14";
        ProactiveBackoff::Sleep64: "sleep64",
            "sleeps 64 times as long", "5.15+";
    ),
    flag!(
        compaction.works_ahead,
        "Whether kcompactd empties cheap pageblocks for huge pages that may be asked for next",
        off: "kcompactd makes one block each time that it is asked to", "every release",
        on: "kcompactd keeps as many huge pages free as lie between the low and the high mark, once some are taken", "order9"
    ),
    flag!(
        compaction.gives_way,
        "Whether kcompactd lets tasks that wait for its CPU go first",
        off: "kcompactd shares the CPU with others as any task does", "every release",
        on: "kcompactd lets tasks that wait for its CPU go first, after each batch of pages", "order9"
    ),
    flag!(
        compaction.scan_counts_jumps,
        "Whether frames that were jumped over count as scanned",
        off: "a block that is jumped over counts as one scanned frame", "up to 6.3",
        on: "all frames of a block that is jumped over count as scanned", "6.4+"
    ),
    flag!(
        compaction.migrate_large_folios,
        "Whether compaction moves huge pages of less than 2 MiB",
        off: "compaction passes huge pages of less than 2 MiB over", "up to 6.8",
        on: "compaction moves folios larger than a page whole, up to the order it is for", "6.9+"
    ),
    flag!(
        compaction.scan_counts_taken,
        "Whether all frames of a free block that is taken count as scanned",
        off: "a free block that is taken counts as one scanned frame", "up to 5.19",
        on: "all frames of a free block that is taken count as scanned", "6.0+"
    ),
    flag!(
        compaction.batched_migrate,
        "Whether pages are unmapped together and flushed once",
        off: "pages are moved one by one", "up to 6.2",
        on: "pages are unmapped together, flushed once and moved together, up to 512 at a time", "6.3+"
    ),
    Switch {
        key: "compaction.defer_cap",
        meaning: "Limit to the doubling of requests that skip a zone after compaction failed there",
        sysctl: None,
        values: Values::Number {
            subject: "failed runs double the requests that skip the next run, up to",
            says: "2^{}",
            range: 0..=16,
            absent: None,
            releases: "every release: 6",
        },
        get: |policy| Value::Number(policy.compaction.defer_cap.into()),
        set: |policy, value| set_shift(&mut policy.compaction.defer_cap, value),
    },
    Switch {
        key: "compaction.defer_remote_cap",
        meaning: "The same for requests from other nodes, which are counted apart where it is another number",
        sysctl: None,
        values: Values::Number {
            subject: "requests from other nodes skip up to",
            says: "2^{} runs",
            range: 0..=16,
            absent: None,
            releases: "every release: 6",
        },
        get: |policy| Value::Number(policy.compaction.defer_remote_cap.into()),
        set: |policy, value| set_shift(&mut policy.compaction.defer_remote_cap, value),
    },
    flag!(
        compaction.stop_at_fragmented_remote,
        "Whether the first remote zone that is fragmented throughout ends the walk over the zonelist",
        off: "every zone of the zonelist is compacted in turn", "every release",
        on: "the first remote zone that is fragmented throughout ends the walk", "proposed in 2018, never merged"
    ),
    flag!(
        compaction.compact_memory_totals_accumulate,
        "Whether zones compacted by one write to compact_memory count the scans of earlier zones again",
        off: "each zone counts its own scans", "5.4+",
        on: "zones compacted by one write to compact_memory count the scans of earlier zones again", "up to 5.3"
    ),
];

fn set_shift(field: &mut u8, value: Value) {
    let number = value.number().expect("the switch admits no word");
    *field = u8::try_from(number).expect("the range of the switch fits its field");
}
