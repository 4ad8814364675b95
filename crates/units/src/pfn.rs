//! Places in physical memory.

use core::fmt;
use core::ops::{Add, AddAssign, Sub};

use crate::{Order, Pages};

/// A page frame number: a place in physical memory, in units of 4 KiB.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
pub struct Pfn(u64);

impl Pfn {
    /// Frame number `n`.
    #[must_use]
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The number of the frame.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether a block of `order` may start here.
    #[must_use]
    pub const fn is_aligned(self, order: Order) -> bool {
        self.0 & (order.pages().get() - 1) == 0
    }

    /// The last frame at or below this one where a block of `order` may start.
    #[must_use]
    pub const fn align_down(self, order: Order) -> Self {
        Self(self.0 & !(order.pages().get() - 1))
    }

    /// The first frame at or above this one where a block of `order` may start.
    #[must_use]
    pub const fn align_up(self, order: Order) -> Self {
        Self(self.0.next_multiple_of(order.pages().get()))
    }

    /// The block that merges with a block of `order` here: they differ in one bit.
    #[must_use]
    pub const fn buddy(self, order: Order) -> Self {
        Self(self.0 ^ order.pages().get())
    }
}

impl Add<Pages> for Pfn {
    type Output = Self;
    fn add(self, length: Pages) -> Self {
        Self(self.0 + length.get())
    }
}

impl AddAssign<Pages> for Pfn {
    fn add_assign(&mut self, length: Pages) {
        self.0 += length.get();
    }
}

impl Sub<Pages> for Pfn {
    type Output = Self;
    fn sub(self, length: Pages) -> Self {
        Self(self.0 - length.get())
    }
}

impl Sub for Pfn {
    type Output = Pages;
    /// The distance between two places; `other` must not lie above `self`.
    fn sub(self, other: Self) -> Pages {
        Pages::new(self.0 - other.0)
    }
}

impl fmt::Debug for Pfn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pfn {:#x}", self.0)
    }
}

impl fmt::Display for Pfn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

/// The frames from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PfnRange {
    /// First frame of the range.
    pub start: Pfn,
    /// One past the last frame; never below `start`.
    pub end: Pfn,
}

impl PfnRange {
    /// The frames of `[start, end)`; empty where `end` does not lie above `start`.
    #[must_use]
    pub fn new(start: Pfn, end: Pfn) -> Self {
        Self { start, end: end.max(start) }
    }

    /// `length` frames from `start` on.
    #[must_use]
    pub fn of(start: Pfn, length: Pages) -> Self {
        Self { start, end: start + length }
    }

    /// Length of the range.
    #[must_use]
    pub fn len(self) -> Pages {
        self.end - self.start
    }

    /// Whether there is no frame in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether `pfn` is one of the frames.
    #[must_use]
    pub fn contains(self, pfn: Pfn) -> bool {
        self.start <= pfn && pfn < self.end
    }

    /// The frames both ranges have; empty where they do not meet.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        Self::new(self.start.max(other.start), self.end.min(other.end))
    }

    /// The frames of the range in ascending order.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Pfn> {
        (self.start.0..self.end.0).map(Pfn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buddies_are_each_others_buddy() {
        let pfn = Pfn::new(0x1200);
        assert_eq!(pfn.buddy(Order::PAGEBLOCK), Pfn::new(0x1000));
        assert_eq!(pfn.buddy(Order::PAGEBLOCK).buddy(Order::PAGEBLOCK), pfn);
    }

    #[test]
    fn alignment_rounds_both_ways() {
        let pfn = Pfn::new(513);
        assert_eq!(pfn.align_down(Order::PAGEBLOCK), Pfn::new(512));
        assert_eq!(pfn.align_up(Order::PAGEBLOCK), Pfn::new(1024));
        assert!(!pfn.is_aligned(Order::PAGEBLOCK));
    }

    #[test]
    fn ranges_that_do_not_meet_intersect_in_nothing() {
        let low = PfnRange::of(Pfn::new(0), Pages::new(4));
        let high = PfnRange::of(Pfn::new(8), Pages::new(4));
        assert!(low.intersect(high).is_empty());
        assert_eq!(low.iter().count(), 4);
    }
}
