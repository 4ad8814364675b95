//! The daemon of a node: it runs while the node is not balanced, naps, and sleeps until an allocation wakes it.

use order9_units::{NodeId, ZoneKind};

use crate::daemon_request::DaemonRequest;
use crate::phys::PhysMem;
use crate::reclaim::{DEF_PRIORITY, Reclaim, ReclaimFlags};

impl PhysMem {
    /// Hands what kswapd of `node` was asked for to it.
    pub fn take_kswapd_request(&mut self, node: NodeId) -> Option<DaemonRequest> {
        self.daemons.kswapd[node.index()].request.take()
    }

    /// A run in vain has looked at every zone of the node in each of its passes. Where all pages are being written, this is
    /// all that it does: if it took no time, the pages would never be written.
    pub(crate) fn count_looks_in_vain(&mut self, node: NodeId) {
        let zones = self.balanced_zones(node, ZoneKind::Movable).count() as u64;
        self.frames.work_mut().zones_checked += zones * u64::from(DEF_PRIORITY);
    }
}

impl Reclaim {
    /// Forgets what passes over a balanced node have found.
    pub(crate) fn clear_reclaim_flags(&mut self, node: NodeId, phys: &PhysMem) {
        for zone in 0..phys.frames.zones().len() {
            let zone = phys.frames.zones()[zone].id();
            if phys.frames.zone(zone).node() == node {
                self.set_reclaim_flags(zone, ReclaimFlags::default(), phys);
            }
        }
    }
}
