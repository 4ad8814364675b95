//! The search of free lists among marked pageblocks, before 5.12 and since.

use alloc::vec;
use alloc::vec::Vec;

use order9_frames::{Gfp, Request, ZoneId};
use order9_units::{NodeId, PfnRange, ZoneKind};

use super::*;
use crate::compaction::run::control::Compactor;
use crate::env::CompactPriority;
use crate::policy::Policy;
use crate::{Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};

const BASE: u64 = 1 << 20;
const BLOCKS: u64 = 48;
const ZONE: ZoneId = ZoneId(0);
/// Half a pageblock.
const HALF: Order = Order::new(8).unwrap();
/// With three failures a search visits five entries.
const FAILS: u32 = 3;

/// A zone of pageblocks whose upper half is free, behind those that the watermarks leave free as a whole. All are marked,
/// except for the last on the list, which is the lowest.
fn marked(fast_source_fail: bool) -> Mm {
    let span = PfnRange::of(Pfn::new(BASE), Pages::new(BLOCKS * 512));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0)],
        ..Layout::default()
    };
    let mut policy = Policy::default();
    policy.compaction.fast_source_fail = fast_source_fail;
    let mut mm = MmBuilder::new(&layout, policy).expect("one zone is a layout").boot();
    let no_cpu = 1;
    let request = Request { cpu: no_cpu, ..Request::new(HALF, Gfp::GFP_HIGHUSER_MOVABLE) };
    let mut used: Vec<Pfn> = core::iter::from_fn(|| mm.alloc_fast(&request).ok()).collect();
    used.retain(|pfn| !pfn.is_aligned(Order::PAGEBLOCK));
    used.sort_unstable();
    // The first to be freed becomes the last on the list.
    for &pfn in &used {
        mm.free(pfn, no_cpu).expect("it is in use");
    }
    for &pfn in &used[1..] {
        mark(&mut mm, pfn);
    }
    mm
}

fn mark(mm: &mut Mm, pfn: Pfn) {
    let idx = mm.phys.frames.at(pfn);
    mm.compaction.skip.set(idx.block(), true);
}

fn list(mm: &Mm) -> Vec<Pfn> {
    mm.phys.frames.free_list(ZONE, HALF, Migratetype::Movable).collect()
}

fn pfn(block: u64) -> Pfn {
    Pfn::new(BASE + 512 * block)
}

/// A run of a program whose migration scanner stands at `at`.
fn run_at(at: Pfn) -> CompactControl {
    let by = Compactor::Direct(CompactPriority::Async);
    let mut run = CompactControl::new(by, ZONE, Some(Order::PAGEBLOCK), ZoneKind::Normal);
    (run.migrate_pfn, run.free_pfn, run.fast_search_fail) = (at, pfn(BLOCKS), FAILS);
    run
}

fn search(mm: &mut Mm, run: &mut CompactControl) -> Option<Source> {
    search_orders(&mut mm.phys, &mut mm.compaction, run, Order::PAGEBLOCK, false)
}

#[test]
fn entries_of_marked_pageblocks_count_towards_the_limit_since_5_12() {
    let (mut mm, mut run) = (marked(true), run_at(pfn(BLOCKS)));
    let before = list(&mm);
    assert_eq!(search(&mut mm, &mut run), None);
    assert_eq!((run.totals.migrate_scanned, run.fast_search_fail), (6, FAILS + 1));
    assert_eq!(list(&mm), [&before[6..], &before[..6]].concat(), "the entry at which the search ended is the last");
    assert_eq!(mm.check(), Ok(()));
}

#[test]
fn entries_of_marked_pageblocks_are_all_visited_before_5_12() {
    let (mut mm, mut run) = (marked(false), run_at(pfn(BLOCKS)));
    let before = list(&mm);
    let lowest = *before.last().expect("blocks are free");
    let source = Source { start: lowest.align_down(Order::PAGEBLOCK), fast_found: true };
    assert_eq!(search(&mut mm, &mut run), Some(source));
    assert_eq!((run.totals.migrate_scanned, run.fast_search_fail), (before.len() as u64, 0));
}

#[test]
fn lists_without_an_entry_to_choose_are_a_failure_since_5_12() {
    for fast_source_fail in [false, true] {
        let mut mm = marked(fast_source_fail);
        let lowest = *list(&mm).last().expect("blocks are free");
        mark(&mut mm, lowest);
        let mut run = run_at(pfn(BLOCKS));
        for searches in 1..3 {
            assert_eq!(search(&mut mm, &mut run), None);
            assert_eq!(run.fast_search_fail, FAILS + if fast_source_fail { searches } else { 0 });
        }
    }
}
