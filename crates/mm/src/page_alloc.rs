//! The allocation fast path: one walk over the zonelist against the low watermark.
//!
//! Key type: [`AllocError`] (why there is no page). The walk is the allocator's ([`order9_frames::Frames`]); here it learns of
//! nodes that dirty pages or reclaim keep it from, and who has something to do after it is woken. Never sleeps and never
//! reclaims: that is the slow path's.

use core::fmt;

use order9_frames::{AllocFlags, FrameError, Gfp, Request, Search, ZoneId, ZoneRef};
use order9_units::{NodeId, Order, Pfn};

use crate::Mm;
use crate::daemon_request::DaemonRequest;
use crate::env::CompactResult;
use crate::trace::Tracer;

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

impl From<FrameError> for AllocError {
    fn from(error: FrameError) -> Self {
        match error {
            FrameError::NoneAboveWatermark => Self::NoneAboveWatermark,
            FrameError::NoZone => Self::NoZone,
            FrameError::BadMobility => Self::BadMobility,
            FrameError::NoSuchNode(node) => Self::NoSuchNode(node),
        }
    }
}

impl<T: Tracer> Mm<T> {
    /// The fast path: one walk against the low watermark.
    ///
    /// # Errors
    /// [`AllocError`]; nothing but counters and boosts has changed then.
    pub fn alloc_fast(&mut self, request: &Request) -> Result<Pfn, AllocError> {
        let mut search = self.frames.search_for(request)?;
        if request.gfp.has(Gfp::WRITE) {
            search.passes_over = self.nodes_too_dirty();
        }
        if self.reclaims_nodes() {
            search.stops_at = self.nodes_to_reclaim_first(&search);
        }
        self.answer(&search, self.frames.fast_flags(&search))
    }

    /// One walk with given rights, as the slow path takes several. `flags.cma` is meant for movable requests.
    ///
    /// # Errors
    /// [`AllocError`]; nothing but counters and boosts has changed then.
    pub fn alloc_with(&mut self, request: &Request, flags: AllocFlags) -> Result<Pfn, AllocError> {
        let search = self.frames.search_for(request)?;
        self.answer(&search, flags)
    }

    fn answer(&mut self, search: &Search, flags: AllocFlags) -> Result<Pfn, AllocError> {
        let page = self.get_page_from_freelist(search, flags);
        self.frames.trace_alloc(search, page);
        page.ok_or(AllocError::NoneAboveWatermark)
    }

    /// A walk over the zonelist, and the daemons that it wakes.
    #[inline]
    pub(crate) fn get_page_from_freelist(&mut self, search: &Search, flags: AllocFlags) -> Option<Pfn> {
        let page = self.frames.get_page_from_freelist(search, flags);
        self.walked(search, page);
        page
    }

    /// A walk is over, which has taken `page`: who has something to do now is woken.
    #[inline]
    fn walked(&mut self, search: &Search, page: Option<Pfn>) {
        if self.frames.has_wanted() {
            self.wake_for_boosts();
        }
        if search.request.order == Order::PAGEBLOCK
            && let Some(page) = page
        {
            self.wake_to_work_ahead(self.frames.zone_around(self.frames.at(page)), search.request.order);
        }
    }

    /// Wakes kswapd after fragmentation events that asked for it.
    #[cold]
    fn wake_for_boosts(&mut self) {
        for zone in self.frames.take_wanted().iter() {
            let zone = self.frames.zone(zone);
            let (node, class) = (zone.node(), zone.kind());
            self.wakeup_kswapd(node, DaemonRequest { order: Order::ZERO, class }, Gfp::NONE);
        }
    }

    /// Takes a block from one zone, if its watermark allows.
    pub(crate) fn try_zone(&mut self, search: &Search, zone: ZoneId, flags: &AllocFlags) -> Option<Pfn> {
        let page = self.frames.try_zone(search, zone, flags);
        self.walked(search, page);
        page
    }

    /// Counts that a zone has served a request with a block that did not come from its lists.
    pub(crate) fn account_alloc(&mut self, zone: ZoneId, search: &Search) {
        self.frames.account_alloc(zone, search);
        self.wake_to_work_ahead(zone, search.request.order);
    }

    /// Asks for kswapd on every node that may serve. Whoever may not mix types needs a pageblock.
    pub(crate) fn wake_all_kswapds(&mut self, search: &Search) {
        let least = if self.frames.settings().defrag_mode { Order::PAGEBLOCK } else { Order::ZERO };
        let mut at = search.first;
        while let Some((position, ZoneRef { node, .. })) = self.frames.eligible_from(search, at) {
            let Request { order, gfp, .. } = search.request;
            self.wakeup_kswapd(node, DaemonRequest { order: order.max(least), class: search.class }, gfp);
            at = position + 1;
        }
    }
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
mod tests {
    use alloc::vec;

    use order9_frames::{Mark, ZoneSpec};
    use order9_units::{Pages, PfnRange, ZoneKind};

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
        mm.frames.edit_zone(0, |zone| (zone.boost, zone.boosted) = (512, true));
        let mut wakes = |kswapd| {
            mm.kswapd[0].asleep = true;
            let flags = AllocFlags { kswapd, ..AllocFlags::plain(Mark::Min) };
            mm.alloc_with(&Request::new(Order::ZERO, Gfp::GFP_KERNEL), flags).expect("memory is free");
            mm.take_wakeups().kswapd != 0
        };
        assert_eq!([false, true, true].map(&mut wakes), [false, true, false]);
    }
}
