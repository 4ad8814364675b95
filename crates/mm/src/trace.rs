//! Trace events, named and filled as Linux' tracepoints.
//!
//! Whoever has traced an engine takes its events between two steps. While nobody traces it, no event is even built.

mod collapse;

use alloc::vec::Vec;

use order9_frames::{FrameEvent, Gfp};
use order9_units::{Nanos, NodeId, Order, Pfn, PfnRange, ZoneKind};

use crate::compact_result::CompactPriority;
use crate::compact_result::CompactResult;
use crate::lru_list::{LruList, LruType};
use crate::migrate_reason::MigrateMode;
use crate::migrate_reason::MigrateReason;
use crate::reclaimer::PassStats;
use crate::reclaimer::ShrinkerKind;
use crate::reclaimer::Stalled;

pub use collapse::CollapseEvent;

/// Events of an engine, in order, until somebody takes them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trace {
    pub(crate) is_on: bool,
    pub(crate) events: Vec<Event>,
}

impl Trace {
    /// Keeps an event, which is not built while nobody traces.
    #[inline(always)]
    pub(crate) fn event(&mut self, event: impl FnOnce() -> Event) {
        if self.is_on {
            self.keep(event());
        }
    }

    #[cold]
    fn keep(&mut self, event: Event) {
        self.events.push(event);
    }
}

