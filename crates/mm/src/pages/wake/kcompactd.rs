//! Wake-ups of kcompactd.

use order9_frames::ZoneId;
use order9_units::{NodeId, Order, ZoneKind};

use crate::daemon_request::DaemonRequest;
use crate::phys::PhysMem;
use crate::policy::Background;
use crate::suitable::Suitable;
use crate::trace::{CompactEvent, Event};

impl PhysMem {
    /// Asks for kcompactd of `node`, which is woken if it sleeps and could begin in some zone (`wakeup_kcompactd`).
    pub(crate) fn wakeup_kcompactd(&mut self, node: NodeId, request: DaemonRequest) {
        let DaemonRequest { order, class } = request;
        if order == Order::ZERO || self.policy.compaction.background != Background::Kcompactd {
            return;
        }
        let of = &mut self.daemons.kcompactd[node.index()];
        of.ask(request);
        if !of.asleep {
            return;
        }
        let suitable =
            |zone: &ZoneId| self.suitable_for_kcompactd(self.frames.zone(*zone), order, class) == Suitable::Continue;
        if !self.zones_up_to(node, class).iter().any(suitable) {
            return;
        }
        self.daemons.kcompactd[node.index()].asleep = false;
        self.daemons.wakeups.kcompactd |= 1 << node.0;
        self.trace(|| Event::Compaction(CompactEvent::WakeupKcompactd { node, order, class }));
    }

    /// Zones with memory of a node up to `class`, lowest first.
    pub(crate) fn zones_up_to(&self, node: NodeId, class: ZoneKind) -> alloc::vec::Vec<ZoneId> {
        let suits = |zone: &&crate::Zone| zone.node() == node && zone.kind() <= class && zone.managed() > 0;
        let mut zones: alloc::vec::Vec<_> =
            self.frames.zones().iter().filter(suits).map(|zone| (zone.kind(), zone.id())).collect();
        zones.sort_unstable();
        zones.into_iter().map(|(_, zone)| zone).collect()
    }
}
