//! One pass over the lists and the slab of a node (`shrink_node`).

use order9_frames::{Gfp, ZoneId};
use order9_units::NodeId;

use crate::Mm;
use crate::env::{Stall, Until};
use crate::lru_list::LruList;
use crate::reclaim::control::ReclaimId;
use crate::reclaim::decide::Progress;
use crate::reclaim::node::NodePass;
use crate::reclaim::pass::ReclaimStep;
use crate::reclaimer::Reclaimer;
use crate::reclaimer::Stalled;
use crate::shrinker::{LruScan, ShrinkControl, ShrinkSlab, ShrinkStep};
use crate::tasks::reclaim::partial::split_partially_mapped;
use crate::tasks::reclaim::throttle::throttle;
use crate::tasks::reclaim::throttle::throttle_vm_writeout;

/// Progress of a run.
#[derive(Clone, Copy)]
struct Mileage {
    scanned: u64,
    reclaimed: u64,
}

/// One pass of the run `id`, or several if it reclaims for compaction.
pub(crate) async fn shrink_node<E: Stall>(env: &E, id: ReclaimId, pass: &NodePass) {
    loop {
        let before = env.with(|mm| mm.mileage(id));
        if !split_partially_mapped(env, id, pass.zone).await {
            shrink_lists(env, id, pass.zone).await;
            if pass.slab {
                shrink_slab(env, id, pass.zone, before).await;
            }
            let (node, stalled) =
                env.with(|mm| (mm.phys.frames.zone(pass.zone).node(), mm.conclude_pass(id, pass.zone)));
            if let Some(why) = stalled {
                throttle(env, node, why).await;
            }
        }
        if !env.with(|mm| mm.should_continue(id, pass.zone, before)) {
            return;
        }
    }
}

async fn shrink_lists<E: Stall>(env: &E, id: ReclaimId, zone: ZoneId) {
    let node = env.with(|mm| {
        mm.begin_lru_pass(id, zone);
        mm.phys.frames.zone(zone).node()
    });
    loop {
        let (step, writes) = env.with(|mm| {
            let step = mm.reclaim_step(id, env.cpu());
            let run = mm.reclaim_mut(id);
            let (writes, flushers) = (core::mem::take(&mut run.writes), core::mem::take(&mut run.wake_flushers));
            if flushers {
                mm.pages.cache.wakeup_flushers(&mut mm.phys);
            }
            (step, writes)
        });
        if !writes.is_empty() {
            env.submit(writes).await;
        }
        match step {
            ReclaimStep::Scanned => {}
            ReclaimStep::Reclaimed(_) => env.wake(Until::FewIsolated(node)),
            ReclaimStep::TooManyIsolated => throttle(env, node, Stalled::Isolated).await,
            ReclaimStep::Done => break,
        }
        env.spend().await;
    }
    env.spend().await;
    let gfp = env.with(|mm| mm.reclaim_mut(id).gfp);
    throttle_vm_writeout(env, gfp).await;
}

async fn shrink_slab<E: Stall>(env: &E, id: ReclaimId, zone: ZoneId, before: Mileage) {
    let mut run = env.with(|mm| ShrinkSlab::new(mm.shrink_control(id, zone, before, env.cpu())));
    let shrunk = loop {
        match env.with(|mm| run.step(&mut mm.pages, &mut mm.phys)) {
            ShrinkStep::Progress => {}
            ShrinkStep::Done(shrunk) => break shrunk,
        }
        env.spend().await;
    };
    env.with(|mm| mm.reclaim_mut(id).nr_reclaimed += shrunk.pages);
    env.spend().await;
}

impl Mm {
    /// Draws conclusions from what a pass met; says why to wait before the next, if there is cause.
    fn conclude_pass(&mut self, id: ReclaimId, zone: ZoneId) -> Option<Stalled> {
        let run = self.reclaim_mut(id);
        let (by, stats) = (run.by, run.stats);
        match by {
            Reclaimer::Kswapd => {
                let flags = self.reclaim.reclaim_flags(zone, &self.phys).after(&stats);
                self.reclaim.set_reclaim_flags(zone, flags, &self.phys);
                stats.stalls_kswapd().then_some(Stalled::Writeback)
            }
            Reclaimer::Direct | Reclaimer::Proactive => {
                self.reclaim.reclaim_flags(zone, &self.phys).congested.then_some(Stalled::Congested)
            }
        }
    }

    fn mileage(&mut self, id: ReclaimId) -> Mileage {
        let run = self.reclaim_mut(id);
        Mileage { scanned: run.nr_scanned, reclaimed: run.nr_reclaimed }
    }

    fn shrink_control(&mut self, id: ReclaimId, zone: ZoneId, before: Mileage, cpu: usize) -> ShrinkControl {
        let node: NodeId = self.phys.frames.zone(zone).node();
        let sizes = self.pages.lru.lru_sizes(self.phys.lru_set(zone), &self.phys);
        let eligible = sizes.iter().sum::<u64>() - sizes[LruList::Unevictable.index()];
        let run = self.reclaim_mut(id);
        let lru = LruScan { scanned: run.nr_scanned - before.scanned, eligible };
        ShrinkControl { node, gfp: run.gfp, priority: run.priority, lru, by: run.by, cpu }
    }

    /// Whether another pass over the same lists should follow, for the sake of compaction.
    fn should_continue(&mut self, id: ReclaimId, zone: ZoneId, before: Mileage) -> bool {
        let run = self.reclaim_mut(id);
        let (order, priority, class) = (run.order, run.priority, run.reclaim_idx);
        let retry_may_fail = run.gfp.has(Gfp::RETRY_MAYFAIL);
        let (scanned, reclaimed) = (run.nr_scanned - before.scanned, run.nr_reclaimed - before.reclaimed);
        let reclaimed_in_all = run.nr_reclaimed;
        let node = self.phys.frames.zone(zone).node();
        let zones = self
            .phys
            .frames
            .zones()
            .iter()
            .filter(|zone| zone.node() == node && zone.kind() <= class && zone.managed() > 0);
        let suitable = self.phys.compaction_can_start(zones, order, class);
        let inactive = self.pages.inactive_pages(zone, &self.phys);
        let gap = self.phys.policy.compaction.gap.of(order);
        let progress =
            Progress { order, priority, gap, reclaimed, scanned, reclaimed_in_all, inactive, suitable, retry_may_fail };
        progress.should_continue(self.phys.policy.reclaim.should_continue)
    }
}
