//! The allocation fast path: one walk over the zonelist against the low watermark.
//!
//! The walk is the allocator's ([`order9_frames::Frames`]); here it learns of
//! nodes that dirty pages or reclaim keep it from, and who has something to do after it is woken. Never sleeps and never
//! reclaims: that is the slow path's.

use order9_frames::{AllocFlags, Gfp, Request, Search, ZoneId, ZoneRef};
use order9_units::{Order, Pfn};

use crate::alloc_error::AllocError;
use crate::daemon_request::DaemonRequest;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::thp::HugeMemory;

impl UsedPages {
    /// The fast path: at once, or else by one walk against the low watermark.
    #[inline]
    pub(crate) fn alloc_fast(&self, request: &Request, phys: &mut PhysMem) -> Result<Pfn, AllocError> {
        if !request.gfp.has(Gfp::WRITE)
            && !phys.reclaims_nodes()
            && let Some(page) = phys.frames.alloc_at_once(request)
        {
            self.taken(request.order, page, phys);
            phys.frames.trace_alloc(request, Some(page));
            return Ok(page);
        }
        self.alloc_by_walk(request, phys)
    }

    fn alloc_by_walk(&self, request: &Request, phys: &mut PhysMem) -> Result<Pfn, AllocError> {
        let mut search = phys.frames.search_for(request)?;
        if request.gfp.has(Gfp::WRITE) {
            search.passes_over = self.nodes_too_dirty(phys);
        }
        if phys.reclaims_nodes() {
            search.stops_at = self.nodes_to_reclaim_first(&search, phys);
        }
        self.answer(&search, phys.frames.fast_flags(&search), phys)
    }

    /// One walk with given rights, as the slow path takes several. `flags.cma` is meant for movable requests.
    pub(crate) fn alloc_with(
        &self,
        request: &Request,
        flags: AllocFlags,
        phys: &mut PhysMem,
    ) -> Result<Pfn, AllocError> {
        let search = phys.frames.search_for(request)?;
        self.answer(&search, flags, phys)
    }

    #[inline]
    fn answer(&self, search: &Search, flags: AllocFlags, phys: &mut PhysMem) -> Result<Pfn, AllocError> {
        let page = self.get_page_from_freelist(search, flags, phys);
        phys.frames.trace_alloc(&search.request, page);
        page.ok_or(AllocError::NoneAboveWatermark)
    }

    /// A walk over the zonelist, and the daemons that it wakes.
    #[inline]
    pub(crate) fn get_page_from_freelist(&self, search: &Search, flags: AllocFlags, phys: &mut PhysMem) -> Option<Pfn> {
        let page = phys.frames.get_page_from_freelist(search, flags);
        self.walked(search, &flags, page, phys);
        page
    }

    /// A walk is over, which has taken `page`: who has something to do now is woken.
    #[inline]
    fn walked(&self, search: &Search, flags: &AllocFlags, page: Option<Pfn>, phys: &mut PhysMem) {
        if phys.frames.has_wanted() {
            self.wake_for_boosts(phys);
        }
        phys.frames.extend_reserve(search, flags, page);
        if let Some(page) = page {
            self.taken(search.request.order, page, phys);
        }
    }

    /// A block has been taken, to be written soon: who keeps huge pages ready is woken if it is one.
    #[inline]
    fn taken(&self, order: Order, page: Pfn, phys: &mut PhysMem) {
        if phys.reporting.is_some() {
            phys.touch(phys.frames.at(page), order);
        }
        if order == Order::PAGEBLOCK {
            self.huge.wake_to_fill_reserve(phys.frames.zone_around(phys.frames.at(page)), order, phys);
        }
    }

    /// Wakes kswapd after fragmentation events that asked for it.
    #[cold]
    fn wake_for_boosts(&self, phys: &mut PhysMem) {
        for zone in phys.frames.take_wanted().iter() {
            let zone = phys.frames.zone(zone);
            let (node, class) = (zone.node(), zone.kind());
            self.wakeup_kswapd(node, DaemonRequest { order: Order::ZERO, class }, Gfp::NONE, phys);
        }
    }

    /// Takes a block from one zone, if its watermark allows.
    pub(crate) fn try_zone(
        &self,
        search: &Search,
        zone: ZoneId,
        flags: &AllocFlags,
        phys: &mut PhysMem,
    ) -> Option<Pfn> {
        let page = phys.frames.try_zone(search, zone, flags);
        self.walked(search, flags, page, phys);
        page
    }

    /// Asks for kswapd on every node that may serve. Whoever may not mix types needs a pageblock.
    pub(crate) fn wake_all_kswapds(&self, search: &Search, phys: &mut PhysMem) {
        let least = if phys.frames.settings().defrag_mode { Order::PAGEBLOCK } else { Order::ZERO };
        let mut at = search.first;
        while let Some((position, ZoneRef { node, .. })) = phys.frames.eligible_from(search, at) {
            let Request { order, gfp, .. } = search.request;
            self.wakeup_kswapd(node, DaemonRequest { order: order.max(least), class: search.class }, gfp, phys);
            at = position + 1;
        }
    }
}

impl HugeMemory {
    /// Counts that a zone has served a request with a block that did not come from its lists.
    pub(crate) fn account_alloc(&self, zone: ZoneId, search: &Search, phys: &mut PhysMem) {
        phys.frames.account_alloc(zone, search);
        self.wake_to_fill_reserve(zone, search.request.order, phys);
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use order9_frames::{Mark, ZoneSpec};
    use order9_units::{NodeId, Pages, PfnRange, ZoneKind};

    use super::*;
    use crate::policy::Policy;
    use crate::{Layout, MmBuilder, NodeSpec};

    #[test]
    fn a_boost_has_kswapd_woken_once_by_the_first_request_that_may() {
        let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(16 * 512));
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            cpus: vec![NodeId(0)],
            ..Layout::default()
        };
        let mut mm = MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot();
        mm.phys.frames.edit_zone(0, |zone| (zone.boost, zone.boosted) = (512, true));
        let mut wakes = |kswapd| {
            mm.phys.daemons.kswapd[0].asleep = true;
            let flags = AllocFlags { kswapd, ..AllocFlags::plain(Mark::Min) };
            mm.alloc_with(&Request::new(Order::ZERO, Gfp::GFP_KERNEL), flags).expect("memory is free");
            mm.take_wakeups().kswapd != 0
        };
        assert_eq!([false, true, true].map(&mut wakes), [false, true, false]);
    }
}
