//! The bounds against exhaustive search: over sequences of moves in tiny zones, over sets of blocks in small ones.

use std::collections::{HashMap, VecDeque};

use order9_snapshot::bounds::{Binding, Block, Reach, Zone, meeting_scanners};
use order9_units::Pages;
use proptest::prelude::*;

fn block(free: u16, movable: u16, target: bool) -> Block {
    Block { free, movable, target }
}

/// A block of `pageblock` frames with any split into free, movable and immovable; half of them without immovable ones.
fn any_block(pageblock: u16) -> impl Strategy<Value = Block> {
    (0..=pageblock, 0..=pageblock, any::<bool>(), any::<bool>()).prop_map(move |(free, movable, clean, target)| {
        let movable = if clean { pageblock - free } else { movable.min(pageblock - free) };
        block(free, movable, target)
    })
}

fn any_zone(pageblock: u16, blocks: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Vec<Block>> {
    prop::collection::vec(any_block(pageblock), blocks)
}

fn anywhere(blocks: &[Block]) -> Vec<Block> {
    blocks.iter().map(|&b| Block { target: true, ..b }).collect()
}

/// The least number of moves to each number of free blocks, by breadth-first search over all sequences of moves.
fn search_moves(pageblock: u16, blocks: &[Block]) -> HashMap<u64, u64> {
    let room: Vec<u16> = blocks.iter().map(|b| b.free + b.movable).collect();
    let start: Vec<u16> = blocks.iter().map(|b| b.movable).collect();
    let free_blocks = |used: &[u16]| used.iter().zip(&room).filter(|&(&m, &r)| m == 0 && r == pageblock).count() as u64;
    let mut seen = HashMap::from([(start.clone(), 0_u64)]);
    let mut queue = VecDeque::from([start]);
    let mut best = HashMap::new();
    while let Some(state) = queue.pop_front() {
        let moves = seen[&state];
        for n in 0..=free_blocks(&state) {
            best.entry(n).or_insert(moves);
        }
        for from in (0..state.len()).filter(|&from| state[from] > 0) {
            for to in (0..state.len()).filter(|&to| to != from && blocks[to].target && state[to] < room[to]) {
                let mut next = state.clone();
                next[from] -= 1;
                next[to] += 1;
                if !seen.contains_key(&next) {
                    seen.insert(next.clone(), moves + 1);
                    queue.push_back(next);
                }
            }
        }
    }
    best
}

/// The least number of moves to each number of free blocks, over all sets of blocks whose pages fit outside of the set.
fn search_sets(pageblock: u16, blocks: &[Block]) -> HashMap<u64, u64> {
    let mut best = HashMap::new();
    for set in 0_u32..1 << blocks.len() {
        let inside = |i: usize| set >> i & 1 == 1;
        let chosen = || blocks.iter().enumerate().filter(|&(i, _)| inside(i)).map(|(_, b)| b);
        let pages: u64 = chosen().map(|b| u64::from(b.movable)).sum();
        let room: u64 =
            blocks.iter().enumerate().filter(|&(i, b)| !inside(i) && b.target).map(|(_, b)| u64::from(b.free)).sum();
        if chosen().all(|b| b.free + b.movable == pageblock) && pages <= room {
            let cost = best.entry(u64::from(set.count_ones())).or_insert(pages);
            *cost = pages.min(*cost);
        }
    }
    best
}

/// The most free blocks over all meeting points and sets of blocks below; free blocks above are neither filled nor lost.
fn search_scanners(pageblock: u16, blocks: &[Block]) -> u64 {
    let mut best = 0;
    for meet in 0..=blocks.len() {
        let (below, above) = blocks.split_at(meet);
        let free = above.iter().filter(|b| b.free == pageblock).count() as u64;
        let room: u64 = above.iter().filter(|b| b.target && b.free != pageblock).map(|b| u64::from(b.free)).sum();
        for set in 0_u32..1 << below.len() {
            let chosen: Vec<_> = (0..below.len()).filter(|i| set >> i & 1 == 1).map(|i| below[i]).collect();
            let fits = chosen.iter().map(|b| u64::from(b.movable)).sum::<u64>() <= room;
            if fits && chosen.iter().all(|b| b.free + b.movable == pageblock) {
                best = best.max(free + chosen.len() as u64);
            }
        }
    }
    best
}

fn check_free_targets(pageblock: u16, blocks: &[Block], best: &HashMap<u64, u64>) {
    let zone = Zone::with_pageblock(Pages::new(pageblock.into()), blocks.iter().copied());
    assert_eq!(zone.max_free_blocks(), *best.keys().max().unwrap());
    for n in 0..=blocks.len() as u64 + 1 {
        assert_eq!(zone.min_moves(n), best.get(&n).copied().map(Pages::new), "{n} blocks");
    }
    let costs = zone.costs();
    let sum = costs.iter().enumerate().map(|(cost, n)| cost as u64 * n).sum::<u64>();
    assert_eq!(Some(Pages::new(sum)), zone.min_moves(costs.iter().sum()));
}

fn check_restricted(pageblock: u16, blocks: &[Block], best: &HashMap<u64, u64>) {
    let zone = Zone::with_pageblock(Pages::new(pageblock.into()), blocks.iter().copied());
    assert_eq!(zone.max_free_blocks_into_targets(), *best.keys().max().unwrap());
    for n in 0..=blocks.len() as u64 + 1 {
        assert_eq!(zone.min_moves_into_targets(n), best.get(&n).copied().map(Pages::new), "{n} blocks");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn no_sequence_of_moves_beats_the_bounds(blocks in any_zone(3, 1..=5)) {
        let free_targets = anywhere(&blocks);
        check_free_targets(3, &free_targets, &search_moves(3, &free_targets));
        check_restricted(3, &blocks, &search_moves(3, &blocks));
    }

    #[test]
    fn no_set_of_blocks_beats_the_bounds(blocks in any_zone(8, 1..=7)) {
        let free_targets = anywhere(&blocks);
        check_free_targets(8, &free_targets, &search_sets(8, &free_targets));
        check_restricted(8, &blocks, &search_sets(8, &blocks));
    }

    #[test]
    fn scanners_do_what_the_best_meeting_point_allows(blocks in any_zone(8, 0..=7)) {
        let reached = meeting_scanners(Pages::new(8), &blocks);
        prop_assert_eq!(reached, search_scanners(8, &blocks));
        let zone = Zone::with_pageblock(Pages::new(8), blocks);
        prop_assert!(reached <= zone.max_free_blocks_into_targets());
        prop_assert!(zone.max_free_blocks_into_targets() <= zone.max_free_blocks());
    }

    #[test]
    fn huge_pages_are_allocated_until_the_watermark(blocks in any_zone(8, 0..=7), watermark in 0_u64..40) {
        let zone = Zone::with_pageblock(Pages::new(8), blocks);
        let mut free = zone.free().get();
        let mut got = 0;
        while got < zone.evacuable() && free > watermark + 7 {
            free -= 8;
            got += 1;
        }
        prop_assert_eq!(zone.allocatable(Pages::new(watermark)), got);
    }

    #[test]
    fn compaction_runs_until_the_gate_closes(blocks in any_zone(8, 0..=7), low in 0_u64..40) {
        let zone = Zone::with_pageblock(Pages::new(8), blocks);
        let mut free = zone.free().get();
        let mut got = 0;
        loop {
            let in_stock = got < zone.free_blocks();
            let gate_open = free > low + 16;
            if got == zone.evacuable() || free <= low + 7 || !(in_stock || gate_open) {
                break;
            }
            free -= 8;
            got += 1;
        }
        prop_assert_eq!(zone.allocatable_by_gated_compaction(Pages::new(low)), got);
    }

    #[test]
    fn reclaiming_what_reach_asks_for_is_enough_and_no_less_is(blocks in any_zone(8, 1..=7), watermark in 0_u64..40) {
        let watermark = Pages::new(watermark);
        let zone = Zone::with_pageblock(Pages::new(8), blocks.iter().copied());
        let possible = |reclaimed: u64| {
            // Where the pages come from does not matter: a block of their own that is never evacuable holds them.
            let extra = (0..reclaimed).map(|_| block(1, 0, true));
            Zone::with_pageblock(Pages::new(8), blocks.iter().copied().chain(extra)).allocatable(watermark) > 0
        };
        match zone.reach(watermark) {
            Reach::Free => prop_assert!(possible(0) && zone.free_blocks() > 0),
            Reach::Compaction { moves } => prop_assert!(possible(0) && zone.min_moves(1) == Some(moves) && moves.get() > 0),
            Reach::Reclaim { pages, .. } => prop_assert!(possible(pages.get()) && !possible(pages.get() - 1)),
            Reach::Never => prop_assert!(!possible(1000)),
        }
    }
}

/// Counting room in free blocks that are also counted as free would promise more than the zone has.
#[test]
fn a_free_block_is_not_both_target_and_result() {
    let blocks = [block(0, 8, true), block(8, 0, true)];
    assert_eq!(meeting_scanners(Pages::new(8), &blocks), 1);
}

#[test]
fn fragmented_zone_of_eight_blocks() {
    let contents = [(0, 511), (212, 300), (0, 512), (100, 412), (256, 256), (244, 267), (228, 284), (0, 512)];
    let blocks = contents.map(|(free, movable)| block(free, movable, true));
    let zone = Zone::new(blocks);
    assert_eq!(zone.free(), Pages::new(1040));
    assert_eq!(zone.evacuable(), 6);
    assert_eq!(zone.max_free_blocks(), 2);
    assert_eq!(zone.min_moves(1), Some(Pages::new(256)));
    assert_eq!(zone.min_moves(2), Some(Pages::new(540)));
    assert_eq!(zone.min_moves(3), None);
    let (min, low) = (Pages::new(10), Pages::new(12));
    assert_eq!(zone.allocatable(min), 2);
    assert_eq!(zone.allocatable(low), 2);
    assert_eq!(zone.allocatable_by_gated_compaction(low), 1);
    assert_eq!(zone.reach(low), Reach::Compaction { moves: Pages::new(256) });
    // After one huge page 528 frames are free: below the gate, yet enough for another one by moving the pages of b6.
    let rest = Zone::new(blocks.into_iter().enumerate().map(|(i, b)| match i {
        3 => block(88, 424, true),
        4 => block(0, 0, true),
        5 => block(0, 511, true),
        _ => b,
    }));
    assert_eq!(rest.min_moves(1), Some(Pages::new(284)));
    assert_eq!(rest.free() + Pages::new(0), Pages::new(528));
    assert_eq!(rest.allocatable_by_gated_compaction(low), 0);
    assert_eq!(rest.allocatable(low), 1);
}

/// The cheapest block cannot be emptied, since most free frames that may receive its pages are its own.
#[test]
fn restricted_targets_can_forbid_the_cheapest_block() {
    let zone = Zone::with_pageblock(Pages::new(8), [block(5, 3, true), block(2, 5, true), block(4, 4, false)]);
    assert_eq!(zone.max_free_blocks_into_targets(), 1);
    assert_eq!(zone.min_moves_into_targets(1), Some(Pages::new(4)));
    assert_eq!(zone.min_moves(1), Some(Pages::new(3)));
}

#[test]
fn what_binds_is_named() {
    let pageblock = Pages::new(8);
    let zone = |blocks: &[Block]| Zone::with_pageblock(pageblock, blocks.iter().copied());
    let stuck = zone(&[block(7, 0, true), block(7, 0, true)]);
    assert_eq!((stuck.reach(Pages::ZERO), stuck.binding(Pages::ZERO)), (Reach::Never, Binding::Blocks));
    let full = zone(&[block(3, 5, true), block(2, 6, true)]);
    let frames = Reach::Reclaim { pages: Pages::new(3), short_of: Binding::Frames };
    assert_eq!((full.reach(Pages::ZERO), full.binding(Pages::ZERO)), (frames, Binding::Frames));
    let guarded = zone(&[block(5, 3, true), block(5, 3, true)]);
    let watermark = Reach::Reclaim { pages: Pages::new(2), short_of: Binding::Watermark };
    assert_eq!((guarded.reach(Pages::new(4)), guarded.binding(Pages::new(4))), (watermark, Binding::Watermark));
}
