//! The shortest way of a request: a single page from the list of its CPU, in the zone that it prefers.
//!
//! Most requests go it. Whatever few requests need is left to the walk over the zonelist, which would do the same for these.

use order9_units::{Migratetype, Order, Pfn, ZoneKind};

use super::count_numa;
use crate::Frames;
use crate::frame::{Flag, Word};
use crate::gfp::{AllocFlags, Gfp, Mark};
use crate::policy::{FramesPolicy, PcpLists};
use crate::request::{NodeUse, Request};
use crate::storage::Storage;
use crate::watch::{FrameEvent, Watch};
use crate::zone::Zone;

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Serves a request as a walk over the zonelist would, if that took a page from the CPU's list in the preferred zone; `None` has
    /// changed nothing. Whoever keeps requests from nodes must not ask.
    #[inline]
    pub fn alloc_at_once(&mut self, request: &Request) -> Option<Pfn> {
        let &Request { order, gfp, node, nodemask, uses, cpu, .. } = request;
        let is_plain = order == Order::ZERO && nodemask.is_none() && matches!(uses, NodeUse::Ordinary);
        if !is_plain || gfp.has(Gfp::THISNODE) {
            return None;
        }
        let (mt, class) = (self.mobility(gfp)?, gfp.highest_zone());
        let preferred = self.nodes.preferred(node)?[class.index()];
        let cpu_node = *self.cpus.get(cpu)?;
        let at = self.pcp_at(preferred.zone, cpu);
        let zone = self.zones.get_mut(preferred.zone.index())?;
        if !zone.passes_at_once(class, mt, &self.policy) {
            return None;
        }
        let idx = self.pcps[at].pop(&mut self.table, PcpLists::of_single(mt), Order::ZERO)?;
        self.table.set(idx, Word::allocated(Order::ZERO).with(Flag::CountedImmovable, mt != Migratetype::Movable));
        zone.fair_batch -= 1;
        self.counters.pgalloc[zone.kind.index()] += 1;
        count_numa(&mut self.numa, preferred.node, zone.node, cpu_node);
        self.work.zones_checked += 1;
        self.work.pcp_hits += 1;
        let pfn = self.table.pfn(idx);
        self.watch.trace(|| FrameEvent::PageAlloc { pfn: Some(pfn), order, migratetype: mt, gfp });
        Some(pfn)
    }
}

impl Zone {
    /// Whether a single page may go by the quick test, with nothing to note of the zone beside it.
    #[inline]
    fn passes_at_once(&self, class: ZoneKind, mt: Migratetype, policy: &FramesPolicy) -> bool {
        let passes = |mark| {
            let flags = AllocFlags { cma: mt == Migratetype::Movable, ..AllocFlags::plain(mark) };
            self.quick_test(class, &flags, policy)
        };
        let has_turn = !policy.fair_zone_batches || self.fair_batch > 0;
        has_turn && !self.boosted && (!self.may_be_below_high(policy) || passes(Mark::High)) && passes(Mark::Low)
    }
}
