//! Long skipped_entries of free lists that a search for sources has walked in vain, so that the next one need not.
//!
//! A search passes over free blocks in the lower part of the zone whose pageblocks are marked, and counts them. In a zone of
//! half a terabyte a list can hold a hundred thousand of those in a row, all of which are walked for every huge page. Of each
//! list one [`SkippedEntries`] is remembered, which is counted and passed as a whole. It shrinks with the list and is forgotten
//! with the hints. Never changes what a search finds or counts.

use alloc::vec;
use alloc::vec::Vec;

use order9_frames::storage::Storage;
use order9_frames::{FrameTable, Idx, ZoneId};
use order9_units::{Migratetype, Order, Pfn};

use crate::compaction::source::free_lists::LOWEST;
use crate::compaction::zone::last_pageblock;
use crate::phys::PhysMem;
use crate::trace::Tracer;

/// Orders whose lists are searched.
const ORDERS: usize = (Order::PAGEBLOCK.get() - LOWEST.get()) as usize;
/// Shorter ones are walked as fast; tests have no long ones.
const MIN_LEN: u64 = if cfg!(test) { 2 } else { 64 };

/// Neighbours on a list of movable blocks, in marked pageblocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compaction) struct SkippedEntries {
    pub(in crate::compaction) first: Idx,
    pub(in crate::compaction) last: Idx,
    /// In blocks.
    pub(in crate::compaction) len: u64,
    /// None of them lies above.
    pub(in crate::compaction) highest: Idx,
}

/// What is remembered of all lists.
#[derive(Clone, Debug, Default)]
pub(crate) struct SkippedEntriesCache {
    /// By zone; empty as long as there is none.
    of: Vec<[Option<SkippedEntries>; ORDERS]>,
    /// A word for each pageblock, with a bit for each place where a block of the lowest order can start: it is in a entries.
    members: Vec<u64>,
}

impl SkippedEntriesCache {
    fn get(&self, zone: ZoneId, order: Order) -> Option<SkippedEntries> {
        self.of.get(zone.index())?.get(order_slot(order)).copied()?
    }

    fn set(&mut self, zone: ZoneId, order: Order, entries: Option<SkippedEntries>) {
        self.of[zone.index()][order_slot(order)] = entries;
    }

