//! Event counters of the allocator: those of /proc/vmstat by their Linux names, and a few that only the engine has.
//!
//! Levels (`nr_free_pages`, ...) are not counted here: they are read off the zones.

use order9_units::{Migratetype, Order, Pfn, ZoneKind};

use crate::zone::ZoneId;

/// Counters since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounters {
    /// `pgalloc_dma`, `pgalloc_dma32`, `pgalloc_normal`, `pgalloc_movable`: pages allocated, by zone.
    pub pgalloc: [u64; ZoneKind::COUNT],
    /// `pgfree`: pages freed.
    pub pgfree: u64,
    /// Fragmentation events (engine only).
    pub extfrag: ExtfragCounters,
    /// Pages of watermark boost added (engine only).
    pub boost_added: u64,
    /// Fragmentation events that found the boost at its cap (engine only).
    pub boost_saturated: u64,
    /// Zones whose watermark a walk failed, by zone kind and order (engine only).
    pub watermark_failures: [[u64; Order::COUNT]; ZoneKind::COUNT],
}

/// Allocations of one node by where they were asked for and served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumaCounters {
    /// `numa_hit`: served here as preferred.
    pub hit: u64,
    /// `numa_miss`: served here although another node was preferred.
    pub miss: u64,
    /// `numa_foreign`: preferred here, served elsewhere.
    pub foreign: u64,
    /// `interleave_hit`, `numa_interleave`: served here as it was this node's turn.
    pub interleave_hit: u64,
    /// `numa_local`: served here to a CPU of this node.
    pub local: u64,
    /// `numa_other`: served here to a CPU of another node.
    pub other: u64,
}

/// Fragmentation events by type asked for, type found, and whether they mixed types in a pageblock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtfragCounters {
    events: [[[u64; 2]; Migratetype::COUNT]; Migratetype::COUNT],
    /// Events after which the pageblock has the type asked for.
    pub claimed: u64,
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

impl ExtfragCounters {
    pub(crate) fn record(&mut self, event: &Extfrag) {
        let types = &mut self.events[event.alloc_migratetype.index()][event.fallback_migratetype.index()];
        types[usize::from(event.is_fragmenting())] += 1;
        self.claimed += u64::from(event.change_ownership);
    }

    /// Events of requests of type `asked` served from lists of type `found`.
    #[must_use]
    pub fn of(&self, asked: Migratetype, found: Migratetype, fragmenting: bool) -> u64 {
        self.events[asked.index()][found.index()][usize::from(fragmenting)]
    }

    /// External fragmentation events: those that mixed types within a pageblock.
    #[must_use]
    pub fn fragmenting(&self) -> u64 {
        self.events.iter().flatten().map(|by_kind| by_kind[1]).sum()
    }
}
