//! Reclaim of a node before a request goes on to the next one (`node_reclaim`).

use order9_frames::{Request, ZoneId};

use crate::Mm;
use crate::env::Stall;
use crate::pages::wake::{UNMAP, WRITE};
use crate::policy::SlabUnderBoost;
use crate::reclaim::control::{ReclaimControl, ReclaimId};
use crate::reclaim::node::NodePass;
use crate::reclaimer::CHUNK;
use crate::reclaimer::Reclaimer;
use crate::tasks::reclaim::node::shrink_node;
use crate::trace::Event;

/// Effort of the first pass, four times as much as is usual at first.
const PRIORITY: u8 = 4;

/// Reclaims the node of `zone` for `request`; says whether it reclaimed as much as it set out to.
pub async fn reclaim_node<E: Stall>(env: &E, zone: ZoneId, request: &Request) -> bool {
    let Some((id, pass)) = env.with(|mm| mm.begin_node_reclaim(zone, request)) else { return false };
    shrink_until_through(env, id, PRIORITY, &[pass]).await;
    env.with(|mm| mm.end_node_reclaim(id, zone))
}

/// Makes `passes` from `priority` on, each time more thorough than before, until the run has what it set out for.
pub(super) async fn shrink_until_through<E: Stall>(env: &E, id: ReclaimId, priority: u8, passes: &[NodePass]) {
    for priority in (0..=priority).rev() {
        env.with(|mm| mm.reclaim_mut(id).priority = priority);
        for pass in passes {
            shrink_node(env, id, pass).await;
        }
        if env.with(|mm| mm.is_through(id)) {
            return;
        }
    }
}

impl Mm {
    /// One task at a time.
    pub(crate) fn begin_node_reclaim(&mut self, zone: ZoneId, request: &Request) -> Option<(ReclaimId, NodePass)> {
        let mode = self.phys.settings.zone_reclaim_mode;
        let node = self.phys.frames.zone(zone).node();
        if core::mem::replace(&mut self.phys.daemons.reclaimed[node.index()].is_reclaimed, true) {
            return None;
        }
        let goal = request.order.pages().get().max(CHUNK);
        let mut control = ReclaimControl::new(Reclaimer::Direct, request.order, goal, request.gfp.highest_zone());
        control.gfp = request.gfp;
        control.may_writepage = mode & WRITE != 0;
        control.may_unmap = mode & UNMAP != 0;
        // Those releases that spared slab under boost allowed it only to whom they named.
        let slab = self.phys.policy.reclaim.slab_under_boost == SlabUnderBoost::Shrunk;
        self.phys.trace(|| Event::NodeReclaimBegin { node, order: request.order, gfp: request.gfp });
        Some((self.begin_reclaim(control), NodePass { zone, slab }))
    }

    /// Whether the run has reclaimed what it set out for.
    fn is_through(&mut self, id: ReclaimId) -> bool {
        let run = self.reclaim_mut(id);
        run.nr_reclaimed >= run.nr_to_reclaim
    }

    pub(crate) fn end_node_reclaim(&mut self, id: ReclaimId, zone: ZoneId) -> bool {
        let through = self.is_through(id);
        let reclaimed = self.end_reclaim(id).nr_reclaimed;
        self.phys.trace(|| Event::NodeReclaimEnd { reclaimed });
        let node = self.phys.frames.zone(zone).node();
        self.phys.daemons.reclaimed[node.index()].is_reclaimed = false;
        match through {
            true => self.phys.counters.zone_reclaim_success += 1,
            false => self.phys.counters.zone_reclaim_failed += 1,
        }
        through
    }
}
