//! The fast path on machines of a few free zones.

use order9_units::{PAGEBLOCK_PAGES, Pages, PfnRange};

use super::*;
use crate::policy::FramesPolicy;
use crate::testing::{Layout, NodeSpec};
use crate::{Contents, ZoneSpec};

/// Pageblocks of a zone.
const BLOCKS: u64 = 16;

/// Frame of the start of zone number `at`.
fn start_of(at: usize) -> Pfn {
    Pfn::new((at as u64 + 1) << 20)
}

/// A machine with these zones and a CPU on every node; nothing is given yet.
fn builder(policy: FramesPolicy, zones: &[(u16, ZoneKind)]) -> crate::FramesBuilder {
    let nodes = usize::from(zones.iter().map(|&(node, _)| node).max().expect("there is a zone")) + 1;
    let distances = |node| (0..nodes).map(|other| if other == node { 10 } else { 20 }).collect();
    let layout = Layout {
        nodes: (0..nodes).map(|node| NodeSpec { distances: distances(node) }).collect(),
        zones: zones
            .iter()
            .enumerate()
            .map(|(at, &(node, kind))| ZoneSpec {
                node: NodeId(node),
                kind,
                span: PfnRange::of(start_of(at), PAGEBLOCK_PAGES * BLOCKS),
            })
            .collect(),
        cpus: (0..nodes).map(|node| NodeId(node as u16)).collect(),
        ..Layout::default()
    };
    layout.builder(policy).expect("the layout is sound")
}

/// A machine with these zones, all of its memory free.
fn machine(policy: FramesPolicy, zones: &[(u16, ZoneKind)]) -> Frames {
    builder(policy, zones).boot()
}

const LOW_AND_NORMAL: [(u16, ZoneKind); 2] = [(0, ZoneKind::Dma32), (0, ZoneKind::Normal)];

#[test]
fn small_machines_do_not_group_by_mobility() {
    let mut mm = machine(FramesPolicy::default(), &LOW_AND_NORMAL);
    for (grouping, mt) in [(true, Migratetype::Movable), (false, Migratetype::Unmovable)] {
        mm.mobility_grouping = grouping;
        let search = mm.search_for(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("zones may serve");
        assert_eq!(search.mt, mt);
    }
}

#[test]
fn requests_that_prefer_normal_avoid_fragmentation_where_a_lower_zone_could_serve() {
    let avoids = |zones: &[_], gfp| {
        let mm = machine(FramesPolicy::default(), zones);
        mm.fast_flags(&mm.search_for(&Request::new(Order::ZERO, gfp)).expect("zones may serve")).nofragment
    };
    assert!(avoids(&LOW_AND_NORMAL, Gfp::GFP_KERNEL));
    assert!(!avoids(&LOW_AND_NORMAL, Gfp::GFP_KERNEL | Gfp::DMA32), "there is no zone below DMA32 to try");
    let other = (1, ZoneKind::Normal);
    assert!(avoids(&[LOW_AND_NORMAL[0], LOW_AND_NORMAL[1], other], Gfp::GFP_KERNEL));
    assert!(!avoids(&[(0, ZoneKind::Normal), other], Gfp::GFP_KERNEL), "the node has no DMA32");
}

#[test]
fn up_to_4_7_zones_of_a_node_take_turns() {
    for (fair_zone_batches, kinds) in
        [(true, [ZoneKind::Normal, ZoneKind::Dma32, ZoneKind::Dma32, ZoneKind::Normal]), (false, [ZoneKind::Normal; 4])]
    {
        let mut mm = machine(FramesPolicy { fair_zone_batches, ..FramesPolicy::default() }, &LOW_AND_NORMAL);
        (mm.zones[0].fair_batch, mm.zones[1].fair_batch) = (2, 1);
        let served = [(); 4].map(|()| {
            let pfn = mm.alloc(&Request::new(Order::ZERO, Gfp::GFP_KERNEL)).expect("memory is free");
            if pfn >= start_of(1) { ZoneKind::Normal } else { ZoneKind::Dma32 }
        });
        assert_eq!(served, kinds, "Normal has one allocation in this round, DMA32 two");
    }
}

#[test]
fn a_large_block_uses_up_as_many_allocations_as_it_has_pages() {
    let mut mm = machine(FramesPolicy { fair_zone_batches: true, ..FramesPolicy::default() }, &LOW_AND_NORMAL);
    mm.zones[1].fair_batch = 100;
    mm.alloc(&Request::new(Order::new(5).expect("an order"), Gfp::GFP_KERNEL)).expect("memory is free");
    assert_eq!(mm.zones[1].fair_batch, 68);
}

#[test]
fn types_are_mixed_on_the_own_node_before_another_one_serves() {
    let mut builder = builder(FramesPolicy::default(), &[(0, ZoneKind::Normal), (1, ZoneKind::Normal)]);
    // On node 0 a quarter of an Unmovable pageblock is free, on node 1 a Movable pageblock.
    let quarter = Order::new(Order::PAGEBLOCK.get() - 2).expect("an order");
    builder.set_block_type(start_of(0), Migratetype::Unmovable).expect("it is in the zone");
    builder.free(start_of(0), quarter).expect("it is given once");
    for at in 1..4 {
        let pfn = start_of(0) + quarter.pages() * at;
        builder.allocate(pfn, quarter, Contents::Unmovable).expect("it is given once");
    }
    builder.free(start_of(1), Order::PAGEBLOCK).expect("it is given once");
    let mut mm = builder.finish();
    mm.mobility_grouping = true;
    let flags = AllocFlags { no_watermarks: true, nofragment: true, ..AllocFlags::plain(Mark::Low) };
    let pfn = mm.alloc_with(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE), flags).expect("memory is free");
    assert!(pfn < start_of(0) + Pages::new(512), "{pfn:?}");
}

