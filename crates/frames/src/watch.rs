//! The one trait through which the allocator speaks upward, and the events that it tells.

use order9_units::{Migratetype, Order};

use crate::Gfp;
use crate::counters::Extfrag;
use crate::frame::{FrameTable, Idx};
use crate::pageblock::Pageblock;
use crate::storage::Storage;
use crate::work::ZoneLockWork;
use crate::zone::ZoneId;
use order9_units::Pfn;

/// Hears what happens to frames. Every method does nothing unless it is implemented: `()` hears nothing, at no cost.
pub trait Watch {
    /// Takes a trace event; who traces nothing does not call `event`.
    #[inline(always)]
    fn trace(&mut self, event: impl FnOnce() -> FrameEvent) {
        let _ = event;
    }

    /// A free block is about to go on `list`, that of `order` and `mt` in `zone`: the ends of the list are about to be used.
    #[inline(always)]
    fn listing<S: Storage>(&mut self, table: &FrameTable<S>, list: Idx, zone: ZoneId, order: Order, mt: Migratetype) {
        let _ = (table, list, zone, order, mt);
    }

    /// The free block at `idx` is about to leave `list`, one of those of `order` in `zone`.
    #[inline(always)]
    fn unlisting<S: Storage>(&mut self, table: &FrameTable<S>, list: Idx, zone: ZoneId, order: Order, idx: Idx) {
        let _ = (table, list, zone, order, idx);
    }

    /// Frames of `zone` are about to be freed to the buddy lists.
    #[inline(always)]
    fn freeing(&mut self, zone: ZoneId) {
        let _ = zone;
    }

    /// The lock of another zone than `zone` is about to be taken. `work` is what was done under that of `zone`; a watch that
    /// wants to know the work under each lock takes it away.
    #[inline(always)]
    fn zone_unlocked(&mut self, zone: ZoneId, work: &mut ZoneLockWork) {
        let _ = (zone, work);
    }

    /// Whether [`takes`](Self::takes) is worth a call at each merge.
    #[inline(always)]
    fn is_waiting(&self) -> bool {
        false
    }

    /// Whether the free block at `idx`, which is on no list and may be about to merge further, goes to a task that waits for
    /// it. The block is held then.
    #[inline(always)]
    fn takes(&mut self, zone: ZoneId, idx: Idx, order: Order, mt: Migratetype) -> bool {
        let _ = (zone, idx, order, mt);
        false
    }

    /// Counts or type of a pageblock have changed.
    #[inline(always)]
    fn recounted<S: Storage>(&mut self, block: usize, of: &Pageblock, table: &FrameTable<S>) {
        let _ = (block, of, table);
    }

    /// An allocation of a pageblock or more at `idx` ends, or is split.
    #[inline(always)]
    fn huge_block_ends(&mut self, idx: Idx, order: Order) {
        let _ = (idx, order);
    }
}

impl Watch for () {}

/// An event of frames, named and filled as Linux' tracepoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameEvent {
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
        /// Order of the block.
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
        /// Order of the block.
        order: Order,
    },
    /// `mm_page_pcpu_drain`: a block went from a per-CPU list to the buddy lists.
    PagePcpuDrain {
        /// First frame.
        pfn: Pfn,
        /// Order of the block.
        order: Order,
        /// List it goes to.
        migratetype: Migratetype,
    },
}
