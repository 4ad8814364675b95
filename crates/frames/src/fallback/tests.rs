//! Fallback on a small zone worked by hand: the type that a request falls back to, and when it claims a pageblock.

use alloc::vec;
use alloc::vec::Vec;

use order9_units::{NodeId, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

use super::*;
use crate::Request;
use crate::ZoneSpec;
use crate::frame::Flag;
use crate::gfp::{Gfp, Mark};
use crate::policy::{ClaimRule, FramesPolicy};
use crate::testing::{Layout, NodeSpec};
use Migratetype::{Movable, Reclaimable, Unmovable};

const START: Pfn = Pfn::new(1 << 20);
const BLOCKS: u64 = 12;

fn start_of(block: u64) -> Pfn {
    START + PAGEBLOCK_PAGES * block
}

/// A zone in which the pageblocks `free` are free, each of its type; kernel memory has all others.
fn zone(policy: FramesPolicy, free: &[(u64, Migratetype)]) -> Frames {
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec {
            node: NodeId(0),
            kind: ZoneKind::Normal,
            span: PfnRange::of(START, PAGEBLOCK_PAGES * BLOCKS),
        }],
        ..Layout::default()
    };
    let mut builder = layout.builder(policy).expect("the layout is sound");
    for block in 0..BLOCKS {
        let done = match free.iter().find(|(at, _)| *at == block) {
            Some(&(_, mt)) => builder
                .set_block_type(start_of(block), mt)
                .and_then(|()| builder.free(start_of(block), Order::PAGEBLOCK)),
            None => builder.allocate(start_of(block), Order::PAGEBLOCK, crate::Contents::Unmovable),
        };
        done.expect("every pageblock is given once");
    }
    let mm = builder.finish();
    assert!(mm.mobility_grouping, "the zone is large enough");
    mm
}

/// Takes one page, whatever the watermarks say; the pageblock it is in.
fn take(mm: &mut Frames, mt: Migratetype) -> u64 {
    let gfp = match mt {
        Movable => Gfp::GFP_HIGHUSER_MOVABLE,
        Reclaimable => Gfp::GFP_KERNEL | Gfp::RECLAIMABLE,
        _ => Gfp::GFP_KERNEL,
    };
    let flags = AllocFlags { no_watermarks: true, ..AllocFlags::plain(Mark::Min) };
    let pfn = mm.alloc_with(&Request::new(Order::ZERO, gfp), flags).expect("pageblocks are free");
    mm.check().expect("every law holds");
    (pfn - START).get() / PAGEBLOCK_PAGES.get()
}

#[test]
fn every_type_has_an_order_in_which_it_falls_back() {
    for (mt, [first, second]) in
        [(Unmovable, [Reclaimable, Movable]), (Reclaimable, [Unmovable, Movable]), (Movable, [Reclaimable, Unmovable])]
    {
        for [of_first, of_second] in [[2, 6], [6, 2]] {
            let mut mm = zone(FramesPolicy::default(), &[(of_first, first), (of_second, second)]);
            assert_eq!(take(&mut mm, mt), of_first, "{mt:?} at {of_first}");
            let types: Vec<_> = [of_first, of_second].map(|at| mm.pageblock(start_of(at)).unwrap().migratetype).into();
            assert_eq!(types, [mt, second], "the pageblock is claimed, the other one is not");
        }
    }
}

#[test]
fn contiguous_areas_serve_first_while_they_hold_more_than_half_of_what_is_free() {
    let first = |cma_balance, free: &[(u64, Migratetype)]| {
        let mut mm = zone(FramesPolicy { cma_balance, ..FramesPolicy::default() }, free);
        let flags = AllocFlags { no_watermarks: true, cma: true, ..AllocFlags::plain(Mark::Min) };
        let pfn = mm.alloc_with(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE), flags).expect("memory is free");
        (pfn - START).get() / PAGEBLOCK_PAGES.get()
    };
    let cma = Migratetype::Cma;
    assert_eq!(first(true, &[(2, Movable), (4, cma), (6, cma)]), 6, "two thirds");
    assert_eq!(first(true, &[(2, Movable), (4, cma)]), 2, "a half");
    assert_eq!(first(false, &[(2, Movable), (4, cma), (6, cma)]), 2, "before 5.8");
    assert_eq!(first(true, &[(2, Unmovable), (4, cma)]), 4, "before another type");
}

