//! Steps of the daemon in a small world: what it waits for, and what a run leaves behind.

use alloc::vec;

use order9_frames::{Gfp, Request};
use order9_units::ZoneKind;
use order9_units::{PAGEBLOCK_PAGES, Pfn, PfnRange};

use super::*;
use crate::env::{Alone, CompactPriority, run};
use crate::policy::{Policy, SkipReset};
use crate::reclaim::control::DEF_PRIORITY;
use crate::reclaim::stats::ReclaimFlags;
use crate::space::NO_CPU;
use crate::tasks::compaction::direct::try_to_compact_pages;
use crate::{Contents, Layout, MmBuilder, NodeSpec, ZoneId, ZoneSpec};

const NODE: NodeId = NodeId(0);
const PLAIN: DaemonRequest = DaemonRequest { order: Order::ZERO, class: ZoneKind::Normal };
const HUGE: DaemonRequest = DaemonRequest { order: Order::PAGEBLOCK, class: ZoneKind::Normal };

fn start_of(node: u16) -> Pfn {
    Pfn::new((u64::from(node) + 1) << 20)
}

/// Two nodes with a zone of 8 pageblocks each.
fn builder(policy: Policy) -> MmBuilder {
    let zone = |node| ZoneSpec {
        node: NodeId(node),
        kind: ZoneKind::Normal,
        span: PfnRange::of(start_of(node), PAGEBLOCK_PAGES * 8),
    };
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10, 20] }, NodeSpec { distances: vec![20, 10] }],
        zones: vec![zone(0), zone(1)],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("the layout is sound")
}

fn machine() -> Mm {
    builder(Policy::default()).boot()
}

#[test]
fn it_naps_for_a_tenth_of_a_second_before_it_sleeps_and_counts_naps_cut_short() {
    for woken in [false, true] {
        let mut world = Alone::new(machine(), NO_CPU);
        world.woken = woken;
        let next = run(nap(&world, NODE, PLAIN, PLAIN));
        assert_eq!(world.last_wait(), Some((Until::KswapdNeeded(NODE), Some(Nanos::new(100_000_000)))));
        assert_eq!(next, woken.then_some(PLAIN));
        let counted = world.mm.borrow().phys.counters.kswapd_low_wmark_hit_quickly;
        assert_eq!(counted, u64::from(woken));
    }
}

#[test]
fn a_node_that_comes_to_rest_forgets_what_passes_over_it_have_found() {
    let world = Alone::new(machine(), NO_CPU);
    let found = ReclaimFlags { dirty: true, ..ReclaimFlags::default() };
    let zones = [ZoneId(0), ZoneId(1)];
    zones.iter().for_each(|&zone| {
        let mm = &mut *world.mm.borrow_mut();
        mm.reclaim.set_reclaim_flags(zone, found, &mm.phys);
    });
    run(nap(&world, NODE, PLAIN, PLAIN));
    assert_eq!(
        zones.map(|zone| world.mm.borrow().reclaim.reclaim_flags(zone, &world.mm.borrow().phys)),
        [ReclaimFlags::default(), found]
    );
}

#[test]
fn kcompactd_goes_on_with_what_was_asked_for_once_the_node_is_balanced() {
    for (asked, done) in [(HUGE, PLAIN), (PLAIN, PLAIN)] {
        let world = Alone::new(machine(), NO_CPU);
        run(nap(&world, NODE, asked, done));
        let request = world.mm.borrow().phys.kcompactd_request(NodeId(0));
        assert_eq!(request, (asked == HUGE).then_some(HUGE));
    }
}

#[test]
fn skip_hints_of_a_compaction_in_vain_are_forgotten_when_the_node_comes_to_rest() {
    let mut policy = Policy::default();
    policy.compaction.skip_reset = SkipReset::Full;
    let mut builder = builder(policy);
    // Nothing but kernel memory lies between single free frames.
    for pfn in PfnRange::of(start_of(0), PAGEBLOCK_PAGES * 8).iter() {
        let done = match pfn.get() % 2 {
            0 => builder.free(pfn, Order::ZERO),
            _ => builder.allocate(pfn, Order::ZERO, Contents::Unmovable),
        };
        done.expect("every frame is given once");
    }
    let world = Alone::new(builder.finish(), NO_CPU);
    let request = Request { cpu: NO_CPU, ..Request::new(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE) };
    run(try_to_compact_pages(&world, &request, CompactPriority::SyncLight));
    let hints = |world: &Alone| {
        let mm = world.mm.borrow();
        (0..8).filter(|&block| mm.compaction.pageblock_skip(start_of(0) + PAGEBLOCK_PAGES * block, &mm.phys)).count()
    };
    assert!(hints(&world) > 0, "its scanners have met");
    run(nap(&world, NODE, PLAIN, PLAIN));
    assert_eq!(hints(&world), 0);
}

#[test]
fn every_run_counts_and_one_that_works_off_a_boost_asks_kcompactd_for_a_pageblock() {
    for (boost, asked) in [(0, None), (512, Some(HUGE))] {
        let world = Alone::new(machine(), NO_CPU);
        world.mm.borrow_mut().phys.frames.edit_zone(0, |zone| zone.boost = boost);
        run(balance(&world, NODE, PLAIN));
        let mm = world.mm.borrow();
        assert_eq!((mm.phys.counters.pageoutrun, mm.phys.frames.zones()[0].boost()), (1, 0));
        assert_eq!(mm.phys.kcompactd_request(NodeId(0)), asked, "a boost of {boost}");
    }
}

#[test]
fn a_gentle_pass_neither_writes_nor_swaps_and_every_pass_aims_at_its_goal() {
    for gentle in [true, false] {
        let world = Alone::new(machine(), NO_CPU);
        world.mm.borrow_mut().phys.frames.edit_zone(0, |zone| zone.watermarks.high = 700);
        let control = ReclaimControl::new(Reclaimer::Kswapd, Order::ZERO, 0, ZoneKind::Normal);
        let id = world.mm.borrow_mut().begin_reclaim(control);
        let pass = Pass { node: NODE, class: ZoneKind::Normal, order: Order::ZERO, priority: DEF_PRIORITY, gentle };
        let passed = run(round(&world, id, &pass));
        let control = world.mm.borrow_mut().end_reclaim(id);
        assert_eq!([control.may_writepage, control.may_swap], [!gentle; 2]);
        assert_eq!((control.nr_to_reclaim, passed.goal), (700, 700));
    }
}

#[test]
fn a_run_in_vain_takes_the_time_of_twelve_looks_at_every_zone_of_its_node() {
    let mut mm = machine();
    let before = mm.phys.frames.work_mut().zones_checked;
    mm.phys.count_looks_in_vain(NODE);
    assert_eq!(mm.phys.frames.work_mut().zones_checked - before, 12);
    mm.phys.frames.edit_zone(1, |zone| zone.node = NODE);
    mm.phys.count_looks_in_vain(NODE);
    assert_eq!(mm.phys.frames.work_mut().zones_checked - before, 12 + 24);
}
