//! Search of the free lists for a pageblock to empty: a pageblock with a large free block is partly empty already.

use order9_frames::Idx;
use order9_units::{Migratetype, Order, Pages, Pfn};

use crate::compaction::Compaction;
use crate::compaction::run::control::CompactControl;
use crate::compaction::source::Source;
use crate::heard::skipped_entries::JustSkipped;
use crate::heard::skipped_entries::LOWEST;
use crate::phys::PhysMem;

/// Chooses the pageblock of a large free block in the lower part of the zone (`fast_find_migrateblock`).
pub(super) fn fast_find_migrateblock(
    phys: &mut PhysMem,
    compaction: &mut Compaction,
    run: &mut CompactControl,
) -> Option<Source> {
    let order = run.order.filter(|order| order.is_costly())?;
    let span = phys.frames.zone(run.zone).span();
    let at_start = run.migrate_pfn == span.start;
    let continues = !at_start && !run.migrate_pfn.is_aligned(Order::PAGEBLOCK);
    let for_others = run.by.is_direct() && run.migratetype != Migratetype::Movable;
    if !run.uses_skip_hints() || continues || for_others {
        return None;
    }
    let found = search_orders(phys, compaction, run, order, at_start);
    // Once per run the search goes back to the lowest block that it has ever found.
    found.or_else(|| {
        let start = run.fast_start.take()?.align_down(Order::PAGEBLOCK).max(span.start);
        Some(Source { start, fast_found: false })
    })
}

/// Entries that a search visits: fewer after each failure.
pub(in crate::compaction) fn scan_limit(run: &CompactControl) -> u64 {
    (crate::compaction::CLUSTER as u64 >> run.fast_search_fail.min(63)) + 1
}

/// Progress of a search over the lists.
struct Search {
    /// Blocks below are acceptable.
    high: Pfn,
    limit: u64,
    visited: u64,
}

/// Searches the lists below `order`, largest blocks first, for a block below the free scanner.
pub(super) fn search_orders(
    phys: &mut PhysMem,
    compaction: &mut Compaction,
    run: &mut CompactControl,
    order: Order,
    at_start: bool,
) -> Option<Source> {
    // The lower half of the gap between the scanners at the start, then an eighth: a target must not become a source.
    let gap = run.free_pfn.get().saturating_sub(run.migrate_pfn.get()) / 2;
    let high = (run.migrate_pfn + Pages::new(if at_start { gap } else { gap / 4 })).align_down(Order::PAGEBLOCK);
    let mut search = Search { high, limit: scan_limit(run), visited: 0 };
    let mut found = None;
    for order in LOWEST.to(order).rev().skip(1) {
        if found.is_some() || search.visited >= search.limit {
            break;
        }
        if phys.frames.zone(run.zone).areas()[order.index()].total() > 0 {
            found = search_list(phys, compaction, run, order, &mut search);
        }
    }
    if found.is_none() && phys.policy.compaction.fast_source_fail {
        run.fast_search_fail += 1;
    }
    run.totals.migrate_scanned += search.visited;
    phys.frames.work_mut().locked.list_nodes_visited += search.visited;
    found
}

/// Walks the list of an order from its head to an acceptable block without a skip hint, and rotates the list behind the last
/// block that it visits.
fn search_list(
    phys: &mut PhysMem,
    compaction: &mut Compaction,
    run: &mut CompactControl,
    order: Order,
    search: &mut Search,
) -> Option<Source> {
    phys.frames.lock_zone(run.zone);
    let idx = if phys.policy.compaction.fast_source_fail {
        walk_to_limit(phys, compaction, run, order, search)
    } else {
        walk_past_marked(phys, compaction, run, order, search)
    }?;
    Some(choose(phys, compaction, run, order, idx))
}

/// Ends at the limit wherever the entries lie. 5.12+.
fn walk_to_limit(
    phys: &mut PhysMem,
    compaction: &Compaction,
    run: &CompactControl,
    order: Order,
    search: &mut Search,
) -> Option<Idx> {
    let list = phys.frames.zone(run.zone).list(order, Migratetype::Movable);
    let mut entry = phys.frames.table().first(list);
    while let Some(idx) = entry {
        search.visited += 1;
        if search.visited > search.limit {
            phys.frames.table_mut().rotate_behind(list, idx);
            return None;
        }
        if phys.frames.pfn(idx) < search.high && !compaction.skip.get(idx.block()) {
            return Some(idx);
        }
        entry = phys.frames.table().next(list, idx);
    }
    None
}

/// Tests the limit only at entries above `high`, so that entries in marked pageblocks are all visited; published scan
/// counts of 5.1 depend on it. Only the limit makes a search a failed one. 5.1 to 5.11.
fn walk_past_marked(
    phys: &mut PhysMem,
    compaction: &Compaction,
    run: &mut CompactControl,
    order: Order,
    search: &mut Search,
) -> Option<Idx> {
    phys.trim_skipped_entries(run.zone, order);
    let mut found = None;
    let mut skipped = JustSkipped::default();
    let list = phys.frames.zone(run.zone).list(order, Migratetype::Movable);
    let mut entry = phys.frames.table().first(list);
    while let Some(idx) = entry {
        if let Some(known) = phys.skipped_entries_from(run.zone, order, idx, search.high) {
            search.visited += known.len;
            skipped.add_known(known);
            entry = phys.frames.table().next(list, known.last);
            continue;
        }
        search.visited += 1;
        let below = phys.frames.pfn(idx) < search.high;
        if below && compaction.skip.get(idx.block()) {
            skipped.add(idx);
            entry = phys.frames.table().next(list, idx);
            continue;
        }
        phys.remember_skipped_entries(run.zone, order, &core::mem::take(&mut skipped));
        if below {
            found = Some(idx);
            break;
        }
        if search.visited >= search.limit {
            run.fast_search_fail += 1;
            phys.frames.table_mut().rotate_behind(list, idx);
            break;
        }
        entry = phys.frames.table().next(list, idx);
    }
    phys.remember_skipped_entries(run.zone, order, &skipped);
    found
}

/// Takes the pageblock of a free block as source, and marks it so that no other run does.
fn choose(phys: &mut PhysMem, compaction: &mut Compaction, run: &mut CompactControl, order: Order, idx: Idx) -> Source {
    let zone = phys.frames.zone(run.zone);
    let (list, pfn) = (zone.list(order, Migratetype::Movable), phys.frames.pfn(idx));
    phys.frames.table_mut().rotate_behind(list, idx);
    run.fast_start = Some(run.fast_start.map_or(pfn, |start| start.min(pfn)));
    run.fast_search_fail = 0;
    compaction.skip.set(idx.block(), true);
    Source { start: pfn.align_down(Order::PAGEBLOCK), fast_found: true }
}

#[cfg(test)]
mod tests;
