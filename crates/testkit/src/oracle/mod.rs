//! A naive allocator, written from the described behaviour alone, that says what the engine must answer.
//!
//! Everything is kept in the plainest way: a deque of frame numbers per free list, one owner per frame, sums recounted
//! whenever they are needed. It shares no code with the engine but the types of requests, switches and events.
//! Speed does not matter here; where a rule is read twice, it is easier to see that it is the rule meant.

mod boot;
mod cache;
mod count;
mod fallback;
mod isolate;
mod lists;
mod marks;
mod reserve;
mod walk;

use std::collections::VecDeque;

use order9_mm::policy::Policy;
use order9_mm::trace::Event;
use order9_mm::{DaemonRequest, NumaCounters, ZoneId};
use order9_units::{Migratetype, NodeId, Order, ZoneKind};

pub use count::Counts;

/// Number of frames per pageblock.
pub(crate) const PAGEBLOCK: u64 = 512;

/// The naive allocator. Frames are plain numbers.
pub struct Oracle {
    pub(crate) policy: Policy,
    /// First frame of `frames`, a multiple of the largest block.
    pub(crate) base: u64,
    /// Owner of every frame from `base` on.
    pub(crate) frames: Vec<Frame>,
    /// Type of every pageblock from `base` on.
    pub(crate) types: Vec<Migratetype>,
    pub(crate) zones: Vec<Zone>,
    /// Distances from every node.
    distances: Vec<Vec<u32>>,
    cpus: Vec<NodeId>,
    grouping: bool,
    pub(crate) min_free_kbytes: u64,
    pub(crate) kswapd: Vec<Option<DaemonRequest>>,
    /// Whether kswapd was woken, by node. No operation lets it sleep again.
    kswapd_awake: Vec<bool>,
    pub(crate) tally: Tally,
    pub(crate) events: Vec<Event>,
}

/// Owner of a frame. A block says the same on every frame that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Hole,
    Reserved,
    Free { first: u64, order: u8, list: Migratetype },
    Cached { first: u64, order: u8, cached: Migratetype, immovable: bool },
    Live { first: u64, order: u8, immovable: bool, movable_content: bool, pins: u32, isolated: bool },
    Held { first: u64, order: u8 },
}

/// A zone.
pub(crate) struct Zone {
    pub(crate) id: ZoneId,
    pub(crate) node: NodeId,
    pub(crate) kind: ZoneKind,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) managed: u64,
    /// Free blocks by order and type, head first.
    pub(crate) lists: [[VecDeque<u64>; Migratetype::COUNT]; Order::COUNT],
    pub(crate) caches: Vec<Cache>,
    pub(crate) min: u64,
    pub(crate) low: u64,
    pub(crate) high: u64,
    pub(crate) boost: u64,
    boosted: bool,
    /// A request has found it below its high mark, and no free since has found it above.
    below_high: bool,
    pub(crate) lowmem_reserve: [u64; ZoneKind::COUNT],
    pub(crate) reserved_highatomic: u64,
    fair_left: i64,
}

/// The per-CPU lists of one zone and CPU.
#[derive(Clone, Default)]
pub(crate) struct Cache {
    pub(crate) lists: Vec<VecDeque<u64>>,
    pub(crate) high: u64,
    high_min: u64,
    high_max: u64,
    pub(crate) batch: u64,
    /// Doublings of what a full cache gives back.
    free_factor: u32,
    /// Doublings of what a refill takes.
    refill_factor: u32,
    /// Pages freed in a row.
    freed: u64,
}

/// Counted events.
#[derive(Clone, Default)]
pub(crate) struct Tally {
    pub(crate) pgalloc: [u64; ZoneKind::COUNT],
    pub(crate) pgfree: u64,
    pub(crate) numa: Vec<NumaCounters>,
    /// Number of fallbacks by type asked for, type found, and whether they fragmented.
    pub(crate) extfrag: [[[u64; 2]; Migratetype::COUNT]; Migratetype::COUNT],
    pub(crate) claimed: u64,
    pub(crate) boost_added: u64,
    pub(crate) boost_saturated: u64,
    pub(crate) watermark_failures: [[u64; Order::COUNT]; ZoneKind::COUNT],
}

pub(crate) const fn size(order: u8) -> u64 {
    1 << order
}

pub(crate) fn as_order(order: u8) -> Order {
    Order::new(order).expect("orders of the oracle end at 10")
}
