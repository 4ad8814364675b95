//! [`SkippedEntriesCache`]: runs of free blocks that searches for sources have skipped.

use alloc::vec;
use alloc::vec::Vec;

use order9_frames::storage::Storage;
use order9_frames::{FrameTable, Idx, ZoneId};
use order9_units::{Migratetype, Order};

/// Lowest order of free blocks that the search looks at: `PAGE_ALLOC_COSTLY_ORDER`.
pub(crate) const LOWEST: Order = Order::new(3).unwrap();

/// Orders whose lists are searched.
const ORDERS: usize = (Order::PAGEBLOCK.get() - LOWEST.get()) as usize;

/// Shortest sequence worth caching: shorter ones are walked as fast.
const MIN_LEN: u64 = 64;

/// Neighbours on a list of movable blocks whose pageblocks have a skip hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SkippedEntries {
    pub(crate) first: Idx,
    pub(crate) last: Idx,
    /// Number of blocks.
    pub(crate) len: u64,
    /// Highest block of the sequence.
    pub(crate) highest: Idx,
}

/// Cached sequences of all lists.
#[derive(Clone, Debug)]
pub(crate) struct SkippedEntriesCache {
    /// Shortest sequence that is cached.
    pub(crate) min_len: u64,
    /// Sequences by zone and order; empty until the first is cached.
    of: Vec<[Option<SkippedEntries>; ORDERS]>,
    /// Bits of the blocks in a sequence: a word for each pageblock, with a bit for each place where a block of the lowest
    /// order can start.
    members: Vec<u64>,
}

impl Default for SkippedEntriesCache {
    fn default() -> Self {
        Self { min_len: MIN_LEN, of: Vec::new(), members: Vec::new() }
    }
}

impl SkippedEntriesCache {
    pub(crate) fn get(&self, zone: ZoneId, order: Order) -> Option<SkippedEntries> {
        self.of.get(zone.index())?.get(order_slot(order)).copied()?
    }

    fn set(&mut self, zone: ZoneId, order: Order, entries: Option<SkippedEntries>) {
        self.of[zone.index()][order_slot(order)] = entries;
    }

    #[inline]
    pub(crate) fn contains(&self, idx: Idx) -> bool {
        self.members.get(idx.block()).is_some_and(|word| word & bit(idx) != 0)
    }

    fn set_member(&mut self, idx: Idx, on: bool) {
        let word = &mut self.members[idx.block()];
        *word = if on { *word | bit(idx) } else { *word & !bit(idx) };
    }

    /// Bytes of metadata, by capacity.
    pub(crate) fn bytes(&self) -> usize {
        self.members.capacity() * size_of::<u64>() + self.of.capacity() * size_of::<[Option<SkippedEntries>; ORDERS]>()
    }
}

const fn order_slot(order: Order) -> usize {
    (order.get() - LOWEST.get()) as usize
}

const fn bit(idx: Idx) -> u64 {
    1 << ((idx.0 % (1 << Order::PAGEBLOCK.get())) >> LOWEST.get())
}

/// Sequence that a search has just skipped.
#[derive(Default)]
pub(crate) struct JustSkipped {
    all: Option<SkippedEntries>,
    /// Part of the sequence that was cached already.
    known: Option<SkippedEntries>,
}

impl JustSkipped {
    pub(crate) fn add(&mut self, idx: Idx) {
        self.join(SkippedEntries { first: idx, last: idx, len: 1, highest: idx });
    }

    pub(crate) fn add_known(&mut self, known: SkippedEntries) {
        self.join(known);
        self.known = Some(known);
    }

    fn join(&mut self, next: SkippedEntries) {
        self.all = Some(self.all.map_or(next, |before| SkippedEntries {
            first: before.first,
            last: next.last,
            len: before.len + next.len,
            highest: before.highest.max(next.highest),
        }));
    }
}

/// Rings of the list that a sequence is on: the first block follows the last.
impl SkippedEntriesCache {
    /// The next block of the list.
    pub(crate) fn next_in_ring<S: Storage>(table: &FrameTable<S>, list: Idx, idx: Idx) -> Idx {
        table.next(list, idx).or_else(|| table.first(list)).expect("a list with a block has a first one")
    }

    fn prev_in_ring<S: Storage>(table: &FrameTable<S>, list: Idx, idx: Idx) -> Idx {
        table.prev(list, idx).or_else(|| table.last(list)).expect("a list with a block has a last one")
    }

    /// Sets the bits of the blocks from `first` to `last`.
    fn set_members<S: Storage>(&mut self, table: &FrameTable<S>, list: Idx, first: Idx, last: Idx, on: bool) {
        let mut at = first;
        self.set_member(at, on);
        while at != last {
            at = Self::next_in_ring(table, list, at);
            self.set_member(at, on);
        }
    }

