//! Prices of the steps to a huge page on this machine, for placements that weigh them: sums of the prices at which the
//! same steps are paid. The engine knows the steps; this file knows only how often each price occurs in a step.

use order9_mm::thp::placement::HugePrices;
use order9_units::{PAGE_SIZE, PAGEBLOCK_PAGES};

use crate::access::by_level;
use crate::cost::{Picos, Prices};
use crate::disk::{DiskSpec, Transfer};

/// The prices of a machine on which pages are written to `disk`, and read back from it.
pub(crate) fn huge_prices(prices: &Prices, disk: Option<&DiskSpec>) -> HugePrices {
    let sum = |parts: &[Picos]| parts.iter().copied().sum::<Picos>();
    let fault = sum(&[prices.fault, prices.vma_lookup, prices.zone_check, prices.pte_set]);
    let unmap = sum(&[prices.lru_scan, prices.isolate_page, prices.rmap_walk, prices.pte_clear]);
    // A move finds the mappings of its page twice.
    let again = sum(&[prices.rmap_walk, prices.pte_set]);
    let moved = sum(&[unmap, again, prices.migrate_folio, prices.tlb_flush, prices.copy_page, prices.list_op]);
    let on_disk = disk.map_or(Picos::ZERO, |disk| transfer(disk.write) + transfer(disk.read));
    let reclaimed = sum(&[unmap, prices.writeback_page, on_disk, prices.read_page, fault]);
    let levels = by_level(prices);
    HugePrices {
        move_page: moved.get(),
        reclaim_page: reclaimed.get(),
        base_fault: sum(&[fault, prices.pcp_hit, prices.clear_page]).get(),
        huge_fault: sum(&[fault, prices.zone_lock, prices.clear_huge_part.times(PAGEBLOCK_PAGES.get())]).get(),
        base: levels.map(|of| of.load_base.get()),
        huge: levels.map(|of| of.load_huge.get()),
        levels: prices.access.levels(),
    }
}

/// Time of a transfer of one page alone.
fn transfer(of: Transfer) -> Picos {
    let picos = |nanos: u64| Picos::new(nanos.saturating_mul(1000));
    let bytes = PAGE_SIZE.get().saturating_mul(1_000_000_000) / of.bandwidth.get().max(1);
    picos(of.latency.get()) + picos(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{AccessPrices, NodePrices};
    use crate::cost::PRICES;

    #[test]
    fn what_other_nodes_cost_is_known_or_as_here() {
        let mut prices = Prices { load_base: Picos::new(15), load_huge: Picos::new(10), ..Prices::default() };
        let one = huge_prices(&prices, None);
        assert_eq!((one.base, one.huge), ([15; _], [10; _]));
        let remote = |base, huge| NodePrices {
            load_base: Picos::new(base),
            load_huge: Picos::new(huge),
            ..NodePrices::default()
        };
        prices.access = AccessPrices { near: remote(30, 20), ..AccessPrices::default() };
        let two = huge_prices(&prices, None);
        assert_eq!((two.base[..3].to_vec(), two.huge[..3].to_vec()), (vec![15, 30, 30], vec![10, 20, 20]));
        prices.access.apart[1] = Some((24, remote(90, 80)));
        let three = huge_prices(&prices, None);
        assert_eq!((three.base[4], three.huge[4]), (90, 80));
    }

    #[test]
    fn a_slot_of_base_pages_costs_more_than_a_huge_page() {
        let mut prices = Prices::default();
        PRICES.iter().for_each(|price| *(price.field)(&mut prices) = Picos::new(1000));
        let HugePrices { move_page, base_fault, huge_fault, reclaim_page, .. } = huge_prices(&prices, None);
        assert_eq!((move_page, base_fault, huge_fault, reclaim_page), (10_000, 6000, 517_000, 10_000));
    }
}
