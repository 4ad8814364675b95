//! Whether another round is worth it: what reclaim and compaction could still do for the request.

use order9_frames::{AllocFlags, Gfp, Mark, Request, ZoneRef};
use order9_units::{Nanos, Order};

use crate::alloc_error::GaveUp;
use crate::env::{CompactPriority, CompactResult};
use crate::policy::Withdrawn;
use crate::tasks::slow_path::relief::Relief;
use crate::tasks::slow_path::{Pressure, Round, SlowPath};
use crate::trace::{CompactEvent, Event};

/// Rounds without reclaim progress after which a request stops hoping.
const MAX_RECLAIM_RETRIES: u32 = 16;
/// Compactions with progress at one priority; a quarter of them for costly orders.
const MAX_COMPACT_RETRIES: u32 = 16;
/// Longest wait of a retry for writeback.
const WRITEBACK_WAIT: Nanos = Nanos::new(100_000_000);
/// Longest wait between rounds of [`crate::policy::RetryRule::Repeat`], where dirty pages are those of a congested disk.
const CONGESTION_WAIT: Nanos = Nanos::new(20_000_000);

const fn max_compact_retries(order: Order) -> u32 {
    if order.is_costly() { MAX_COMPACT_RETRIES / 4 } else { MAX_COMPACT_RETRIES }
}