#[test]
fn half_a_pageblock_free_or_alike_is_claimed() {
    let pageblock = PAGEBLOCK_PAGES.get();
    let claims = |rule, (free, movable), old, mt| {
        let mut policy = FramesPolicy::default();
        policy.fallback.claim = rule;
        zone(policy, &[(0, Movable)]).is_claimed(&BlockContents { free, movable }, old, mt)
    };
    for (contents, old, mt, claimed) in [
        // For a movable page, movable pages count beside free ones.
        ((64, 192), Unmovable, Movable, true),
        ((64, 191), Unmovable, Movable, false),
        // For others in a Movable pageblock, everything that cannot move.
        ((64, 256), Movable, Unmovable, true),
        ((64, 257), Movable, Unmovable, false),
        ((0, pageblock / 2), Movable, Reclaimable, true),
        // Unmovable and Reclaimable pages are not alike.
        ((256, 0), Reclaimable, Unmovable, true),
        ((255, 0), Reclaimable, Unmovable, false),
        ((255, 0), Unmovable, Reclaimable, false),
    ] {
        assert_eq!(claims(ClaimRule::CompatibleHalf, contents, old, mt), claimed, "{contents:?} {old:?} {mt:?}");
    }
    for (free, claimed) in [(255, false), (256, true)] {
        assert_eq!(claims(ClaimRule::FreeHalf, (free, 200), Unmovable, Movable), claimed, "{free} free");
    }
}

#[test]
fn movable_requests_claim_from_half_a_pageblocks_order_on_and_others_always() {
    let mm = zone(FramesPolicy::default(), &[(0, Movable)]);
    assert_eq!([Movable, Unmovable, Reclaimable].map(|mt| mm.lowest_stealable(mt).get()), [4, 0, 0]);
}

#[test]
fn a_block_of_two_pageblocks_is_claimed_as_a_whole_and_boosts_nothing() {
    let mut mm = zone(FramesPolicy::default(), &[(4, Movable), (5, Movable)]);
    assert_eq!(take(&mut mm, Unmovable), 4);
    assert_eq!([4, 5].map(|at| mm.pageblock(start_of(at)).unwrap().migratetype), [Unmovable; 2]);
    assert_eq!((mm.zones[0].boost, mm.zones[0].free_of_type(Unmovable)), (0, 2 * PAGEBLOCK_PAGES.get() - 1));
}

#[test]
fn only_a_pageblock_that_lies_in_its_zone_is_whole() {
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec {
            node: NodeId(0),
            kind: ZoneKind::Normal,
            span: PfnRange::new(START + Pages::new(100), start_of(3) - Pages::new(100)),
        }],
        ..Layout::default()
    };
    let mm = layout.builder(FramesPolicy::default()).expect("the layout is sound").boot();
    let whole = |at: Pfn| mm.whole_block(ZoneId(0), mm.at(at)).is_some();
    assert_eq!([start_of(0) + Pages::new(200), start_of(1), start_of(2)].map(whole), [false, true, false]);
}

/// The default rules with a boost of 150 % of the high mark.
fn boosting(search: FallbackSearch) -> FramesPolicy {
    let mut policy = FramesPolicy::default();
    policy.fallback.search = search;
    (policy.watermark.boost_factor, policy.watermark.boost_skips_tiny_zones) = (Some(15_000), true);
    policy
}

#[test]
fn events_boost_by_a_pageblock_up_to_the_cap_and_wake_kswapd_for_who_may() {
    for (kswapd, tiny, wake_without_boost, woken) in [
        (true, false, false, true),
        (false, false, false, false),
        (true, true, false, false),
        (true, true, true, true),
        (false, true, true, false),
    ] {
        let mut policy = boosting(FallbackSearch::SmallestUnlessClaimable);
        policy.watermark.wake_without_boost = wake_without_boost;
        let mut mm = zone(policy, &[(2, Movable)]);
        mm.zones[0].watermarks.high = 500;
        mm.zones[0].managed = if tiny { 2047 } else { 2048 };
        let flags = AllocFlags { kswapd, ..AllocFlags::plain(Mark::Low) };
        (0..3).for_each(|_| mm.boost_zone(ZoneId(0), &flags));
        let boosts = [mm.zones[0].boost, mm.counters.boost_added, mm.counters.boost_saturated];
        assert_eq!(boosts, if tiny { [0, 0, 0] } else { [750, 750, 1] }, "512, then 238, then nothing");
        assert_eq!(mm.zones[0].boosted, woken, "{kswapd} {tiny} {wake_without_boost}");
    }
}