    #[inline]
    pub(in crate::compaction) fn contains(&self, idx: Idx) -> bool {
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

/// The marked blocks that a search has just passed over, one behind the other.
#[derive(Default)]
pub(super) struct JustSkipped {
    all: Option<SkippedEntries>,
    /// The part that was remembered.
    known: Option<SkippedEntries>,
}

impl JustSkipped {
    pub(super) fn add(&mut self, idx: Idx) {
        self.join(SkippedEntries { first: idx, last: idx, len: 1, highest: idx });
    }

    pub(super) fn add_known(&mut self, known: SkippedEntries) {
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

/// Rings of the list that a entries is on: the first block is behind the last.
impl SkippedEntriesCache {
    /// The next block of the list.
    fn next_in_ring<S: Storage>(table: &FrameTable<S>, list: Idx, idx: Idx) -> Idx {
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

    /// A free block leaves its list.
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

    /// Before the ends of a list are used: where a search has made them lie inside the entries, its shorter part is given up.
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

    /// Remembers what a search of `list` has passed over, if it is worth it. The machine has so many `zones` and `blocks`.
    fn remember<S: Storage>(
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
            if all.len < MIN_LEN.max(before.map_or(0, |before| 2 * before.len)) {
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

    /// Forgets the skipped_entries of a zone, which has the pageblocks from `first` to `last`.
    fn forget_zone(&mut self, zone: ZoneId, first: usize, last: usize) {
        if self.of.get(zone.index()).is_some_and(|of| of.iter().any(Option::is_some)) {
            self.of[zone.index()] = [None; ORDERS];
            self.members[first..=last].fill(0);
        }
    }

    /// The entries of every list.
    pub(in crate::compaction) fn iter(&self) -> impl Iterator<Item = (ZoneId, Order, SkippedEntries)> {
        let of_zone = move |zone: u8| {
            let orders = LOWEST.to(Order::PAGEBLOCK).take(ORDERS);
            orders.filter_map(move |order| Some((ZoneId(zone), order, self.get(ZoneId(zone), order)?)))
        };
        (0..self.of.len() as u8).flat_map(of_zone)
    }

    /// Bits that are set.
    pub(in crate::compaction) fn member_count(&self) -> u64 {
        self.members.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

impl<T: Tracer> PhysMem<T> {
    /// The entries that starts at `idx`, if all of it lies below `high`.
    pub(super) fn skipped_entries_from(
        &self,
        zone: ZoneId,
        order: Order,
        idx: Idx,
        high: Pfn,
    ) -> Option<SkippedEntries> {
        let known = self.frames.watch().skipped_entries.get(zone, order)?;
        (known.first == idx && self.frames.pfn(known.highest) < high).then_some(known)
    }

    /// Remembers what a search has passed over, if it is worth it.
    pub(super) fn remember_skipped_entries(&mut self, zone: ZoneId, order: Order, skipped: &JustSkipped) {
        let list = self.frames.zone(zone).list(order, Migratetype::Movable);
        let sizes = (self.frames.zones().len(), self.frames.blocks().len());
        let (table, heard) = self.frames.table_and_watch();
        heard.skipped_entries.remember((table, list), zone, order, skipped, sizes);
    }

    /// Splits the entries of a movable list if a search has put it across the list's ends.
    pub(super) fn trim_skipped_entries(&mut self, zone: ZoneId, order: Order) {
        let list = self.frames.zone(zone).list(order, Migratetype::Movable);
        let (table, heard) = self.frames.table_and_watch();
        heard.skipped_entries.trim(table, list, zone, order, Migratetype::Movable);
    }

    /// Forgets what is remembered of a zone, hints of which are cleared.
    pub(crate) fn forget_skipped_entries(&mut self, zone: ZoneId) {
        let span = self.frames.zone(zone).span();
        let (first, last) = (self.frames.at(span.start).block(), self.frames.at(last_pageblock(span)).block());
        self.frames.watch_mut().skipped_entries.forget_zone(zone, first, last);
    }

    /// The blocks of a entries.
    pub(in crate::compaction) fn blocks_of_entries(
        &self,
        zone: ZoneId,
        order: Order,
        entries: SkippedEntries,
    ) -> impl Iterator<Item = Idx> {
        let list = self.frames.zone(zone).list(order, Migratetype::Movable);
        let next = move |&idx: &Idx| Some(SkippedEntriesCache::next_in_ring(self.frames.table(), list, idx));
        core::iter::successors(Some(entries.first), next).take(entries.len as usize)
    }
}

#[cfg(test)]
mod tests {
    use order9_units::{NodeId, Pages, PfnRange, ZoneKind};

    use super::*;
    use crate::Mm;
    use crate::compaction::run::control::{CompactControl, Compactor};
    use crate::compaction::source::free_lists::search;
    use crate::env::CompactPriority;
    use crate::policy::Policy;
    use crate::{Layout, MmBuilder, NodeSpec, ZoneSpec};
    use order9_frames::Gfp;
    use order9_frames::Request;

    const BASE: u64 = 1 << 20;
    const BLOCKS: u64 = 48;
    const ZONE: ZoneId = ZoneId(0);
    /// Past the only CPU, so that blocks go to the lists at once.
    const NO_CPU: usize = 1;

    /// Numbers that look random.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % limit
        }
    }

    /// A zone in use, in blocks of several orders.
    fn full() -> (Mm, Vec<Pfn>) {
        let span = PfnRange::of(Pfn::new(BASE), Pages::new(BLOCKS * 512));
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            cpus: vec![NodeId(0)],
            ..Layout::default()
        };
        let mut mm = MmBuilder::new(&layout, Policy::default()).expect("one zone is a layout").boot();
        let mut used = Vec::new();
        for order in [8, 7, 6, 3].into_iter().cycle() {
            match mm.alloc_fast(&request(order)) {
                Ok(pfn) => used.push(pfn),
                Err(_) => break,
            }
        }
        (mm, used)
    }

    fn request(order: u8) -> Request {
        let order = Order::new(order).expect("an order");
        Request { cpu: NO_CPU, ..Request::new(order, Gfp::GFP_HIGHUSER_MOVABLE) }
    }

    /// A search of a run whose scanners stand at these pageblocks: what it finds, and how many blocks it visits.
    fn searches(mm: &mut Mm, scanners: [u64; 2], fails: u32) -> (Option<Pfn>, u64) {
        let by = Compactor::Direct(CompactPriority::Async);
        let mut run = CompactControl::new(by, ZONE, Some(Order::PAGEBLOCK), ZoneKind::Normal);
        [run.migrate_pfn, run.free_pfn] = scanners.map(|block| Pfn::new(BASE + 512 * block));
        run.fast_search_fail = fails;
        let found = search(&mut mm.phys, &mut mm.compaction, &mut run, Order::PAGEBLOCK, scanners[0] == 0);
        (found.map(|source| source.start), run.totals.migrate_scanned)
    }

    fn lists(mm: &Mm) -> Vec<Vec<Pfn>> {
        LOWEST.to(Order::PAGEBLOCK).map(|order| mm.free_list(ZONE, order, Migratetype::Movable).collect()).collect()
    }

    /// The same is done to a memory that remembers and to one that has forgotten everything before each search.
    #[test]
    fn what_is_passed_as_a_whole_changes_nothing() {
        let mut passed = 0;
        for seed in 0..4 {
            let ((mut mm, mut used), mut dice) = (full(), Dice(seed));
            let mut naive = mm.clone();
            for step in 0..1000 {
                match dice.below(16) {
                    0..5 if !used.is_empty() => {
                        let pfn = used.swap_remove(dice.below(used.len() as u64) as usize);
                        [&mut mm, &mut naive].into_iter().for_each(|mm| mm.free(pfn, NO_CPU).expect("it is in use"));
                    }
                    5..8 => {
                        let request = request(3 + dice.below(6) as u8);
                        let [pfn, other] = [&mut mm, &mut naive].map(|mm| mm.alloc_fast(&request).ok());
                        assert_eq!(pfn, other);
                        used.extend(pfn);
                    }
                    8 => {
                        let order = Order::new(3 + dice.below(6) as u8).expect("an order");
                        let back = dice.below(8) as usize;
                        for mm in [&mut mm, &mut naive] {
                            let list = mm.phys.frames.zones()[0].list(order, Migratetype::Movable);
                            let chosen = mm.phys.frames.table().iter(list).nth(back);
                            if let Some(idx) = chosen {
                                mm.phys.frames.table_mut().rotate_before(list, idx);
                            }
                        }
                    }
                    9 if dice.below(40) == 0 => {
                        [&mut mm, &mut naive].into_iter().for_each(|mm| mm.compaction.reset_fully(ZONE, &mut mm.phys));
                    }
                    _ => {
                        let scanners = [dice.below(3) * 4, BLOCKS - dice.below(20)];
                        let fails = dice.below(6) as u32;
                        passed +=
                            mm.phys.frames.watch().skipped_entries.iter().map(|(.., entries)| entries.len).sum::<u64>();
                        naive.phys.forget_skipped_entries(ZONE);
                        let [remembering, forgetful] = [&mut mm, &mut naive].map(|mm| searches(mm, scanners, fails));
                        assert_eq!(remembering, forgetful, "seed {seed}, step {step}");
                    }
                }
                assert_eq!(lists(&mm), lists(&naive), "seed {seed}, step {step}");
                if step % 16 == 0 {
                    assert_eq!(mm.check(), Ok(()), "seed {seed}, step {step}");
                }
            }
        }
        assert!(passed > 1000, "there was something to pass: {passed}");
    }
}
