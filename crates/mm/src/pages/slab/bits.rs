//! A growing set of small numbers at one bit each.

use alloc::vec::Vec;
use core::ops::Range;

/// Bits by number; those never set are clear.
#[derive(Clone, Default)]
pub(super) struct Bits {
    words: Vec<u64>,
}

const BITS: u64 = u64::BITS as u64;

const fn place(number: u64) -> (usize, u64) {
    ((number / BITS) as usize, 1 << (number % BITS))
}

impl Bits {
    /// Makes room for numbers below `end`.
    pub(super) fn grow(&mut self, end: u64) {
        let words = end.div_ceil(BITS) as usize;
        if words > self.words.len() {
            self.words.resize(words, 0);
        }
    }

    pub(super) fn get(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.words.get(word).is_some_and(|bits| bits & bit != 0)
    }

    pub(super) fn set(&mut self, number: u64, on: bool) {
        let (word, bit) = place(number);
        let bits = &mut self.words[word];
        *bits = if on { *bits | bit } else { *bits & !bit };
    }

    /// The lowest clear number of `range`.
    pub(super) fn first_clear(&self, range: Range<u64>) -> Option<u64> {
        let mut number = range.start;
        while number < range.end {
            let (word, _) = place(number);
            let clear = !self.words[word] & u64::MAX << (number % BITS);
            let found = word as u64 * BITS + u64::from(clear.trailing_zeros());
            if clear != 0 {
                return (found < range.end).then_some(found);
            }
            number = found;
        }
        None
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clear_bit_is_found_across_words() {
        let mut bits = Bits::default();
        bits.grow(200);
        (50..130).for_each(|number| bits.set(number, true));
        assert_eq!(bits.first_clear(50..200), Some(130));
        assert_eq!(bits.first_clear(50..130), None);
        assert_eq!(bits.first_clear(49..130), Some(49));
        bits.set(64, false);
        assert_eq!(bits.first_clear(50..130), Some(64));
        assert!(bits.get(63) && !bits.get(64) && !bits.get(1000));
    }
}
