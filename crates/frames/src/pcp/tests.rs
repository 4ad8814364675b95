//! Per-CPU lists of one small zone with one CPU.

use alloc::vec;

use order9_units::{NodeId, PAGEBLOCK_PAGES, Pfn, PfnRange, ZoneKind};

use super::tuning::Need;
use super::*;
use crate::gfp::{Gfp, Mark};
use crate::policy::FramesPolicy;
use crate::testing::{Layout, NodeSpec};
use crate::{Request, ZoneSpec};

/// A zone of 64 pageblocks on a node with one CPU: batches have 7 pages.
fn builder(policy: FramesPolicy) -> crate::FramesBuilder {
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec {
            node: NodeId(0),
            kind: ZoneKind::Normal,
            span: PfnRange::of(Pfn::new(1 << 20), PAGEBLOCK_PAGES * 64),
        }],
        cpus: vec![NodeId(0)],
        ..Layout::default()
    };
    layout.builder(policy).expect("the layout is sound")
}

/// Blocks of order 0 to 3 are cached.
fn with_large_blocks() -> FramesPolicy {
    let mut policy = FramesPolicy::default();
    policy.pcp.lists = PcpLists::UpToCostly { huge_lists: 1 };
    policy
}

/// Refills the list of Unmovable or Movable blocks of an order and takes one.
fn refill(mm: &mut Frames, order: u8, mt: Migratetype) -> Idx {
    let order = Order::new(order).expect("an order");
    let list = mm.policy.pcp.lists.list_for(order, mt).expect("the order is cached");
    let flags = AllocFlags { cma: mt == Migratetype::Movable, ..AllocFlags::plain(Mark::Min) };
    mm.refill_and_take(ZoneId(0), 0, list, order, mt, &flags).expect("memory is free")
}

#[test]
fn an_allocation_halves_how_much_a_full_list_gives_back() {
    let mut mm = builder(with_large_blocks()).boot();
    mm.pcps[0].free_factor = 3;
    refill(&mut mm, 0, Migratetype::Movable);
    let pcp = &mut mm.pcps[0];
    (pcp.batch, pcp.high) = (10, 1000);
    assert_eq!(
        pcp.doubled_surplus(1000),
        20,
        "ten pages, doubled three times, would be eighty; half of three doublings is one"
    );
}

#[test]
fn lists_give_pages_back_when_they_reach_their_high_mark_and_go_down_to_it_at_least() {
    let mut mm = builder(FramesPolicy::default()).boot();
    let uncached = Request { cpu: 1, ..Request::new(Order::ZERO, Gfp::GFP_KERNEL) };
    let pages = [(); 43].map(|()| mm.alloc(&uncached).expect("memory is free"));
    let pcp = mm.pcps[0];
    assert_eq!((pcp.count, pcp.batch, pcp.high), (0, 7, 42));
    let free = |mm: &mut Frames, at: usize| {
        mm.free(pages[at], 0).expect("it is allocated");
        mm.pcps[0].count
    };
    let counts = core::array::from_fn::<u64, 42, _>(|at| free(&mut mm, at));
    assert_eq!(counts[39..], [40, 41, 35]);
    mm.pcps[0].high = 20;
    assert_eq!(free(&mut mm, 42), 20, "a batch would leave 29");
    mm.check().expect("every law holds");
}

#[test]
fn a_list_that_was_freed_to_gives_back_all_it_has_before_another_does_from_5_18_on() {
    let left_of = |freed_list_first: bool| {
        let mut policy = with_large_blocks();
        policy.pcp.freed_list_first = freed_list_first;
        let mut mm = builder(policy).boot();
        mm.pcps[0].batch = 7;
        refill(&mut mm, 0, Migratetype::Unmovable);
        refill(&mut mm, 0, Migratetype::Movable);
        assert_eq!(mm.pcps[0].count, 12, "six pages of each type");
        let list = |mt| PcpLists::UpToCostly { huge_lists: 1 }.list_for(Order::ZERO, mt).expect("order 0 is cached");
        mm.drain_pcp_from(ZoneId(0), 0, 8, list(Migratetype::Movable));
        [Migratetype::Unmovable, Migratetype::Movable].map(|mt| mm.table.iter(mm.pcps[0].list(list(mt))).count())
    };
    assert_eq!(left_of(true), [4, 0]);
    assert_eq!(left_of(false), [2, 2]);
}

