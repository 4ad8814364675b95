//! kcompactd: what a run that was asked for leaves behind, and when it compacts of itself.

use super::*;
use crate::daemon_request::DaemonRequest;
use crate::policy::ProactiveBackoff;
use crate::tasks::PROACTIVE_INTERVAL;
use crate::tasks::compaction::kcompactd::work;
use crate::tasks::compaction::proactive::Proactive;

const REQUEST: DaemonRequest = DaemonRequest { order: Order::PAGEBLOCK, class: ZoneKind::Normal };

/// A pageblock that is free, and behind it `singles` single free frames, each beside one of the others.
fn fragmented(singles: usize, others: F) -> Vec<F> {
    let mut frames = vec![others; (512 + 2 * singles).next_multiple_of(512)];
    frames[..512].fill(F::Free);
    (0..singles).for_each(|n| frames[512 + 2 * n] = F::Free);
    frames
}

/// A zone in which nothing but kernel memory lies between free frames.
fn hopeless() -> Vec<F> {
    fragmented(4096, F::Kernel)[512..].to_vec()
}

#[test]
fn a_run_in_vain_returns_what_cpus_have_cached_and_is_put_off() {
    let world = World::with_cpus(classic(), &hopeless(), 1);
    world.with(|mm| {
        mm.phys.daemons.kcompactd[0].ask(REQUEST);
        mm.free(Pfn::new(BASE + 1), CPU).expect("the kernel has it");
    });
    let cached = |world: &World| world.mm.borrow().phys.frames.pcp_pages(order9_frames::ZoneId(0));
    let deferral = |world: &World| {
        let deferral = world.mm.borrow().compaction.zones[0].deferral[0];
        (deferral.considered, deferral.shift, deferral.order_failed)
    };
    assert_eq!(cached(&world), 1);
    run(work(&world, NodeId(0), REQUEST));
    assert_eq!((cached(&world), deferral(&world)), (0, (0, 1, 0)));
    assert_eq!(world.mm.borrow().phys.kcompactd_request(NodeId(0)), None, "it has worked for it");
    let counted = |world: &World| {
        let mm = world.mm.borrow();
        let counters = mm.counters();
        let of_daemon = (counters.compact_daemon_migrate_scanned, counters.compact_daemon_free_scanned);
        (counters.compact_daemon_wake, of_daemon, (counters.compact_migrate_scanned, counters.compact_free_scanned))
    };
    let (wakes, of_daemon, of_all) = counted(&world);
    assert!(wakes == 1 && of_daemon == of_all && of_all.0 > 0, "{of_daemon:?} of {of_all:?}");
    run(work(&world, NodeId(0), REQUEST));
    assert_eq!((counted(&world), deferral(&world)), ((2, of_daemon, of_all), (1, 1, 0)), "the next one is let pass");
    run(work(&world, NodeId(0), REQUEST));
    assert_eq!((counted(&world).0, deferral(&world)), (3, (0, 2, 0)), "it was tried again");
}

#[test]
fn a_block_that_nobody_has_got_yet_ends_no_deferral() {
    let world = World::new(classic(), &worked_example());
    world.with(|mm| {
        let deferral = &mut mm.compaction.zones[0].deferral[0];
        (deferral.considered, deferral.shift, deferral.order_failed) = (8, 3, 2);
    });
    run(work(&world, NodeId(0), REQUEST));
    let deferral = world.mm.borrow().compaction.zones[0].deferral[0];
    assert_eq!((world.free_huge(), deferral.shift, deferral.order_failed), (1, 3, 10));
}

/// Rules under which kcompactd compacts of itself, and backs off in this way.
fn proactive(backoff: ProactiveBackoff) -> Policy {
    classic_with(|rules| (rules.proactive, rules.proactive_backoff) = (true, backoff))
}

/// A zone of a node whose kswapd sleeps.
fn quiet(policy: Policy, frames: &[F]) -> World {
    let world = World::new(policy, frames);
    world.with(|mm| {
        mm.phys.daemons.kswapd[0].asleep = true;
        mm.phys.settings.compaction_proactiveness = 20;
    });
    world
}

fn score(world: &World) -> u64 {
    world.mm.borrow().phys.node_score(NodeId(0))
}

/// Runs, and looks that were let pass.
fn counted(world: &World) -> (u64, u64) {
    let mm = world.mm.borrow();
    (mm.counters().proactive_runs, mm.counters().proactive_deferred)
}

#[test]
fn a_node_is_compacted_above_its_threshold_unless_kswapd_is_at_work() {
    let looks = |singles, asleep| {
        let world = quiet(proactive(ProactiveBackoff::Count64), &fragmented(singles, F::Kernel));
        world.with(|mm| mm.phys.daemons.kswapd[0].asleep = asleep);
        let score = score(&world);
        run(Proactive::default().check(&world, NodeId(0)));
        (score, counted(&world).0)
    };
    // Of 5692 free frames 91 % lie in single ones, of 6402 92 %: one less for the node, which counts a frame more.
    assert_eq!([looks(5180, true), looks(5890, true), looks(5890, false)], [(90, 0), (91, 1), (91, 0)]);
}

