//! Places in an address space: byte addresses as programs name them, page numbers as page tables count them.

use core::fmt;

use crate::point::point;
use crate::{Order, PAGE_SIZE};

/// A byte address of a program.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtAddr(u64);

point!(
    /// A virtual page number: a place in an address space, in units of 4 KiB.
    Vpn, "page", "vpn";
    /// The pages from `start` up to, not including, `end`.
    VpnRange
);

impl VirtAddr {
    /// Address `addr`.
    #[must_use]
    pub const fn new(addr: u64) -> Self {
        Self(addr)
    }

    /// The address in bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The page that holds this byte.
    #[must_use]
    pub const fn vpn(self) -> Vpn {
        Vpn(self.0 / PAGE_SIZE.get())
    }

    /// Whether a page starts here.
    #[must_use]
    pub const fn is_page_aligned(self) -> bool {
        self.0.is_multiple_of(PAGE_SIZE.get())
    }
}

impl Vpn {
    /// Address of the first byte.
    #[must_use]
    pub const fn addr(self) -> VirtAddr {
        VirtAddr(self.0 * PAGE_SIZE.get())
    }

    /// The 2 MiB slot that holds this page.
    #[must_use]
    pub const fn slot(self) -> VpnRange {
        let pages = Order::PAGEBLOCK.pages().get();
        let start = self.0 & !(pages - 1);
        VpnRange { start: Self(start), end: Self(start + pages) }
    }
}

impl fmt::Debug for VirtAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl fmt::Display for VirtAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_two_mebibytes() {
        let slot = VirtAddr::new(0x7f00_0030_1000).vpn().slot();
        assert_eq!(slot.start.addr(), VirtAddr::new(0x7f00_0020_0000));
        assert_eq!(slot.end.addr(), VirtAddr::new(0x7f00_0040_0000));
    }
}