/// A zone in which only the upper half of an unmovable pageblock is free, and the lower half kernel memory.
fn half_free(policy: FramesPolicy) -> Frames {
    let mut mm = zone(policy, &[(2, Unmovable)]);
    let flags = AllocFlags { no_watermarks: true, ..AllocFlags::plain(Mark::Min) };
    let half = Order::new(Order::PAGEBLOCK.get() - 1).expect("an order");
    mm.alloc_with(&Request::new(half, Gfp::GFP_KERNEL), flags).expect("it is free");
    mm.zones[0].watermarks.high = 500;
    mm
}

#[test]
fn taking_of_a_mixed_pageblock_boosts_and_of_a_whole_one_does_not() {
    for search in [FallbackSearch::SmallestUnlessClaimable, FallbackSearch::ClaimThenSteal] {
        let mut mm = half_free(boosting(search));
        assert_eq!(take(&mut mm, Movable), 2, "{search:?}");
        assert_eq!(mm.zones[0].boost, 512, "{search:?}");
        let mut mm = zone(boosting(search), &[(2, Movable)]);
        mm.zones[0].watermarks.high = 500;
        assert_eq!(take(&mut mm, Unmovable), 2, "{search:?}");
        assert_eq!(mm.zones[0].boost, 0, "{search:?}");
    }
}

#[test]
fn who_must_not_fragment_does_not_steal() {
    for (nofragment, served) in [(false, true), (true, false)] {
        // A quarter of the pageblock is free: too little to claim it.
        let mut mm = half_free(boosting(FallbackSearch::ClaimThenSteal));
        let quarter = Order::new(Order::PAGEBLOCK.get() - 2).expect("an order");
        let all = AllocFlags { no_watermarks: true, ..AllocFlags::plain(Mark::Min) };
        mm.alloc_with(&Request::new(quarter, Gfp::GFP_KERNEL), all).expect("it is free");
        let flags = AllocFlags { nofragment, ..all };
        let mut mode = TakeMode::Own;
        let taken = mm.take_from_zone(ZoneId(0), Order::ZERO, Movable, &flags, &mut mode);
        assert_eq!(taken.is_some(), served, "{nofragment}");
        assert_eq!(mm.pageblock(start_of(2)).map(|block| block.migratetype), Some(Unmovable), "it keeps its type");
    }
}

/// A zone in which every frame of one pageblock, of type `mt`, is free or holds what `frames` says; kernel memory has all
/// others.
fn mixed(policy: FramesPolicy, mt: Migratetype, frames: impl Fn(u64) -> Option<crate::Contents>) -> Frames {
    let span = PfnRange::of(START, PAGEBLOCK_PAGES * BLOCKS);
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        ..Layout::default()
    };
    let mut builder = layout.builder(policy).expect("the layout is sound");
    builder.set_block_type(start_of(2), mt).expect("the pageblock is in the zone");
    for block in (0..BLOCKS).filter(|&block| block != 2) {
        builder.allocate(start_of(block), Order::PAGEBLOCK, crate::Contents::Unmovable).expect("it is given once");
    }
    for at in 0..PAGEBLOCK_PAGES.get() {
        let pfn = start_of(2) + Pages::new(at);
        let done = match frames(at) {
            Some(contents) => builder.allocate(pfn, Order::ZERO, contents),
            None => builder.free(pfn, Order::ZERO),
        };
        done.expect("every frame is given once");
    }
    builder.finish()
}

fn type_of(mm: &Frames, block: u64) -> Migratetype {
    mm.pageblock(start_of(block)).expect("it is in the zone").migratetype
}

/// Takes a block from the zone, whatever the watermarks say.
fn take_in(mm: &mut Frames, order: u8, mt: Migratetype, nofragment: bool, mut mode: TakeMode) -> Option<Idx> {
    let order = Order::new(order).expect("an order");
    let flags = AllocFlags { no_watermarks: true, nofragment, ..AllocFlags::plain(Mark::Min) };
    mm.take_from_zone(ZoneId(0), order, mt, &flags, &mut mode)
}

#[test]
fn a_request_larger_than_a_pageblock_that_is_spared_leaves_single_pageblocks_alone() {
    for search in [FallbackSearch::SmallestUnlessClaimable, FallbackSearch::ClaimThenSteal] {
        let mut policy = boosting(search);
        policy.fallback.nofragment_spares_huge = true;
        let mut mm = zone(policy, &[(2, Movable), (5, Movable)]);
        assert!(take_in(&mut mm, 10, Unmovable, true, TakeMode::Own).is_none(), "there is no block of two pageblocks");
        assert_eq!([2, 5].map(|block| type_of(&mm, block)), [Movable; 2], "{search:?}");
    }
}

