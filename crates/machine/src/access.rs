//! Prices of programs' accesses to their own memory: by page size, by node, and by the contents of the TLB.
//!
//! Two kinds: a pass over pages in order (`Pass`), and single loads at random of which each waits for the one before
//! (`mean_load`). Both are closed forms over what is mapped ([`Residence`]): no access is simulated. The formula and its
//! sources are in docs/access.md. Never knows what a price should be.

use order9_mm::space::Residence;
use order9_mm::{AccessLevels, Distances};
use order9_units::{NodeId, Order};

use crate::cost::{Picos, Prices};

/// Size of the TLB, and prices of accesses to memory of other nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessPrices {
    /// Translations that the second level of the TLB holds, each of a base page or of a huge one.
    pub tlb_entries: u64,
    /// Memory of the nearest other nodes; zero where there are none.
    pub near: NodePrices,
    /// Memory of nodes further away; zero where it costs as much as the nearest.
    pub far: NodePrices,
    /// Memory at these distances, whatever else they are; the first ones that are given.
    pub apart: [Option<(u32, NodePrices)>; AccessLevels::APART],
}

impl AccessPrices {
    /// The distances that have prices of their own.
    #[must_use]
    pub fn levels(&self) -> AccessLevels {
        AccessLevels::new(self.apart.iter().map(|apart| apart.map_or(0, |(distance, _)| distance)))
    }
}

/// Prices of accesses to memory of another node. [`Prices`] has the prices for the own node under these names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodePrices {
    /// Price of [`Prices::touch_page`] on this node.
    pub touch_page: Picos,
    /// Price of [`Prices::fill_page`] on this node.
    pub fill_page: Picos,
    /// Price of [`Prices::load`] on this node.
    pub load: Picos,
    /// Price of [`Prices::load_base`] on this node.
    pub load_base: Picos,
    /// Price of [`Prices::load_huge`] on this node.
    pub load_huge: Picos,
}

/// Prices of accesses by level of distance. The own node has the prices of all work. A distance without prices has
/// those of the next smaller distance.
pub(crate) fn by_level(prices: &Prices) -> [NodePrices; AccessLevels::COUNT] {
    let AccessPrices { near, far, apart, .. } = prices.access;
    let local = NodePrices {
        touch_page: prices.touch_page,
        fill_page: prices.fill_page,
        load: prices.load,
        load_base: prices.load_base,
        load_huge: prices.load_huge,
    };
    let known = |of: NodePrices, nearer| if of == NodePrices::default() { nearer } else { of };
    let near = known(near, local);
    let far = known(far, near);
    std::array::from_fn(|level| match level {
        AccessLevels::LOCAL => local,
        AccessLevels::NEAR => near,
        AccessLevels::FAR => far,
        level => apart[level - AccessLevels::FAR - 1].map_or(far, |(_, of)| of),
    })
}

/// Level of distance from each node to each.
pub(crate) struct Places(Vec<Vec<usize>>);

impl Places {
    pub(crate) fn new(distances: Distances<'_>, levels: AccessLevels) -> Self {
        let row = |from| distances.nodes().map(|to| levels.of(distances, from, to)).collect();
        Self(distances.nodes().map(row).collect())
    }

    /// The level of memory of `to` for CPUs of `from`.
    pub(crate) fn of(&self, from: NodeId, to: NodeId) -> usize {
        self.0[from.index()][to.index()]
    }

    /// Whether all memory is local.
    pub(crate) fn are_one(&self) -> bool {
        self.0.len() == 1
    }
}

/// Price of each page of a pass, in order.
#[derive(Clone, Copy)]
pub(crate) struct Pass {
    /// Price of a page by level of distance.
    page: [Picos; AccessLevels::COUNT],
    /// The part of it that a page in a huge one is spared, but for the first.
    walk: Picos,
}

impl Pass {
    /// A pass without a price: the kernel's accesses on behalf of a program, which the price of the call includes.
    pub(crate) const FREE: Self = Self { page: [Picos::ZERO; AccessLevels::COUNT], walk: Picos::ZERO };

    /// One access in each page.
    pub(crate) fn touch(prices: &Prices) -> Self {
        Self { page: by_level(prices).map(|of| of.touch_page), walk: prices.touch_walk }
    }

    /// Stores to every byte. Hardware fetches the translation of the next page while a page is written.
    pub(crate) fn fill(prices: &Prices) -> Self {
        Self { page: by_level(prices).map(|of| of.fill_page), walk: Picos::ZERO }
    }

    /// `pages` pages in one slot.
    pub(crate) fn over(&self, pages: u64, huge: bool, level: usize) -> Picos {
        let spared = if huge { self.walk.times(pages.saturating_sub(1)) } else { Picos::ZERO };
        self.page[level].times(pages).saturating_sub(spared)
    }
}

/// Mean time of a load, and share of loads that miss the TLB.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeanLoad {
    pub(crate) time: Picos,
    /// Share of loads that miss the TLB, from 0 to 1.
    pub(crate) misses: f64,
}

