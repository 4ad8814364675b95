//! `vm.defrag_mode`: who mixes types, and when.

use super::*;
use crate::daemon_request::DaemonRequest;

/// Nothing but a few pages of unmovable pageblocks is free, more than the watermarks ask for.
fn unmovable_is_free(defrag_mode: bool) -> World {
    let world = World::exhausted(policy(|policy| {
        policy.frames.fallback.defrag_mode = true;
        policy.frames.watermark.boost_factor = None;
    }));
    world.with(|mm| mm.tune(|tunables| tunables.defrag_mode = defrag_mode));
    let high = world.with(|mm| mm.phys.frames.zones()[0].mark(crate::Mark::High));
    world.with_free(high + 64)
}

fn mixed(world: &World) -> u64 {
    world.with(|mm| mm.phys.frames.counters().extfrag.fragmenting())
}

#[test]
fn without_it_types_are_mixed_at_once() {
    let world = unmovable_is_free(false);
    world.alloc(0, Gfp::GFP_HIGHUSER_MOVABLE, Task::default()).expect("memory is free");
    assert_eq!((world.said(), mixed(&world)), (vec![], 1));
}

#[test]
fn with_it_types_are_mixed_when_reclaim_is_at_its_end() {
    let world = World { reclaimable: 10_000, ..unmovable_is_free(true) };
    world.alloc(0, Gfp::GFP_HIGHUSER_MOVABLE, Task::default()).expect("in the end it mixes");
    assert_eq!((world.count("reclaim"), mixed(&world)), (17, 1));
}

#[test]
fn who_cannot_reclaim_mixes_after_one_look() {
    let world = unmovable_is_free(true);
    world.alloc(0, Gfp::MOVABLE | Gfp::KSWAPD_RECLAIM, Task::default()).expect("memory is free");
    assert_eq!((world.count("reclaim"), mixed(&world)), (0, 1));
}

#[test]
fn who_would_rather_fail_does() {
    let world = unmovable_is_free(true);
    assert_eq!(world.gives_up(0, Gfp::GFP_HIGHUSER_MOVABLE | Gfp::NORETRY), GaveUp::NoRetry);
    assert_eq!(mixed(&world), 0);
}

#[test]
fn kswapd_is_asked_for_a_pageblock() {
    for (defrag_mode, order) in [(false, Order::ZERO), (true, Order::PAGEBLOCK)] {
        let world = World::exhausted(policy(|policy| policy.frames.fallback.defrag_mode = true));
        world.with(|mm| mm.tune(|tunables| tunables.defrag_mode = defrag_mode));
        world.gives_up(0, Gfp::KSWAPD_RECLAIM);
        let asked = world.with(|mm| mm.phys.take_kswapd_request(NodeId(0)));
        assert_eq!(asked, Some(DaemonRequest { order, class: ZoneKind::Normal }));
    }
}

#[test]
fn nodes_are_balanced_in_whole_pageblocks() {
    let world = unmovable_is_free(true);
    world.with(|mm| {
        mm.phys.frames.drain_all();
        let balanced = |mm: &Mm, order| mm.pages.is_balanced(NodeId(0), order, ZoneKind::Normal, &mm.phys);
        assert!(balanced(mm, Order::ZERO), "kswapd leaves the rest to kcompactd");
        assert!(!balanced(mm, Order::new(1).expect("a small order")), "no pageblock is free");
    });
}
