//! Direct compaction from the slow path: when it comes first, what it counts, and when its failure ends the request.

use order9_frames::{Gfp, Request};
use order9_units::{Order, Pfn};

use crate::alloc_error::{AllocError, GaveUp};
use crate::env::{CompactPriority, CompactResult};
use crate::policy::{EarlyFail, FirstCompaction, StallCounts};
use crate::tasks::slow_path::relief::Relief;
use crate::tasks::slow_path::{Pressure, SlowPath};

/// Result of compaction for the request.
pub(super) struct Outcome {
    pub(super) result: CompactResult,
    pub(super) page: Option<Pfn>,
}

impl<E: Pressure, R: Relief<E>> SlowPath<'_, E, R> {
    /// Compaction before any reclaim, for requests to which single pages are no help. `None`: go on.
    pub(super) async fn first_compaction(&mut self) -> Option<Result<Pfn, AllocError>> {
        let Request { order, gfp, .. } = self.search.request;
        if !self.compacts_first() {
            return None;
        }
        let Outcome { result, page } = self.compact(CompactPriority::Async).await;
        if let Some(pfn) = page {
            return Some(Ok(pfn));
        }
        if gfp.has(Gfp::COMPACT_ONLY) || self.fails_early(result) {
            return Some(Err(self.error(GaveUp::Compaction(result))));
        }
        if order.is_costly() && gfp.has(Gfp::NORETRY) {
            self.priority = CompactPriority::Async;
        }
        None
    }

    fn compacts_first(&self) -> bool {
        let Request { order, gfp, .. } = self.search.request;
        let movable = self.search.mt == order9_units::Migratetype::Movable;
        let costly_or_unmovable = order.is_costly() || order > Order::ZERO && !movable;
        let wanted = match self.policy.first_compaction {
            FirstCompaction::HighOrders => order > Order::ZERO,
            FirstCompaction::CostlyOrUnmovable => costly_or_unmovable,
            FirstCompaction::CostlyOrUnmovableWithIo => costly_or_unmovable && gfp.has(Gfp::IO),
        };
        wanted && gfp.has(Gfp::DIRECT_RECLAIM) && !self.flags().no_watermarks
    }

    /// Whether the request ends here: by the rule for all, or by its own.
    fn fails_early(&self, result: CompactResult) -> bool {
        let rules = [Some(self.policy.early_fail), EarlyFail::of_note(self.search.request.note)];
        rules.into_iter().flatten().any(|rule| self.fails_by(rule, result))
    }

    fn fails_by(&self, rule: EarlyFail, result: CompactResult) -> bool {
        let Request { order, gfp, .. } = self.search.request;
        let deferred = result == CompactResult::Deferred;
        let not_tried = deferred || result == CompactResult::Skipped;
        let huge = order >= Order::PAGEBLOCK;
        let costly_no_retry = order.is_costly() && gfp.has(Gfp::NORETRY);
        match rule {
            EarlyFail::HugeNoRetry => {
                let contended = result == CompactResult::Contended && !self.env.task().kthread;
                huge && gfp.has(Gfp::NORETRY) && (deferred || contended)
            }
            EarlyFail::NoRetryDeferred => costly_no_retry && deferred,
            EarlyFail::HugeUnlessRetryMayFail => {
                let huge_io = huge && gfp.has(Gfp::IO) && !gfp.has(Gfp::RETRY_MAYFAIL);
                costly_no_retry && deferred || huge_io && not_tried
            }
            EarlyFail::NoRetrySkippedOrDeferred => costly_no_retry && not_tried,
            EarlyFail::NoRetrySkippedDeferredOrThisNode => costly_no_retry && (not_tried || gfp.has(Gfp::THISNODE)),
            EarlyFail::NoRetryThisNode => costly_no_retry && gfp.has(Gfp::THISNODE),
            EarlyFail::UnlessReclaimHelps => {
                not_tried && (costly_no_retry || order == Order::PAGEBLOCK && !self.reclaim_helps())
            }
            EarlyFail::HugeNoRetryAlways => costly_no_retry && (deferred || huge && !self.env.task().kthread),
        }
    }

    /// Whether some zone lacks nothing but free pages for a huge page, and reclaim could free as many.
    fn reclaim_helps(&self) -> bool {
        let flags = self.flags();
        self.zones().any(|zone| {
            let reclaimable = R::reclaimable(self.env, zone.zone);
            self.env.with(|mm| mm.phys.reclaim_makes_suitable(zone.zone, reclaimable, self.search.class, &flags))
        })
    }

    /// Direct compaction with its accounting: another look at the free lists, unless nothing was tried.
    pub(super) async fn compact(&mut self, priority: CompactPriority) -> Outcome {
        let request = self.search.request;
        if request.order == Order::ZERO {
            return Outcome { result: CompactResult::Skipped, page: None };
        }
        self.env.spend().await;
        let compacted = R::compact(self.env, &request, priority).await;
        let counts = match self.policy.stall_counts {
            StallCounts::Tried => compacted.result > CompactResult::Deferred,
            StallCounts::All => true,
            StallCounts::AllButSkipped => compacted.result != CompactResult::Skipped,
        };
        let result = compacted.result;
        if !counts {
            return Outcome { result, page: None };
        }
        let page = compacted.captured.or_else(|| self.walk(self.flags()));
        self.env.with(|mm| {
            mm.phys.counters.compact_stall += 1;
            match page {
                Some(_) => mm.phys.counters.compact_success += 1,
                None => mm.phys.counters.compact_fail += 1,
            }
            if let Some(zone) = page.and_then(|pfn| mm.phys.frames.zone_of(pfn)) {
                mm.compaction.compaction_paid_off(zone, request.order, &mut mm.phys);
            }
        });
        Outcome { result, page }
    }
}
