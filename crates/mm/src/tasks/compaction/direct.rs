//! Direct compaction: a task makes room for the block that it wants.

use order9_frames::{AllocFlags, Gfp, Mark, Request, Search, ZoneRef};
use order9_units::Order;

use super::run::RunEnd;
use crate::Mm;
use crate::compaction::run::control::CompactId;
use crate::compaction::run::control::CompactTotals;
use crate::compaction::run::control::{CompactControl, Compactor};
use crate::env::{CompactPriority, CompactResult, Compacted, Stall};
use crate::migrate::MigrateMode;
use crate::tasks::compaction::capture::Capturing;
use crate::tasks::compaction::run::compact_zone;
use crate::trace::{CompactEvent, Event};

/// Compacts for a request over its zonelist, as hard as `priority` says (`try_to_compact_pages`).
pub async fn try_to_compact_pages<E: Stall>(env: &E, request: &Request, priority: CompactPriority) -> Compacted {
    let nothing = Compacted { result: CompactResult::Skipped, captured: None };
    let Ok(search) = env.with(|mm| mm.phys.frames.search_for(request)) else { return nothing };
    if !request.gfp.has(Gfp::IO) || request.order == Order::ZERO {
        return nothing;
    }
    env.with(|mm| {
        let Request { order, gfp, .. } = *request;
        mm.phys.trace(|| Event::Compaction(CompactEvent::TryToCompactPages { order, gfp, priority }));
    });
    let mut best = CompactResult::Skipped;
    let mut at = search.first;
    while let Some((position, zone)) = env.with(|mm| mm.phys.frames.eligible_from(&search, at)) {
        at = position + 1;
        let compactor = Compactor::Direct(priority);
        let end = compact_for(env, &search, zone, compactor).await;
        best = best.max(end.result);
        if let Some(idx) = end.captured {
            let captured = Some(env.with(|mm| mm.pages.hand_out_captured(idx, &search, &mut mm.phys)));
            return Compacted { result: CompactResult::Success, captured };
        }
        let hurried = compactor.mode() == MigrateMode::Async && env.need_resched();
        if hurried
            || env.task().oom_victim
            || env.with(|mm| mm.compaction.record_zone_result(&search, zone, compactor, end.result, &mut mm.phys))
        {
            break;
        }
    }
    Compacted { result: best, captured: None }
}

/// Compacts one zone for a request, unless compaction of the zone is deferred.
async fn compact_for<E: Stall>(env: &E, search: &Search, zone: ZoneRef, by: Compactor) -> RunEnd {
    match env.with(|mm| mm.begin_direct_compaction(search, zone, by)) {
        Ok((id, captures)) => compact_zone(&Capturing { env, run: captures.then_some(id) }, id).await,
        Err(result) => RunEnd { result, totals: CompactTotals::default(), captured: None },
    }
}

impl Mm {
    fn begin_direct_compaction(
        &mut self,
        search: &Search,
        zone: ZoneRef,
        by: Compactor,
    ) -> Result<(CompactId, bool), CompactResult> {
        let Request { order, gfp, node, .. } = search.request;
        let asker = self.phys.asker(zone.zone, node);
        let patient = by != Compactor::Direct(CompactPriority::SyncFull);
        if patient && self.compaction.compaction_deferred(zone.zone, order, asker, &mut self.phys) {
            return Err(CompactResult::Deferred);
        }
        let mut run = CompactControl::new(by, zone.zone, Some(order), search.class);
        run.gfp = gfp;
        run.migratetype = search.mt;
        run.flags = AllocFlags { cma: search.mt == order9_units::Migratetype::Movable, ..AllocFlags::plain(Mark::Min) };
        run.asker = asker;
        Ok((self.compact_begin(run)?, self.phys.policy.compaction.capture))
    }
}
