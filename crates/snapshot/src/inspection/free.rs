//! Free memory by order, and how usable it is.

use std::collections::BTreeMap;

use order9_units::{Migratetype, Order};
use schemars::JsonSchema;
use serde::Serialize;

use crate::bounds::{Binding, Reach};
use crate::model::ZoneInfo;

/// Free memory of a zone as the kernel's lists have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FreeMemory {
    /// Free blocks by order, all types.
    pub blocks: [u64; Order::COUNT],
    /// Free blocks by migratetype; empty where /proc/pagetypeinfo could not be read.
    pub by_type: Vec<FreeOfType>,
    /// Pageblocks by type; empty where /proc/pagetypeinfo could not be read.
    pub pageblocks: BTreeMap<Migratetype, u64>,
}

/// Free memory of one migratetype.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FreeOfType {
    /// Migratetype of the free blocks.
    pub migratetype: Migratetype,
    /// Free blocks by order. Linux prints at most 100000; where only one type reaches that, the rest of /proc/buddyinfo's
    /// count is filled in, otherwise it is a lower bound.
    pub blocks: [u64; Order::COUNT],
}

/// Usability of a zone's free memory for one order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OrderIndex {
    /// Order of the request.
    pub order: Order,
    /// Fragmentation index in thousandths: towards 1000 an allocation fails for fragmentation, towards 0 for lack of
    /// memory; -1000 where it would succeed.
    pub fragmentation: i64,
    /// Unusable free index in thousandths: share of free memory in blocks too small for the order.
    pub unusable: u64,
}

/// The score proactive compaction goes by, 0 to 100: percentage of free memory outside blocks of huge-page size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProactiveZone {
    /// Of the zone alone; 5.12 and later compare it with the low threshold.
    pub score: u64,
    /// Weighted by the zone's share of its node: the zone's part of the node's score.
    pub weighted: u64,
}

/// Fragmentation at which the kernel compacts a node on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProactiveNode {
    /// Sum of the weighted scores of the node's zones.
    pub score: u64,
    /// `vm.compaction_proactiveness`; nothing before 5.9.
    pub proactiveness: Option<u64>,
    /// Score at which a run stops.
    pub low: Option<u64>,
    /// Score above which a run starts.
    pub high: Option<u64>,
    /// Whether the next check would start a run, kswapd asleep and no deferral pending.
    pub would_start: bool,
}

/// Number of huge pages that can be allocated from a zone one after the other, without reclaim. Requests belong to the
/// zone's own class: no lowmem reserve applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AllocationView {
    /// Above the low watermark, given unlimited moving of pages.
    pub above_low: u64,
    /// Above the min watermark, given unlimited moving of pages.
    pub above_min: u64,
    /// Number of huge pages by Linux' direct compaction, which starts only with two pageblocks of free frames above the
    /// low watermark.
    pub by_direct_compaction: u64,
    /// The obstacle that limits `above_low`.
    pub binding: Binding,
    /// The way to the first one above the low watermark.
    pub reach: Reach,
    /// Most free huge pages after two meeting scanners, at best, free ones included.
    pub by_scanners: u64,
}

/// Linux prints no larger number of free blocks of one type and order.
const PRINTED_AT_MOST: u64 = 100_000;

/// Free blocks by type. Where a count reached what Linux prints at most, and it is the only one of its order, the rest of
/// the order's free blocks is of that type.
pub(super) fn by_type(zone: &ZoneInfo) -> Vec<FreeOfType> {
    let mut types: Vec<_> =
        zone.free_by_type.iter().map(|(&migratetype, &blocks)| FreeOfType { migratetype, blocks }).collect();
    for order in Order::all().map(Order::index) {
        let sum: u64 = types.iter().map(|of| of.blocks[order]).sum();
        let mut capped = types.iter_mut().filter(|of| of.blocks[order] >= PRINTED_AT_MOST);
        if let (Some(only), None) = (capped.next(), capped.next()) {
            only.blocks[order] += zone.free_blocks[order].saturating_sub(sum);
        }
    }
    types
}
