//! A set of pageblocks in buckets: the fullest or emptiest bucket is found by looking at eight words.

use super::Links;
use crate::storage::Storage;

/// Buckets of a set, one for each number of frames below a pageblock.
pub(super) const BUCKETS: u32 = 512;

/// A set of pageblocks: a bit for each bucket that holds some, and sums over its members. The members of a bucket form a ring.
#[derive(Clone, Copy, Debug, Default)]
pub struct Set {
    occupied: [u64; (BUCKETS / 64) as usize],
    /// Pageblocks in the set.
    pub(super) blocks: u64,
    /// Free frames in them.
    pub(super) room: u64,
}

impl Set {
    /// Puts `block` into `bucket`, whose ring is closed by `sentinel`.
    #[inline]
    pub(super) fn insert<S: Storage>(&mut self, links: &mut Links<S>, sentinel: u32, bucket: u16, block: u32) {
        links.push(sentinel, block);
        self.occupied[usize::from(bucket) / 64] |= 1 << (bucket % 64);
    }

    /// Takes `block` out of `bucket`.
    #[inline]
    pub(super) fn remove<S: Storage>(&mut self, links: &mut Links<S>, sentinel: u32, bucket: u16, block: u32) {
        links.unlink(block);
        if links.first(sentinel) == sentinel {
            self.occupied[usize::from(bucket) / 64] &= !(1 << (bucket % 64));
        }
    }

    /// The highest bucket that holds something.
    pub(super) fn highest(&self) -> Option<u16> {
        self.highest_below(BUCKETS as u16)
    }

    /// The highest such bucket below `end`.
    pub(super) fn highest_below(&self, end: u16) -> Option<u16> {
        let words = self.occupied.iter().enumerate().rev();
        words.into_iter().find_map(|(at, &word)| {
            let start = 64 * at as u16;
            let word = match end.saturating_sub(start) {
                0 => 0,
                1..64 => word & ((1 << (end - start)) - 1),
                _ => word,
            };
            (word != 0).then(|| start + 63 - word.leading_zeros() as u16)
        })
    }

    /// The lowest such bucket from `start` on.
    pub(super) fn lowest_from(&self, start: u16) -> Option<u16> {
        let words = self.occupied.iter().enumerate().skip(usize::from(start) / 64);
        words.into_iter().find_map(|(at, &word)| {
            let first = 64 * at as u16;
            let word = if start > first { word & (u64::MAX << (start - first)) } else { word };
            (word != 0).then(|| first + word.trailing_zeros() as u16)
        })
    }

    /// Whether `bucket` is marked as holding something.
    #[cfg(feature = "alloc")]
    pub(super) const fn is_occupied(&self, bucket: u16) -> bool {
        self.occupied[bucket as usize / 64] >> (bucket % 64) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rings over so many pageblocks.
    fn links(blocks: usize) -> Links<crate::storage::Heap> {
        Links::new(alloc::vec![[0; 2]; blocks + BUCKETS as usize])
    }

    #[test]
    fn buckets_are_found_from_both_ends() {
        let mut links = links(4);
        let mut set = Set::default();
        assert_eq!((set.highest(), set.lowest_from(0)), (None, None));
        for (block, bucket) in [(0, 0), (1, 63), (2, 64), (3, 511)] {
            set.insert(&mut links, 4 + u32::from(bucket), bucket, block);
        }
        assert_eq!((set.highest(), set.highest_below(511), set.highest_below(64)), (Some(511), Some(64), Some(63)));
        assert_eq!((set.highest_below(63), set.highest_below(0)), (Some(0), None));
        assert_eq!((set.lowest_from(0), set.lowest_from(1), set.lowest_from(65)), (Some(0), Some(63), Some(511)));
        set.remove(&mut links, 4 + 511, 511, 3);
        assert_eq!((set.highest(), set.lowest_from(65)), (Some(64), None));
    }

    #[test]
    fn a_bucket_is_empty_with_its_last_member() {
        let mut links = links(2);
        let mut set = Set::default();
        set.insert(&mut links, 2 + 7, 7, 0);
        set.insert(&mut links, 2 + 7, 7, 1);
        set.remove(&mut links, 2 + 7, 7, 0);
        assert!(set.is_occupied(7));
        set.remove(&mut links, 2 + 7, 7, 1);
        assert!(!set.is_occupied(7));
    }
}
