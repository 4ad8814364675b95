//! Deferral: a zone in which compaction keeps failing is left alone for a number of requests that doubles with each
//! failure.

use order9_frames::ZoneId;
use order9_units::{NodeId, Order};

use crate::compaction::Compaction;
use crate::phys::PhysMem;
use crate::trace::{CompactEvent, DeferEvent, Event};

/// Failures of compaction in a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::compaction) struct Deferral {
    /// Requests since the last failure.
    pub(in crate::compaction) considered: u64,
    /// Logarithm of the number of requests after which a run is tried again.
    pub(in crate::compaction) shift: u8,
    /// Smallest order that failed; requests of smaller orders are never deferred.
    pub(in crate::compaction) order_failed: u8,
}

impl Deferral {
    /// Records a run for a block of `order` that scanned everything and made none.
    fn fail(&mut self, order: Order, cap: u8) {
        self.considered = 0;
        self.shift = (self.shift + 1).min(cap);
        self.order_failed = self.order_failed.min(order.get());
    }

    /// Whether a request of `order` is deferred; the request counts as considered.
    pub(in crate::compaction) fn is_deferred(&mut self, order: Order) -> bool {
        if order.get() < self.order_failed {
            return false;
        }
        let limit = 1 << self.shift;
        self.considered = (self.considered + 1).min(limit);
        self.considered < limit
    }

    /// Records a run that made a block of `order`; with `allocated`, the request has taken it.
    pub(in crate::compaction) fn succeed(&mut self, order: Order, allocated: bool) {
        if allocated {
            (self.considered, self.shift) = (0, 0);
        }
        if order.get() >= self.order_failed {
            self.order_failed = order.get() + 1;
        }
    }

    /// Whether the longest deferral has just run out.
    pub(in crate::compaction) const fn is_restarting(&self, order: Order, cap: u8) -> bool {
        order.get() >= self.order_failed && self.shift == cap && self.considered >= 1 << self.shift
    }
}

/// Class of requests whose failures are counted together: those from the zone's own node, or from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asker {
    Local,
    Remote,
}

impl PhysMem {
    /// Class that the failures in `zone` of a request from `node` count with.
    pub(crate) fn asker(&self, zone: ZoneId, node: NodeId) -> Asker {
        let policy = &self.policy.compaction;
        let apart = policy.defer_remote_cap != policy.defer_cap && self.frames.zone(zone).node() != node;
        if apart { Asker::Remote } else { Asker::Local }
    }

    const fn defer_cap(&self, asker: Asker) -> u8 {
        match asker {
            Asker::Local => self.policy.compaction.defer_cap,
            Asker::Remote => self.policy.compaction.defer_remote_cap,
        }
    }
}

impl Compaction {
    fn deferral(&mut self, zone: ZoneId, asker: Asker) -> &mut Deferral {
        &mut self.zones[zone.index()].deferral[asker as usize]
    }

    /// Defers a zone after a run in vain (`defer_compaction`).
    pub(crate) fn defer_compaction(&mut self, zone: ZoneId, order: Order, asker: Asker, phys: &mut PhysMem) {
        let cap = phys.defer_cap(asker);
        self.deferral(zone, asker).fail(order, cap);
        self.trace_deferral(zone, asker, order, CompactEvent::DeferCompaction, phys);
    }

    /// Whether a request is deferred in a zone (`compaction_deferred`).
    pub(crate) fn compaction_deferred(&mut self, zone: ZoneId, order: Order, asker: Asker, phys: &mut PhysMem) -> bool {
        let deferred = self.deferral(zone, asker).is_deferred(order);
        if deferred {
            self.trace_deferral(zone, asker, order, CompactEvent::Deferred, phys);
        }
        deferred
    }

    /// Records success in a zone (`compaction_defer_reset`). An allocation ends the deferral of every class.
    pub(crate) fn compaction_defer_reset(
        &mut self,
        zone: ZoneId,
        order: Order,
        asker: Asker,
        allocated: bool,
        phys: &mut PhysMem,
    ) {
        let both = [Asker::Local, Asker::Remote].into_iter();
        for asker in both.filter(|&other| allocated || other == asker) {
            self.deferral(zone, asker).succeed(order, allocated);
        }
        self.trace_deferral(zone, asker, order, CompactEvent::DeferReset, phys);
    }

    /// Whether the longest deferral of `order` in `zone` has just run out.
    pub(crate) fn compaction_restarting(&mut self, zone: ZoneId, order: Order, asker: Asker, phys: &PhysMem) -> bool {
        let cap = phys.defer_cap(asker);
        self.deferral(zone, asker).is_restarting(order, cap)
    }

    /// Records that direct compaction led to an allocation of `order` from `zone`: skip hints stay, and deferral ends.
    pub fn compaction_paid_off(&mut self, zone: ZoneId, order: Order, phys: &mut PhysMem) {
        self.zones[zone.index()].blockskip_flush = false;
        self.compaction_defer_reset(zone, order, Asker::Local, true, phys);
    }

    fn trace_deferral(
        &self,
        zone: ZoneId,
        asker: Asker,
        order: Order,
        what: fn(DeferEvent) -> CompactEvent,
        phys: &mut PhysMem,
    ) {
        let of = &phys.frames.zone(zone);
        let (node, kind, Deferral { considered, shift, order_failed }) =
            (of.node(), of.kind(), self.zones[zone.index()].deferral[asker as usize]);
        phys.trace(|| {
            Event::Compaction(what(DeferEvent { node, zone: kind, order, order_failed, considered, limit: 1 << shift }))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_double_the_requests_that_do_without_a_run() {
        let (mut deferral, order) = (Deferral::default(), Order::PAGEBLOCK);
        let mut ran = alloc::vec::Vec::new();
        for request in 1..=400 {
            if !deferral.is_deferred(order) {
                ran.push(request);
                deferral.fail(order, 6);
            }
        }
        assert_eq!(ran, [1, 3, 7, 15, 31, 63, 127, 191, 255, 319, 383]);
        assert_eq!((deferral.shift, deferral.order_failed), (6, 0));
    }

    #[test]
    fn smaller_orders_than_the_one_that_failed_are_not_deferred() {
        let (small, huge) = (Order::new(3).unwrap(), Order::PAGEBLOCK);
        let mut deferral = Deferral::default();
        deferral.succeed(small, true);
        assert_eq!(deferral.order_failed, 4);
        deferral.fail(huge, 6);
        assert!(!deferral.is_deferred(small) && deferral.is_deferred(huge));
        deferral.succeed(huge, false);
        assert_eq!((deferral.order_failed, deferral.shift), (10, 1), "the deferral ends with an allocation only");
    }
}
