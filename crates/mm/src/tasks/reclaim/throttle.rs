//! Tasks that are held up: until kswapd has filled the reserves, or until disks have written.

use order9_frames::{Gfp, Request};
use order9_units::{Nanos, NodeId};

use crate::env::{Stall, TICK, Until};
use crate::policy::ThrottleRule;
use crate::reclaimer::Stalled;
use crate::trace::Event;

/// Longest wait for the disks.
const DISK_WAIT: Nanos = Nanos::new(100_000_000);

/// Longest wait for pages that others have isolated, once it is ended by events.
const ISOLATED_WAIT: Nanos = Nanos::new(20_000_000);

/// Longest wait of a task that may not enter filesystems, and so may hold what kswapd needs.
pub(crate) const NOFS_WAIT: Nanos = Nanos::new(1_000_000_000);

/// Lets a task wait for kswapd while the reserves of its node are nearly used up, which it would use up
/// (`throttle_direct_reclaim`).
pub(crate) async fn throttle_direct<E: Stall>(env: &E, request: &Request) {
    let task = env.task();
    let node = request.node;
    if task.kthread || task.oom_victim || !env.with(|mm| mm.pages.throttles_direct_reclaim(node, &mut mm.phys)) {
        return;
    }
    env.with(|mm| mm.phys.counters.pgscan_direct_throttle += 1);
    let timeout = if request.gfp.has(Gfp::FS) { None } else { Some(NOFS_WAIT) };
    loop {
        let woken = env.wait(Until::ReservesFilled(node), timeout).await;
        let stuck = env.with(|mm| mm.pages.throttles_direct_reclaim(node, &mut mm.phys));
        if !woken || !stuck || env.task().oom_victim {
            return;
        }
    }
}

/// Stops a reclaimer on `node`, as the policy has it.
pub(super) async fn throttle<E: Stall>(env: &E, node: NodeId, why: Stalled) {
    match (env.with(|mm| mm.phys.policy.reclaim.throttle), why) {
        (ThrottleRule::Congestion, Stalled::Writeback | Stalled::Congested) => {
            env.wait(Until::Uncongested, Some(DISK_WAIT)).await;
        }
        (ThrottleRule::Congestion, Stalled::Isolated) => {
            env.wait(Until::FewIsolated(node), Some(DISK_WAIT)).await;
        }
        (ThrottleRule::Congestion, Stalled::NoProgress) => {}
        (ThrottleRule::Events, why) => wait_for_event(env, node, why).await,
    }
}

/// Lets a reclaimer wait after a pass while more pages are being written than the disks should be given, or its passes would
/// find nothing else, and it would take memory for used up (`throttle_vm_writeout`). Who may hold what the disks need waits
/// only once.
pub(super) async fn throttle_vm_writeout<E: Stall>(env: &E, gfp: Gfp) {
    while env.with(|mm| {
        mm.phys.policy.reclaim.throttle_vm_writeout && mm.write_pending(None).writeback > mm.phys.writeout_limit()
    }) {
        env.wait(Until::Uncongested, Some(DISK_WAIT)).await;
        if !(gfp.has(Gfp::IO) && gfp.has(Gfp::FS)) {
            return;
        }
    }
}

/// Waits for what ends the cause, where something tells (`reclaim_throttle`).
async fn wait_for_event<E: Stall>(env: &E, node: NodeId, why: Stalled) {
    let timeout = match why {
        Stalled::Writeback => DISK_WAIT,
        Stalled::Isolated => ISOLATED_WAIT,
        Stalled::Congested | Stalled::NoProgress => TICK,
    };
    let begun = env.now();
    match why {
        Stalled::Writeback => {
            env.with(|mm| mm.phys.begin_writeback_wait(node));
            env.wait(Until::PagesWritten(node), Some(timeout)).await;
            env.with(|mm| mm.phys.daemons.reclaimed[node.index()].writeback_waiters -= 1);
        }
        Stalled::Isolated => {
            env.wait(Until::FewIsolated(node), Some(timeout)).await;
        }
        Stalled::Congested | Stalled::NoProgress => env.sleep(timeout).await,
    }
    let delayed = Nanos::new(env.now().get() - begun.get());
    env.with(|mm| mm.phys.trace(|| Event::Throttled { node, timeout, delayed, why }));
}
