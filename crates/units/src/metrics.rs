//! Figures that Linux computes from a zone's free lists: how usable free memory is for one order.
//!
//! All are integer arithmetic on the number of free blocks by order, as Linux does it, so that they equal what
//! /sys/kernel/debug/extfrag and proactive compaction use. Sources: the kernel's documentation of
//! `vm.extfrag_threshold` and `vm.compaction_proactiveness`.

use crate::{Order, Pages};

/// Free blocks by order.
pub type FreeBlocks = [u64; Order::COUNT];

/// Fragmentation index in thousandths: how far a failing allocation of `order` fails for fragmentation (towards 1000)
/// rather than for lack of memory (towards 0). -1000 where a block is free, 0 where nothing is.
#[must_use]
pub fn fragmentation_index(free: &FreeBlocks, order: Order) -> i64 {
    let blocks: u64 = free.iter().sum();
    if blocks == 0 {
        return 0;
    }
    if suitable(free, order) > 0 {
        return -1000;
    }
    let requests = free_pages(free) * 1000 / order.pages().get();
    1000 - ((1000 + requests) / blocks) as i64
}

/// Unusable free index in thousandths: the share of free memory in blocks below `order`; 1000 where nothing is free.
#[must_use]
pub fn unusable_free_index(free: &FreeBlocks, order: Order) -> u64 {
    match free_pages(free) {
        0 => 1000,
        pages => unusable(free, order) * 1000 / pages,
    }
}

/// Percentage of free memory in blocks below `order`; 0 where nothing is free.
#[must_use]
pub fn external_fragmentation(free: &FreeBlocks, order: Order) -> u64 {
    match free_pages(free) {
        0 => 0,
        pages => unusable(free, order) * 100 / pages,
    }
}

/// A zone's part of its node's score for proactive compaction: its external fragmentation for a huge page, weighted with
/// its share of the node's present frames.
#[must_use]
pub fn weighted_score(free: &FreeBlocks, zone_present: Pages, node_present: Pages) -> u64 {
    zone_present.get() * external_fragmentation(free, Order::PAGEBLOCK) / (node_present.get() + 1)
}

/// Scores at which proactive compaction of a node stops (low) and above which it starts (high), for a value of
/// `vm.compaction_proactiveness` from 0 to 100.
#[must_use]
pub fn proactive_thresholds(proactiveness: u64) -> (u64, u64) {
    let low = 100_u64.saturating_sub(proactiveness).max(5);
    (low, (low + 10).min(100))
}

fn free_pages(free: &FreeBlocks) -> u64 {
    Order::all().map(|order| free[order.index()] << order.get()).sum()
}

/// Blocks of `order` that the larger blocks contain.
fn suitable(free: &FreeBlocks, order: Order) -> u64 {
    order.to(Order::MAX).map(|larger| free[larger.index()] << (larger.get() - order.get())).sum()
}

fn unusable(free: &FreeBlocks, order: Order) -> u64 {
    free_pages(free) - (suitable(free, order) << order.get())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(blocks: &[(usize, u64)]) -> FreeBlocks {
        let mut free = [0; Order::COUNT];
        blocks.iter().for_each(|&(order, n)| free[order] = n);
        free
    }

    #[test]
    fn fragmentation_index_of_known_free_lists() {
        let index = |blocks: &[(usize, u64)]| fragmentation_index(&free(blocks), Order::PAGEBLOCK);
        assert_eq!(index(&[(0, 100_000)]), 999);
        assert_eq!(index(&[(8, 6)]), 334);
        assert_eq!(index(&[(8, 2), (0, 10)]), 832);
        assert_eq!(index(&[(4, 200)]), 964);
        assert_eq!(index(&[(0, 1040)]), 998);
        assert_eq!(index(&[(9, 1), (0, 100_000)]), -1000);
        assert_eq!(index(&[]), 0);
    }

    #[test]
    fn unusable_memory_is_what_lies_in_smaller_blocks() {
        let half = free(&[(10, 1), (0, 1024)]);
        assert_eq!(unusable_free_index(&half, Order::PAGEBLOCK), 500);
        assert_eq!(external_fragmentation(&half, Order::PAGEBLOCK), 50);
        assert_eq!(unusable_free_index(&half, Order::ZERO), 0);
        assert_eq!(
            (unusable_free_index(&free(&[]), Order::ZERO), external_fragmentation(&free(&[]), Order::ZERO)),
            (1000, 0)
        );
    }

    #[test]
    fn a_node_of_two_zones_starts_proactive_compaction() {
        let node = Pages::new(8_000_000);
        let dma32 = free(&[(9, 1), (0, 512)]);
        let normal = free(&[(9, 5), (0, 512 * 95)]);
        assert_eq!(
            (external_fragmentation(&dma32, Order::PAGEBLOCK), external_fragmentation(&normal, Order::PAGEBLOCK)),
            (50, 95)
        );
        let score =
            weighted_score(&dma32, Pages::new(400_000), node) + weighted_score(&normal, Pages::new(7_600_000), node);
        assert_eq!(score, 92);
        assert_eq!(proactive_thresholds(20), (80, 90));
        assert_eq!(proactive_thresholds(100), (5, 15));
        assert_eq!([0, 5, 10].map(proactive_thresholds), [(100, 100), (95, 100), (90, 100)]);
        assert!(score > proactive_thresholds(20).1);
    }
}
