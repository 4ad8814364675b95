//! Finding a pageblock to empty by the free blocks in it: one with a large free block is emptied already in part.

use order9_units::{Migratetype, Order, Pages};

use crate::compaction::Compaction;
use crate::compaction::run::control::CompactControl;
use crate::compaction::source::skipped_entries::JustSkipped;
use crate::compaction::source::{ChooseSource, Source};
use crate::phys::PhysMem;
use crate::trace::Tracer;

/// Lowest order of free blocks that are looked at: `PAGE_ALLOC_COSTLY_ORDER`.
pub(super) const LOWEST: Order = Order::new(3).unwrap();

/// Pageblocks of large free blocks in the lower part of the zone, then in the order of addresses
/// (`fast_find_migrateblock`).
pub(super) struct FreeListSources;

impl<T: Tracer> ChooseSource<T> for FreeListSources {
    fn choose(&self, phys: &mut PhysMem<T>, compaction: &mut Compaction, run: &mut CompactControl) -> Option<Source> {
        let order = run.order.filter(|order| order.is_costly())?;
        let span = phys.frames.zone(run.zone).span();
        let at_start = run.migrate_pfn == span.start;
        let continues = !at_start && !run.migrate_pfn.is_aligned(Order::PAGEBLOCK);
        let for_others = run.by.is_direct() && run.migratetype != Migratetype::Movable;
        if !run.uses_skip_hints() || continues || for_others {
            return None;
        }
        let found = search(phys, compaction, run, order, at_start);
        // Once per run it goes back to the lowest block that it has ever found.
        found.or_else(|| {
            let start = run.fast_start.take()?.align_down(Order::PAGEBLOCK).max(span.start);
            Some(Source { start, fast_found: false })
        })
    }
}

/// How many entries a search visits: fewer each time it fails.
pub(in crate::compaction) fn scan_limit(run: &CompactControl) -> u64 {
    (crate::compaction::CLUSTER as u64 >> run.fast_search_fail.min(63)) + 1
}

pub(in crate::compaction) fn search<T: Tracer>(
    phys: &mut PhysMem<T>,
    compaction: &mut Compaction,
    run: &mut CompactControl,
    order: Order,
    at_start: bool,
) -> Option<Source> {
    let limit = scan_limit(run);
    // The lower half of what lies between the scanners, and then an eighth: what was a target is not to become a source.
    let gap = run.free_pfn.get().saturating_sub(run.migrate_pfn.get()) / 2;
    let high = (run.migrate_pfn + Pages::new(if at_start { gap } else { gap / 4 })).align_down(Order::PAGEBLOCK);
    let mut visited = 0;
    let mut found = None;
    for order in LOWEST.to(order).rev().skip(1) {
        if found.is_some() || visited >= limit {
            break;
        }
        if phys.frames.zone(run.zone).areas()[order.index()].total() == 0 {
            continue;
        }
        phys.frames.lock_zone(run.zone);
        phys.trim_skipped_entries(run.zone, order);
        let mut skipped = JustSkipped::default();
        let list = phys.frames.zone(run.zone).list(order, Migratetype::Movable);
        let mut entry = phys.frames.table().first(list);
        while let Some(idx) = entry {
            if let Some(known) = phys.skipped_entries_from(run.zone, order, idx, high) {
                visited += known.len;
                skipped.add_known(known);
                entry = phys.frames.table().next(list, known.last);
                continue;
            }
            visited += 1;
            let pfn = phys.frames.pfn(idx);
            if pfn < high && compaction.skip.get(idx.block()) {
                // Not held against the limit: an oversight.
                skipped.add(idx);
                entry = phys.frames.table().next(list, idx);
                continue;
            }
            phys.remember_skipped_entries(run.zone, order, &core::mem::take(&mut skipped));
            if pfn < high {
                phys.frames.table_mut().rotate_behind(list, idx);
                run.fast_start = Some(run.fast_start.map_or(pfn, |start| start.min(pfn)));
                run.fast_search_fail = 0;
                compaction.skip.set(idx.block(), true);
                found = Some(Source { start: pfn.align_down(Order::PAGEBLOCK), fast_found: true });
                break;
            }
            if visited >= limit {
                run.fast_search_fail += 1;
                phys.frames.table_mut().rotate_behind(list, idx);
                break;
            }
            entry = phys.frames.table().next(list, idx);
        }
        phys.remember_skipped_entries(run.zone, order, &skipped);
    }
    run.totals.migrate_scanned += visited;
    phys.frames.work_mut().list_nodes_visited += visited;
    found
}
