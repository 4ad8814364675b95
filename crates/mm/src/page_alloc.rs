//! The allocation fast path: one walk over the zonelist against the low watermark.
//!
//! Key types: [`Request`] (what is asked), [`AllocError`] (why there is none). A walk checks watermarks and
//! ALLOC_NOFRAGMENT, takes a block through the per-CPU lists or the buddy lists, and does the accounting. Never sleeps and
//! never reclaims: that is the slow path's.

use core::fmt;

use order9_units::{Migratetype, NodeId, NodeMask, Order, Pfn, ZoneKind};

use crate::Mm;
use crate::count::Class;
use crate::daemon_request::DaemonRequest;
use crate::env::CompactResult;
use crate::fallback::TakeMode;
use crate::frame::{Flag, Idx, Word};
use crate::gfp::{AllocFlags, Gfp, Mark, Reserve};
use crate::node::ZoneRef;
use crate::policy::EarlyFail;
use crate::trace::{Event, Tracer};
use crate::zone::ZoneId;

/// What is asked of the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Blocks of this order.
    pub order: Order,
    /// Flags.
    pub gfp: Gfp,
    /// Preferred node.
    pub node: NodeId,
    /// Nodes that may serve; `None` is all.
    pub nodemask: Option<NodeMask>,
    /// What `node` and `nodemask` mean.
    pub uses: NodeUse,
    /// The CPU that asks; past the last CPU, per-CPU lists are not used.
    pub cpu: usize,
    /// When it fails right after its first compaction, beside the rule for every request.
    pub gate: Option<EarlyFail>,
}

/// What the nodes of a request mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeUse {
    /// The preferred node and those near it serve, as far as the nodemask has them.
    #[default]
    Ordinary,
    /// The same; it was the preferred node's turn, which counts as `interleave_hit` if it serves.
    Interleaved,
    /// The nodemask is asked first and without direct reclaim, then, with all that is allowed, these nodes:
    /// `MPOL_PREFERRED_MANY`.
    MaskFirst(NodeMask),
    /// The nodemask holds on the fast path only: a cpuset, for the kernel's own memory.
    FastPathMask,
}

impl Request {
    /// A request on node 0 and CPU 0 without a nodemask.
    #[must_use]
    pub const fn new(order: Order, gfp: Gfp) -> Self {
        Self { order, gfp, node: NodeId(0), nodemask: None, uses: NodeUse::Ordinary, cpu: 0, gate: None }
    }

    /// Whether the entry of a zonelist may serve the request, whose highest zone is `class`.
    #[inline]
    fn admits(&self, zone: ZoneRef, class: ZoneKind) -> bool {
        zone.kind <= class && self.nodemask.is_none_or(|mask| mask.has(zone.node))
    }
}

/// A request with what follows from it, worked out once.
#[derive(Clone, Copy)]
pub(crate) struct Search {
    pub(crate) request: Request,
    /// Highest zone that may serve.
    pub(crate) class: ZoneKind,
    /// Mobility asked for.
    pub(crate) mt: Migratetype,
    /// Position of `preferred` in the zonelist.
    pub(crate) first: usize,
    /// First zone of the list that may serve.
    pub(crate) preferred: ZoneRef,
    /// Nodes with more than their share of dirty pages are passed over.
    pub(crate) spread_dirty: bool,
    /// The walk stops at a node that is to be reclaimed first.
    pub(crate) stops_for_reclaim: bool,
}

/// Why a request got no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllocError {
    /// No zone could serve it above its low watermark: the slow path's turn.
    NoneAboveWatermark,
    /// No zone may serve it at all: class, node or nodemask leave none.
    NoZone,
    /// `MOVABLE` and `RECLAIMABLE` exclude each other.
    BadMobility,
    /// No such node.
    NoSuchNode(NodeId),
    /// The slow path gave up.
    GaveUp {
        /// What was asked for.
        order: Order,
        /// Why it stopped.
        reason: GaveUp,
    },
}