#[test]
fn a_run_in_vain_puts_off_sixty_four_looks() {
    let world = quiet(proactive(ProactiveBackoff::Count64), &fragmented(5890, F::Kernel));
    let mut daemon = Proactive::default();
    let mut look = || {
        run(daemon.check(&world, NodeId(0)));
        counted(&world)
    };
    assert_eq!(look(), (1, 0));
    assert_eq!((0..64).map(|_| look()).last(), Some((1, 64)));
    assert_eq!(look(), (2, 64));
    assert_eq!(daemon.pause(&world), Some(Nanos::new(500_000_000)), "looks are let pass, not slept through");
}

#[test]
fn later_releases_sleep_sixty_four_times_as_long_instead() {
    let world = quiet(proactive(ProactiveBackoff::Sleep64), &fragmented(5890, F::Kernel));
    let mut daemon = Proactive::default();
    assert_eq!(daemon.pause(&world), Some(Nanos::new(500_000_000)));
    (0..2).for_each(|_| run(daemon.check(&world, NodeId(0))));
    assert_eq!((counted(&world), daemon.pause(&world)), ((2, 0), Some(Nanos::new(32_000_000_000))));
    world.with(|mm| mm.phys.settings.compaction_proactiveness = 0);
    assert_eq!(daemon.pause(&world), None);
}

#[test]
fn a_run_that_helped_goes_down_to_the_lower_threshold_and_puts_nothing_off() {
    let world = quiet(proactive(ProactiveBackoff::Sleep64), &fragmented(5890, F::Page));
    let mut daemon = Proactive::default();
    run(daemon.check(&world, NodeId(0)));
    assert_eq!((counted(&world).0, daemon.pause(&world)), (1, Some(Nanos::new(500_000_000))));
    assert!((70..=80).contains(&score(&world)), "{}", score(&world));
}

#[test]
fn zones_weigh_by_their_size_and_nodes_have_scores_of_their_own() {
    let zone = |node, kind, start, blocks: u64| ZoneSpec {
        node: NodeId(node),
        kind,
        span: PfnRange::of(Pfn::new(start), Pages::new(512 * blocks)),
    };
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10, 20] }, NodeSpec { distances: vec![20, 10] }],
        zones: vec![
            zone(0, ZoneKind::Dma32, 4096, 4),
            zone(0, ZoneKind::Normal, 1 << 20, 12),
            zone(1, ZoneKind::Normal, 2 << 20, 8),
        ],
        ..Layout::default()
    };
    let mut builder = MmBuilder::new(&layout, Policy::default()).expect("the layout is sound");
    for spec in &layout.zones {
        for pfn in spec.span.iter() {
            let whole = spec.node == NodeId(0) && spec.kind == ZoneKind::Normal;
            let done = match pfn.get() % 2 == 0 || whole {
                true => builder.free(pfn, Order::ZERO),
                false => builder.allocate(pfn, Order::ZERO, Contents::Unmovable),
            };
            done.expect("every frame is given once");
        }
    }
    let mm = builder.finish();
    // A quarter of node 0 is in single frames; of node 1, all.
    assert_eq!([0, 1].map(|node| mm.phys.node_score(NodeId(node))), [24, 99]);
    let zones = |class| mm.phys.zones_up_to(NodeId(0), class).iter().map(|zone| zone.index()).collect::<Vec<_>>();
    assert_eq!([zones(ZoneKind::Dma32), zones(ZoneKind::Movable)], [vec![0], vec![0, 1]]);
}

#[test]
fn the_largest_order_and_the_lowest_class_are_what_kcompactd_works_for() {
    let world = World::new(classic(), &worked_example());
    world.with(|mm| {
        let node = &mut mm.phys.daemons.kcompactd[0];
        let request = |order, class| DaemonRequest { order: Order::new(order).expect("an order"), class };
        for (order, class) in
            [(3, ZoneKind::Normal), (9, ZoneKind::Movable), (2, ZoneKind::Dma32), (4, ZoneKind::Normal)]
        {
            node.ask(request(order, class));
        }
        let asked = request(9, ZoneKind::Dma32);
        assert_eq!(node.request, Some(asked));
        node.done(request(4, ZoneKind::Normal));
        assert_eq!(node.request, Some(asked), "a larger order is still to be worked for");
        node.done(asked);
        assert_eq!(node.request, None);
    });
}

#[test]
fn a_daemon_found_at_rest_looks_half_a_minute_later_at_most_and_at_once_where_the_setting_is_written() {
    let world = quiet(proactive(ProactiveBackoff::Sleep64), &hopeless());
    let within = |world: &World| world.mm.borrow().phys.first_proactive_look_within(NodeId(0));
    assert_eq!(within(&world), PROACTIVE_INTERVAL);
    world.with(|mm| mm.phys.let_kcompactd_rest(NodeId(0)));
    assert_eq!(within(&world), Nanos::new(32_000_000_000));
    world.with(|mm| mm.phys.set_compaction_proactiveness(20));
    assert_eq!(within(&world), PROACTIVE_INTERVAL);
}
