//! Tests of the price of each kind of work, and of the lock under which it is done.

use super::*;

/// Three units of a kind of work, and the price of one.
type Kind = (fn(&mut Done), Picos);

/// Work of the allocator, and of the layers above it.
type Done = (FrameWork, Work);

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
    let held = (FrameWork { zone_lock_sections: 1, ..FrameWork::default() }, Work::default());
    let mut more = held;
    change(&mut more);
    let [before, after] = [held, more].map(|(frames, work)| prices().of(&frames, &work));
    let parts = |cost: Cost| [cost.zone_locked, cost.lru_locked, cost.unlocked].map(Picos::get);
    let (before, after) = (parts(before), parts(after));
    core::array::from_fn(|part| after[part] - before[part])
}

#[test]
fn work_on_free_lists_is_done_under_the_zone_lock() {
    let p = prices();
    let kinds: [Kind; 9] = [
        (|(frames, _)| frames.zone_lock_sections += 3, p.zone_lock),
        (|(frames, _)| frames.list_ops = 3, p.list_op),
        (|(frames, _)| frames.splits = 3, p.split),
        (|(frames, _)| frames.merges = 3, p.merge),
        (|(frames, _)| frames.fallback_lists_searched = 3, p.fallback_search),
        (|(frames, _)| frames.frames_scanned = 3, p.frame_scan),
        (|(frames, _)| frames.list_nodes_visited = 3, p.frame_scan),
        (|(frames, _)| frames.index_updates = 3, p.frame_scan),
        (|(frames, _)| frames.blocks_retyped = 3, p.block_retype),
    ];
    for (kind, (change, price)) in kinds.into_iter().enumerate() {
        assert_eq!(added(change), [3 * price.get(), 0, 0], "{kind}");
    }
}

#[test]
fn work_on_lru_lists_is_done_under_the_lru_lock() {
    let p = prices();
    let kinds: [Kind; 3] = [
        (|(_, work)| work.lru_lock_sections = 3, p.zone_lock),
        (|(_, work)| work.lru_scanned = 3, p.lru_scan),
        (|(_, work)| work.pages_isolated = 3, p.isolate_page),
    ];
    for (kind, (change, price)) in kinds.into_iter().enumerate() {
        assert_eq!(added(change), [0, 3 * price.get(), 0], "{kind}");
    }
}

#[test]
fn other_work_is_done_without_either() {
    let p = prices();
    let half = Picos::new(p.copy_page.get() / 2);
    let kinds: [Kind; 16] = [
        (|(frames, _)| frames.zones_checked = 3, p.zone_check),
        (|(_, work)| work.scanned_unlocked = 3, p.frame_scan),
        (|(_, work)| work.blocks_passed = 3, p.frame_scan),
        (|(frames, _)| frames.pcp_hits = 3, p.pcp_hit),
        (|(_, work)| work.faults = 3, p.fault),
        (|(_, work)| work.vma_lookups = 3, p.vma_lookup),
        (|(_, work)| work.pages_cleared = 3, p.clear_page),
        (|(_, work)| work.pages_copied = 3, p.copy_page),
        (|(_, work)| work.pages_compared = 3, half),
        (|(_, work)| work.ptes_set = 3, p.pte_set),
        (|(_, work)| work.ptes_cleared = 3, p.pte_clear),
        (|(_, work)| work.page_tables_allocated = 3, p.page_table),
        (|(_, work)| work.rmap_walks = 3, p.rmap_walk),
        (|(_, work)| work.tlb_flushes = 3, p.tlb_flush),
        (|(_, work)| work.slab_objects = 3, p.slab_object),
        (|(_, work)| work.slab_objects_scanned = 3, p.slab_scan),
    ];
    for (kind, (change, price)) in kinds.into_iter().enumerate() {
        assert_eq!(added(change), [0, 0, 3 * price.get()], "{kind}");
    }
}

#[test]
fn a_page_of_a_batch_costs_half_an_isolation_which_its_price_included() {
    let one = prices().isolate_page.get() / 2;
    let batch = Work { lru_batched: 3, faults: 9, ..Work::default() };
    let cost = prices().of(&FrameWork::NONE, &batch);
    let faults = 9 * prices().fault.get();
    assert_eq!((cost.lru_locked.get(), cost.unlocked.get()), (3 * one, faults - 3 * one));
}