#[test]
fn a_refill_brings_a_batch_of_pages_and_at_least_two_blocks() {
    let cached = |order, batch| {
        let mut mm = builder(with_large_blocks()).boot();
        mm.pcps[0].batch = batch;
        refill(&mut mm, order, Migratetype::Movable);
        (mm.pcps[0].count >> order) + 1
    };
    assert_eq!([cached(0, 7), cached(3, 63), cached(3, 7), cached(2, 7), cached(1, 7)], [7, 7, 2, 2, 3]);
    assert_eq!([cached(0, 1), cached(3, 1)], [1, 1], "a zone that is too small caches nothing");
}

#[test]
fn pages_lent_from_a_contiguous_area_go_back_there() {
    let mut builder = builder(FramesPolicy::default());
    let start = Pfn::new(1 << 20);
    builder.set_block_type(start, Migratetype::Cma).expect("it is in the zone");
    builder.free(start, Order::PAGEBLOCK).expect("it is given once");
    let mut mm = builder.finish();
    refill(&mut mm, 0, Migratetype::Movable);
    assert_eq!(mm.zones[0].free_of_type(Migratetype::Cma), 512 - 7);
    mm.drain_all();
    assert_eq!([Migratetype::Cma, Migratetype::Movable].map(|mt| mm.zones[0].free_of_type(mt)), [511, 0]);
}

#[test]
fn a_drained_page_keeps_its_type_up_to_6_9_unless_a_pageblock_is_isolated() {
    for (keeps_cached_type, isolated_blocks, kept) in [(true, 0, true), (true, 1, false), (false, 0, false)] {
        let mut policy = FramesPolicy::default();
        policy.pcp.keeps_cached_type = keeps_cached_type;
        let mut mm = builder(policy).boot();
        let page = refill(&mut mm, 0, Migratetype::Movable);
        assert!(mm.retype_pageblock(ZoneId(0), page, Migratetype::Unmovable));
        let before = mm.zones[0].free_of_type(Migratetype::Movable);
        mm.zones[0].isolated_blocks = isolated_blocks;
        mm.drain_all();
        let gained = mm.zones[0].free_of_type(Migratetype::Movable) > before;
        assert_eq!(gained, kept, "{keeps_cached_type} {isolated_blocks}");
    }
}

#[test]
fn batches_of_the_reference_machine() {
    assert_eq!(batch(3_358_720, 256), Some(63));
    assert_eq!(batch(3_358_720, 128), Some(31));
    assert_eq!(batch(779_264, 256), Some(63));
    assert_eq!(batch(3_840, 256), None);
}

#[test]
fn lists_hold_the_orders_of_their_release() {
    let huge = Order::PAGEBLOCK;
    let old = PcpLists::BasePages;
    assert_eq!(old.list_for(Order::ZERO, Migratetype::Reclaimable), Some(2));
    assert_eq!(old.list_for(huge, Migratetype::Movable), None);
    let new = PcpLists::UpToCostly { huge_lists: 2 };
    assert_eq!(new.list_for(huge, Migratetype::Movable), Some(12));
    assert_eq!(new.list_for(huge, Migratetype::Unmovable), Some(13));
    assert_eq!(new.list_for(Order::new(4).unwrap(), Migratetype::Movable), None);
    assert_eq!(new.count(), 14);
}

#[test]
fn sizes_follow_from_the_zone_and_its_low_mark() {
    let sizes = |high, low, fraction| {
        let policy = PcpPolicy { high, batch_max: 256, ..FramesPolicy::default().pcp };
        let mut pcp = Pcp::new(Idx(0));
        pcp.resize(779_264, low, 4, fraction, &policy);
        [pcp.batch, pcp.high_min, pcp.high_max]
    };
    assert_eq!(sizes(PcpHigh::SixBatches, 4000, 0), [63, 378, 378]);
    assert_eq!(sizes(PcpHigh::LowMark, 4000, 0), [63, 1000, 1000]);
    assert_eq!(sizes(PcpHigh::LowMark, 1000, 0), [63, 252, 252], "four batches at least");
    assert_eq!(sizes(PcpHigh::AutoTuned, 4000, 0), [63, 1000, 24_352]);
    assert_eq!(sizes(PcpHigh::AutoTuned, 4000, 8), [63, 24_352, 24_352], "a share set by hand ends all tuning");
}

/// A zone whose lists follow the load.
fn tuned() -> Frames {
    let mut policy = with_large_blocks();
    policy.pcp.high = PcpHigh::AutoTuned;
    let mut mm = builder(policy).boot();
    mm.pcps[0] = Pcp { batch: 10, high: 100, high_min: 100, high_max: 1000, ..mm.pcps[0] };
    mm
}

