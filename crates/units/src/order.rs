//! Orders of the buddy allocator.

use core::fmt;

use crate::Pages;

/// A block size of the buddy allocator: `2^order` pages, 0 (4 KiB) to 10 (4 MiB).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(try_from = "u8", into = "u8"))]
pub struct Order(u8);

/// An order above [`Order::MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderError(pub u8);

impl Order {
    /// One page.
    pub const ZERO: Self = Self(0);
    /// One pageblock: 512 pages, one 2 MiB huge page.
    pub const PAGEBLOCK: Self = Self(9);
    /// The largest buddy block, 1024 pages: Linux' `MAX_PAGE_ORDER`.
    pub const MAX: Self = Self(10);
    /// Number of orders: Linux' `NR_PAGE_ORDERS`.
    pub const COUNT: usize = Self::MAX.0 as usize + 1;

    /// The order `order`, or `None` above [`Order::MAX`].
    #[must_use]
    pub const fn new(order: u8) -> Option<Self> {
        if order <= Self::MAX.0 { Some(Self(order)) } else { None }
    }

    /// The exponent, 0 to 10.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The exponent as an index into per-order arrays of [`Order::COUNT`] entries.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Length of a block of this order: `2^order` pages.
    #[must_use]
    pub const fn pages(self) -> Pages {
        Pages::new(1 << self.0)
    }

    /// The next larger order, or `None` at [`Order::MAX`].
    #[must_use]
    pub const fn up(self) -> Option<Self> {
        Self::new(self.0 + 1)
    }

    /// The next smaller order, or `None` at 0.
    #[must_use]
    pub const fn down(self) -> Option<Self> {
        if self.0 == 0 { None } else { Some(Self(self.0 - 1)) }
    }

    /// Whether Linux calls this order costly (`PAGE_ALLOC_COSTLY_ORDER` is 3).
    #[must_use]
    pub const fn is_costly(self) -> bool {
        self.0 > 3
    }

    /// All orders from 0 to 10.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..Self::COUNT).map(|order| Self(order as u8))
    }

    /// The orders from `self` to `last`, both included; none where `last` is smaller.
    pub fn to(self, last: Self) -> impl DoubleEndedIterator<Item = Self> {
        (self.0..=last.0).map(Self)
    }
}

impl TryFrom<u8> for Order {
    type Error = OrderError;
    fn try_from(order: u8) -> Result<Self, OrderError> {
        Self::new(order).ok_or(OrderError(order))
    }
}

impl From<Order> for u8 {
    fn from(order: Order) -> Self {
        order.0
    }
}

impl fmt::Debug for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "order {}", self.0)
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for OrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "order {} is above the largest order, {}", self.0, Order::MAX)
    }
}

impl core::error::Error for OrderError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_end_at_ten() {
        assert_eq!(Order::new(10), Some(Order::MAX));
        assert_eq!(Order::new(11), None);
        assert_eq!(Order::MAX.up(), None);
        assert_eq!(Order::ZERO.down(), None);
        assert_eq!(Order::all().len(), Order::COUNT);
    }

    #[test]
    fn a_pageblock_is_two_mebibytes() {
        assert_eq!(Order::PAGEBLOCK.pages().bytes().get(), 2 << 20);
    }
}