/// Why the slow path gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaveUp {
    /// The request may not reclaim, and nothing is left above the min watermark.
    NoDirectReclaim,
    /// The task is reclaiming or compacting already.
    Nested,
    /// Compaction ended like this, and the request's flags allow no more effort.
    Compaction(CompactResult),
    /// `__GFP_NORETRY`: one round was all.
    NoRetry,
    /// A costly order without `__GFP_RETRY_MAYFAIL`: one round was all.
    Costly,
    /// Neither reclaim nor compaction can help, and the request is not worth a kill.
    NotWorthAKill,
    /// The task itself is being killed for memory.
    Victim,
    /// Neither reclaim nor compaction can help, and there is nobody to kill.
    NoVictim,
}

impl<T: Tracer> Mm<T> {
    /// The fast path: one walk against the low watermark.
    ///
    /// # Errors
    /// [`AllocError`]; nothing but counters and boosts has changed then.
    pub fn alloc_fast(&mut self, request: &Request) -> Result<Pfn, AllocError> {
        let spread_dirty = request.gfp.has(Gfp::WRITE);
        let stops_for_reclaim = self.reclaims_nodes();
        let search = Search { spread_dirty, stops_for_reclaim, ..self.search_for(request)? };
        self.answer(&search, self.fast_flags(&search))
    }

    /// Rights on the fast path.
    pub(crate) fn fast_flags(&self, search: &Search) -> AllocFlags {
        AllocFlags {
            mark: Mark::Low,
            no_watermarks: false,
            reserve: Reserve::default(),
            cma: search.mt == Migratetype::Movable,
            nofragment: self.settings.defrag_mode || self.avoids_fragmentation(search.preferred),
            kswapd: search.request.gfp.has(Gfp::KSWAPD_RECLAIM),
        }
    }

    /// One walk with given rights, as the slow path takes several. `flags.cma` is meant for movable requests.
    ///
    /// # Errors
    /// [`AllocError`]; nothing but counters and boosts has changed then.
    pub fn alloc_with(&mut self, request: &Request, flags: AllocFlags) -> Result<Pfn, AllocError> {
        let search = self.search_for(request)?;
        self.answer(&search, flags)
    }

    fn answer(&mut self, search: &Search, flags: AllocFlags) -> Result<Pfn, AllocError> {
        let page = self.get_page_from_freelist(search, flags);
        let request = &search.request;
        self.tracer.event(|| Event::PageAlloc {
            pfn: page,
            order: request.order,
            migratetype: search.mt,
            gfp: request.gfp,
        });
        page.ok_or(AllocError::NoneAboveWatermark)
    }

    /// Works out class, mobility and preferred zone of a request.
    pub(crate) fn search_for(&self, request: &Request) -> Result<Search, AllocError> {
        let asked = request.gfp.migratetype().ok_or(AllocError::BadMobility)?;
        let mt = if self.mobility_grouping { asked } else { Migratetype::Unmovable };
        if request.node.index() >= self.nodes.len() {
            return Err(AllocError::NoSuchNode(request.node));
        }
        let class = request.gfp.highest_zone();
        let zones = self.zonelist(request);
        let first = zones.iter().position(|&zone| request.admits(zone, class)).ok_or(AllocError::NoZone)?;
        Ok(Search {
            request: *request,
            class,
            mt,
            first,
            preferred: zones[first],
            spread_dirty: false,
            stops_for_reclaim: false,
        })
    }

    /// The first zone from position `from` of the zonelist on that may serve, with its position.
    pub(crate) fn eligible_from(&self, search: &Search, from: usize) -> Option<(usize, ZoneRef)> {
        let zones = self.zonelist(&search.request).iter().copied().enumerate().skip(from);
        zones.into_iter().find(|&(_, zone)| search.request.admits(zone, search.class))
    }

