//! Places in physical memory.

use core::fmt;

use crate::Order;
use crate::point::point;

point!(
    /// A page frame number: a place in physical memory, in units of 4 KiB.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
    Pfn, "frame", "pfn";
    /// The frames from `start` up to, not including, `end`.
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    PfnRange
);

impl Pfn {
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

impl fmt::Display for Pfn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pages;

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