#[test]
fn refills_in_a_row_take_twice_as_much_each_time_and_raise_the_size_while_the_zone_is_above_its_high_mark() {
    let mut pcp = tuned().pcps[0];
    let mut refill = |below_high| (pcp.refill_blocks(Order::ZERO, true, below_high), pcp.high);
    assert_eq!([(); 4].map(|()| refill(false)), [(10, 110), (20, 130), (40, 170), (80, 250)]);
    assert_eq!(refill(true), (160, 250));
    assert_eq!(refill(false), (320, 570), "five doublings at most");
    assert_eq!(refill(false), (320, 890));
    assert_eq!(refill(false), (320, 1000));
    pcp.count = 800;
    assert_eq!(pcp.refill_blocks(Order::ZERO, true, false), 190, "the size less what is there and a batch");
    pcp.note_freed(1);
    assert_eq!(pcp.refill_factor, 2);
    assert_eq!(pcp.refill_blocks(Order::new(3).expect("an order"), true, true), 2, "blocks come by one batch");
}

#[test]
fn lists_that_follow_the_load_return_what_was_freed_in_a_row() {
    let pcp = Pcp { count: 100, ..tuned().pcps[0] };
    let returned = |freed, need| {
        let mut pcp = Pcp { freed, ..pcp };
        (pcp.tuned_surplus(need), pcp.high)
    };
    assert_eq!(returned(4, Need::Nothing), (Some(10), 100), "a batch at least");
    assert_eq!(returned(50, Need::Nothing), (Some(50), 100));
    assert_eq!(returned(300, Need::Nothing), (Some(90), 310), "they grow to hold that");
    let mut grown = Pcp { high: 400, freed: 50, ..pcp };
    assert_eq!(grown.tuned_surplus(Need::Nothing), None);
    assert_eq!((grown.tuned_surplus(Need::BelowHigh), grown.high), (Some(50), 350), "the zone is short");
    assert_eq!((grown.tuned_surplus(Need::Reclaim), grown.high), (Some(30), 300), "four batches while kswapd works");
}

#[test]
fn a_request_that_finds_the_zone_below_its_high_mark_shortens_lists_until_a_free_finds_it_above() {
    let mut mm = tuned();
    let request = Request::new(Order::ZERO, Gfp::GFP_KERNEL);
    let first = mm.alloc(&request).expect("memory is free");
    assert!(!mm.zones[0].below_high);
    let high = core::mem::replace(&mut mm.zones[0].watermarks.high, 1 << 30);
    let second = mm.alloc(&request).expect("the low mark counts");
    assert!(mm.zones[0].below_high);
    mm.pcps[0].high_min = 1;
    mm.free(first, 0).expect("it is allocated");
    assert!(mm.zones[0].below_high);
    mm.zones[0].watermarks.high = high;
    mm.free(second, 0).expect("it is allocated");
    assert!(!mm.zones[0].below_high);
    mm.check().expect("every law holds");
}

#[test]
fn a_second_takes_an_eighth_of_the_size_and_what_the_lists_hold_beyond() {
    let mut mm = tuned();
    let mut decay = |high| {
        mm.pcps[0].high = high;
        mm.decay_pcps(0);
        mm.pcps[0].high
    };
    assert_eq!([800, 110, 100].map(&mut decay), [700, 100, 100]);
    refill(&mut mm, 0, Migratetype::Movable);
    mm.pcps[0] = Pcp { high: 4, high_min: 2, ..mm.pcps[0] };
    assert_eq!(mm.pcps[0].count, 9);
    mm.decay_pcps(0);
    assert_eq!((mm.pcps[0].count, mm.pcps[0].high), (4, 4));
}

#[test]
fn lists_stay_below_four_batches_while_kswapd_reclaims_in_5_14_and_later() {
    let count_after = |high| {
        let mut policy = with_large_blocks();
        policy.pcp.high = high;
        let mut mm = builder(policy).boot();
        mm.pcps[0] = Pcp { batch: 10, high: 100, ..mm.pcps[0] };
        let uncached = Request { cpu: 1, ..Request::new(Order::ZERO, Gfp::GFP_KERNEL) };
        let pages = [(); 40].map(|()| mm.alloc(&uncached).expect("memory is free"));
        mm.set_reclaim_active(ZoneId(0), true);
        pages.into_iter().for_each(|page| mm.free(page, 0).expect("it is allocated"));
        mm.pcps[0].count
    };
    assert_eq!([PcpHigh::SixBatches, PcpHigh::LowMark].map(count_after), [40, 30]);
}

#[test]
fn a_list_that_is_too_full_gives_back_twice_as_much_each_time() {
    let mut pcp = Pcp { batch: 63, ..Pcp::new(Idx(0)) };
    assert_eq!([(); 6].map(|()| pcp.doubled_surplus(1000)), [63, 126, 252, 504, 937, 937]);
}
