//! Bits of pageblocks, searched 64 at a time.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

/// One bit per pageblock.
#[derive(Clone, Debug, Default)]
pub(crate) struct BlockBits(Vec<u64>);

impl BlockBits {
    pub(crate) fn new(blocks: usize) -> Self {
        Self(vec![0; blocks.div_ceil(64)])
    }

    pub(crate) fn get(&self, block: usize) -> bool {
        self.0[block / 64] >> (block % 64) & 1 != 0
    }

    /// The 64 bits from pageblock `64 * word` on.
    pub(crate) fn word(&self, word: usize) -> u64 {
        self.0[word]
    }

    pub(crate) fn set(&mut self, block: usize, skip: bool) {
        let word = &mut self.0[block / 64];
        *word = *word & !(1 << (block % 64)) | u64::from(skip) << (block % 64);
    }

    /// Bytes of metadata, by capacity.
    pub(crate) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<u64>()
    }
}

/// First bit of `bits` that is set; `word(n)` gives the 64 bits from `64 * n` on.
pub(crate) fn first_set(bits: Range<usize>, word: impl Fn(usize) -> u64) -> Option<usize> {
    let mut mask = u64::MAX << (bits.start % 64);
    for at in bits.start / 64..bits.end.div_ceil(64) {
        let set = word(at) & mask;
        if set != 0 {
            return Some(at * 64 + set.trailing_zeros() as usize).filter(|&bit| bit < bits.end);
        }
        mask = u64::MAX;
    }
    None
}

/// Last bit of `bits` that is set.
pub(crate) fn last_set(bits: Range<usize>, word: impl Fn(usize) -> u64) -> Option<usize> {
    let last = bits.end.checked_sub(1)?;
    let mut mask = u64::MAX >> (63 - last % 64);
    for at in (bits.start / 64..=last / 64).rev() {
        let set = word(at) & mask;
        if set != 0 {
            return Some(at * 64 + 63 - set.leading_zeros() as usize).filter(|&bit| bit >= bits.start);
        }
        mask = u64::MAX;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_found_from_either_end() {
        let words = [0x8000_0000_0000_0010_u64, 0, 1];
        let naive = |bit: &usize| words[bit / 64] >> (bit % 64) & 1 != 0;
        for start in 0..140 {
            for end in start..=192 {
                assert_eq!(first_set(start..end, |word| words[word]), (start..end).find(naive), "{start}..{end}");
                assert_eq!(last_set(start..end, |word| words[word]), (start..end).rev().find(naive), "{start}..{end}");
            }
        }
        assert_eq!(last_set(0..0, |_| u64::MAX), None);
    }
}
