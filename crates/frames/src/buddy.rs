//! Buddy lists: free blocks merge with their buddy, larger blocks are split on demand.
//!
//! Everything here happens under the zone lock of Linux. Never looks at watermarks and never takes from another type.

use order9_units::{Migratetype, Order};

use crate::Frames;
use crate::count::Class;
use crate::frame::{Idx, Word};
use crate::policy::ListEnd;
use crate::storage::Storage;
use crate::watch::Watch;
use crate::zone::ZoneId;

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Frees the `order` block at `idx` to the lists of its pageblocks' types. Pageblocks that must not share a list are
    /// freed one by one.
    ///
    /// The caller has taken the block out of the class it was counted in.
    pub fn free_to_own_lists(&mut self, idx: Idx, order: Order) {
        self.free_to_own_lists_at(idx, order, None);
    }

    /// Frees the `order` block at `idx` as [`free_to_own_lists`](Self::free_to_own_lists) does, but at a chosen end of the lists instead of
    /// the one that the neighbours suggest.
    pub fn free_to_own_lists_at(&mut self, idx: Idx, order: Order, end: Option<ListEnd>) {
        let own = self.blocks[idx.block()].migratetype;
        if order > Order::PAGEBLOCK {
            let upper = idx.plus(1 << Order::PAGEBLOCK.get());
            let other = self.blocks[upper.block()].migratetype;
            if own != other && (self.policy.fallback.freelist_hygiene || !self.types_may_merge(own, other)) {
                self.free_to_buddy_at(idx, Order::PAGEBLOCK, own, end);
                self.free_to_buddy_at(upper, Order::PAGEBLOCK, other, end);
                return;
            }
        }
        self.free_to_buddy_at(idx, order, own, end);
    }

    /// Frees the `order` block at `idx` to the lists of `mt`, merging it with its buddies as far as possible.
    ///
    /// The caller has taken the block out of the class it was counted in.
    pub fn free_to_buddy(&mut self, idx: Idx, order: Order, mt: Migratetype) {
        self.free_to_buddy_at(idx, order, mt, None);
    }

    /// Frees the `order` block at `idx` as [`free_to_buddy`](Self::free_to_buddy) does, but at a chosen end of the list instead of the
    /// one that the neighbours suggest.
    pub fn free_to_buddy_at(&mut self, idx: Idx, order: Order, mt: Migratetype, end: Option<ListEnd>) {
        let zone = self.blocks[idx.block()].zone;
        self.watch.freeing(zone);
        self.count_in(idx, order, Class::Free);
        let merged = match self.watch.is_waiting() {
            false => Some(self.merge(zone, idx, order, mt)),
            true => self.merge_until_taken(zone, idx, order, mt),
        };
        let Some((head, order)) = merged else { return };
        let end = end.unwrap_or_else(|| self.list_end_for(head, order));
        self.free_lists(zone).add(head, order, mt, end);
    }

    /// Merges upward; returns the resulting block, which is on no list.
    fn merge(&mut self, zone: ZoneId, mut idx: Idx, mut order: Order, mt: Migratetype) -> (Idx, Order) {
        while let Some(merged) = self.merge_once(zone, idx, order, mt) {
            (idx, order) = merged;
        }
        (idx, order)
    }

    /// Merges upward while somebody waits for a block; `None` once they have taken it.
    #[cold]
    fn merge_until_taken(
        &mut self,
        zone: ZoneId,
        mut idx: Idx,
        mut order: Order,
        mt: Migratetype,
    ) -> Option<(Idx, Order)> {
        loop {
            if self.watch.takes(zone, idx, order, mt) {
                self.hold(idx, order);
                return None;
            }
            match self.merge_once(zone, idx, order, mt) {
                Some(merged) => (idx, order) = merged,
                None => return Some((idx, order)),
            }
        }
    }

    /// Takes a free block that is on no list out of circulation.
    fn hold(&mut self, idx: Idx, order: Order) {
        self.count_out(idx, order, Class::Free);
        self.count_in(idx, order, Class::Isolated);
        self.table.set(idx, Word::held(order));
    }

    /// Merges a block that is on no list with its buddy, if that is free as a whole and may be part of a larger one.
    #[inline(always)]
    fn merge_once(&mut self, zone: ZoneId, idx: Idx, order: Order, mt: Migratetype) -> Option<(Idx, Order)> {
        let larger = order.up()?;
        let buddy = idx.buddy(order);
        let word = self.table.word_or_hole(buddy);
        if !word.is_free_of(order) {
            return None;
        }
        if order >= Order::PAGEBLOCK && !self.may_merge_pageblocks(zone, idx, buddy, mt) {
            return None;
        }
        self.free_lists(zone).remove(buddy, order, word.list());
        self.table.set(idx.max(buddy), Word::TAIL);
        self.work.locked.merges += 1;
        Some((idx.min(buddy), larger))
    }

    /// Whether two neighbouring free pageblocks of `zone` may become one block; with agreeing lists the absorbed one takes
    /// on the type of the freed one.
    fn may_merge_pageblocks(&mut self, zone: ZoneId, freed: Idx, buddy: Idx, mt: Migratetype) -> bool {
        let other = self.blocks[buddy.block()];
        let own = self.blocks[freed.block()].migratetype;
        if other.zone != zone || !self.types_may_merge(own, other.migratetype) {
            return false;
        }
        if self.policy.fallback.freelist_hygiene {
            self.retype_block(buddy.block(), mt);
        }
        true
    }

    /// Whether pageblocks of these types may be one free block.
    pub fn types_may_merge(&self, own: Migratetype, other: Migratetype) -> bool {
        let guards_all = self.policy.merge_guards_all_types || self.policy.fallback.freelist_hygiene;
        let isolate = own == Migratetype::Isolate || other == Migratetype::Isolate;
        own == other || own.is_mergeable() && other.is_mergeable() || !guards_all && !isolate
    }

    /// The tail if the block would soon be part of a larger one, so that it is not taken before; else the head.
    fn list_end_for(&self, idx: Idx, order: Order) -> ListEnd {
        let Some(larger) = order.up().filter(|&larger| larger <= Order::PAGEBLOCK) else { return ListEnd::Head };
        let parent = idx.parent(order);
        if self.table.word_or_hole(parent.buddy(larger)).is_free_of(larger) { ListEnd::Tail } else { ListEnd::Head }
    }

    /// First of the smallest blocks of at least `order` on the lists of `mt`, with its order.
    fn smallest(&self, zone: ZoneId, order: Order, mt: Migratetype) -> Option<(Idx, Order)> {
        let zone = &self.zones[zone.index()];
        let found = zone.smallest_from(mt, order)?;
        let list = zone.list(found, mt);
        Some((self.table.first(list).expect("an occupied list has a first block"), found))
    }

    /// Takes a block of `order` from the lists of `mt`, splitting the smallest one that is large enough.
    ///
    /// The block is on no list and in no class of its pageblock afterwards; the caller sets its word.
    pub fn take_smallest(&mut self, zone: ZoneId, order: Order, mt: Migratetype) -> Option<Idx> {
        let (idx, found) = self.smallest(zone, order, mt)?;
        self.take_part(zone, idx, (found, mt), order, mt);
        Some(idx)
    }

    /// Takes several blocks of `order`, at most `most`, from the smallest block on the lists of `mt` that is large enough, and
    /// says how many. They lie side by side from the frame returned.
    ///
    /// Lists, counts and work come out as they would if [`take_smallest`](Self::take_smallest) had taken one block after the other: no
    /// list of `mt` between `order` and the block found holds anything, so each would have taken what the one before left. The
    /// lists see only what is left at the end. `order` is at most that of a pageblock, and the run lies in one pageblock. The
    /// blocks are on no list and in no class of it afterwards; the caller sets their words.
    pub(crate) fn take_run(&mut self, zone: ZoneId, order: Order, mt: Migratetype, most: u64) -> Option<(Idx, u64)> {
        let (idx, found) = self.smallest(zone, order, mt)?;
        let mut lists = self.free_lists(zone);
        lists.remove(idx, found, mt);
        let count = most.min(1 << (found.min(Order::PAGEBLOCK).get() - order.get()));
        // Each block left over is as large as its place allows, as splits would have left it.
        let mut left = (count as u32) << order.get();
        let mut splits = count - 1;
        while left < 1 << found.get() {
            let size = Order::new(left.trailing_zeros() as u8).expect("a part of a block has an order");
            lists.add(idx.plus(left), size, mt, ListEnd::Head);
            left += 1 << size.get();
            splits += 1;
        }
        self.work.locked.splits += splits;
        self.work.locked.list_ops += 2 * (count - 1);
        self.count_out_run(idx, order, count, Class::Free);
        Some((idx, count))
    }

    /// Takes the free block at `idx` off its list, keeps its first `order` block and puts the rest on lists of `rest`.
    pub fn take_block(&mut self, zone: ZoneId, idx: Idx, order: Order, rest: Migratetype) {
        let word = self.table.word(idx);
        self.take_part(zone, idx, (word.order(), word.list()), order, rest);
    }

    /// Does what [`take_block`](Self::take_block) does with a block of which order and list are known.
    #[inline(always)]
    fn take_part(&mut self, zone: ZoneId, idx: Idx, found: (Order, Migratetype), order: Order, rest: Migratetype) {
        let mut lists = self.free_lists(zone);
        let (mut split, list) = found;
        lists.remove(idx, split, list);
        while split > order {
            split = split.down().expect("a block above another order can be split");
            lists.add(idx.plus(1 << split.get()), split, rest, ListEnd::Head);
        }
        self.work.locked.splits += u64::from(found.0.get() - split.get());
        self.count_out(idx, order, Class::Free);
    }
}

#[cfg(test)]
mod tests;
