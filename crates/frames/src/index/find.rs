//! Questions that the index answers: the cheapest source, the fullest target, the pageblock to allocate from.

use order9_units::Order;

use super::{ASKED_MAX, BUCKETS, FRAMES, Index, Kind, PENALTY_MAX, Set};
use crate::frame::{FrameTable, Idx};
use crate::pageblock::Pageblock;
use crate::storage::Storage;
use crate::zone::ZoneId;

/// A pageblock that can be emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Position of the pageblock.
    pub block: usize,
    /// Frames in it that are not free.
    pub used: u16,
}

impl<S: Storage> Index<S> {
    /// The pageblock of `zone` that costs least to empty, of those whose pages have room elsewhere.
    #[must_use]
    pub fn cheapest(&self, zone: ZoneId) -> Option<Source> {
        let room = self.set(zone, Kind::Movable).room + self.set(zone, Kind::Contaminated).room;
        // What is free in a Movable pageblock is part of the room, and is lost with it.
        let movable = self.most_free(zone, Kind::Movable).filter(|_| room >= u64::from(FRAMES));
        let other = self.most_free(zone, Kind::Other).filter(|source| room >= u64::from(source.1.used));
        let (_, source) = movable.into_iter().chain(other).max_by_key(|&(bucket, _)| bucket)?;
        Some(source)
    }

    /// Whether pages of `zone` stand in the way of every huge page, wherever they went.
    #[must_use]
    pub fn is_hopeless(&self, zone: ZoneId) -> bool {
        self.set(zone, Kind::Movable).blocks + self.set(zone, Kind::Other).blocks == 0
    }

    fn most_free(&self, zone: ZoneId, kind: Kind) -> Option<(u16, Source)> {
        let bucket = self.set(zone, kind).highest()?;
        let block = self.members(zone, kind, bucket).next()?;
        Some((bucket, Source { block, used: FRAMES - self.entries[block].free }))
    }

    /// The pageblock with room that holds the fewest frames that stay, of those that hold some.
    #[must_use]
    pub fn least_contaminated(&self, zone: ZoneId) -> Option<usize> {
        let bucket = self.set(zone, Kind::Contaminated).lowest_from(0)?;
        self.members(zone, Kind::Contaminated, bucket).next()
    }

    /// The fullest Movable pageblock with room that could be emptied, of those with at most `free` free frames.
    #[must_use]
    pub fn fullest(&self, zone: ZoneId, free: u16) -> Option<usize> {
        let set = self.set(zone, Kind::Movable);
        let mut from = 1;
        while let Some(bucket) = set.lowest_from(from).filter(|&bucket| bucket <= free) {
            // Failures have put pageblocks with more room than their bucket says among the others.
            let mut members = self.members(zone, Kind::Movable, bucket).take(ASKED_MAX);
            if let Some(block) = members.find(|&block| self.entries[block].free <= free) {
                return Some(block);
            }
            from = bucket + 1;
        }
        None
    }

    /// First frames of the free blocks in a pageblock, from the lowest.
    pub fn heads(&self, block: usize) -> impl Iterator<Item = Idx> + use<S> {
        let first = (block as u32) << Order::PAGEBLOCK.get();
        let words: [u64; FRAMES as usize / 64] = core::array::from_fn(|n| self.heads[first as usize / 64 + n]);
        words.into_iter().zip((first..).step_by(64)).flat_map(|(word, first)| bits(word).map(move |n| Idx(first + n)))
    }

    /// An attempt to empty a pageblock has failed: for some time it counts as more expensive.
    pub fn penalize(&mut self, block: usize, own: &Pageblock, frames: &FrameTable<S>) {
        let entry = &mut self.entries[block];
        entry.penalty = (entry.penalty + 1).min(PENALTY_MAX);
        entry.free_then = own.free;
        self.touch(block, own, frames);
    }

    pub(super) fn set(&self, zone: ZoneId, kind: Kind) -> &Set {
        &self.zones[zone.index()][kind as usize]
    }

    pub(super) fn members(&self, zone: ZoneId, kind: Kind, bucket: u16) -> impl Iterator<Item = usize> {
        let place = kind as u16 * BUCKETS as u16 + bucket;
        self.links.iter(self.sentinel(zone.index(), place)).map(|block| block as usize)
    }
}

/// Positions of the bits that are set, from the lowest.
pub fn bits(mut word: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let lowest = word.trailing_zeros();
        (word != 0).then(|| {
            word &= word - 1;
            lowest
        })
    })
}
