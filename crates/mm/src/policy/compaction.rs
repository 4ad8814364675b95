//! Switches of compaction, oversights of the releases included: they decide published results.

use order9_units::Order;

/// Switches of compaction: the making of free huge pages by moving pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactionPolicy {
    /// Thread that compacts in the background.
    pub background: Background,
    /// A request that may not reclaim wakes kcompactd of nodes on which kswapd has nothing to do. 4.17+.
    pub wake_when_balanced: bool,
    /// Search of a run for pages to move.
    pub source_search: SourceSearch,
    /// Search of a run for free frames to move pages to.
    pub target_search: TargetSearch,
    /// Step of the linear free scanner.
    pub target_stride: TargetStride,
    /// A page with private data of a file without migration handler fails at once in asynchronous mode. 5.1+.
    pub nohandler_fail_fast: bool,
    /// A run always scans the pageblock it is in to its end before it looks whether it has succeeded. 5.1+.
    pub finish_block_always: bool,
    /// Free frames are isolated down to the min mark without its boost. 5.1+.
    pub isolate_ignores_boost: bool,
    /// A pageblock is the migration source of one run only. 5.1+.
    pub source_private: bool,
    /// A pageblock that a run comes to a second time is scanned to its end at once. 5.1+.
    pub rescan_whole_block: bool,
    /// A run that meets a busy lock waits for it and finishes its pageblock before it stops. 5.1+.
    pub contention_finish_block: bool,
    /// Pageblocks that begin with a huge page are passed over before they are looked at. 5.1+.
    pub skip_huge_block_early: bool,
    /// Pageblocks from which nothing can be taken advance both cached positions of the migration scanner. 5.1+.
    pub sync_cached_unusable: bool,
    /// The cached position of the free scanner moves only past pageblocks that were searched. 5.1+.
    pub free_cursor_slow: bool,
    /// The search for free frames begins at the order that gave some last. 5.1+.
    pub target_order_rr: bool,
    /// A block of the wanted order that the compacting task frees goes to it, not to the free lists. 5.1+.
    pub capture: bool,
    /// An asynchronous run ends when its task should give up the CPU. Up to 5.0.
    pub resched_aborts_async: bool,
    /// Pageblocks that lose their skip hint at a reset.
    pub skip_reset: SkipReset,
    /// From which frame on a run drains per-CPU lists so that moved-away frames can merge.
    pub drain_mark: DrainMark,
    /// A source found in the free lists is marked as searched, and passed over for that mark. 5.1 to 6.4.
    pub fast_source_wasted: bool,
    /// The search of free lists for a source ends at its limit also among marked pageblocks, and counts as failed whenever
    /// it finds none. 5.12+, and 5.10.20.
    pub fast_source_fail: bool,
    /// A source is private only if its first frame is an LRU page. 5.1 to 6.4.
    pub private_aligned_only: bool,
    /// The cached position of the migration scanner is one pageblock too far. 5.1+.
    pub cached_migrate_overshoot: bool,
    /// A run that fails to move a page scans the pageblock to its end at once, so that the pageblock gets its skip hint.
    /// Runs without regard to skip hints and synchronous requests of the administrator do not. 6.5+; in 6.3 and 6.4 direct
    /// runs alone.
    pub finish_on_failure: bool,
    /// A run looks for its captured block before it drains the per-CPU lists, and only after a batch of moves. The drain is
    /// what completes a block, so the run moves one batch of the next pageblock before it ends. 6.3+ ("mm, compaction: check
    /// if a page has been captured before draining PCP pages").
    pub capture_before_drain: bool,
    /// After a selective reset the free scanner sees one frame of its first pageblock. 5.1+.
    pub reset_free_last_frame: bool,
    /// The search for free frames visits one entry per order. 5.1 to 5.13.
    pub target_limit_min: bool,
    /// Free frames that compaction wants beyond the mark.
    pub gap: CompactGap,
    /// kcompactd keeps the fragmentation score of its node down. 5.9+.
    pub proactive: bool,
    /// A proactive run over a zone ends by the zone's score weighted by its size. 5.9 to 5.11.
    pub proactive_zone_weighted: bool,
    /// Pause of proactive compaction after a run that gained nothing.
    pub proactive_backoff: ProactiveBackoff,
    /// kcompactd empties cheap pageblocks for requests to come, once some are made. order9's own, with the index.
    pub works_ahead: bool,
    /// kcompactd lets whoever wants a CPU go first, after each batch. order9's own.
    pub gives_way: bool,
    /// Frames that were jumped over count as scanned. 6.4+.
    pub scan_counts_jumps: bool,
    /// Compaction moves huge pages of less than 2 MiB whole, up to the order that it is for; else it passes them over. 6.9+.
    pub migrate_large_folios: bool,
    /// All frames of a free block that is taken count as scanned. 6.0+.
    pub scan_counts_taken: bool,
    /// Pages are unmapped together, flushed once and moved together, in batches of up to 512. 6.3+.
    pub batched_migrate: bool,
    /// Failed runs double the requests that skip the next, up to two to this power.
    pub defer_cap: u8,
    /// The power of two for requests from other nodes, which are counted apart if this is not `defer_cap`.
    pub defer_remote_cap: u8,
    /// The first remote zone that is fragmented throughout ends the walk over the zonelist. Proposed in 2018, never merged.
    pub stop_at_fragmented_remote: bool,
    /// Zones compacted by one write to `compact_memory` count the scans of earlier zones again. Up to 5.3.
    pub compact_memory_totals_accumulate: bool,
}

