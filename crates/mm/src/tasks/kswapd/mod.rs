//! kswapd: the daemon of a node that reclaims until the node is balanced.

use order9_units::{Nanos, NodeId, Order};

use crate::Mm;
use crate::daemon_request::DaemonRequest;
use crate::env::{Stall, Until};
use crate::kswapd::{Balance, Pass, RunEnd};
use crate::reclaim::{ReclaimControl, ReclaimId, Reclaimer};
use crate::tasks::compaction::kswapd::kswapd_compact;
use crate::tasks::reclaim::node::shrink_node;
use crate::trace::Event;

/// Nap of kswapd before it sleeps, so that a node that is short again at once is noticed: 100 ms.
const NAP: Nanos = Nanos::new(100_000_000);

/// Balances `node` whenever that is asked for; never ends. To be run as a task of its own, on a CPU of the node.
pub async fn kswapd<E: Stall>(env: &E, node: NodeId) {
    let mut request = sleep(env, node).await;
    loop {
        let DaemonRequest { order, class } = request;
        env.with(|mm| mm.phys.trace(|| Event::KswapdWake { node, class, order }));
        let end = balance(env, node, request).await;
        if end.failed {
            env.with(|mm| mm.phys.count_looks_in_vain(node));
            env.spend().await;
        }
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
            mm.phys.daemons.kswapd[node.index()].asleep = true;
            mm.phys.trace(|| Event::KswapdSleep { node });
        });
        env.wait(Until::KswapdNeeded(node), None).await;
        // Whoever woke it has said what for, unless the wait ended by itself.
        if let Some(request) = env.with(|mm| mm.phys.take_kswapd_request(node)) {
            return request;
        }
    }
}

/// Looks whether the node stays balanced for a while: `None` if it may sleep, or what to go on with. `done` is what the run
/// for `asked` ended with.
async fn nap<E: Stall>(env: &E, node: NodeId, asked: DaemonRequest, done: DaemonRequest) -> Option<DaemonRequest> {
    let next = |mm: &mut Mm| {
        let plain = DaemonRequest { order: Order::ZERO, class: done.class };
        Some(mm.phys.take_kswapd_request(node).unwrap_or(plain))
    };
    let may_nap = env.with(|mm| {
        let may_nap = mm.pages.may_sleep(node, done, &mm.phys);
        if may_nap {
            mm.reclaim.clear_reclaim_flags(node, &mm.phys);
            mm.compaction.reset_isolation_suitable_of(node, &mut mm.phys);
            // Compaction goes on where reclaim has made room.
            mm.phys.wakeup_kcompactd(node, asked);
            mm.phys.daemons.kswapd[node.index()].asleep = true;
        } else {
            mm.phys.counters.kswapd_high_wmark_hit_quickly += 1;
        }
        may_nap
    });
    if !may_nap {
        return env.with(next);
    }
    // It may not have made a pass: others have freed memory, or it has given up.
    env.wake(Until::ReservesFilled(node));
    if env.wait(Until::KswapdNeeded(node), Some(NAP)).await {
        env.with(|mm| mm.phys.counters.kswapd_low_wmark_hit_quickly += 1);
        return env.with(next);
    }
    env.with(|mm| {
        if mm.pages.may_sleep(node, done, &mm.phys) {
            return None;
        }
        mm.phys.daemons.kswapd[node.index()].asleep = false;
        mm.phys.counters.kswapd_high_wmark_hit_quickly += 1;
        next(mm)
    })
}

/// One balancing run (`balance_pgdat`).
async fn balance<E: Stall>(env: &E, node: NodeId, request: DaemonRequest) -> RunEnd {
    let (mut run, id) = env.with(|mm| {
        mm.phys.counters.pageoutrun += 1;
        let control = ReclaimControl::new(Reclaimer::Kswapd, request.order, 0, request.class);
        (mm.phys.balance_begin(node, request), mm.begin_reclaim(control))
    });
    while let Balance::Pass(pass) = env.with(|mm| mm.pages.balance_next(&mut run, &mut mm.phys)) {
        let Passed { scanned_enough, reclaimed, goal } = round(env, id, &pass).await;
        if env.with(|mm| !mm.pages.throttles_direct_reclaim(node, &mut mm.phys)) {
            env.wake(Until::ReservesFilled(node));
        }
        env.with(|mm| mm.phys.balance_passed(&mut run, &pass, scanned_enough, reclaimed));
        if reclaimed > goal {
            kswapd_compact(env, node, pass.order, pass.class).await;
        }
    }
    env.with(|mm| {
        mm.end_reclaim(id);
        let end = mm.phys.balance_end(&run);
        if end.was_boosted {
            let request = DaemonRequest { order: Order::PAGEBLOCK, class: request.class };
            mm.phys.wakeup_kcompactd(node, request);
        }
        end
    })
}

/// Result of a pass.
struct Passed {
    /// The pass scanned as many pages as it aimed at in some zone.
    scanned_enough: bool,
    /// Pages reclaimed, and to be reclaimed.
    reclaimed: u64,
    goal: u64,
}

/// Goes over what a pass goes over.
async fn round<E: Stall>(env: &E, id: ReclaimId, pass: &Pass) -> Passed {
    let (round, before) = env.with(|mm| {
        let control = mm.reclaim_mut(id);
        control.order = pass.order;
        control.priority = pass.priority;
        control.may_writepage = !pass.gentle;
        control.may_swap = !pass.gentle;
        let before = control.nr_reclaimed;
        (mm.pages.kswapd_round(pass, &mm.phys), before)
    });
    let (mut scanned_enough, mut aimed) = (round.spared, 0);
    for (node_pass, goal) in round.passes {
        let scanned_before = env.with(|mm| {
            let control = mm.reclaim_mut(id);
            control.nr_to_reclaim = goal;
            control.nr_scanned
        });
        aimed += goal;
        shrink_node(env, id, &node_pass).await;
        scanned_enough |= env.with(|mm| mm.reclaim_mut(id).nr_scanned) - scanned_before >= goal;
    }
    Passed { scanned_enough, reclaimed: env.with(|mm| mm.reclaim_mut(id).nr_reclaimed) - before, goal: aimed }
}

#[cfg(test)]
mod tests;
