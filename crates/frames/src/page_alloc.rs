//! The allocation fast path: one walk over the zonelist against the low watermark.
//!
//! A walk checks watermarks and
//! ALLOC_NOFRAGMENT, takes a block through the per-CPU lists or the buddy lists, and does the accounting. Never sleeps and
//! never reclaims: that is for layers above.

use order9_units::{Migratetype, NodeId, NodeMask, Order, Pfn, ZoneKind};

use crate::Frames;
use crate::count::Class;
use crate::counters::{FrameCounters, NumaCounters};
use crate::fallback::TakeMode;
use crate::frame::{Flag, Idx, Word};
use crate::gfp::{AllocFlags, Gfp, Mark, Reserve};
use crate::nodes::ZoneRef;
use crate::policy::ReserveRights;
use crate::request::{FrameError, NodeUse, Request, Search};
use crate::storage::Storage;
use crate::watch::{FrameEvent, Watch};
use crate::zone::{Zone, ZoneId, ZoneSet};

impl<W: Watch, S: Storage> Frames<W, S> {
    /// The fast path: one walk against the low watermark.
    ///
    /// # Errors
    /// [`FrameError`]; nothing but counters and boosts has changed then.
    #[inline(always)]
    pub fn alloc(&mut self, request: &Request) -> Result<Pfn, FrameError> {
        match self.alloc_at_once(request) {
            Some(pfn) => {
                self.trace_alloc(request, Some(pfn));
                Ok(pfn)
            }
            None => self.alloc_by_walk(request),
        }
    }

    #[inline(never)]
    fn alloc_by_walk(&mut self, request: &Request) -> Result<Pfn, FrameError> {
        let search = self.search_for(request)?;
        self.answer(&search, self.fast_flags(&search))
    }

    /// Walks the zonelist once with given rights. `flags.cma` is meant for movable requests.
    ///
    /// # Errors
    /// [`FrameError`]; nothing but counters and boosts has changed then.
    pub fn alloc_with(&mut self, request: &Request, flags: AllocFlags) -> Result<Pfn, FrameError> {
        let search = self.search_for(request)?;
        self.answer(&search, flags)
    }

    fn answer(&mut self, search: &Search, flags: AllocFlags) -> Result<Pfn, FrameError> {
        let page = self.get_page_from_freelist(search, flags);
        self.extend_reserve(search, &flags, page);
        self.trace_alloc(&search.request, page);
        page.ok_or(FrameError::NoneAboveWatermark)
    }

    /// Adds the pageblock of a page just taken to the highatomic reserve, if the request may extend that. Who wakes daemons for
    /// what the walk has asked for does so before: the reserve counts as not free.
    #[inline]
    pub fn extend_reserve(&mut self, search: &Search, flags: &AllocFlags, page: Option<Pfn>) {
        if flags.reserve.highatomic
            && search.request.order > Order::ZERO
            && let Some(page) = page
        {
            let idx = self.at(page);
            self.reserve_highatomic(self.zone_around(idx), idx);
        }
    }

    /// Traces the answer to a request.
    #[inline]
    pub fn trace_alloc(&mut self, request: &Request, pfn: Option<Pfn>) {
        let &Request { order, gfp, .. } = request;
        let Some(migratetype) = self.mobility(gfp) else { return };
        self.watch.trace(|| FrameEvent::PageAlloc { pfn, order, migratetype, gfp });
    }

    /// Rights on the fast path.
    #[must_use]
    #[inline]
    pub fn fast_flags(&self, search: &Search) -> AllocFlags {
        AllocFlags {
            mark: Mark::Low,
            no_watermarks: false,
            reserve: Reserve::default(),
            cma: search.mt == Migratetype::Movable,
            nofragment: self.settings.defrag_mode || self.avoids_fragmentation(search.preferred),
            kswapd: search.request.gfp.has(Gfp::KSWAPD_RECLAIM),
        }
    }

    /// Works out class, mobility and preferred zone of a request.
    ///
    /// # Errors
    /// [`FrameError`] where nothing can serve it.
    #[inline]
    pub fn search_for(&self, request: &Request) -> Result<Search, FrameError> {
        let mt = self.mobility(request.gfp).ok_or(FrameError::BadMobility)?;
        if request.node.index() >= self.nodes.len() {
            return Err(FrameError::NoSuchNode(request.node));
        }
        let class = request.gfp.highest_zone();
        let zones = self.zonelist(request);
        let first = zones.iter().position(|&zone| request.admits(zone, class)).ok_or(FrameError::NoZone)?;
        Ok(Search {
            request: *request,
            class,
            mt,
            first,
            preferred: zones[first],
            passes_over: NodeMask::EMPTY,
            stops_at: NodeMask::EMPTY,
        })
    }

