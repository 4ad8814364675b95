//! kcompactd: the daemon of a node that compacts in the background, when somebody asks it to and, in some releases, of itself.

use order9_frames::ZoneId;
use order9_units::{Nanos, NodeId, Order, ZoneKind};

use crate::Mm;
use crate::compaction::run::control::CompactId;
use crate::compaction::run::control::{CompactControl, Compactor};
use crate::compaction::zone::deferral::Asker;
use crate::daemon_request::DaemonRequest;
use crate::env::{CompactResult, Stall, Until};
use crate::tasks::compaction::proactive::Proactive;
use crate::tasks::compaction::reserve::fill_reserves;
use crate::tasks::compaction::run::compact_zone;
use crate::trace::{CompactEvent, Event};

/// Compacts `node` whenever a request comes in; never ends. The caller runs this as a task of its own, on a CPU of the
/// node. `phase` is the time until the first look at the fragmentation score in releases that compact proactively; `None`
/// is [all that it can be](crate::PhysMem::first_proactive_look_within).
pub async fn kcompactd<E: Stall>(env: &E, node: NodeId, phase: Option<Nanos>) {
    let within = env.with(|mm| mm.phys.first_proactive_look_within(node));
    let mut proactive = Proactive::new(phase.unwrap_or(within));
    loop {
        match sleep(env, node, proactive.pause(env)).await {
            Some(request) => work(env, node, request).await,
            None => proactive.check(env, node).await,
        }
    }
}

/// Sleeps until a request comes in or `pause` is over.
async fn sleep<E: Stall>(env: &E, node: NodeId, pause: Option<Nanos>) -> Option<DaemonRequest> {
    let waiting = env.with(|mm| {
        mm.phys.trace(|| Event::Compaction(CompactEvent::KcompactdSleep { node }));
        let of = &mut mm.phys.daemons.kcompactd[node.index()];
        of.asleep = of.request.is_none();
        of.asleep
    });
    if waiting {
        env.wait(Until::KcompactdNeeded(node), pause).await;
    }
    env.with(|mm| {
        let of = &mut mm.phys.daemons.kcompactd[node.index()];
        of.asleep = false;
        of.request
    })
}

/// Compacts the zones that a request could use, lowest first (`kcompactd_do_work`).
pub(crate) async fn work<E: Stall>(env: &E, node: NodeId, request: DaemonRequest) {
    let DaemonRequest { order, class } = request;
    let zones = env.with(|mm| {
        mm.phys.counters.compact_daemon_wake += 1;
        mm.phys.trace(|| Event::Compaction(CompactEvent::KcompactdWake { node, order, class }));
        mm.phys.zones_up_to(node, class)
    });
    for zone in zones {
        let Ok(id) = env.with(|mm| mm.begin_for_daemon(zone, order, class)) else { continue };
        let end = compact_zone(env, id).await;
        env.with(|mm| {
            mm.phys.count_daemon_scans(end.totals);
            match end.result {
                CompactResult::Success => {
                    mm.compaction.compaction_defer_reset(zone, order, Asker::Local, false, &mut mm.phys);
                }
                CompactResult::Complete | CompactResult::PartialSkipped => {
                    // Frames in per-CPU lists may be what is missing.
                    mm.phys.frames.drain_zone(zone);
                    mm.compaction.defer_compaction(zone, order, Asker::Local, &mut mm.phys);
                }
                CompactResult::Skipped | CompactResult::Deferred | CompactResult::Contended => {}
            }
        });
        env.spend().await;
    }
    if order == Order::PAGEBLOCK {
        fill_reserves(env, node, class).await;
    }
    env.with(|mm| mm.phys.daemons.kcompactd[node.index()].done(request));
}

impl Mm {
    fn begin_for_daemon(&mut self, zone: ZoneId, order: Order, class: ZoneKind) -> Result<CompactId, CompactResult> {
        if self.compaction.compaction_deferred(zone, order, Asker::Local, &mut self.phys) {
            return Err(CompactResult::Deferred);
        }
        self.compact_begin(CompactControl::new(Compactor::Kcompactd, zone, Some(order), class))
    }
}
