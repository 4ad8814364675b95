//! Reclaim of a node on request of the administrator: the effect of a write to `/sys/devices/system/node/nodeN/reclaim`.
//!
//! Linux documents the file beside `memory.reclaim` of control groups, which takes the same text
//! (Documentation/admin-guide/cgroup-v2.rst).

use alloc::vec::Vec;

use order9_units::{NodeId, Order, Pages, ZoneKind};

use crate::Mm;
use crate::env::Stall;
use crate::reclaim::control::{DEF_PRIORITY, ReclaimControl, ReclaimId};
use crate::reclaim::node::NodePass;
use crate::reclaimer::{CHUNK, Reclaimer};
use crate::space::Errno;
use crate::tasks::reclaim::node_reclaim::shrink_until_through;
use crate::trace::Event;

/// Tries in a row that may free nothing before the request fails: `MAX_RECLAIM_RETRIES`.
const RETRIES: u32 = 16;
/// A try sets out for this part of what is left.
const PART: u64 = 4;

/// Request to reclaim a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeReclaim {
    /// The node.
    pub node: NodeId,
    /// Pages to reclaim.
    pub goal: Pages,
    /// Swappiness of the request, 0 to 200; `vm.swappiness` if `None`.
    pub swappiness: Option<u64>,
}

/// Reclaims as many pages of the node as asked, or somewhat more; returns how many it reclaimed.
///
/// # Errors
/// `ENOENT` where the kernel has no such file or the machine no such node; `EAGAIN` where less could be reclaimed; `EINTR` where
/// the task was killed meanwhile.
pub async fn reclaim_on_request<E: Stall>(env: &E, request: &NodeReclaim) -> Result<Pages, Errno> {
    let passes = env.with(|mm| mm.passes_over(request.node))?;
    let (mut reclaimed, mut in_vain) = (0, 0);
    while reclaimed < request.goal.get() {
        if env.task().oom_victim {
            return Err(Errno::Eintr);
        }
        let part = ((request.goal.get() - reclaimed) / PART).max(CHUNK);
        let id = env.with(|mm| mm.begin_part(request, part));
        shrink_until_through(env, id, DEF_PRIORITY, &passes).await;
        let got = env.with(|mm| {
            let reclaimed = mm.end_reclaim(id).nr_reclaimed;
            mm.phys.trace(|| Event::NodeReclaimEnd { reclaimed });
            reclaimed
        });
        reclaimed += got;
        in_vain = if got == 0 { in_vain + 1 } else { 0 };
        if in_vain > RETRIES {
            return Err(Errno::Eagain);
        }
    }
    Ok(Pages::new(reclaimed))
}

impl Mm {
    /// Begins a run for a part of the request.
    fn begin_part(&mut self, request: &NodeReclaim, goal: u64) -> ReclaimId {
        let mut control = ReclaimControl::new(Reclaimer::Proactive, Order::ZERO, goal, ZoneKind::Movable);
        control.swappiness = request.swappiness;
        let (node, order, gfp) = (request.node, control.order, control.gfp);
        self.phys.trace(|| Event::NodeReclaimBegin { node, order, gfp });
        self.begin_reclaim(control)
    }

    /// A pass for each set of LRU lists of the node. The caches of the kernel belong to the node, and one pass shrinks them.
    fn passes_over(&self, node: NodeId) -> Result<Vec<NodePass>, Errno> {
        if !self.phys.policy.reclaim.node_file {
            return Err(Errno::Enoent);
        }
        let mut zones = self.phys.zones_up_to(node, ZoneKind::Movable);
        zones.dedup_by_key(|zone| self.phys.lru_set(*zone));
        match zones.is_empty() {
            true => Err(Errno::Enoent),
            false => Ok(zones.iter().enumerate().map(|(at, &zone)| NodePass { zone, slab: at == 0 }).collect()),
        }
    }
}