#[test]
fn all_pages_of_a_refill_but_the_first_are_hits() {
    let mut mm = machine(FramesPolicy::default(), &[(0, ZoneKind::Normal)]);
    let pcp = &mut mm.pcps[0];
    pcp.resize(1 << 20, 1000, 1, 0, &mm.policy.pcp);
    assert!(pcp.batch() > 3, "a refill brings some pages");
    let before = mm.work.pcp_hits;
    let hits = [(); 3].map(|()| {
        mm.alloc(&Request::new(Order::ZERO, Gfp::GFP_KERNEL)).expect("memory is free");
        mm.work.pcp_hits - before
    });
    assert_eq!(hits, [0, 1, 2]);
}

#[test]
fn a_boost_asks_for_kswapd_once_by_the_first_request_that_may() {
    let mut mm = machine(FramesPolicy::default(), &[(0, ZoneKind::Normal)]);
    (mm.zones[0].boost, mm.zones[0].boosted) = (512, true);
    let mut wakes = |kswapd| {
        let flags = AllocFlags { kswapd, ..AllocFlags::plain(Mark::Min) };
        mm.alloc_with(&Request::new(Order::ZERO, Gfp::GFP_KERNEL), flags).expect("memory is free");
        assert_eq!(mm.has_wanted(), !mm.wanted.is_empty());
        mm.take_wanted().iter().eq([ZoneId(0)])
    };
    assert_eq!([false, true, true].map(&mut wakes), [false, true, false]);
}

#[test]
fn failed_watermark_checks_are_counted_by_zone_and_order() {
    let mut mm = machine(FramesPolicy::default(), &LOW_AND_NORMAL);
    mm.zones[1].watermarks.low = 1 << 20;
    let order = Order::new(3).expect("an order");
    let request = Request::new(order, Gfp::GFP_KERNEL);
    mm.alloc_with(&request, AllocFlags::plain(Mark::Low)).expect("DMA32 has enough");
    let failures = mm.counters.watermark_failures;
    assert_eq!([ZoneKind::Normal, ZoneKind::Dma32].map(|kind| failures[kind.index()][order.index()]), [1, 0]);
    assert_eq!(failures.iter().flatten().sum::<u64>(), 1);
}
