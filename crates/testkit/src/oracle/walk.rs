//! The fast path: a walk over the zonelist.

use order9_mm::FrameEvent;
use order9_mm::trace::Event;
use order9_mm::{AllocError, AllocFlags, DaemonRequest, Gfp, Mark, Request, Reserve};
use order9_units::{Migratetype, NodeId, Order, Pfn, ZoneKind};

use super::fallback::Wanted;
use super::{Frame, Oracle, as_order, size};

impl Oracle {
    /// The answer of the fast path.
    pub fn alloc_fast(&mut self, request: &Request) -> Result<Pfn, AllocError> {
        let mt = self.check(request)?;
        let preferred = *self.eligible(request).first().ok_or(AllocError::NoZone)?;
        let flags = AllocFlags {
            mark: Mark::Low,
            no_watermarks: false,
            reserve: Reserve::default(),
            cma: mt == Migratetype::Movable,
            nofragment: self.avoids_fragmentation(preferred),
            kswapd: request.gfp.has(Gfp::KSWAPD_RECLAIM),
        };
        self.alloc_with(request, flags)
    }

    /// The answer of one walk with given rights.
    pub fn alloc_with(&mut self, request: &Request, flags: AllocFlags) -> Result<Pfn, AllocError> {
        let mt = self.check(request)?;
        self.eligible(request).first().ok_or(AllocError::NoZone)?;
        let pfn = self.walk_twice(request, mt, flags).map(Pfn::new);
        self.events.push(Event::Frame(FrameEvent::PageAlloc {
            pfn,
            order: request.order,
            migratetype: mt,
            gfp: request.gfp,
        }));
        pfn.ok_or(AllocError::NoneAboveWatermark)
    }

    /// The type a sound request is for.
    fn check(&self, request: &Request) -> Result<Migratetype, AllocError> {
        let mt = request.gfp.migratetype().ok_or(AllocError::BadMobility)?;
        if request.node.index() >= self.distances.len() {
            return Err(AllocError::NoSuchNode(request.node));
        }
        Ok(if self.grouping { mt } else { Migratetype::Unmovable })
    }

    /// Zones that may serve the request, preferred first.
    fn eligible(&self, request: &Request) -> Vec<usize> {
        let admits = |&z: &usize| {
            let zone = &self.zones[z];
            zone.kind <= request.gfp.highest_zone()
                && (zone.node == request.node || !request.gfp.has(Gfp::THISNODE))
                && request.nodemask.is_none_or(|mask| mask.bits().checked_shr(zone.node.0.into()).unwrap_or(0) & 1 == 1)
        };
        self.zonelist(request.node).into_iter().filter(admits).collect()
    }

    /// Zones with memory, nearest node first, highest zone of a node first.
    pub(super) fn zonelist(&self, node: NodeId) -> Vec<usize> {
        let mut zones = Vec::new();
        for node in self.node_order(node) {
            for kind in ZoneKind::ALL.into_iter().rev() {
                let zone = |zone: &super::Zone| zone.node == node && zone.kind == kind && zone.managed > 0;
                zones.extend(self.zones.iter().position(zone));
            }
        }
        zones
    }

    /// Nodes in zonelist order. With at most two nodes there is only one: the own node, then the other.
    fn node_order(&self, node: NodeId) -> Vec<NodeId> {
        assert!(self.distances.len() <= 2, "the oracle knows machines of one or two nodes");
        let others = (0..self.distances.len() as u16).map(NodeId).filter(|&other| other != node);
        core::iter::once(node).chain(others).collect()
    }

    fn avoids_fragmentation(&self, preferred: usize) -> bool {
        let zone = &self.zones[preferred];
        let has_dma32 =
            self.zones.iter().any(|peer| peer.node == zone.node && peer.kind == ZoneKind::Dma32 && peer.managed > 0);
        self.policy.frames.fallback.nofragment
            && zone.kind == ZoneKind::Normal
            && (self.distances.len() == 1 || has_dma32)
    }

    fn walk_twice(&mut self, request: &Request, mt: Migratetype, flags: AllocFlags) -> Option<u64> {
        if self.policy.frames.fair_zone_batches && flags.mark == Mark::Low {
            if let Some(pfn) = self.walk(request, mt, flags, true) {
                return Some(pfn);
            }
            let preferred = self.zones[*self.eligible(request).first()?].node;
            for zone in self.zones.iter_mut().filter(|zone| zone.node == preferred) {
                zone.fair_left = (zone.high - zone.low) as i64;
            }
        }
        if let Some(pfn) = self.walk(request, mt, flags, false) {
            return Some(pfn);
        }
        if flags.nofragment { self.walk(request, mt, AllocFlags { nofragment: false, ..flags }, false) } else { None }
    }

