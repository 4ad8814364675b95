//! Cache of long sequences of free-list entries that a search for sources has skipped, so that the next search need not
//! walk them.
//!
//! A search skips and counts free blocks in the lower part of the zone whose pageblocks have a skip hint. In a zone of
//! half a terabyte a list can hold a hundred thousand of those in a row, and every huge page would walk them all. One
//! sequence of each list is cached, counted and skipped as a whole. The sequence shrinks with the list and is dropped
//! with the hints. The cache never changes what a search finds or counts.

use order9_frames::{Idx, ZoneId};
use order9_units::{Migratetype, Order, Pfn};

use crate::compaction::zone::last_pageblock;
use crate::heard::skipped_entries::{JustSkipped, SkippedEntries, SkippedEntriesCache};
use crate::phys::PhysMem;

impl PhysMem {
    /// Cached sequence that starts at `idx`, if all of it lies below `high`.
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

    /// Caches the sequence that a search has skipped, if it is long enough.
    pub(super) fn remember_skipped_entries(&mut self, zone: ZoneId, order: Order, skipped: &JustSkipped) {
        let list = self.frames.zone(zone).list(order, Migratetype::Movable);
        let sizes = (self.frames.zones().len(), self.frames.blocks().len());
        let (table, heard) = self.frames.table_and_watch();
        heard.skipped_entries.remember((table, list), zone, order, skipped, sizes);
    }

    /// Trims the sequence of a movable list if a search has put it across the list's ends.
    pub(super) fn trim_skipped_entries(&mut self, zone: ZoneId, order: Order) {
        let list = self.frames.zone(zone).list(order, Migratetype::Movable);
        let (table, heard) = self.frames.table_and_watch();
        heard.skipped_entries.trim(table, list, zone, order, Migratetype::Movable);
    }

    /// Drops the sequences of a zone whose skip hints are cleared.
    pub(crate) fn forget_skipped_entries(&mut self, zone: ZoneId) {
        let span = self.frames.zone(zone).span();
        let (first, last) = (self.frames.at(span.start).block(), self.frames.at(last_pageblock(span)).block());
        self.frames.watch_mut().skipped_entries.forget_zone(zone, first, last);
    }

    /// Blocks of a sequence.
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
mod tests;