    /// Asks for kswapd on every node that may serve. Whoever may not mix types needs a pageblock.
    pub(crate) fn wake_all_kswapds(&mut self, search: &Search) {
        let least = if self.settings.defrag_mode { Order::PAGEBLOCK } else { Order::ZERO };
        let mut at = search.first;
        while let Some((position, ZoneRef { node, .. })) = self.eligible_from(search, at) {
            let Request { order, gfp, .. } = search.request;
            self.wakeup_kswapd(node, DaemonRequest { order: order.max(least), class: search.class }, gfp);
            at = position + 1;
        }
    }

    fn zonelist(&self, request: &Request) -> &[ZoneRef] {
        let node = &self.nodes[request.node.index()];
        if request.gfp.has(Gfp::THISNODE) { &node.this_node_list } else { &node.fallback_list }
    }

    /// ALLOC_NOFRAGMENT: only where a lower zone of the same node can be tried instead.
    fn avoids_fragmentation(&self, preferred: ZoneRef) -> bool {
        self.policy.fallback.nofragment
            && preferred.kind == ZoneKind::Normal
            && (self.nodes.len() == 1
                || self.nodes[preferred.node.index()].this_node_list.iter().any(|zone| zone.kind == ZoneKind::Dma32))
    }

    /// Walks the zonelist with the given rights and takes the first block that may be taken.
    pub(crate) fn get_page_from_freelist(&mut self, search: &Search, mut flags: AllocFlags) -> Option<Pfn> {
        if self.policy.fair_zone_batches && flags.mark == Mark::Low {
            if let Some(pfn) = self.walk(search, search.first, &flags, Fairness::LocalBatches) {
                return Some(pfn);
            }
            self.reset_fair_batches(search.preferred.node);
        }
        // Nearly every request is served by its preferred zone.
        let page = self.try_zone(search, search.preferred.zone, &flags);
        if page.is_some() || self.stops_at(search, search.preferred.zone, &flags) {
            return page;
        }
        let page = self.walk(search, search.first + 1, &flags, Fairness::ListOrder);
        if page.is_some() || !flags.nofragment || self.settings.defrag_mode {
            return page;
        }
        // Nothing on this node without mixing types: locality beats fragmentation avoidance.
        flags.nofragment = false;
        self.walk(search, search.first, &flags, Fairness::ListOrder)
    }

    /// Tries the zones of the list from position `from` on.
    fn walk(&mut self, search: &Search, from: usize, flags: &AllocFlags, fairness: Fairness) -> Option<Pfn> {
        let avoids = flags.nofragment && !self.settings.defrag_mode;
        let local_only = avoids && self.nodes.len() > 1 || fairness == Fairness::LocalBatches;
        for at in from..self.zonelist(&search.request).len() {
            let zone = self.zonelist(&search.request)[at];
            if !search.request.admits(zone, search.class) {
                continue;
            }
            if local_only && zone.node != search.preferred.node {
                return None;
            }
            if fairness == Fairness::LocalBatches && self.zones[zone.zone.index()].fair_batch <= 0 {
                continue;
            }
            if let Some(pfn) = self.try_zone(search, zone.zone, flags) {
                return Some(pfn);
            }
            if self.stops_at(search, zone.zone, flags) {
                return None;
            }
        }
        None
    }

    /// Whether a zone that did not serve is to be reclaimed before another one is tried.
    fn stops_at(&self, search: &Search, zone: ZoneId, flags: &AllocFlags) -> bool {
        search.stops_for_reclaim && self.wants_node_reclaim(search, zone, flags)
    }

    #[inline]
    pub(crate) fn try_zone(&mut self, search: &Search, id: ZoneId, flags: &AllocFlags) -> Option<Pfn> {
        if search.spread_dirty && !self.node_dirty_ok(self.zones[id.index()].node) {
            return None;
        }
        let mut page = self.serve_from(search, id, flags);
        // A zone that has not all of its memory yet gets more of it before anything else is tried.
        while page.is_none() && !self.zones[id.index()].deferred.is_empty() {
            self.grow_zone(id);
            page = self.serve_from(search, id, flags);
        }
        page
    }