/// A load at random from what is mapped, by level; `None` where nothing is.
///
/// A huge page is asked for 512 times as often as a base page, so huge pages get the TLB's entries first.
pub(crate) fn mean_load(mapped: [Residence; AccessLevels::COUNT], prices: &Prices) -> Option<MeanLoad> {
    let tlb_entries = prices.access.tlb_entries;
    let base: u64 = mapped.iter().map(|of| of.base).sum();
    let huge: u64 = mapped.iter().map(|of| of.huge).sum();
    let held_huge = huge.min(tlb_entries);
    let held_base = base.min(tlb_entries - held_huge);
    let (miss_base, miss_huge) = (1.0 - share(held_base, base), 1.0 - share(held_huge, huge));
    let per_huge = Order::PAGEBLOCK.pages().get();
    let (mut pages, mut time, mut missed) = (0.0, 0.0, 0.0);
    for (of, prices) in mapped.iter().zip(by_level(prices)) {
        let loads = [prices.load, prices.load_base, prices.load_huge];
        let [held, walk_base, walk_huge] = loads.map(|price| price.get() as f64);
        for (count, miss, walked) in [(of.base, miss_base, walk_base), (of.huge * per_huge, miss_huge, walk_huge)] {
            pages += count as f64;
            time += count as f64 * (held + miss * (walked - held));
            missed += count as f64 * miss;
        }
    }
    (pages > 0.0).then(|| MeanLoad { time: Picos::new((time / pages) as u64), misses: missed / pages })
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 1.0 } else { part as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 entries; a load takes 100, a walk 50 more for a base page and 5 for a huge one; remote memory twice that.
    fn prices() -> Prices {
        let ns = |ns: u64| Picos::new(1000 * ns);
        let of = |load, load_base, load_huge| NodePrices { load, load_base, load_huge, ..NodePrices::default() };
        let near = of(ns(200), ns(300), ns(210));
        let mut access = AccessPrices { tlb_entries: 100, near, ..AccessPrices::default() };
        access.apart[0] = Some((24, of(ns(400), ns(450), ns(405))));
        Prices { load: ns(100), load_base: ns(150), load_huge: ns(105), access, ..Prices::default() }
    }

    type Mapped = [Residence; AccessLevels::COUNT];

    /// Base and huge pages of the first levels.
    fn mapped(by_level: &[(u64, u64)]) -> Mapped {
        std::array::from_fn(|level| {
            let (base, huge) = by_level.get(level).copied().unwrap_or_default();
            Residence { base, huge }
        })
    }

    fn local(base: u64, huge: u64) -> Mapped {
        mapped(&[(base, huge)])
    }

    fn ns(mapped: Mapped) -> f64 {
        mean_load(mapped, &prices()).expect("something is mapped").time.get() as f64 / 1000.0
    }

    #[test]
    fn what_the_tlb_holds_costs_a_load_and_no_more() {
        assert_eq!(ns(local(100, 0)), 100.0);
        assert_eq!(ns(local(0, 100)), 100.0);
        assert_eq!(mean_load(local(0, 100), &prices()).map(|load| load.misses), Some(0.0));
    }

    #[test]
    fn beyond_its_reach_the_rest_is_walked_for() {
        // A tenth of the pages is held.
        assert_eq!(ns(local(1000, 0)), 145.0);
        assert_eq!(ns(local(0, 1000)), 104.5);
        assert_eq!(mean_load(local(0, 1000), &prices()).map(|load| load.misses), Some(0.9));
    }

    #[test]
    fn huge_pages_get_the_entries_first() {
        // Half of the memory is one huge page and held; the 512 base pages share the other 99 entries.
        let expected = 100.0 + 50.0 * (1.0 - 99.0 / 512.0) / 2.0;
        assert!((ns(local(512, 1)) - expected).abs() < 0.01);
    }

    #[test]
    fn memory_of_other_nodes_costs_what_it_costs_there() {
        assert_eq!(ns(mapped(&[(0, 0), (100, 0)])), 200.0);
        assert_eq!(ns(mapped(&[(50, 0), (50, 0)])), 150.0);
        assert_eq!(ns(mapped(&[(0, 0), (0, 0), (0, 1000)])), 209.0, "as the nearest, for want of prices");
        assert_eq!(ns(mapped(&[(0, 0), (0, 0), (0, 0), (0, 50)])), 400.0, "a distance with prices of its own");
    }

    #[test]
    fn a_pass_over_a_huge_page_walks_once() {
        let prices = Prices { touch_page: Picos::new(15), touch_walk: Picos::new(5), ..Prices::default() };
        let pass = Pass::touch(&prices);
        assert_eq!(pass.over(512, false, AccessLevels::LOCAL), Picos::new(512 * 15));
        assert_eq!(pass.over(512, true, AccessLevels::LOCAL), Picos::new(512 * 10 + 5));
    }

    #[test]
    fn nothing_mapped_has_no_mean() {
        assert_eq!(mean_load(local(0, 0), &prices()), None);
    }
}
