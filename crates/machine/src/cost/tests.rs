//! Tests of the price of each kind of work, and of the lock under which it is done.

use order9_mm::ZoneId;
use order9_units::NodeId;

use super::*;

/// Three units of a kind of work, and the price of one.
type Kind = (fn(&mut Done), Picos);

/// Work of the allocator, of the layers above it, and under an LRU lock.
type Done = (FrameWork, Work, LruLockWork);

/// Price of work: under the zone lock, under the LRU lock, and without either.
fn price((frames, rest, lru): &Done) -> [u64; 3] {
    let (zone, node) = (ZoneId(0), NodeId(0));
    let done = WorkDone { frames, rest, lru, zone, node, other_zones: &[], other_nodes: &[] };
    let prices = prices();
    [prices.of_zone_lock(&frames.locked), prices.of_lru_lock(lru), prices.of_unlocked(&done)].map(Picos::get)
}

/// Each price another one, all of them even.
fn prices() -> Prices {
    let mut prices = Prices::default();
    for (at, info) in PRICES.iter().enumerate() {
        *(info.field)(&mut prices) = Picos::new(1000 + 2 * at as u64);
    }
    prices
}

/// Price of three more units in work that holds a zone lock once.
fn added(change: fn(&mut Done)) -> [u64; 3] {
    let locked = ZoneLockWork { sections: 1, ..ZoneLockWork::NONE };
    let held = (FrameWork { locked, ..FrameWork::NONE }, Work::NONE, LruLockWork::NONE);
    let mut more = held;
    change(&mut more);
    let (before, after) = (price(&held), price(&more));
    core::array::from_fn(|part| after[part] - before[part])
}

#[test]
fn work_on_free_lists_is_done_under_the_zone_lock() {
    let p = prices();
    let kinds: [Kind; 9] = [
        (|(frames, ..)| frames.locked.sections += 3, p.zone_lock),
        (|(frames, ..)| frames.locked.list_ops = 3, p.list_op),
        (|(frames, ..)| frames.locked.splits = 3, p.split),
        (|(frames, ..)| frames.locked.merges = 3, p.merge),
        (|(frames, ..)| frames.locked.fallback_lists_searched = 3, p.fallback_search),
        (|(frames, ..)| frames.locked.frames_scanned = 3, p.frame_scan),
        (|(frames, ..)| frames.locked.list_nodes_visited = 3, p.frame_scan),
        (|(frames, ..)| frames.locked.index_updates = 3, p.frame_scan),
        (|(frames, ..)| frames.locked.blocks_retyped = 3, p.block_retype),
    ];
    for (kind, (change, price)) in kinds.into_iter().enumerate() {
        assert_eq!(added(change), [3 * price.get(), 0, 0], "{kind}");
    }
}

#[test]
fn work_on_lru_lists_is_done_under_the_lru_lock() {
    let p = prices();
    let kinds: [Kind; 3] = [
        (|(_, _, lru)| lru.sections = 3, p.zone_lock),
        (|(_, _, lru)| lru.scanned = 3, p.lru_scan),
        (|(_, _, lru)| lru.isolated = 3, p.isolate_page),
    ];
    for (kind, (change, price)) in kinds.into_iter().enumerate() {
        assert_eq!(added(change), [0, 3 * price.get(), 0], "{kind}");
    }
}

#[test]
fn other_work_is_done_without_either() {
    let p = prices();
    let half = Picos::new(p.copy_page.get() / 2);
    let kinds: [Kind; 29] = [
        (|(frames, ..)| frames.zones_checked = 3, p.zone_check),
        (|(_, work, _)| work.scanned_unlocked = 3, p.frame_scan),
        (|(_, work, _)| work.blocks_passed = 3, p.block_pass),
        (|(frames, ..)| frames.pcp_hits = 3, p.pcp_hit),
        (|(_, work, _)| work.faults = 3, p.fault),
        (|(_, work, _)| work.vma_lookups = 3, p.vma_lookup),
        (|(_, work, _)| work.pages_cleared = 3, p.clear_page),
        (|(_, work, _)| work.huge_parts_cleared = 3, p.clear_huge_part),
        (|(_, work, _)| work.pages_copied = 3, p.copy_page),
        (|(_, work, _)| work.pages_compared = 3, half),
        (|(_, work, _)| work.ptes_set = 3, p.pte_set),
        (|(_, work, _)| work.ptes_cleared = 3, p.pte_clear),
        (|(_, work, _)| work.page_tables_allocated = 3, p.page_table),
        (|(_, work, _)| work.rmap_walks = 3, p.rmap_walk),
        (|(_, work, _)| work.folios_moved = 3, p.migrate_folio),
        (|(_, work, _)| work.tlb_flushes = 3, p.tlb_flush),
        (|(_, work, _)| work.slab_objects = 3, p.slab_object),
        (|(_, work, _)| work.slab_objects_scanned = 3, p.slab_scan),
        (|(_, work, _)| work.pages_uncached = 3, p.uncache_page),
        (|(_, work, _)| work.parts_uncached = 3, p.uncache_part),
        (|(_, work, _)| work.ranges_collapsed = 3, p.collapse_range),
        (|(_, work, _)| work.pages_collapsed = 3, p.collapse_page),
        (|(_, work, _)| work.parts_collapsed = 3, p.collapse_part),
        (|(_, work, _)| work.huge_parts_split = 3, p.split_huge_part),
        (|(_, work, _)| work.huge_parts_remapped = 3, p.remap_huge_part),
        (|(_, work, _)| work.huge_parts_freed = 3, p.free_huge_part),
        (|(_, work, _)| work.huge_parts_unmapped = 3, p.unmap_huge_part),
        (|(_, work, _)| work.pmds_split = 3, p.split_pmd),
        (|(_, work, _)| work.hypervisor_faults = 3, p.hypervisor_fault),
    ];
    for (kind, (change, price)) in kinds.into_iter().enumerate() {
        assert_eq!(added(change), [0, 0, 3 * price.get()], "{kind}");
    }
}

#[test]
fn a_page_of_a_batch_costs_half_an_isolation_which_its_price_included() {
    let one = prices().isolate_page.get() / 2;
    let batch = (FrameWork::NONE, Work { faults: 9, ..Work::NONE }, LruLockWork { batched: 3, ..LruLockWork::NONE });
    let faults = 9 * prices().fault.get();
    assert_eq!(price(&batch), [0, 3 * one, faults - 3 * one]);
}