    /// Mobility by which a request is served; `None` where its flags exclude each other.
    #[inline]
    fn mobility(&self, gfp: Gfp) -> Option<Migratetype> {
        let asked = gfp.migratetype()?;
        Some(if self.mobility_grouping { asked } else { Migratetype::Unmovable })
    }

    /// The first zone from position `from` of the zonelist on that may serve, with its position.
    #[must_use]
    pub fn eligible_from(&self, search: &Search, from: usize) -> Option<(usize, ZoneRef)> {
        let zones = self.zonelist(&search.request).iter().copied().enumerate().skip(from);
        zones.into_iter().find(|&(_, zone)| search.request.admits(zone, search.class))
    }

    #[inline]
    fn zonelist(&self, request: &Request) -> &[ZoneRef] {
        match request.gfp.has(Gfp::THISNODE) {
            true => self.nodes.this_node_list(request.node),
            false => self.nodes.fallback_list(request.node),
        }
    }

    /// ALLOC_NOFRAGMENT: only where a lower zone of the same node can be tried instead.
    #[inline]
    fn avoids_fragmentation(&self, preferred: ZoneRef) -> bool {
        self.policy.fallback.nofragment
            && preferred.kind == ZoneKind::Normal
            && (self.nodes.len() == 1
                || self.nodes.this_node_list(preferred.node).iter().any(|zone| zone.kind == ZoneKind::Dma32))
    }

    /// Walks the zonelist with the given rights and takes the first block that may be taken.
    #[inline]
    pub fn get_page_from_freelist(&mut self, search: &Search, mut flags: AllocFlags) -> Option<Pfn> {
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
    #[inline]
    fn stops_at(&self, search: &Search, zone: ZoneId, flags: &AllocFlags) -> bool {
        let zone = &self.zones[zone.index()];
        let Request { order, .. } = search.request;
        search.stops_at.has(zone.node) && !zone.watermark_ok(order, search.class, flags, &self.policy)
    }

    /// Takes a block from one zone, if its watermark and the search allow.
    #[inline]
    pub fn try_zone(&mut self, search: &Search, id: ZoneId, flags: &AllocFlags) -> Option<Pfn> {
        if !search.passes_over.is_empty() && search.passes_over.has(self.zones[id.index()].node) {
            return None;
        }
        self.serve_from(search, id, flags).or_else(|| self.serve_from_grown(search, id, flags))
    }

    /// Gives a zone that has not all of its memory yet more of it before anything else is tried.
    #[cold]
    fn serve_from_grown(&mut self, search: &Search, id: ZoneId, flags: &AllocFlags) -> Option<Pfn> {
        while !self.zones[id.index()].deferred.is_empty() {
            self.grow_zone(id);
            let page = self.serve_from(search, id, flags);
            if page.is_some() {
                return page;
            }
        }
        None
    }

    fn serve_from(&mut self, search: &Search, id: ZoneId, flags: &AllocFlags) -> Option<Pfn> {
        let Request { order, cpu, .. } = search.request;
        self.note_below_high(search, id, flags);
        self.work.zones_checked += 1;
        let quick = order == Order::ZERO && self.zones[id.index()].quick_test(search.class, flags, &self.policy);
        if !quick && !self.passes_watermark(search, id, flags) {
            return None;
        }
        let list = self.policy.pcp.lists.list_for(order, search.mt).filter(|_| cpu < self.cpus.len());
        let cached = list.and_then(|list| self.take_cached(id, cpu, list, order, search.mt));
        let idx = match cached {
            Some(idx) => idx,
            None => self.take_from_lists(search, id, flags, list)?,
        };
        self.account_alloc(id, search);
        if self.zones[id.index()].boosted {
            self.want_if_boosted(id, flags);
        }
        Some(self.table.pfn(idx))
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
            ReserveRights::Harder => Gfp::ATOMIC,
            ReserveRights::NonBlock => Gfp::HIGH,
        };
        let zone = &self.zones[id.index()];
        self.policy.watermark.atomic_ignores_boost
            && request.order == Order::ZERO
            && request.gfp.has(urgent)
            && flags.mark == Mark::Min
            && zone.boost > 0
            && zone.watermark_ok_at(request.order, zone.watermarks.min, class, flags, &self.policy)
    }

    /// Takes a block from a list of the CPU.
    #[inline]
    fn take_cached(&mut self, id: ZoneId, cpu: usize, list: usize, order: Order, mt: Migratetype) -> Option<Idx> {
        let at = self.pcp_at(id, cpu);
        let idx = self.pcps[at].pop(&mut self.table, list, order)?;
        self.work.pcp_hits += 1;
        Some(self.hand_out_cached(idx, order, mt))
    }

