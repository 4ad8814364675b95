//! The shortest way of a request: a block of the CPU's list or of the type's own lists, in the zone that it prefers.
//!
//! Nearly all requests go it. Whatever few requests need is left to the walk over the zonelist, which would do the same for these.

use order9_units::{Migratetype, NodeId, Order, Pfn, ZoneKind};

use super::account;
use crate::Frames;
use crate::frame::{Flag, Idx, Word};
use crate::gfp::{AllocFlags, Gfp, Mark};
use crate::nodes::ZoneRef;
use crate::policy::{FramesPolicy, PcpLists};
use crate::request::{NodeUse, Request};
use crate::storage::Storage;
use crate::watch::Watch;
use crate::zone::{Zone, ZoneId};

/// A request that may be served anywhere, by a CPU that has lists, worked out.
struct Plain {
    mt: Migratetype,
    class: ZoneKind,
    preferred: ZoneRef,
    cpu: NodeId,
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Serves a request as a walk over the zonelist would, if that took a block in the preferred zone without anything to note
    /// beside it; `None` has changed nothing. Whoever keeps requests from nodes must not ask.
    #[inline(always)]
    pub fn alloc_at_once(&mut self, request: &Request) -> Option<Pfn> {
        // The way of single pages is short once it is compiled for them alone.
        if request.order == Order::ZERO { self.page_at_once(request) } else { self.block_at_once(request) }
    }

    #[inline(never)]
    fn page_at_once(&mut self, request: &Request) -> Option<Pfn> {
        let Plain { mt, class, preferred, cpu } = self.plain(request)?;
        let at = self.pcp_at(preferred.zone, request.cpu);
        let zone = self.zones.get_mut(preferred.zone.index())?;
        if !zone.passes_at_once(Order::ZERO, class, mt, &self.policy) {
            return None;
        }
        let idx = self.pcps[at].pop(&mut self.table, PcpLists::of_single(mt), Order::ZERO)?;
        self.table.set(idx, Word::allocated(Order::ZERO).with(Flag::CountedImmovable, mt != Migratetype::Movable));
        account(zone, Order::ZERO, preferred.node, cpu, &mut self.counters, &mut self.numa);
        self.work.zones_checked += 1;
        self.work.pcp_hits += 1;
        Some(self.table.pfn(idx))
    }

    #[inline(never)]
    fn block_at_once(&mut self, request: &Request) -> Option<Pfn> {
        let Plain { mt, class, preferred, cpu } = self.plain(request)?;
        let order = request.order;
        let zone = self.zones.get(preferred.zone.index())?;
        if !zone.passes_at_once(order, class, mt, &self.policy) {
            return None;
        }
        let idx = match self.policy.pcp.lists.list_for(order, mt) {
            Some(list) => self.take_cached(preferred.zone, request.cpu, list, order, mt)?,
            None => self.take_own(preferred.zone, order, mt)?,
        };
        let zone = &mut self.zones[preferred.zone.index()];
        account(zone, order, preferred.node, cpu, &mut self.counters, &mut self.numa);
        self.work.zones_checked += 1;
        Some(self.table.pfn(idx))
    }

    #[inline(always)]
    fn plain(&self, request: &Request) -> Option<Plain> {
        let &Request { gfp, node, nodemask, uses, cpu, .. } = request;
        if nodemask.is_some() || !matches!(uses, NodeUse::Ordinary) || gfp.has(Gfp::THISNODE) {
            return None;
        }
        let (mt, class) = (self.mobility(gfp)?, gfp.highest_zone());
        let preferred = self.nodes.preferred(node)?[class.index()];
        Some(Plain { mt, class, preferred, cpu: *self.cpus.get(cpu)? })
    }

    /// Takes a block from the lists of `mt`, if those are what a request looks at first.
    #[inline]
    fn take_own(&mut self, id: ZoneId, order: Order, mt: Migratetype) -> Option<Idx> {
        let looks_elsewhere = self.prefers_cma(id, mt, true) || self.packs(order, mt);
        if looks_elsewhere || !self.zones[id.index()].has_block(mt, order) {
            return None;
        }
        self.lock_zone(id);
        let idx = self.take_smallest(id, order, mt)?;
        self.hand_out(idx, order, mt);
        Some(idx)
    }
}

impl Zone {
    /// Whether the watermark lets a block of `order` go, with nothing to note of the zone beside it.
    #[inline(always)]
    fn passes_at_once(&self, order: Order, class: ZoneKind, mt: Migratetype, policy: &FramesPolicy) -> bool {
        let passes = |mark| {
            let flags = AllocFlags { cma: mt == Migratetype::Movable, ..AllocFlags::plain(mark) };
            match order {
                Order::ZERO => self.quick_test(class, &flags, policy),
                _ => self.watermark_ok(order, class, &flags, policy),
            }
        };
        let has_turn = !policy.fair_zone_batches || self.fair_batch > 0;
        has_turn && !self.boosted && (!self.may_be_below_high(policy) || passes(Mark::High)) && passes(Mark::Low)
    }
}

#[cfg(test)]
mod tests;
