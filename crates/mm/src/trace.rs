//! Trace events, named and filled as Linux' tracepoints.
//!
//! A tracer is a type parameter of [`crate::Mm`]: with [`NoTrace`] no event is even built.

use order9_units::{Migratetype, NodeId, Order, Pfn, ZoneKind};

use crate::gfp::Gfp;
use crate::shrinker::ShrinkerKind;
use crate::zone::ZoneId;

/// Receives events as they happen.
pub trait Tracer {
    /// Takes one event; a tracer that is off does not call `event`.
    fn event(&mut self, event: impl FnOnce() -> Event);
}

/// Drops every event unbuilt.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTrace;

impl Tracer for NoTrace {
    #[inline(always)]
    fn event(&mut self, _: impl FnOnce() -> Event) {}
}

/// Keeps every event, in order.
impl Tracer for alloc::vec::Vec<Event> {
    fn event(&mut self, event: impl FnOnce() -> Event) {
        self.push(event());
    }
}

/// Something that happened in the allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// `mm_page_alloc`: a request was answered; `pfn` is `None` where it failed.
    PageAlloc {
        /// First frame.
        pfn: Option<Pfn>,
        /// Order asked for.
        order: Order,
        /// Type asked for.
        migratetype: Migratetype,
        /// Flags asked with.
        gfp: Gfp,
    },
    /// `mm_page_alloc_zone_locked`: a block left the buddy lists.
    PageAllocZoneLocked {
        /// First frame.
        pfn: Pfn,
        /// Its order.
        order: Order,
        /// Type it was taken for.
        migratetype: Migratetype,
        /// Whether it goes to a per-CPU list.
        percpu_refill: bool,
    },
    /// `mm_page_alloc_extfrag`.
    Extfrag(Extfrag),
    /// `mm_page_free`.
    PageFree {
        /// First frame.
        pfn: Pfn,
        /// Its order.
        order: Order,
    },
    /// `mm_page_pcpu_drain`: a block went from a per-CPU list to the buddy lists.
    PagePcpuDrain {
        /// First frame.
        pfn: Pfn,
        /// Its order.
        order: Order,
        /// List it goes to.
        migratetype: Migratetype,
    },
    /// `mm_shrink_slab_start`: a shrinker is called.
    ShrinkSlabStart {
        /// Which one.
        shrinker: ShrinkerKind,
        /// Node whose objects it frees.
        node: NodeId,
        /// Objects put off by earlier calls.
        deferred: u64,
        /// Flags of the request that needs memory.
        gfp: Gfp,
        /// Objects that can be freed.
        cache_items: u64,
        /// Objects that this call adds.
        delta: u64,
        /// Objects that this call may look at.
        total_scan: u64,
        /// Effort.
        priority: u8,
    },
    /// `mm_shrink_slab_end`: its call is over.
    ShrinkSlabEnd {
        /// Which one.
        shrinker: ShrinkerKind,
        /// Node whose objects it freed.
        node: NodeId,
        /// Objects freed.
        freed: u64,
        /// Objects put off before.
        deferred: u64,
        /// Objects put off now.
        new_deferred: u64,
        /// Objects of this call not looked at.
        total_scan: u64,
    },
    /// `mm_vmscan_wakeup_kswapd`: a request to wake kswapd.
    WakeupKswapd {
        /// Whose kswapd.
        node: NodeId,
        /// Zone class it should balance for.
        class: ZoneKind,
        /// Order it should balance for.
        order: Order,
    },
}

/// A request was served from another type's lists: `mm_page_alloc_extfrag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extfrag {
    /// Zone of the block.
    pub zone: ZoneId,
    /// First frame of the block that was taken or split.
    pub pfn: Pfn,
    /// Order asked for.
    pub alloc_order: Order,
    /// Order of the block found.
    pub fallback_order: Order,
    /// Type asked for.
    pub alloc_migratetype: Migratetype,
    /// Type of the list it was found on.
    pub fallback_migratetype: Migratetype,
    /// Whether the pageblock now has the type asked for.
    pub change_ownership: bool,
}

impl Extfrag {
    /// Whether it mixed types within a pageblock: an external fragmentation event.
    #[must_use]
    pub fn is_fragmenting(&self) -> bool {
        self.fallback_order < Order::PAGEBLOCK
    }
}