#[test]
fn a_contaminated_pageblock_changes_its_type_from_half_free_or_immovable_on() {
    for (immovable, mt) in [(128, Unmovable), (127, Movable)] {
        let mut policy = FramesPolicy::default();
        policy.alloc.fallback_contaminated = true;
        let mut mm = mixed(policy, Movable, |at| match at {
            0..128 => None,
            at if at < 128 + immovable => Some(crate::Contents::Unmovable),
            _ => Some(crate::Contents::Movable),
        });
        assert_eq!(take(&mut mm, Unmovable), 2);
        assert_eq!(type_of(&mm, 2), mt, "128 frames are free, {immovable} stay where they are");
    }
}

#[test]
fn a_pageblock_of_the_reserve_keeps_its_type_whatever_list_its_blocks_are_on() {
    let mut mm = zone(boosting(FallbackSearch::SmallestUnlessClaimable), &[(2, Migratetype::HighAtomic)]);
    let block = mm.at(start_of(2));
    mm.move_to_list(ZoneId(0), block, Movable);
    assert_eq!(take_in(&mut mm, 0, Unmovable, false, TakeMode::Own), Some(block));
    assert_eq!(type_of(&mm, 2), Migratetype::HighAtomic);
}

#[test]
fn a_movable_page_claims_nothing_by_blocks_below_half_a_pageblocks_order() {
    // Half of the pageblock is free: enough to claim it, were the blocks not of order 3.
    for (run, claimed) in [(8, Unmovable), (16, Movable)] {
        let policy = boosting(FallbackSearch::ClaimThenSteal);
        let mut mm = mixed(policy, Unmovable, |at| (at / run % 2 == 1).then_some(crate::Contents::Unmovable));
        assert!(take_in(&mut mm, 0, Movable, false, TakeMode::Own).is_some());
        assert_eq!(type_of(&mm, 2), claimed, "free in runs of {run}");
    }
}

#[test]
fn a_refill_that_could_not_claim_steals_without_trying_again() {
    for (mode, mt) in [(TakeMode::Own, Unmovable), (TakeMode::Claim, Unmovable), (TakeMode::Steal, Movable)] {
        let mut mm = zone(boosting(FallbackSearch::ClaimThenSteal), &[(2, Movable)]);
        assert!(take_in(&mut mm, 0, Unmovable, false, mode).is_some());
        assert_eq!(type_of(&mm, 2), mt);
    }
}

#[test]
fn isolated_pages_are_neither_free_nor_movable() {
    let mut mm = zone(FramesPolicy::default(), &[(2, Movable)]);
    let (first, end) = mm.whole_block(ZoneId(0), mm.at(start_of(5))).expect("it is in the zone");
    let mut movable = |flag, on| {
        mm.reflag(first, flag, on);
        let contents = mm.walk_block(ZoneId(0), first, end, None);
        [contents.free, contents.movable]
    };
    let pageblock = PAGEBLOCK_PAGES.get();
    assert_eq!(movable(Flag::MovableContent, true), [0, pageblock]);
    assert_eq!(movable(Flag::Isolated, true), [0, 0]);
    assert_eq!(movable(Flag::Isolated, false), [0, pageblock]);
}

#[test]
fn an_event_says_whether_the_pageblock_changed_its_type() {
    for (free, claimed) in [(256, 1), (128, 0)] {
        let mut mm = mixed(FramesPolicy::default(), Unmovable, |at| (at >= free).then_some(crate::Contents::Unmovable));
        assert_eq!(take(&mut mm, Movable), 2);
        let events = &mm.counters.extfrag;
        assert_eq!((events.fragmenting(), events.claimed), (1, claimed), "{free} frames are free");
    }
}

#[test]
fn who_should_not_fragment_does_so_where_there_is_nothing_else() {
    let mut mm = half_free(FramesPolicy::default());
    let flags = AllocFlags { no_watermarks: true, nofragment: true, ..AllocFlags::plain(Mark::Min) };
    let pfn =
        mm.alloc_with(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE), flags).expect("half a pageblock is free");
    assert_eq!((pfn - START).get() / PAGEBLOCK_PAGES.get(), 2);
}
