//! Isolation: frames taken out of circulation for a while - free blocks and pages by compaction, whole pageblocks for
//! offlining or contiguous ranges.

use core::fmt;

use order9_units::{Migratetype, Order, Pfn};

use crate::Frames;
use crate::count::Class;
use crate::frame::{FrameState, Idx, Word};
use crate::storage::Storage;
use crate::watch::Watch;
use crate::zone::ZoneId;

/// Why something could not be isolated or given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsolateError {
    /// The frame is not what the call is for.
    WrongState(Pfn, FrameState),
    /// Taking the block would leave the zone below its min watermark.
    BelowWatermark(Pfn),
    /// The pageblock lies outside the zones, or is (or is not yet) isolated.
    WrongBlock(Pfn),
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Takes the free block at `pfn` off the free lists, as a target of compaction. A block of at least half a pageblock
    /// makes its pageblocks Movable. Returns its order.
    ///
    /// # Errors
    /// [`IsolateError::BelowWatermark`] unless free pages exceed the min mark (with `boosted`: plus boost) and the block.
    pub fn isolate_free_block(&mut self, pfn: Pfn, boosted: bool) -> Result<Order, IsolateError> {
        let wrong = || IsolateError::WrongState(pfn, self.frame(pfn));
        let idx = self.table.idx(pfn).ok_or_else(wrong)?;
        let word = self.table.word(idx);
        let block = self.blocks[idx.block()];
        if !word.is_free() || block.migratetype == Migratetype::Isolate {
            return Err(wrong());
        }
        let order = word.order();
        if !self.can_spare(idx, order, boosted) {
            return Err(IsolateError::BelowWatermark(pfn));
        }
        self.lock_zone(block.zone);
        self.hold_free_block(idx, order);
        Ok(order)
    }

    /// Whether free pages of the zone exceed the min mark (with `boosted`: plus boost) and the free block at `idx`.
    #[must_use]
    pub fn can_spare(&self, idx: Idx, order: Order, boosted: bool) -> bool {
        let zone = &self.zones[self.blocks[idx.block()].zone.index()];
        let mark = zone.watermarks.min + if boosted { zone.boost } else { 0 } + order.pages().get();
        zone.free > mark + zone.withheld_highatomic(&self.policy)
    }

    /// Takes the free block at `idx` off its list, under the lock of its zone. At least half a pageblock makes its pageblocks
    /// Movable.
    pub fn hold_free_block(&mut self, idx: Idx, order: Order) {
        let block_zone = self.blocks[idx.block()].zone;
        self.remove_from_list(block_zone, idx);
        self.count_out(idx, order, Class::Free);
        self.count_in(idx, order, Class::Isolated);
        self.table.set(idx, Word::held(order));
        if order.get() >= Order::PAGEBLOCK.get() - 1 {
            let blocks = 1 << order.get().saturating_sub(Order::PAGEBLOCK.get());
            for block in 0..blocks {
                self.make_movable(block_zone, idx.plus(block << Order::PAGEBLOCK.get()));
            }
        }
    }

    /// Makes a pageblock of which compaction holds half or more Movable, where it may change its type. Where lists agree
    /// with pageblocks, the rest of its free blocks follows.
    fn make_movable(&mut self, zone: ZoneId, idx: Idx) {
        if !self.blocks[idx.block()].migratetype.is_mergeable() {
            return;
        }
        if !self.policy.fallback.freelist_hygiene {
            self.retype_block(idx.block(), Migratetype::Movable);
        } else if let Some((first, end)) = self.clip_to_zone(zone, idx) {
            self.retype_block(idx.block(), Migratetype::Movable);
            self.walk_block(zone, first, end, Some(Migratetype::Movable));
        }
    }

    /// Puts a block taken by [`Frames::isolate_free_block`] back on the free lists.
    ///
    /// # Errors
    /// [`IsolateError::WrongState`] where no held block starts.
    pub fn release_free_block(&mut self, pfn: Pfn) -> Result<(), IsolateError> {
        let FrameState::Held { order } = self.frame(pfn) else {
            return Err(IsolateError::WrongState(pfn, self.frame(pfn)));
        };
        let idx = self.at(pfn);
        self.lock_zone(self.blocks[idx.block()].zone);
        self.release_held_block(idx, order);
        Ok(())
    }

    /// Makes a fresh page, which nobody uses yet, a held frame: it counts as freed.
    pub fn hold_fresh(&mut self, idx: Idx) {
        self.count_out(idx, Order::ZERO, Class::of_used(self.table.word(idx)));
        self.count_in(idx, Order::ZERO, Class::Isolated);
        self.table.set(idx, Word::held(Order::ZERO));
        self.counters.pgfree += 1;
    }

    /// Makes held frames, which were taken one by one and make up a block of `order`, one fresh allocation.
    pub fn use_held_frames(&mut self, first: Idx, order: Order) {
        let frames = order.pages().get();
        self.count_out_run(first, Order::ZERO, frames, Class::Isolated);
        let word = Word::allocated(order);
        self.table.set(first, word);
        (1..frames as u32).for_each(|frame| self.table.set(first.plus(frame), Word::TAIL));
        self.count_in(first, order, Class::of_used(word));
    }

    /// Puts a held block back on the free lists, under the lock of its zone.
    pub fn release_held_block(&mut self, idx: Idx, order: Order) {
        self.count_out(idx, order, Class::Isolated);
        self.free_to_own_lists(idx, order);
    }

    /// Makes the pageblock of `pfn` Isolate: its free pages no longer count as free and nothing is allocated from it.
    /// Returns the type it had.
    ///
    /// # Errors
    /// [`IsolateError::WrongBlock`] for a block that does not lie in a zone as a whole, or if it is isolated already.
    pub fn isolate_pageblock(&mut self, pfn: Pfn) -> Result<Migratetype, IsolateError> {
        let old = self.pageblock(pfn).ok_or(IsolateError::WrongBlock(pfn))?.migratetype;
        if old == Migratetype::Isolate {
            return Err(IsolateError::WrongBlock(pfn));
        }
        self.retype_isolated(pfn, Migratetype::Isolate)?;
        Ok(old)
    }

    /// Ends [`Frames::isolate_pageblock`]: the block becomes `mt`.
    ///
    /// # Errors
    /// [`IsolateError::WrongBlock`] if it is not isolated, or would still be.
    pub fn unisolate_pageblock(&mut self, pfn: Pfn, mt: Migratetype) -> Result<(), IsolateError> {
        match self.pageblock(pfn) {
            Some(block) if block.migratetype == Migratetype::Isolate && mt != Migratetype::Isolate => {
                self.retype_isolated(pfn, mt)
            }
            _ => Err(IsolateError::WrongBlock(pfn)),
        }
    }

    fn retype_isolated(&mut self, pfn: Pfn, mt: Migratetype) -> Result<(), IsolateError> {
        let idx = self.table.idx(pfn).ok_or(IsolateError::WrongBlock(pfn))?;
        let zone = self.zone_of(pfn).ok_or(IsolateError::WrongBlock(pfn))?;
        if self.retype_pageblock(zone, idx, mt) { Ok(()) } else { Err(IsolateError::WrongBlock(pfn)) }
    }

    /// Splits a free block that spans this pageblock and its neighbour, so that each half can be on its own list.
    pub fn split_across_pageblocks(&mut self, block: usize) {
        let first = crate::frame::Idx((block as u32 & !1) << Order::PAGEBLOCK.get());
        let word = self.table.word(first);
        if word.is_free_of(Order::MAX) {
            let zone = self.blocks[block].zone;
            let list = word.list();
            self.remove_from_list(zone, first);
            for half in [first, first.buddy(Order::PAGEBLOCK)] {
                self.add_to_list(zone, half, Order::PAGEBLOCK, list, self.policy.moved_blocks);
            }
            self.work.locked.splits += 1;
        }
    }
}