impl<E: Pressure, R: Relief<E>> SlowPath<'_, E, R> {
    /// Whether some zone would pass its min mark if all that can be reclaimed were free.
    pub(super) async fn should_reclaim_retry(&mut self, progress: u64) -> bool {
        let Request { order, node, .. } = self.search.request;
        if progress > 0 && !order.is_costly() {
            self.no_progress = 0;
        } else {
            self.no_progress += 1;
        }
        if self.no_progress > MAX_RECLAIM_RETRIES {
            return self.env.with(|mm| mm.phys.frames.unreserve_highatomic(node, self.search.mt, true));
        }
        let flags = self.flags();
        for zone in self.zones() {
            let reclaimable = R::reclaimable(self.env, zone.zone);
            let passes = self.would_pass(zone, order, 0, reclaimable, &flags);
            self.trace_reclaim_retry(zone, reclaimable, passes);
            if !passes {
                continue;
            }
            let stuck = progress == 0
                && 2 * self.env.with(|mm| mm.pages.cache.zone_write_pending(zone.zone).total()) > reclaimable;
            if stuck && self.policy.retry_waits_for_writeback {
                self.env.sleep(WRITEBACK_WAIT).await;
            }
            return true;
        }
        false
    }

    fn trace_reclaim_retry(&self, zone: ZoneRef, reclaimable: u64, passes: bool) {
        let (order, no_progress_loops) = (self.search.request.order, self.no_progress);
        self.env.with(|mm| {
            let of = mm.phys.frames.zone(zone.zone);
            let (available, min_wmark) = (of.free() + reclaimable, of.mark(Mark::Min));
            mm.phys.trace(|| Event::ReclaimRetryZone {
                node: zone.node,
                zone: zone.kind,
                order,
                reclaimable,
                available,
                min_wmark,
                no_progress_loops,
                wmark_check: passes,
            });
        });
    }

    /// Whether compaction may still succeed, here or with more effort.
    pub(super) fn should_compact_retry(&mut self, result: CompactResult) -> bool {
        let (order, priority) = (self.search.request.order, self.priority);
        if order == Order::ZERO {
            return false;
        }
        let should_retry = self.compaction_is_hopeful(result);
        let (retries, max_retries) = (self.compaction_retries, max_compact_retries(order));
        self.env.with(|mm| {
            mm.phys.trace(|| {
                Event::Compaction(CompactEvent::Retry { order, priority, result, retries, max_retries, should_retry })
            });
        });
        should_retry
    }

    fn compaction_is_hopeful(&mut self, result: CompactResult) -> bool {
        match (result, self.policy.withdrawn) {
            (CompactResult::Success, _) => {
                self.compaction_retries += 1;
                self.compaction_retries <= max_compact_retries(self.search.request.order) || self.escalate()
            }
            (CompactResult::Complete, _) => self.escalate(),
            (CompactResult::Skipped, _) => self.could_be_suitable(),
            (
                CompactResult::Deferred | CompactResult::Contended | CompactResult::PartialSkipped,
                Withdrawn::ByReclaimable,
            ) => self.could_be_suitable(),
            (
                CompactResult::Deferred | CompactResult::Contended | CompactResult::PartialSkipped,
                Withdrawn::SkippedOnly,
            ) => self.escalate(),
        }
    }

    /// Tries harder from now on, if the order allows.
    fn escalate(&mut self) -> bool {
        let floor = match self.search.request.order.is_costly() {
            true => CompactPriority::SyncLight,
            false => CompactPriority::SyncFull,
        };
        let harder = match self.priority {
            CompactPriority::Async => CompactPriority::SyncLight,
            CompactPriority::SyncLight | CompactPriority::SyncFull => CompactPriority::SyncFull,
        };
        if self.priority <= floor {
            return false;
        }
        self.priority = harder;
        self.compaction_retries = 0;
        true
    }

    /// Whether some zone would have the room that compaction asks for, with its share of what can be reclaimed.
    fn could_be_suitable(&self) -> bool {
        let order = self.search.request.order;
        let mark = if order.is_costly() { Mark::Low } else { Mark::Min };
        let flags = AllocFlags { mark, cma: true, ..self.flags() };
        let gap = self.env.with(|mm| mm.policy().compaction.gap.of(order));
        let share = u64::from(order.get().max(1));
        self.zones().any(|zone| {
            let reclaimable = R::reclaimable(self.env, zone.zone) / share;
            self.would_pass(zone, Order::ZERO, gap, reclaimable, &flags)
        })
    }

    /// Whether `zone` passes its mark plus `gap` pages with `more` pages free.
    fn would_pass(&self, zone: ZoneRef, order: Order, gap: u64, more: u64, flags: &AllocFlags) -> bool {
        let class = self.search.class;
        self.env.with(|mm| {
            let zone = mm.phys.frames.zone(zone.zone);
            zone.would_pass(
                zone.free() + more,
                order,
                zone.mark(flags.mark) + gap,
                class,
                flags,
                mm.phys.frames.policy(),
            )
        })
    }

    /// Zones that may serve the request, in the order of the zonelist.
    pub(super) fn zones(&self) -> impl Iterator<Item = ZoneRef> + use<'_, E, R> {
        let search = self.search;
        let mut at = search.first;
        core::iter::from_fn(move || {
            let zone = self.env.with(|mm| mm.phys.frames.eligible_from(&search, at));
            zone.map(|(position, zone)| {
                at = position + 1;
                zone
            })
        })
    }

    /// The rounds of 4.4: costly requests go on only with `__GFP_REPEAT`, others until the OOM killer has had its turn. A costly
    /// one ends once reclaim gets nothing and has given up the lists: from then on every round would be the same.
    pub(super) async fn repeat(&mut self, progress: u64) -> Round {
        let Request { order, gfp, .. } = self.search.request;
        let enough = order.pages().get();
        let hopeful = match order.is_costly() {
            true => gfp.has(Gfp::RETRY_MAYFAIL) && progress > 0 && self.reclaimed < enough,
            false => progress > 0,
        };
        if hopeful && !gfp.has(Gfp::NORETRY) {
            let zone = self.search.preferred.zone;
            if self.env.with(|mm| mm.reclaim.reclaim_flags(zone, &mm.phys).congested) {
                self.env.sleep(CONGESTION_WAIT).await;
            }
            return Round::Again;
        }
        if gfp.has(Gfp::NORETRY) || order.is_costly() {
            // The last compaction, with some patience where no fault waits for it.
            let fault = order >= Order::PAGEBLOCK && !self.env.task().kthread;
            let priority = if fault { CompactPriority::Async } else { CompactPriority::SyncLight };
            return match self.compact(priority).await.page {
                Some(pfn) => Round::Page(pfn),
                None if gfp.has(Gfp::NORETRY) => Round::Stop(GaveUp::NoRetry),
                None => Round::Stop(GaveUp::Costly),
            };
        }
        self.out_of_memory(self.flags()).await
    }
}