impl CompactionPolicy {
    /// Whether runs choose pageblocks by the index.
    #[must_use]
    pub fn uses_index(&self) -> bool {
        self.source_search == SourceSearch::Index && self.target_search == TargetSearch::Index
    }
}

/// Free frames that compaction wants beyond the mark; as many have to be reclaimed before kswapd forgets the order that it was woken
/// for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactGap {
    /// Twice the block: for copies, and for those in flight. Up to 7.1.
    TwiceTheBlock,
    /// Twice the block, and a batch (`COMPACT_CLUSTER_MAX`, 32) at most: no more are in flight at once. 7.2+.
    Cluster,
}

/// Frames that one batch of compaction moves: `COMPACT_CLUSTER_MAX`.
const CLUSTER: u64 = 32;

impl CompactGap {
    /// Frames wanted for a block of `order`.
    #[must_use]
    pub fn of(self, order: Order) -> u64 {
        let twice = 2 * order.pages().get();
        match self {
            Self::TwiceTheBlock => twice,
            Self::Cluster => twice.min(CLUSTER),
        }
    }
}

/// Thread that compacts in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// kswapd, as the last part of its balancing. Up to 4.5.
    Kswapd,
    /// A thread of its own for each node. 4.6+.
    Kcompactd,
}

/// Search for the pageblock to take pages from next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceSearch {
    /// By address. Up to 5.0.
    Linear,
    /// Among the blocks of the free lists, then by address. 5.1+.
    FreeLists,
    /// By an index of what every pageblock would cost to empty; order9's own.
    Index,
}

/// Search for free frames to move pages to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetSearch {
    /// By address. Up to 5.0.
    Linear,
    /// On the free lists, then by address. 5.1+.
    FreeLists,
    /// In the fullest pageblocks, by an index; order9's own.
    Index,
}

/// Step of the linear free scanner from frame to frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetStride {
    /// The scanner looks at every frame. Up to 5.0.
    One,
    /// The scanner looks at every 32nd frame at most, and more closely where it finds free ones. 5.1+.
    Adaptive,
}

/// Pageblocks that lose their skip hint at a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipReset {
    /// All. Up to 5.0.
    Full,
    /// Pageblocks in which a sample of frames shows pages to move, or free frames. 5.1+.
    Selective,
}

/// From which frame on a run drains per-CPU lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrainMark {
    /// The lowest frame isolated since it last did. Up to 5.0.
    LowestIsolated,
    /// Position of the migration scanner when it isolated something. 5.1 to 6.5.
    IterationStart,
    /// The beginning of the pageblock it stood in. 6.6+.
    BlockStart,
}

/// Pause of proactive compaction after a run that gained nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProactiveBackoff {
    /// kcompactd lets 64 wake-ups pass. 5.9 to 5.14.
    Count64,
    /// kcompactd sleeps 64 times as long. 5.15+.
    Sleep64,
}

impl Default for CompactionPolicy {
    fn default() -> Self {
        Self {
            background: Background::Kcompactd,
            wake_when_balanced: true,
            source_search: SourceSearch::FreeLists,
            target_search: TargetSearch::FreeLists,
            target_stride: TargetStride::Adaptive,
            nohandler_fail_fast: true,
            finish_block_always: true,
            isolate_ignores_boost: true,
            source_private: true,
            rescan_whole_block: true,
            contention_finish_block: true,
            skip_huge_block_early: true,
            sync_cached_unusable: true,
            free_cursor_slow: true,
            target_order_rr: true,
            capture: true,
            resched_aborts_async: false,
            skip_reset: SkipReset::Selective,
            drain_mark: DrainMark::IterationStart,
            fast_source_wasted: true,
            fast_source_fail: false,
            private_aligned_only: true,
            cached_migrate_overshoot: true,
            finish_on_failure: false,
            capture_before_drain: false,
            reset_free_last_frame: true,
            target_limit_min: true,
            proactive: false,
            proactive_zone_weighted: false,
            gap: CompactGap::TwiceTheBlock,
            proactive_backoff: ProactiveBackoff::Count64,
            works_ahead: false,
            gives_way: false,
            scan_counts_jumps: false,
            migrate_large_folios: false,
            scan_counts_taken: false,
            batched_migrate: false,
            defer_cap: 6,
            defer_remote_cap: 6,
            stop_at_fragmented_remote: false,
            compact_memory_totals_accumulate: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gap_of_small_blocks_is_the_same_in_every_release() {
        let gaps =
            |order| [CompactGap::TwiceTheBlock, CompactGap::Cluster].map(|gap| gap.of(Order::new(order).unwrap()));
        assert_eq!([0, 3, 4].map(gaps), [[2, 2], [16, 16], [32, 32]]);
        assert_eq!([5, 9].map(gaps), [[64, 32], [1024, 32]]);
    }
}