    #[inline]
    fn serve_from(&mut self, search: &Search, id: ZoneId, flags: &AllocFlags) -> Option<Pfn> {
        let Request { order, cpu, .. } = search.request;
        let zone = &mut self.zones[id.index()];
        self.work.zones_checked += 1;
        let quick = order == Order::ZERO && zone.quick_test(search.class, flags, &self.policy);
        if !quick && !self.passes_watermark(search, id, flags) {
            return None;
        }
        let zone = &mut self.zones[id.index()];
        let list = self.policy.pcp.lists.list_for(order, search.mt);
        let cached = list.zip(zone.pcps.get_mut(cpu)).and_then(|(n, pcp)| pcp.pop(&mut self.frames, n, order));
        let idx = match cached {
            Some(idx) => {
                self.work.pcp_hits += 1;
                self.hand_out_cached(idx, order, search.mt)
            }
            None => self.take_from_lists(search, id, flags, list)?,
        };
        if self.zones[id.index()].boosted {
            self.wake_if_boosted(id, flags);
        }
        if flags.reserve.highatomic && order > Order::ZERO {
            self.reserve_highatomic(id, idx);
        }
        self.account_alloc(id, search);
        Some(self.frames.pfn(idx))
    }

    /// The watermark check that the quick test did not decide.
    #[inline(never)]
    fn passes_watermark(&mut self, search: &Search, id: ZoneId, flags: &AllocFlags) -> bool {
        let order = search.request.order;
        let passes = flags.no_watermarks
            || self.zones[id.index()].watermark_ok(order, search.class, flags, &self.policy)
            || self.atomic_passes_unboosted(id, &search.request, search.class, flags);
        if !passes {
            let kind = self.zones[id.index()].kind;
            self.counters.watermark_failures[kind.index()][order.index()] += 1;
        }
        passes
    }

    /// The exemption of urgent single pages from the boost.
    #[cold]
    fn atomic_passes_unboosted(&self, id: ZoneId, request: &Request, class: ZoneKind, flags: &AllocFlags) -> bool {
        let urgent = match self.policy.watermark.reserve_rights {
            crate::policy::ReserveRights::Harder => Gfp::ATOMIC,
            crate::policy::ReserveRights::NonBlock => Gfp::HIGH,
        };
        let zone = &self.zones[id.index()];
        self.policy.watermark.atomic_ignores_boost
            && request.order == Order::ZERO
            && request.gfp.has(urgent)
            && flags.mark == Mark::Min
            && zone.boost > 0
            && zone.watermark_ok_at(request.order, zone.watermarks.min, class, flags, &self.policy)
    }

    /// Makes a block just taken off a per-CPU list a live allocation.
    #[inline]
    fn hand_out_cached(&mut self, idx: Idx, order: Order, mt: Migratetype) -> Idx {
        let immovable = mt != Migratetype::Movable;
        if self.frames.word(idx).has(Flag::CountedImmovable) != immovable {
            // Only lists that several types share hand out what was cached for another type.
            self.reflag(idx, Flag::CountedImmovable, immovable);
        }
        self.frames.set(idx, Word::allocated(order).with(Flag::CountedImmovable, immovable));
        idx
    }

    /// Takes a block under the zone lock: through per-CPU list `list` where the order has one, else from the buddy lists.
    #[inline(never)]
    fn take_from_lists(&mut self, search: &Search, id: ZoneId, flags: &AllocFlags, list: Option<usize>) -> Option<Idx> {
        let Request { order, cpu, .. } = search.request;
        let list = list.filter(|_| cpu < self.zones[id.index()].pcps.len());
        let refilled = list.and_then(|list| self.refill_and_take(id, cpu, list, order, search.mt, flags));
        let taken = match refilled {
            Some(idx) => Some(self.hand_out_cached(idx, order, search.mt)),
            None => self.take_from_buddy(search, id, flags, list.is_some()),
        };
        if taken.is_none() {
            self.wake_if_boosted(id, flags);
        }
        taken
    }

