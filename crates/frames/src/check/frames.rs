//! Laws of frames: blocks are aligned, disjoint and merged, and lie on lists that their pageblocks allow.

use alloc::format;

use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES, Pfn, ZoneKind};

use super::{Verdict, Violation, require};
use crate::Frames;
use crate::count::Class;
use crate::frame::{Flag, FrameState, Idx, Word};
use crate::pageblock::Pageblock;
use crate::policy::PcpLists;
use crate::storage::Storage;
use crate::watch::Watch;
use crate::zone::Zone;

/// Types whose lists and pageblocks always agree.
const FIXED: [Migratetype; 2] = [Migratetype::Cma, Migratetype::Isolate];

/// Sums over a zone's frames.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) present: u64,
    pub(super) reserved: u64,
    pub(super) free: u64,
    pub(super) pcp: u64,
    pub(super) allocated: u64,
    pub(super) held: u64,
    pub(super) free_blocks: [[u32; Migratetype::COUNT]; Order::COUNT],
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Walks the zone's frames block by block.
    pub(super) fn check_frames(&self, zone: &Zone, blocks: &mut [Pageblock]) -> Result<Tally, Violation> {
        let mut tally = Tally::default();
        let end = self.at(Pfn::new(zone.span.end.get() - 1)).plus(1);
        let mut at = self.at(zone.span.start);
        while at < end {
            let word = self.table.word(at);
            let class = Class::of(word);
            let class = class.ok_or_else(|| Violation {
                law: "every frame is in exactly one state",
                found: format!("{:?} belongs to no block that starts at or below it", self.table.pfn(at)),
            })?;
            let order = match word.state() {
                FrameState::Tail | FrameState::Hole | FrameState::Reserved => Order::ZERO,
                FrameState::Free { order, .. }
                | FrameState::Pcp { order, .. }
                | FrameState::Allocated { order }
                | FrameState::Held { order } => order,
            };
            self.check_extent(zone, at, order, end)?;
            self.check_block_types(at, word)?;
            let frames = order.pages().get();
            match word.state() {
                FrameState::Tail | FrameState::Hole => {}
                FrameState::Reserved => tally.reserved += frames,
                FrameState::Free { order, list } => {
                    tally.free += frames;
                    tally.free_blocks[order.index()][list.index()] += 1;
                }
                FrameState::Pcp { .. } => tally.pcp += frames,
                FrameState::Allocated { .. } => tally.allocated += frames,
                FrameState::Held { .. } => tally.held += frames,
            }
            if class != Class::Absent {
                tally.present += frames;
                recount(blocks, at, order, class);
            }
            at = at.plus(frames as u32);
        }
        Ok(tally)
    }

    /// A block is aligned, inside its zone, and followed by its own frames only.
    fn check_extent(&self, zone: &Zone, at: Idx, order: Order, end: Idx) -> Verdict {
        let pfn = self.table.pfn(at);
        let frames = order.pages().get() as u32;
        require(pfn.is_aligned(order), "a block starts at a multiple of its size", || format!("{pfn:?}, {order:?}"))?;
        require(at.0 + frames <= end.0, "a block lies inside its zone", || {
            format!("{pfn:?}, {order:?}, in {} that ends at {:?}", zone.kind, zone.span.end)
        })?;
        for tail in 1..frames {
            let state = self.table.word(at.plus(tail)).state();
            require(state == FrameState::Tail, "blocks do not overlap", || {
                format!("{:?} is {state:?} inside the block of {order:?} at {pfn:?}", self.table.pfn(at.plus(tail)))
            })?;
        }
        Ok(())
    }

    /// Laws about the types of a block's list and of the pageblocks it covers.
    fn check_block_types(&self, at: Idx, word: Word) -> Verdict {
        let pfn = self.table.pfn(at);
        let own = self.blocks[at.block()];
        if let FrameState::Allocated { order } = word.state() {
            // One list of huge pages for all types hands lent pages to anybody: the defect that 6.12 ended.
            let one_list = PcpLists::UpToCostly { huge_lists: 1 };
            let mixed = self.policy.pcp.lists == one_list && order == Order::PAGEBLOCK || !self.mobility_grouping;
            let lent = own.migratetype == Migratetype::Cma || self.zones[own.zone.index()].kind == ZoneKind::Movable;
            return require(
                mixed || !(lent && word.has(Flag::CountedImmovable)),
                "CMA pageblocks and zone Movable hold movable allocations only",
                || format!("{pfn:?} holds an unmovable one"),
            );
        }
        let FrameState::Free { order, list } = word.state() else { return Ok(()) };
        let last = at.plus(order.pages().get() as u32 - 1);
        let other = self.blocks[last.block()];
        require(
            [own, other].iter().all(|block| self.may_list(list, block.migratetype)),
            "a free list and the pageblocks of its blocks agree on the type, as far as the release keeps that",
            || {
                format!(
                    "{pfn:?} of {order:?} is on the {list} list in pageblocks {} and {}",
                    own.migratetype, other.migratetype
                )
            },
        )?;
        let joinable = self.types_may_merge(own.migratetype, other.migratetype);
        require(joinable, "the pageblocks of an order-10 block may be one block", || {
            format!("{pfn:?} joins {} and {}", own.migratetype, other.migratetype)
        })?;
        let merged = order >= Order::PAGEBLOCK || !self.table.word_or_hole(at.buddy(order)).is_free_of(order);
        require(merged, "free buddies below pageblock order are merged", || {
            format!("{pfn:?} of {order:?} and its buddy")
        })
    }

    /// Whether a free block in a pageblock of type `block` may be on a list of type `list`.
    fn may_list(&self, list: Migratetype, block: Migratetype) -> bool {
        let pair = [list, block];
        if list == block {
            true
        } else if self.policy.fallback.freelist_hygiene || pair.iter().any(|mt| FIXED.contains(mt)) {
            false
        } else if pair.contains(&Migratetype::HighAtomic) {
            // A per-CPU list remembered an older type, or two unlike pageblocks merged and were split again.
            self.policy.pcp.keeps_cached_type || !self.policy.merge_guards_all_types
        } else {
            true
        }
    }
}

/// Adds a block of frames to the recount of its pageblocks, in which every frame starts as absent.
fn recount(blocks: &mut [Pageblock], at: Idx, order: Order, class: Class) {
    let (frames, count) = match order <= Order::PAGEBLOCK {
        true => (order.pages().get() as u16, 1),
        false => (PAGEBLOCK_PAGES.get() as u16, 2),
    };
    for block in &mut blocks[at.block()..at.block() + count] {
        block.absent -= frames;
        match class {
            Class::Free => block.free += frames,
            Class::Immovable => block.immovable += frames,
            Class::Pinned => block.pinned += frames,
            Class::Isolated => block.isolated += frames,
            Class::Movable => {}
            Class::Absent => block.absent += frames,
        }
    }
}