/// An event in the engine, as a tracepoint of Linux tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An event of the allocator.
    Frame(FrameEvent),
    /// `mm_page_free_batched`: a single page was freed together with others, as those of LRU lists are when their last user goes, and
    /// those that reclaim frees.
    PageFreeBatched {
        /// The page.
        pfn: Pfn,
    },
    /// `mm_shrink_slab_start`: a shrinker is called.
    ShrinkSlabStart {
        /// The shrinker that is called.
        shrinker: ShrinkerKind,
        /// Node whose objects it frees.
        node: NodeId,
        /// Objects put off by earlier calls.
        deferred: u64,
        /// Flags of the request that needs memory.
        gfp: Gfp,
        /// Objects that can be freed.
        cache_items: u64,
        /// Objects that this call adds.
        delta: u64,
        /// Objects that this call may look at.
        total_scan: u64,
        /// Effort.
        priority: u8,
    },
    /// `mm_shrink_slab_end`: its call is over.
    ShrinkSlabEnd {
        /// The shrinker that was called.
        shrinker: ShrinkerKind,
        /// Node whose objects it freed.
        node: NodeId,
        /// Objects freed.
        freed: u64,
        /// Objects put off before.
        deferred: u64,
        /// Objects put off now.
        new_deferred: u64,
        /// Objects of this call not looked at.
        total_scan: u64,
    },
    /// `mm_vmscan_kswapd_sleep`: a kswapd has nothing more to do.
    KswapdSleep {
        /// Node of the kswapd that wakes up.
        node: NodeId,
    },
    /// `mm_vmscan_kswapd_wake`: a kswapd begins to work.
    KswapdWake {
        /// Node of the kswapd that goes to sleep.
        node: NodeId,
        /// Zone class it balances for.
        class: ZoneKind,
        /// Order it balances for.
        order: Order,
    },
    /// `reclaim_retry_zone`: whether reclaim could bring a zone above its min mark, asked before a request tries again.
    ReclaimRetryZone {
        /// Node of the zone.
        node: NodeId,
        /// The zone.
        zone: ZoneKind,
        /// Order of the request.
        order: Order,
        /// Pages of the zone that reclaim could free.
        reclaimable: u64,
        /// Free pages and reclaimable pages together.
        available: u64,
        /// The min mark, in pages.
        min_wmark: u64,
        /// Rounds in which reclaim made no progress.
        no_progress_loops: u32,
        /// The answer.
        wmark_check: bool,
    },
    /// `mm_vmscan_direct_reclaim_begin`: a task reclaims for a request of its own.
    DirectReclaimBegin {
        /// Order of the request.
        order: Order,
        /// Flags of the request.
        gfp: Gfp,
    },
    /// `mm_vmscan_direct_reclaim_end`: it goes on with its request.
    DirectReclaimEnd {
        /// Pages reclaimed.
        reclaimed: u64,
    },
    /// `mm_vmscan_node_reclaim_begin`: a node is reclaimed before another one is used, or on request.
    NodeReclaimBegin {
        /// The node.
        node: NodeId,
        /// Order of the request.
        order: Order,
        /// Flags of the request.
        gfp: Gfp,
    },
    /// `mm_vmscan_node_reclaim_end`: reclaim of the node is over.
    NodeReclaimEnd {
        /// Pages reclaimed.
        reclaimed: u64,
    },
    /// `mm_vmscan_lru_isolate`: pages were taken off the tail of a list.
    LruIsolate {
        /// Highest zone whose pages help.
        class: ZoneKind,
        /// Order of the block that is needed.
        order: Order,
        /// Pages asked for.
        requested: u64,
        /// Pages looked at.
        scanned: u64,
        /// Scanned pages of zones that do not help the request.
        skipped: u64,
        /// Scanned pages that were taken.
        taken: u64,
        /// The list.
        list: LruList,
    },
    /// `mm_vmscan_lru_shrink_inactive`: a chunk of an inactive list was dealt with.
    LruShrinkInactive {
        /// Node of the list.
        node: NodeId,
        /// Pages looked at.
        scanned: u64,
        /// Pages freed.
        reclaimed: u64,
        /// States in which the pages were found.
        stats: PassStats,
        /// Pages that became active.
        activated: u64,
        /// Pages kept since they were in use.
        referenced: u64,
        /// 12 at the start of a run, 0 at its most thorough.
        priority: u8,
        /// Type of the list.
        of: LruType,
    },
    /// `mm_vmscan_lru_shrink_active`: a chunk of an active list was aged.
    LruShrinkActive {
        /// Node of the list.
        node: NodeId,
        /// Pages looked at.
        taken: u64,
        /// Pages that stay active.
        active: u64,
        /// Pages made inactive.
        deactivated: u64,
        /// Pages found in use.
        referenced: u64,
        /// As above.
        priority: u8,
        /// Type of the list.
        of: LruType,
    },
    /// `mm_vmscan_writepage`, `mm_vmscan_write_folio` from 6.0 on: reclaim has begun to write a page.
    Writepage {
        /// The page.
        pfn: Pfn,
        /// Whether it is written to swap or to a file.
        of: LruType,
    },
    /// `mm_vmscan_inactive_list_is_low`, up to 5.4: reclaim has compared the lists of a type.
    InactiveListIsLow {
        /// Node of the lists.
        node: NodeId,
        /// Highest zone whose pages help.
        class: ZoneKind,
        /// Inactive pages.
        inactive: u64,
        /// Active pages.
        active: u64,
        /// Largest ratio of active to inactive pages that the lists may have.
        ratio: u64,
        /// Type of the lists.
        of: LruType,
    },
    /// `mm_migrate_pages`: a list of pages was moved.
    MigratePages {
        /// Pages moved, or freed meanwhile.
        succeeded: u64,
        /// Pages that could not be moved.
        failed: u64,
        /// Mode of the migration: what the run may wait for.
        mode: MigrateMode,
        /// Reason of the migration.
        reason: MigrateReason,
    },
    /// khugepaged or `MADV_COLLAPSE` came to a point.
    Collapse(CollapseEvent),
    /// Compaction, or a request that waits for it, came to a point.
    Compaction(CompactEvent),
    /// `mm_vmscan_wakeup_kswapd`: a request to wake kswapd.
    WakeupKswapd {
        /// Node of the kswapd that is woken.
        node: NodeId,
        /// Zone class it should balance for.
        class: ZoneKind,
        /// Order it should balance for.
        order: Order,
        /// Flags of the request; none where a fragmentation event woke it.
        gfp: Gfp,
    },
    /// `mm_vmscan_throttled`, 5.16+: a reclaimer goes on after a stop.
    Throttled {
        /// Node that is reclaimed.
        node: NodeId,
        /// The longest it would have waited.
        timeout: Nanos,
        /// Time that the task waited.
        delayed: Nanos,
        /// Why it was stopped.
        why: Stalled,
    },
}

