//! Places in an address space: byte addresses as programs name them, page numbers as the engine counts them.

use core::fmt;
use core::ops::{Add, Sub};

use order9_units::{Bytes, Order, PAGE_SIZE, Pages};

use crate::Errno;

/// A byte address of a program.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtAddr(u64);

/// A virtual page number: a place in an address space, in units of 4 KiB.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Vpn(u64);

/// The pages from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VpnRange {
    /// First page.
    pub start: Vpn,
    /// One past the last page; never below `start`.
    pub end: Vpn,
}

/// End of the address space of a program on x86-64 with four levels of page tables: `TASK_SIZE`.
pub const TASK_END: Vpn = Vpn(0x7_ffff_ffff);

/// Mappings are placed below this: the top of the address space without the least room Linux keeps for a stack, 128 MiB,
/// and without address randomisation.
pub(crate) const MMAP_BASE: Vpn = Vpn(TASK_END.0 - ((128 << 20) >> 12));

/// No mapping lies below this: the default of `vm.mmap_min_addr`.
pub(crate) const MMAP_MIN: Vpn = Vpn(16);

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
    /// Page number `n`.
    #[must_use]
    pub const fn new(n: u64) -> Self {
        Self(n)
    }

    /// The page number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

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

impl VpnRange {
    /// The pages of `[start, end)`; empty where `end` does not lie above `start`.
    #[must_use]
    pub fn new(start: Vpn, end: Vpn) -> Self {
        Self { start, end: end.max(start) }
    }

    /// `length` pages from `start` on.
    #[must_use]
    pub fn of(start: Vpn, length: Pages) -> Self {
        Self { start, end: start + length }
    }

    /// The range a system call names: `length` is rounded up to whole pages.
    ///
    /// # Errors
    /// `EINVAL` where `addr` is not page-aligned, `beyond` where the range ends above the address space.
    pub(crate) fn of_call(addr: VirtAddr, length: Bytes, beyond: Errno) -> Result<Self, Errno> {
        if !addr.is_page_aligned() {
            return Err(Errno::Einval);
        }
        let pages = Pages::from_bytes_ceil(length);
        let fits = addr.vpn() <= TASK_END && pages <= TASK_END - addr.vpn();
        if fits { Ok(Self::of(addr.vpn(), pages)) } else { Err(beyond) }
    }

    /// Number of pages in the range.
    #[must_use]
    pub fn len(self) -> Pages {
        self.end - self.start
    }

    /// Whether there is no page in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start >= self.end
    }

    /// Whether `vpn` is one of the pages.
    #[must_use]
    pub fn contains(self, vpn: Vpn) -> bool {
        self.start <= vpn && vpn < self.end
    }

    /// The pages both ranges have; empty where they do not meet.
    #[must_use]
    pub fn intersect(self, other: Self) -> Self {
        Self::new(self.start.max(other.start), self.end.min(other.end))
    }

    /// Every page, upward.
    pub fn iter(self) -> impl Iterator<Item = Vpn> {
        (self.start.0..self.end.0).map(Vpn)
    }
}

impl Add<Pages> for Vpn {
    type Output = Self;
    fn add(self, length: Pages) -> Self {
        Self(self.0 + length.get())
    }
}

impl Sub<Pages> for Vpn {
    type Output = Self;
    fn sub(self, length: Pages) -> Self {
        Self(self.0 - length.get())
    }
}

impl Sub for Vpn {
    type Output = Pages;
    /// The distance between two places; `other` must not lie above `self`.
    fn sub(self, other: Self) -> Pages {
        Pages::new(self.0 - other.0)
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

impl fmt::Debug for Vpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vpn {:#x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_name_whole_pages() {
        let page = VirtAddr::new(0x1000);
        let range = |addr, bytes| VpnRange::of_call(addr, Bytes::new(bytes), Errno::Enomem);
        assert_eq!(range(page, 4097), Ok(VpnRange::of(Vpn::new(1), Pages::new(2))));
        assert_eq!(range(VirtAddr::new(0x1001), 1), Err(Errno::Einval));
        assert_eq!(range(page, u64::MAX), Err(Errno::Enomem));
        assert_eq!(range(TASK_END.addr(), 1), Err(Errno::Enomem));
        assert_eq!(range(TASK_END.addr(), 0), Ok(VpnRange::of(TASK_END, Pages::ZERO)));
    }

    #[test]
    fn a_slot_is_two_mebibytes() {
        let slot = VirtAddr::new(0x7f00_0030_1000).vpn().slot();
        assert_eq!(slot.start.addr(), VirtAddr::new(0x7f00_0020_0000));
        assert_eq!(slot.end.addr(), VirtAddr::new(0x7f00_0040_0000));
    }
}