    /// Makes a block just taken off a per-CPU list a live allocation.
    #[inline]
    fn hand_out_cached(&mut self, idx: Idx, order: Order, mt: Migratetype) -> Idx {
        let immovable = mt != Migratetype::Movable;
        if self.table.word(idx).has(Flag::CountedImmovable) != immovable {
            // Only lists that several types share hand out what was cached for another type.
            self.reflag(idx, Flag::CountedImmovable, immovable);
        }
        self.table.set(idx, Word::allocated(order).with(Flag::CountedImmovable, immovable));
        idx
    }

    /// Takes a block under the zone lock: through per-CPU list `list` where the order has one, else from the buddy lists.
    #[inline(never)]
    fn take_from_lists(&mut self, search: &Search, id: ZoneId, flags: &AllocFlags, list: Option<usize>) -> Option<Idx> {
        let Request { order, cpu, .. } = search.request;
        let refilled = list.and_then(|list| self.refill_and_take(id, cpu, list, order, search.mt, flags));
        let taken = match refilled {
            Some(idx) => Some(self.hand_out_cached(idx, order, search.mt)),
            None => self.take_from_buddy(search, id, flags, list.is_some()),
        };
        if taken.is_none() {
            self.want_if_boosted(id, flags);
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
        self.hand_out(idx, order, mt);
        Some(idx)
    }

    /// Makes a block just taken off the buddy lists a live allocation.
    #[inline(always)]
    fn hand_out(&mut self, idx: Idx, order: Order, mt: Migratetype) {
        let word = Word::allocated(order).with(Flag::CountedImmovable, mt != Migratetype::Movable);
        self.table.set(idx, word);
        self.count_in(idx, order, Class::of_used(word));
        let pfn = self.table.pfn(idx);
        self.watch.trace(|| FrameEvent::PageAllocZoneLocked { pfn, order, migratetype: mt, percpu_refill: false });
    }

    /// Asks for kswapd after a fragmentation event in a zone, on behalf of a request that may wake it.
    fn want_if_boosted(&mut self, id: ZoneId, flags: &AllocFlags) {
        let zone = &mut self.zones[id.index()];
        if zone.boosted && flags.kswapd {
            zone.boosted = false;
            self.wanted.insert(id);
        }
    }

    /// Whether [`take_wanted`](Self::take_wanted) would name any zone.
    #[inline]
    #[must_use]
    pub const fn has_wanted(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Zones whose kswapd has been asked for since the last call: a fragmentation event has boosted their watermarks.
    pub const fn take_wanted(&mut self) -> ZoneSet {
        core::mem::replace(&mut self.wanted, ZoneSet::EMPTY)
    }

    /// Counts that a zone has served a request.
    #[inline]
    pub fn account_alloc(&mut self, id: ZoneId, search: &Search) {
        let request = &search.request;
        let cpu = self.cpus.get(request.cpu).copied().unwrap_or(request.node);
        let zone = &mut self.zones[id.index()];
        let giver = zone.node;
        account(zone, request.order, search.preferred.node, cpu, &mut self.counters, &mut self.numa);
        if matches!(request.uses, NodeUse::Interleaved) && giver == request.node {
            self.numa[giver.index()].interleave_hit += 1;
        }
    }

    fn reset_fair_batches(&mut self, node: NodeId) {
        for zone in self.zones.iter_mut().filter(|zone| zone.node == node) {
            zone.fair_batch = (zone.watermarks.high - zone.watermarks.low) as i64;
        }
    }
}

/// Counts that `zone` has served a request for a block of `order` that prefers a node and comes from a CPU of another, or of the same.
#[inline(always)]
fn account(
    zone: &mut Zone,
    order: Order,
    preferred: NodeId,
    cpu: NodeId,
    counters: &mut FrameCounters,
    numa: &mut [NumaCounters],
) {
    let pages = order.pages().get();
    zone.fair_batch -= pages as i64;
    counters.pgalloc[zone.kind.index()] += pages;
    let giver = zone.node;
    let of_giver = &mut numa[giver.index()];
    if giver == cpu {
        of_giver.local += 1;
    } else {
        of_giver.other += 1;
    }
    if giver == preferred {
        of_giver.hit += 1;
    } else {
        of_giver.miss += 1;
        numa[preferred.index()].foreign += 1;
    }
}

/// Zones that a walk visits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fairness {
    /// Zones of the local node that have allocations left in this round.
    LocalBatches,
    /// All, as the zonelist orders them.
    ListOrder,
}

mod at_once;
#[cfg(test)]
mod tests;