/// An event of compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactEvent {
    /// `mm_compaction_isolate_migratepages`: a pageblock was scanned for pages to move.
    IsolateMigratepages {
        /// Frames it went over.
        range: PfnRange,
        /// Frames looked at.
        scanned: u64,
        /// Pages isolated.
        taken: u64,
    },
    /// `mm_compaction_isolate_freepages`: a pageblock was scanned for free frames.
    IsolateFreepages {
        /// Frames it went over.
        range: PfnRange,
        /// Frames looked at.
        scanned: u64,
        /// Frames isolated.
        taken: u64,
    },
    /// `mm_compaction_fast_isolate_freepages`: free lists were searched for free frames.
    FastIsolateFreepages {
        /// The part of the zone where what is found would do.
        range: PfnRange,
        /// List entries looked at.
        scanned: u64,
        /// Frames isolated.
        taken: u64,
    },
    /// `mm_compaction_migratepages`: a batch was moved.
    Migratepages {
        /// Pages moved, or freed meanwhile.
        migrated: u64,
        /// Pages that could not be moved; those left over where there were no free frames.
        failed: u64,
    },
    /// `mm_compaction_begin`: a run begins.
    Begin(ScanEnds),
    /// `mm_compaction_end`: a run is over.
    End {
        /// Positions of the scanners.
        ends: ScanEnds,
        /// Result of the run.
        status: CompactResult,
    },
    /// `mm_compaction_try_to_compact_pages`: a task compacts for a request.
    TryToCompactPages {
        /// Order of the request.
        order: Order,
        /// Flags of the request.
        gfp: Gfp,
        /// Effort of the attempt.
        priority: CompactPriority,
    },
    /// `mm_compaction_suitable`: whether a run can begin was asked.
    Suitable {
        /// Node of the zone.
        node: NodeId,
        /// The zone.
        zone: ZoneKind,
        /// Order of the block that is needed.
        order: Order,
        /// The answer, as the kernel calls it.
        status: &'static str,
    },
    /// `mm_compaction_finished`: whether a run is over was asked.
    Finished {
        /// Node of the zone.
        node: NodeId,
        /// The zone.
        zone: ZoneKind,
        /// Order of the block that is needed; `None` is as many as can be had.
        order: Option<Order>,
        /// The answer, as the kernel calls it.
        status: &'static str,
    },
    /// `mm_compaction_deferred`: a request does without a run.
    Deferred(DeferEvent),
    /// `mm_compaction_defer_compaction`: a run has failed.
    DeferCompaction(DeferEvent),
    /// `mm_compaction_defer_reset`: a run was a success.
    DeferReset(DeferEvent),
    /// `mm_compaction_kcompactd_sleep`: a kcompactd has nothing more to do.
    KcompactdSleep {
        /// Node of the kcompactd that goes to sleep.
        node: NodeId,
    },
    /// `mm_compaction_wakeup_kcompactd`: a request to wake kcompactd.
    WakeupKcompactd {
        /// Node of the kcompactd that is woken.
        node: NodeId,
        /// Order it should compact for.
        order: Order,
        /// Zone class it should compact for.
        class: ZoneKind,
    },
    /// `mm_compaction_kcompactd_wake`: a kcompactd begins to work.
    KcompactdWake {
        /// Node of the kcompactd that wakes up.
        node: NodeId,
        /// Order it compacts for.
        order: Order,
        /// Zone class it compacts for.
        class: ZoneKind,
    },
    /// `compact_retry`: whether a request tries again after compaction was decided.
    Retry {
        /// Order of the request.
        order: Order,
        /// Effort of the compaction before.
        priority: CompactPriority,
        /// Result of the compaction before.
        result: CompactResult,
        /// Rounds with progress at that priority.
        retries: u32,
        /// Largest number of retries.
        max_retries: u32,
        /// The decision.
        should_retry: bool,
    },
}

/// Positions of the scanners of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanEnds {
    /// The zone.
    pub zone: PfnRange,
    /// The migration scanner.
    pub migrate_pfn: Pfn,
    /// The free scanner.
    pub free_pfn: Pfn,
    /// The run may sleep.
    pub sync: bool,
}

/// Deferral in a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeferEvent {
    /// Node of the zone.
    pub node: NodeId,
    /// The zone.
    pub zone: ZoneKind,
    /// Order of the block that is needed.
    pub order: Order,
    /// Smallest order that has failed.
    pub order_failed: u8,
    /// Requests since the last failure.
    pub considered: u64,
    /// Requests until the next run.
    pub limit: u64,
}