    /// Takes a block from the buddy lists; with `reserve_only` the per-CPU lists have tried all but the reserve.
    fn take_from_buddy(
        &mut self,
        search: &Search,
        zone: ZoneId,
        flags: &AllocFlags,
        reserve_only: bool,
    ) -> Option<Idx> {
        let (order, mt) = (search.request.order, search.mt);
        self.lock_zone(zone);
        let mut taken = None;
        if order > Order::ZERO && flags.reserve.highatomic {
            taken = self.take_smallest(zone, order, Migratetype::HighAtomic);
        }
        if taken.is_none() && !reserve_only {
            taken = self.take_from_zone(zone, order, mt, flags, &mut TakeMode::Own);
        }
        let idx = taken?;
        let word = Word::allocated(order).with(Flag::CountedImmovable, mt != Migratetype::Movable);
        self.frames.set(idx, word);
        self.count_in(idx, order, Class::of_used(word));
        let pfn = self.frames.pfn(idx);
        self.tracer.event(|| Event::PageAllocZoneLocked { pfn, order, migratetype: mt, percpu_refill: false });
        Some(idx)
    }

    /// Wakes kswapd after a fragmentation event that asked for it.
    fn wake_if_boosted(&mut self, id: ZoneId, flags: &AllocFlags) {
        let zone = &mut self.zones[id.index()];
        if zone.boosted && flags.kswapd {
            zone.boosted = false;
            let (node, class) = (zone.node, zone.kind);
            self.wakeup_kswapd(node, DaemonRequest { order: Order::ZERO, class }, Gfp::NONE);
        }
    }

    pub(crate) fn account_alloc(&mut self, id: ZoneId, search: &Search) {
        let request = &search.request;
        let pages = request.order.pages().get();
        let zone = &mut self.zones[id.index()];
        zone.fair_batch -= pages as i64;
        self.counters.pgalloc[zone.kind.index()] += pages;
        let cpu = self.cpus.get(request.cpu).copied().unwrap_or(request.node);
        let giver = zone.node;
        self.counters.count_numa(search.preferred.node, giver, cpu);
        if request.uses == NodeUse::Interleaved && giver == request.node {
            self.counters.numa[giver.index()].interleave_hit += 1;
        }
        self.wake_to_work_ahead(id, request.order);
    }

    fn reset_fair_batches(&mut self, node: NodeId) {
        for zone in self.zones.iter_mut().filter(|zone| zone.node == node) {
            zone.fair_batch = (zone.watermarks.high - zone.watermarks.low) as i64;
        }
    }
}

/// Which zones a walk visits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fairness {
    /// Zones of the local node that have allocations left in this round.
    LocalBatches,
    /// All, as the zonelist orders them.
    ListOrder,
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoneAboveWatermark => f.write_str("no zone can serve the request above its low watermark"),
            Self::NoZone => f.write_str("no zone may serve the request"),
            Self::BadMobility => f.write_str("__GFP_MOVABLE and __GFP_RECLAIMABLE exclude each other"),
            Self::NoSuchNode(node) => write!(f, "there is no node {node}"),
            Self::GaveUp { order, reason } => write!(f, "no page of {order:?}: {reason}"),
        }
    }
}

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoDirectReclaim => "the request may not reclaim",
            Self::Nested => "the task is reclaiming already",
            Self::Compaction(_) => "compaction did not succeed, and the request asks for no more",
            Self::NoRetry => "one round of reclaim and compaction did not help, and the request asks for no more",
            Self::Costly => "one round of reclaim and compaction did not help, and the order is costly",
            Self::NotWorthAKill => "nothing more can be reclaimed, and the request is not worth a kill",
            Self::Victim => "the task is being killed for memory",
            Self::NoVictim => "nothing more can be reclaimed, and there is nobody to kill",
        })
    }
}

impl core::error::Error for AllocError {}

#[cfg(test)]
mod tests;
