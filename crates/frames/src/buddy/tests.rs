//! Frees and splits on small zones worked by hand.

use alloc::vec;
use alloc::vec::Vec;

use order9_units::{NodeId, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

use super::*;
use crate::ZoneSpec;
use crate::policy::FramesPolicy;
use crate::testing::{Layout, NodeSpec};
use Migratetype::{Movable, Unmovable};

const START: Pfn = Pfn::new(1 << 20);
const ZONE: ZoneId = ZoneId(0);

fn order(order: u8) -> Order {
    Order::new(order).expect("an order")
}

fn layout(zones: &[(ZoneKind, Pfn, u64)]) -> Layout {
    let zone = |&(kind, start, blocks)| ZoneSpec {
        node: NodeId(0),
        kind,
        span: PfnRange::of(start, PAGEBLOCK_PAGES * blocks),
    };
    Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: zones.iter().map(zone).collect(),
        ..Layout::default()
    }
}

/// A zone of 16 pageblocks in which these blocks, by their first page and order, are free, the last at the head of its list.
/// Nothing else in it is.
fn zone(policy: FramesPolicy, free: &[(u64, u8)]) -> Frames {
    let mut builder = layout(&[(ZoneKind::Normal, START, 16)]).builder(policy).expect("the layout is sound");
    for &(page, of) in free {
        builder.free(START + Pages::new(page), order(of)).expect("it is given once");
    }
    let mut mm = builder.finish();
    mm.work = crate::FrameWork::default();
    mm
}

fn list(mm: &Frames, of: u8, mt: Migratetype) -> Vec<u64> {
    mm.free_list(ZONE, order(of), mt).map(|pfn| (pfn - START).get()).collect()
}

#[test]
fn a_free_merges_with_every_buddy_that_is_free_as_a_whole() {
    let mut mm = zone(FramesPolicy::default(), &[(1, 0), (2, 1), (4, 2), (16, 4)]);
    mm.free_to_buddy(mm.at(START), Order::ZERO, Movable);
    assert_eq!((list(&mm, 3, Movable), list(&mm, 4, Movable)), (vec![0], vec![16]), "8 to 15 are not free");
    assert_eq!(
        (mm.work.locked.merges, mm.work.locked.list_ops),
        (3, 4),
        "three buddies off their lists, one block on another"
    );
}

#[test]
fn a_split_keeps_the_lower_half_and_puts_upper_halves_at_the_head() {
    let mut mm = zone(FramesPolicy::default(), &[(100, 0), (102, 1), (0, 3)]);
    mm.take_block(ZONE, mm.at(START), Order::ZERO, Movable);
    let lists = [0, 1, 2].map(|of| list(&mm, of, Movable));
    assert_eq!(lists, [vec![1, 100], vec![2, 102], vec![4]]);
    assert_eq!((mm.work.locked.splits, mm.work.locked.list_ops), (3, 4), "one block off its list, three on others");
}

#[test]
fn the_smallest_block_that_is_large_enough_is_taken_from_the_head() {
    let mut mm = zone(FramesPolicy::default(), &[(0, 4), (32, 2), (64, 2), (96, 0)]);
    let taken =
        [1, 1, 1].map(|of| mm.take_smallest(ZONE, order(of), Movable).map(|idx| (mm.table.pfn(idx) - START).get()));
    assert_eq!(taken, [Some(64), Some(66), Some(32)]);
}

#[test]
fn a_block_goes_to_the_tail_where_the_buddy_of_its_parent_is_free() {
    for (page, of, parents_buddy, tail) in [
        (2, 0, Some((4, 1)), false), // The buddy of the parent is at 0.
        (2, 0, Some((0, 1)), true),
        (2, 0, Some((0, 0)), false),
        (256, 8, Some((512, 9)), true),
        (512, 9, Some((1024, 10)), false),
        (2, 0, None, false),
    ] {
        let other = 4096;
        let mut free = vec![(other, of)];
        free.extend(parents_buddy);
        let mut mm = zone(FramesPolicy::default(), &free);
        mm.free_to_buddy(mm.at(START + Pages::new(page)), order(of), Movable);
        let [first, last] = if tail { [other, page] } else { [page, other] };
        let of_list = list(&mm, of, Movable).into_iter().filter(|at| [page, other].contains(at)).collect::<Vec<_>>();
        assert_eq!(of_list, [first, last], "order {of} beside {parents_buddy:?}");
    }
}

#[test]
fn moved_blocks_go_to_the_end_of_their_release() {
    for (moved_blocks, expected) in [(ListEnd::Head, [8, 0]), (ListEnd::Tail, [0, 8])] {
        let mut mm = zone(FramesPolicy { moved_blocks, ..FramesPolicy::default() }, &[(0, 2), (8, 2)]);
        mm.move_to_list(ZONE, mm.at(START), Unmovable);
        mm.move_to_list(ZONE, mm.at(START + Pages::new(8)), Unmovable);
        assert_eq!((list(&mm, 2, Unmovable), list(&mm, 2, Movable)), (expected.to_vec(), vec![]));
        assert_eq!(mm.work.locked.blocks_retyped, 2);
    }
}

#[test]
fn pageblocks_of_two_zones_stay_apart() {
    let blocks = [(ZoneKind::Dma32, START, 1), (ZoneKind::Normal, START + PAGEBLOCK_PAGES, 1)];
    let mut builder = layout(&blocks).builder(FramesPolicy::default()).expect("the layout is sound");
    builder.free(START + PAGEBLOCK_PAGES, Order::PAGEBLOCK).expect("it is given once");
    let mut mm = builder.finish();
    mm.free_to_buddy(mm.at(START), Order::PAGEBLOCK, Movable);
    let blocks = [0, 1].map(|zone| mm.free_list(ZoneId(zone), Order::PAGEBLOCK, Movable).count());
    assert_eq!(blocks, [1, 1]);
}

#[test]
fn a_run_leaves_what_taking_one_block_after_the_other_leaves() {
    let sizes = [(0, 0), (0, 3), (2, 4), (3, 6), (0, 9), (1, 10), (9, 10), (9, 9)];
    for (wanted, most) in sizes.into_iter().flat_map(|(wanted, _)| [1, 2, 5, 63].map(|most| (wanted, most))) {
        for (_, largest) in sizes.into_iter().filter(|&(_, largest)| largest >= wanted) {
            let mut at_once = zone(FramesPolicy::default(), &[(1024, largest), (4096, 10)]);
            let mut one_by_one = at_once.clone();
            let (first, count) = at_once.take_run(ZONE, order(wanted), Movable, most).expect("a block is free");
            for n in 0..count as u32 {
                let taken = one_by_one.take_smallest(ZONE, order(wanted), Movable);
                assert_eq!(taken, Some(first.plus(n << wanted)), "{wanted} {most} {largest}");
            }
            let lists = |mm: &Frames| (0..=10).map(|of| list(mm, of, Movable)).collect::<Vec<_>>();
            assert_eq!(lists(&at_once), lists(&one_by_one), "{wanted} {most} {largest}");
            assert_eq!(at_once.work, one_by_one.work, "{wanted} {most} {largest}");
            assert_eq!(at_once.blocks, one_by_one.blocks, "{wanted} {most} {largest}");
            let zone = |mm: &Frames| (mm.zones[0].areas, mm.zones[0].occupied, mm.zones[0].free_by_type);
            assert_eq!(zone(&at_once), zone(&one_by_one), "{wanted} {most} {largest}");
            assert!(
                count == most || u64::from(count as u32) << wanted == 1 << largest.min(9),
                "{wanted} {most} {largest}: {count}"
            );
        }
    }
}
