//! Search of the free lists for free frames, without a scan.

use order9_frames::Idx;
use order9_units::{Migratetype, Order, Pages, Pfn, PfnRange};

use crate::compaction::BLOCK;
use crate::compaction::Compaction;
use crate::compaction::run::control::CompactControl;
use crate::compaction::source::free_lists::scan_limit;
use crate::migrate_reason::MigrateMode;
use crate::phys::PhysMem;
use crate::trace::{CompactEvent, Event};

/// Entries that the first search of a run visits at most: half a pageblock.
const START_LIMIT: u64 = 256;

/// State of a search.
struct Search {
    /// Start of the preferred part of the zone, and of the acceptable part.
    low: Pfn,
    min: Pfn,
    limit: u64,
    visited: u64,
    /// Highest pageblock that a visited entry lies in.
    highest: Option<Pfn>,
    /// Highest acceptable entry of the present order.
    candidate: Option<Idx>,
}

/// Isolates a free block in the upper part of the zone, and free frames around it (`fast_isolate_freepages`).
pub(super) fn fast_isolate_freepages(phys: &mut PhysMem, compaction: &mut Compaction, run: &mut CompactControl) {
    let Some(order) = run.order.filter(|&order| order > Order::ZERO) else { return };
    let is_start = run.free_pfn >= compaction.zones[run.zone.index()].init_free;
    let half = scan_limit(run) / 2;
    // Some releases take the smaller value here, by an oversight.
    let floor = if phys.policy.compaction.target_limit_min { half.min(1) } else { half.max(1) };
    let gap = run.free_pfn.get().saturating_sub(run.migrate_pfn.get());
    let below = |part: u64| (run.free_pfn - Pages::new(gap / part)).align_down(Order::PAGEBLOCK);
    let mut search = Search {
        low: below(4),
        min: below(2),
        limit: if is_start { START_LIMIT } else { floor },
        visited: 0,
        highest: None,
        candidate: None,
    };
    let found = search_orders(phys, run, order, &mut search);
    note_highest(phys, compaction, run, search.highest);
    let taken = found.map_or(0, |(_, frames)| frames);
    let scanned = search.visited + if phys.policy.compaction.scan_counts_taken { taken } else { 0 };
    run.totals.free_scanned += scanned;
    phys.frames.work_mut().locked.list_nodes_visited += search.visited;
    phys.trace(|| {
        let range = PfnRange::new(search.min.min(run.free_pfn), run.free_pfn);
        Event::Compaction(CompactEvent::FastIsolateFreepages { range, scanned, taken })
    });
    match found {
        Some((idx, frames)) => scan_around(phys, compaction, run, phys.frames.pfn(idx), frames),
        None => {
            run.fast_search_fail += 1;
            if is_start && let Some(pfn) = restart(phys, run, &search) {
                run.free_pfn = pfn;
                scan_around(phys, compaction, run, pfn, 0);
            }
        }
    }
}

/// Searches the orders below the wanted one until a block is isolated; returns the block and its frames.
fn search_orders(
    phys: &mut PhysMem,
    run: &mut CompactControl,
    order: Order,
    search: &mut Search,
) -> Option<(Idx, u64)> {
    let top = order.get() - 1;
    let rotates = phys.policy.compaction.target_order_rr;
    run.search_order = if rotates { run.search_order.min(top) } else { top };
    let begin = run.search_order;
    let mut at = begin;
    loop {
        let order = Order::new(at).expect("it is below the order asked for");
        if phys.frames.zone(run.zone).areas()[order.index()].total() > 0 {
            match search_list(phys, run, order, search) {
                Ok(Some(found)) => return Some(found),
                Ok(None) => {}
                // Isolation was refused: no other block has a better chance.
                Err(()) => break,
            }
        }
        at = if at > 0 { at - 1 } else { top };
        if at == begin {
            break;
        }
    }
    if rotates {
        run.search_order = if begin > 0 { begin - 1 } else { top };
    }
    None
}

/// Walks the list of an order from its tail, and isolates the block that it chooses; an error if isolation is refused.
fn search_list(
    phys: &mut PhysMem,
    run: &mut CompactControl,
    order: Order,
    search: &mut Search,
) -> Result<Option<(Idx, u64)>, ()> {
    phys.frames.lock_zone(run.zone);
    let list = phys.frames.zone(run.zone).list(order, Migratetype::Movable);
    let (mut visited, mut chosen, mut last) = (0, None, None);
    let mut entry = phys.frames.table().last(list);
    search.candidate = None;
    while let Some(idx) = entry {
        visited += 1;
        last = Some(idx);
        let pfn = phys.frames.pfn(idx);
        let block = pfn.align_down(Order::PAGEBLOCK);
        search.highest = Some(search.highest.map_or(block, |highest| highest.max(block)));
        if pfn >= search.low {
            run.fast_search_fail = 0;
            run.search_order = order.get();
            chosen = Some(idx);
            break;
        }
        if pfn >= search.min && search.candidate.is_none_or(|candidate| candidate < idx) {
            search.candidate = Some(idx);
            search.limit /= 2;
        }
        if visited >= search.limit {
            break;
        }
        entry = phys.frames.table().prev(list, idx);
    }
    search.visited += visited;
    let chosen = chosen.or(search.candidate);
    if let Some(idx) = chosen.or(last) {
        phys.frames.table_mut().rotate_before(list, idx);
    }
    if visited >= search.limit {
        let half = search.limit / 2;
        search.limit = if phys.policy.compaction.target_limit_min { half.min(1) } else { half.max(1) };
    }
    let Some(idx) = chosen else { return Ok(None) };
    let word = phys.frames.word(idx);
    let frames = phys.hold_targets(run, idx, word).ok_or(())?;
    phys.counters.compact_isolated += frames;
    Ok(Some((idx, frames)))
}

/// Start position of the free scanner after a first search in vain.
fn restart(phys: &PhysMem, run: &CompactControl, search: &Search) -> Option<Pfn> {
    let least = run.by.is_direct().then_some(search.min);
    search.highest.or(least).filter(|&pfn| phys.block_in_zone(run, pfn).is_some())
}

/// Moves the cached start up to the highest pageblock seen.
fn note_highest(phys: &PhysMem, compaction: &mut Compaction, run: &CompactControl, highest: Option<Pfn>) {
    let Some(highest) = highest else { return };
    let slow = phys.policy.compaction.free_cursor_slow;
    let cached = &mut compaction.zones[run.zone.index()].cached_free;
    if slow && highest >= *cached {
        *cached = Pfn::new(highest.get().saturating_sub(BLOCK.get()));
    } else if highest > *cached {
        *cached = highest;
    }
}

/// Scans the rest of the pageblock of `pfn`, `frames` of which were taken, for more free frames (`fast_isolate_around`).
fn scan_around(phys: &mut PhysMem, compaction: &mut Compaction, run: &mut CompactControl, pfn: Pfn, frames: u64) {
    if run.has_enough_targets() || run.by.is_direct() && run.mode == MigrateMode::Async {
        return;
    }
    let Some(start) = phys.block_in_zone(run, pfn.align_down(Order::PAGEBLOCK)) else { return };
    let first = phys.frames.pfn(start);
    if first < pfn {
        compaction.isolate_freepages_block(run, first, pfn, 1, phys);
    }
    let behind = pfn + Pages::new(frames);
    if !run.has_enough_targets() && behind < first + BLOCK {
        compaction.isolate_freepages_block(run, behind, first + BLOCK, 1, phys);
    }
    if !run.has_enough_targets() {
        compaction.skip.set(start.block(), true);
    }
}
