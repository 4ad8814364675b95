//! The daemon of a node: it runs while the node is not balanced, naps, and sleeps until an allocation wakes it.

use order9_units::{Nanos, NodeId, Order};

use super::{Balance, Pass, RunEnd};
use crate::Mm;
use crate::env::{Stall, Until};
use crate::node::DaemonRequest;
use crate::policy::SlabUnderBoost;
use crate::reclaim::{NodePass, ReclaimControl, ReclaimFlags, Reclaimer, shrink_node};
use crate::trace::{Event, Tracer};

/// How long it naps before it sleeps, so that a node that is short again at once is noticed: 100 ms.
const NAP: Nanos = Nanos::new(100_000_000);

/// Balances `node` whenever that is asked for; never ends. To be run as a task of its own, on a CPU of the node.
pub async fn kswapd<E: Stall>(env: &E, node: NodeId) {
    let mut request = sleep(env, node).await;
    loop {
        let DaemonRequest { order, class } = request;
        env.with(|mm| mm.tracer.event(|| Event::KswapdWake { node, class, order }));
        let end = balance(env, node, request).await;
        let done = DaemonRequest { order: end.order, class: request.class };
        request = match nap(env, node, request, done).await {
            Some(next) => next,
            None => sleep(env, node).await,
        };
    }
}

/// Sleeps until it is woken; says what for.
async fn sleep<E: Stall>(env: &E, node: NodeId) -> DaemonRequest {
    loop {
        env.with(|mm| {
            mm.nodes[node.index()].kswapd_asleep = true;
            mm.tracer.event(|| Event::KswapdSleep { node });
        });
        env.wait(Until::KswapdNeeded(node), None).await;
        // Whoever woke it has said what for, unless the wait ended by itself.
        if let Some(request) = env.with(|mm| mm.take_kswapd_request(node)) {
            return request;
        }
    }
}

/// Looks whether the node stays balanced for a while: `None` if it may sleep, or what to go on with. `done` is what the run
/// for `asked` ended with.
async fn nap<E: Stall>(env: &E, node: NodeId, asked: DaemonRequest, done: DaemonRequest) -> Option<DaemonRequest> {
    let next = |mm: &mut Mm<E::Tracer>| {
        let plain = DaemonRequest { order: Order::ZERO, class: done.class };
        Some(mm.take_kswapd_request(node).unwrap_or(plain))
    };
    let may_nap = env.with(|mm| {
        let may_nap = mm.may_sleep(node, done);
        if may_nap {
            mm.clear_reclaim_flags(node);
            // Compaction goes on where reclaim has made room.
            mm.nodes[node.index()].ask_kcompactd(asked);
            mm.nodes[node.index()].kswapd_asleep = true;
        } else {
            mm.counters.kswapd_high_wmark_hit_quickly += 1;
        }
        may_nap
    });
    if !may_nap {
        return env.with(next);
    }
    if env.wait(Until::KswapdNeeded(node), Some(NAP)).await {
        env.with(|mm| mm.counters.kswapd_low_wmark_hit_quickly += 1);
        return env.with(next);
    }
    env.with(|mm| {
        if mm.may_sleep(node, done) {
            return None;
        }
        mm.nodes[node.index()].kswapd_asleep = false;
        mm.counters.kswapd_high_wmark_hit_quickly += 1;
        next(mm)
    })
}

/// One balancing run (`balance_pgdat`).
async fn balance<E: Stall>(env: &E, node: NodeId, request: DaemonRequest) -> RunEnd {
    let (mut run, id) = env.with(|mm| {
        mm.counters.pageoutrun += 1;
        let control = ReclaimControl::new(Reclaimer::Kswapd, request.order, 0, request.class);
        (mm.balance_begin(node, request), mm.begin_reclaim(control))
    });
    while let Balance::Pass(pass) = env.with(|mm| mm.balance_next(&mut run)) {
        let before = env.with(|mm| {
            let control = mm.reclaim_mut(id);
            control.order = pass.order;
            control.priority = pass.priority;
            control.nr_to_reclaim = pass.goal;
            control.may_writepage = !pass.gentle;
            control.may_swap = !pass.gentle;
            (control.nr_scanned, control.nr_reclaimed)
        });
        for node_pass in env.with(|mm| mm.kswapd_passes(&pass)) {
            shrink_node(env, id, &node_pass).await;
        }
        if env.with(|mm| !mm.throttles_direct_reclaim(node)) {
            env.wake(Until::ReservesFilled(node));
        }
        env.with(|mm| {
            let control = mm.reclaim_mut(id);
            let (scanned, reclaimed) = (control.nr_scanned - before.0, control.nr_reclaimed - before.1);
            mm.balance_passed(&mut run, &pass, scanned, reclaimed);
        });
    }
    env.with(|mm| {
        mm.end_reclaim(id);
        let end = mm.balance_end(&run);
        if end.was_boosted {
            let request = DaemonRequest { order: Order::PAGEBLOCK, class: request.class };
            mm.nodes[node.index()].ask_kcompactd(request);
        }
        end
    })
}

impl<T: Tracer> Mm<T> {
    /// Hands what kswapd of `node` was asked for to it.
    pub fn take_kswapd_request(&mut self, node: NodeId) -> Option<DaemonRequest> {
        self.nodes[node.index()].kswapd.take()
    }

    /// Forgets what passes over a balanced node have found.
    fn clear_reclaim_flags(&mut self, node: NodeId) {
        for zone in 0..self.zones.len() {
            let zone = self.zones[zone].id;
            if self.zone(zone).node == node {
                self.set_reclaim_flags(zone, ReclaimFlags::default());
            }
        }
    }

    /// The sets of lists that a pass of kswapd goes over: that of the node, or those of its zones, lowest first, slab being
    /// shrunk with the highest.
    fn kswapd_passes(&self, pass: &Pass) -> alloc::vec::Vec<NodePass> {
        let slab = !pass.gentle || self.policy.reclaim.slab_under_boost == SlabUnderBoost::Shrunk;
        let mut zones: alloc::vec::Vec<_> = self.balanced_zones(pass.node, pass.class).map(|zone| zone.id).collect();
        zones.dedup_by_key(|&mut zone| self.lru_set(zone));
        let last = zones.last().copied();
        zones.into_iter().map(|zone| NodePass { zone, slab: slab && Some(zone) == last }).collect()
    }
}
