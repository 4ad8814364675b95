//! Allocation by the index: where a request is served decides what compaction will have to move.

use order9_units::{Migratetype, Order};

use super::{ASKED_MAX, BUCKETS, FRAMES, Index, Kind};
use crate::Frames;
use crate::frame::Idx;
use crate::storage::Storage;
use crate::watch::Watch;
use crate::zone::ZoneId;

/// A free block to take a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) idx: Idx,
    pub(crate) order: Order,
}

impl<S: Storage> Index<S> {
    /// Some pageblocks with room that hold frames that stay, from those with the most on.
    fn most_contaminated(&self, zone: ZoneId) -> impl Iterator<Item = usize> {
        let mut bucket = BUCKETS as u16;
        let buckets = core::iter::from_fn(move || {
            bucket = self.set(zone, Kind::Contaminated).highest_below(bucket)?;
            Some(bucket)
        });
        buckets.flat_map(move |bucket| self.members(zone, Kind::Contaminated, bucket)).take(ASKED_MAX)
    }
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Takes a block of `order` for a movable request out of the fullest pageblock that could be emptied: others stay cheap to
    /// empty.
    pub(crate) fn take_packed(&mut self, zone: ZoneId, order: Order) -> Option<Idx> {
        let index = self.index.as_ref()?;
        let block = index.fullest(zone, FRAMES)?;
        let found = self.smallest_in(block, order)?;
        self.take_block(zone, found.idx, order, Migratetype::Movable);
        Some(found.idx)
    }

    /// A free block of at least `order` in a Movable pageblock that can never be huge, for a request that makes it so.
    pub(crate) fn find_contaminated(&mut self, zone: ZoneId, order: Order) -> Option<Found> {
        let mut blocks = [usize::MAX; ASKED_MAX];
        let asked = blocks.iter_mut().zip(self.index.as_ref()?.most_contaminated(zone));
        let count = asked.map(|(at, block)| *at = block).count();
        blocks[..count].iter().find_map(|&block| self.smallest_in(block, order))
    }

    /// Gives a pageblock another type, and its free blocks to that type's lists, which the index names. Under the lock
    /// of the zone.
    pub fn retype_with_free_blocks(&mut self, zone: ZoneId, first: Idx, mt: Migratetype) {
        self.split_across_pageblocks(first.block());
        self.retype_block(first.block(), mt);
        let Some(index) = &self.index else { return };
        for idx in index.heads(first.block()) {
            self.move_to_list(zone, idx, mt);
        }
    }

    /// The smallest free block of at least `order` on the Movable lists in a pageblock.
    fn smallest_in(&mut self, block: usize, order: Order) -> Option<Found> {
        let mut best: Option<Found> = None;
        for idx in self.index.as_ref()?.heads(block) {
            self.work.locked.list_nodes_visited += 1;
            let word = self.table.word(idx);
            let found = Found { idx, order: word.order() };
            let fits = word.list() == Migratetype::Movable && found.order >= order;
            if fits && best.is_none_or(|best| found.order < best.order) {
                best = Some(found);
                if found.order == order {
                    break;
                }
            }
        }
        best
    }
}
