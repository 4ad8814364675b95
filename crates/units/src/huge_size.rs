//! [`HugeSize`]: sizes of transparent huge pages.

use crate::{Order, Vpn, VpnRange};

/// Size of a transparent huge page of anonymous memory: `hugepages-16kB` to `hugepages-2048kB`, orders 2 to 9. Linux knows
/// those below 2 MiB as multi-size THP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HugeSize(Order);

impl HugeSize {
    /// Number of sizes.
    pub const COUNT: usize = (Self::PMD.0.get() - Self::SMALLEST.0.get()) as usize + 1;
    /// 16 KiB: two pages would leave no room for the links of the deferred split queue.
    pub const SMALLEST: Self = match Order::new(2) {
        Some(order) => Self(order),
        None => panic!("2 is an order"),
    };
    /// 2 MiB: what one entry of a page middle directory maps.
    pub const PMD: Self = Self(Order::PAGEBLOCK);

    /// The size of blocks of `order`, if huge pages have it.
    #[must_use]
    pub fn new(order: Order) -> Option<Self> {
        (Self::SMALLEST.0 <= order && order <= Self::PMD.0).then_some(Self(order))
    }

    /// The size of `kib` KiB, if huge pages have it.
    #[must_use]
    pub const fn of_kib(kib: u64) -> Option<Self> {
        let mut at = 0;
        while at < Self::COUNT {
            let order = Order::new(Self::SMALLEST.0.get() + at as u8).expect("it is below that of 2 MiB");
            if Self(order).kib() == kib {
                return Some(Self(order));
            }
            at += 1;
        }
        None
    }

    /// All sizes, upward.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> {
        Self::SMALLEST.0.to(Self::PMD.0).map(Self)
    }

    /// Sizes below this one, downward.
    pub fn below(self) -> impl Iterator<Item = Self> {
        Self::all().rev().skip_while(move |&size| size >= self)
    }

    /// Order of such a page.
    #[must_use]
    pub const fn order(self) -> Order {
        self.0
    }

    /// Position among the sizes, from 0 on.
    #[must_use]
    pub const fn index(self) -> usize {
        (self.0.get() - Self::SMALLEST.0.get()) as usize
    }

    /// The size as its folder in `transparent_hugepage` names it: `hugepages-64kB` is 64.
    #[must_use]
    pub const fn kib(self) -> u64 {
        self.0.pages().bytes().get() >> 10
    }

    /// The aligned pages around `vpn` that one page of this size maps.
    #[must_use]
    pub const fn around(self, vpn: Vpn) -> VpnRange {
        let (start, pages) = (vpn.get() >> self.0.get() << self.0.get(), self.0.pages().get());
        VpnRange { start: Vpn::new(start), end: Vpn::new(start + pages) }
    }
}

impl core::fmt::Debug for HugeSize {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} kB", self.kib())
    }
}

#[cfg(test)]
mod tests {
    extern crate alloc;

    use super::*;

    #[test]
    fn sizes_go_from_16_kib_to_2_mib_in_powers_of_two() {
        let found: alloc::vec::Vec<u64> = HugeSize::all().map(HugeSize::kib).collect();
        assert_eq!(found, [16, 32, 64, 128, 256, 512, 1024, 2048]);
        assert!(
            HugeSize::all()
                .enumerate()
                .all(|(at, size)| size.index() == at && HugeSize::new(size.order()) == Some(size))
        );
        assert_eq!((HugeSize::of_kib(64).map(HugeSize::index), HugeSize::of_kib(8)), (Some(2), None));
        assert_eq!(
            (HugeSize::COUNT, HugeSize::new(Order::new(1).unwrap()), HugeSize::new(Order::MAX)),
            (8, None, None)
        );
        let below: alloc::vec::Vec<u64> = HugeSize::all().nth(2).unwrap().below().map(HugeSize::kib).collect();
        assert_eq!(below, [32, 16]);
        let around = HugeSize::SMALLEST.around(Vpn::new(7));
        assert_eq!((around.start, around.end), (Vpn::new(4), Vpn::new(8)));
    }
}