    /// One pass. With `fair`, zones of the preferred node that have allocations left in this round.
    fn walk(&mut self, request: &Request, mt: Migratetype, flags: AllocFlags, fair: bool) -> Option<u64> {
        let zones = self.eligible(request);
        let preferred = self.zones[zones[0]].node;
        for z in zones {
            let zone = &self.zones[z];
            let remote = zone.node != preferred;
            if remote && flags.nofragment {
                return None; // The second walk starts over without the restriction.
            }
            if fair && (remote || zone.fair_left <= 0) {
                continue;
            }
            self.look_at_high_mark(z, request, &flags);
            if !flags.no_watermarks && !self.watermark_ok(z, request, &flags) {
                self.tally.watermark_failures[self.zones[z].kind.index()][request.order.index()] += 1;
                continue;
            }
            if let Some(pfn) = self.take_live(z, request, mt, &flags) {
                self.account(z, preferred, request);
                if flags.reserve.highatomic && request.order > Order::ZERO {
                    self.reserve_highatomic(pfn);
                }
                return Some(pfn);
            }
        }
        None
    }

    fn take_live(&mut self, z: usize, request: &Request, mt: Migratetype, flags: &AllocFlags) -> Option<u64> {
        let order = request.order.get();
        let wanted = Wanted { z, order, mt, flags };
        let immovable = mt != Migratetype::Movable;
        let urgent = flags.reserve.highatomic && order > 0;
        let pfn = match self.cache_list(z, request.cpu, order, mt) {
            Some(list) => match self.take_cached(wanted, request.cpu, list) {
                None if urgent => self.grab_reserved(wanted)?,
                cached => cached?,
            },
            None => {
                let reserved = if urgent { self.grab_reserved(wanted) } else { None };
                reserved.or_else(|| self.take(wanted, false, &mut false).map(|(pfn, _)| pfn))?
            }
        };
        let live = Frame::Live { first: pfn, order, immovable, movable_content: false, pins: 0, isolated: false };
        self.own(pfn, order, live);
        self.wake_kswapd(z);
        Some(pfn)
    }

    /// Counts one block handed out.
    fn account(&mut self, z: usize, preferred: NodeId, request: &Request) {
        let (giver, kind) = (self.zones[z].node, self.zones[z].kind);
        let pages = request.order.pages().get();
        self.tally.pgalloc[kind.index()] += pages;
        self.zones[z].fair_left -= pages as i64;
        if giver == preferred {
            self.tally.numa[giver.index()].hit += 1;
        } else {
            self.tally.numa[giver.index()].miss += 1;
            self.tally.numa[preferred.index()].foreign += 1;
        }
        let here = self.cpus.get(request.cpu).copied().unwrap_or(request.node);
        let numa = &mut self.tally.numa[giver.index()];
        if giver == here { numa.local += 1 } else { numa.other += 1 }
    }

    /// Wakes kswapd if types were mixed in the zone.
    fn wake_kswapd(&mut self, z: usize) {
        let zone = &mut self.zones[z];
        if core::mem::take(&mut zone.boosted) {
            let (node, class) = (zone.node, zone.kind);
            let asked = &mut self.kswapd[node.index()];
            let before = asked.unwrap_or(DaemonRequest { order: Order::ZERO, class });
            *asked = Some(DaemonRequest { order: before.order, class: before.class.max(class) });
            let boosted = self.zones.iter().any(|zone| zone.node == node && zone.kind <= class && zone.boost > 0);
            let needed = boosted || !self.is_balanced(node, class);
            if !needed || core::mem::replace(&mut self.kswapd_awake[node.index()], true) {
                return;
            }
            self.events.push(Event::WakeupKswapd { node, class, order: Order::ZERO, gfp: Gfp::NONE });
        }
    }

    /// Frees the allocation at `pfn`; `false` where it cannot be freed.
    pub fn free(&mut self, pfn: u64, cpu: usize) -> bool {
        let Frame::Live { first, order, pins: 0, isolated: false, .. } = self.frame(pfn) else {
            return false;
        };
        if first != pfn {
            return false;
        }
        self.tally.pgfree += size(order);
        self.events.push(Event::Frame(FrameEvent::PageFree { pfn: Pfn::new(pfn), order: as_order(order) }));
        let z = self.zone_of(pfn).expect("an allocation lies in a zone");
        let mt = self.type_of(pfn);
        let cached_as = match mt {
            Migratetype::Isolate => None,
            mt if mt.is_mergeable() => Some(mt),
            _ => Some(Migratetype::Movable),
        };
        match cached_as.and_then(|list| Some((list, self.cache_list(z, cpu, order, list)?))) {
            Some((listed_as, list)) => {
                let immovable = listed_as != Migratetype::Movable;
                self.own(pfn, order, Frame::Cached { first: pfn, order, cached: mt, immovable });
                self.cache(z, cpu, list, pfn);
            }
            None => self.release_to_own_lists(pfn, order),
        }
        true
    }
}