impl fmt::Display for IsolateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongState(pfn, state) => write!(f, "{pfn:?} is {state:?}, which cannot be isolated or given back"),
            Self::BelowWatermark(pfn) => write!(f, "taking {pfn:?} would leave its zone below the min watermark"),
            Self::WrongBlock(pfn) => write!(f, "the pageblock of {pfn:?} cannot be isolated or given back"),
        }
    }
}

impl core::error::Error for IsolateError {}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use order9_units::{NodeId, PAGEBLOCK_PAGES, PfnRange, ZoneKind};

    use super::*;
    use crate::ZoneSpec;
    use crate::policy::FramesPolicy;
    use crate::testing::{Layout, NodeSpec};

    #[test]
    fn a_pageblock_between_zones_cannot_be_isolated() {
        let zone =
            |kind, start| ZoneSpec { node: NodeId(0), kind, span: PfnRange::of(Pfn::new(start), PAGEBLOCK_PAGES * 4) };
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![zone(ZoneKind::Dma32, 4096), zone(ZoneKind::Normal, 16_384)],
            ..Layout::default()
        };
        let mut mm = layout.builder(FramesPolicy::default()).expect("the layout is sound").boot();
        let between = Pfn::new(8192);
        assert_eq!(mm.isolate_pageblock(between), Err(IsolateError::WrongBlock(between)));
        let inside = Pfn::new(16_384);
        assert_eq!(mm.isolate_pageblock(inside), Ok(Migratetype::Movable));
        assert_eq!(mm.isolate_pageblock(inside), Err(IsolateError::WrongBlock(inside)), "it is isolated already");
        assert_eq!(mm.unisolate_pageblock(inside, Migratetype::Movable), Ok(()));
        mm.check().expect("every law holds");
    }

    #[test]
    fn a_pageblock_of_which_half_is_held_becomes_movable_and_its_free_rest_follows() {
        let start = Pfn::new(1 << 20);
        let order = |order| Order::new(order).expect("an order");
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec {
                node: NodeId(0),
                kind: ZoneKind::Normal,
                span: PfnRange::of(start, PAGEBLOCK_PAGES * 8),
            }],
            ..Layout::default()
        };
        for (held, hygiene, [rest_of_old, rest_of_movable]) in
            [(8, true, [0, 1]), (8, false, [1, 0]), (7, true, [1, 0]), (7, false, [1, 0])]
        {
            let mut policy = FramesPolicy::default();
            policy.fallback.freelist_hygiene = hygiene;
            let mut builder = layout.builder(policy).expect("the layout is sound");
            builder.set_block_type(start, Migratetype::Unmovable).expect("it is in the zone");
            builder.free(start, order(held)).expect("it is given once");
            builder.free(start + order(8).pages(), order(6)).expect("it is given once");
            let mut mm = builder.finish();
            mm.hold_free_block(mm.at(start), order(held));
            let is_movable = mm.pageblock(start).expect("it is in the zone").migratetype == Migratetype::Movable;
            assert_eq!(is_movable, held == 8, "half of it is enough");
            let rest = |mt| mm.free_list(crate::ZoneId(0), order(6), mt).count();
            let rests = [Migratetype::Unmovable, Migratetype::Movable].map(rest);
            assert_eq!(rests, [rest_of_old, rest_of_movable], "{held} {hygiene}");
        }
    }
}