    /// Removes a free block that leaves its list.
    #[inline]
    pub(crate) fn remove<S: Storage>(
        &mut self,
        table: &FrameTable<S>,
        list: Idx,
        zone: ZoneId,
        order: Order,
        idx: Idx,
    ) {
        if self.contains(idx) {
            self.remove_member(table, list, zone, order, idx);
        }
    }

    #[cold]
    fn remove_member<S: Storage>(&mut self, table: &FrameTable<S>, list: Idx, zone: ZoneId, order: Order, idx: Idx) {
        let Some(mut entries) = self.get(zone, order) else { return };
        self.set_member(idx, false);
        entries.len -= 1;
        if idx == entries.first {
            entries.first = Self::next_in_ring(table, list, idx);
        }
        if idx == entries.last {
            entries.last = Self::prev_in_ring(table, list, idx);
        }
        self.set(zone, order, Some(entries).filter(|entries| entries.len > 0));
    }

    /// Trims a sequence that a rotation has put across the ends of its list: the shorter part is dropped. To be called
    /// before the ends are used.
    #[inline]
    pub(crate) fn trim<S: Storage>(
        &mut self,
        table: &FrameTable<S>,
        list: Idx,
        zone: ZoneId,
        order: Order,
        mt: Migratetype,
    ) {
        let searched = mt == Migratetype::Movable && order >= LOWEST && order < Order::PAGEBLOCK;
        if searched && !self.of.is_empty() {
            self.trim_wrapped(table, list, zone, order);
        }
    }

    fn trim_wrapped<S: Storage>(&mut self, table: &FrameTable<S>, list: Idx, zone: ZoneId, order: Order) {
        let Some(mut entries) = self.get(zone, order) else { return };
        let (Some(head), Some(tail)) = (table.first(list), table.last(list)) else { return };
        if head == entries.first || !self.contains(head) {
            return;
        }
        let (mut down, mut up, mut len) = (tail, head, 1);
        while down != entries.first && up != entries.last {
            (down, up, len) = (Self::prev_in_ring(table, list, down), Self::next_in_ring(table, list, up), len + 1);
        }
        if down == entries.first {
            self.set_members(table, list, entries.first, tail, false);
            entries.first = head;
        } else {
            self.set_members(table, list, head, entries.last, false);
            entries.last = tail;
        }
        entries.len -= len;
        self.set(zone, order, Some(entries));
    }

    /// Caches the sequence that a search of `list` has skipped, if it is long enough. `zones` and `blocks` size the
    /// tables.
    pub(crate) fn remember<S: Storage>(
        &mut self,
        (table, list): (&FrameTable<S>, Idx),
        zone: ZoneId,
        order: Order,
        skipped: &JustSkipped,
        (zones, blocks): (usize, usize),
    ) {
        let Some(all) = skipped.all.filter(|_| order < Order::PAGEBLOCK) else { return };
        if let Some(known) = skipped.known {
            if all.len > known.len {
                self.set_members(table, list, all.first, known.first, true);
                self.set_members(table, list, known.last, all.last, true);
            }
        } else {
            let before = self.get(zone, order);
            if all.len < self.min_len.max(before.map_or(0, |before| 2 * before.len)) {
                return;
            }
            if let Some(before) = before {
                self.set_members(table, list, before.first, before.last, false);
            }
            if self.of.is_empty() {
                self.of = vec![[None; ORDERS]; zones];
                self.members = vec![0; blocks];
            }
            self.set_members(table, list, all.first, all.last, true);
        }
        self.set(zone, order, Some(all));
    }

    /// Drops the sequences of a zone that has the pageblocks from `first` to `last`.
    pub(crate) fn forget_zone(&mut self, zone: ZoneId, first: usize, last: usize) {
        if self.of.get(zone.index()).is_some_and(|of| of.iter().any(Option::is_some)) {
            self.of[zone.index()] = [None; ORDERS];
            self.members[first..=last].fill(0);
        }
    }

    /// Cached sequence of every list.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ZoneId, Order, SkippedEntries)> {
        let of_zone = move |zone: u8| {
            let orders = LOWEST.to(Order::PAGEBLOCK).take(ORDERS);
            orders.filter_map(move |order| Some((ZoneId(zone), order, self.get(ZoneId(zone), order)?)))
        };
        (0..self.of.len() as u8).flat_map(of_zone)
    }

    /// Number of blocks in all sequences, counted by their bits.
    pub(crate) fn member_count(&self) -> u64 {
        self.members.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}
