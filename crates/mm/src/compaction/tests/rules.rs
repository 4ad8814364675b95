//! When a run is over, who defers, and when kcompactd is woken.

use order9_frames::{Watermarks, ZoneId};
use order9_units::Migratetype;

use super::*;
use crate::compaction::run::control::{CompactControl, Compactor};
use crate::compaction::run::end_conditions::Finished;
use crate::compaction::zone::deferral::{Asker, Deferral};
use crate::daemon_request::DaemonRequest;
use crate::env::CompactResult;

const ZONE: ZoneId = ZoneId(0);
const DIRECT: Compactor = Compactor::Direct(CompactPriority::SyncLight);

fn order(order: u8) -> Order {
    Order::new(order).expect("an order")
}

/// A zone of eight pageblocks, the first of type `mt`, in which the blocks at these pages, of these orders, are free.
fn zone(policy: Policy, mt: Migratetype, free: &[(u64, u8)]) -> Mm {
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec {
            node: NodeId(0),
            kind: ZoneKind::Normal,
            span: PfnRange::of(Pfn::new(BASE), Pages::new(8 * 512)),
        }],
        ..Layout::default()
    };
    let mut builder = MmBuilder::new(&layout, policy).expect("the layout is sound");
    builder.set_block_type(Pfn::new(BASE), mt).expect("it is in the zone");
    for &(page, of) in free {
        builder.free(Pfn::new(BASE + page), order(of)).expect("it is given once");
    }
    let mut mm = builder.finish();
    mm.phys.frames.set_groups_mobility(true);
    mm
}

fn run(by: Compactor, of: u8, migratetype: Migratetype) -> CompactControl {
    let mut run = CompactControl::new(by, ZONE, Some(order(of)), ZoneKind::Normal);
    (run.migratetype, run.migrate_pfn, run.free_pfn) = (migratetype, Pfn::new(BASE + 512), Pfn::new(BASE + 7 * 512));
    run
}

#[test]
fn a_movable_request_is_served_by_blocks_that_it_may_claim_and_others_by_any() {
    use Migratetype::{Cma, Movable, Unmovable};
    let success = Finished::Over(CompactResult::Success);
    for (asked, of, block, expected) in [
        (Movable, Movable, 3, success),
        (Movable, Unmovable, 3, Finished::NoSuitablePage),
        (Movable, Unmovable, 4, success),
        (Unmovable, Movable, 3, success),
        (Movable, Cma, 3, success),
        (Unmovable, Cma, 3, Finished::NoSuitablePage),
    ] {
        let mm = zone(classic(), of, &[(0, block)]);
        assert_eq!(
            mm.phys.finished_by_lists(&mut run(DIRECT, 3, asked), order(3)),
            expected,
            "{asked:?} {of:?} {block}"
        );
    }
}

#[test]
fn a_pageblock_that_will_be_claimed_for_kernel_memory_is_emptied_first() {
    let mm = zone(classic(), Migratetype::Movable, &[(0, 3)]);
    let mut run = run(DIRECT, 3, Migratetype::Unmovable);
    run.migrate_pfn = Pfn::new(BASE + 512 + 32);
    assert_eq!(mm.phys.finished_by_lists(&mut run, order(3)), Finished::Continue);
    assert!(run.finishing_block);
    let empty = zone(classic(), Migratetype::Movable, &[]);
    assert_eq!(empty.phys.finished_by_lists(&mut run, order(3)), Finished::Continue, "nothing is asked before its end");
    run.migrate_pfn = Pfn::new(BASE + 1024);
    assert_eq!(mm.phys.finished_by_lists(&mut run, order(3)), Finished::Over(CompactResult::Success));
    assert!(!run.finishing_block);
}

#[test]
fn scanners_that_met_start_at_the_ends_again_and_show_demand_if_somebody_waits() {
    for (by, whole_zone, result, demand) in [
        (DIRECT, false, CompactResult::PartialSkipped, true),
        (DIRECT, true, CompactResult::Complete, true),
        (Compactor::Kcompactd, true, CompactResult::Complete, false),
    ] {
        let mut mm = zone(classic(), Migratetype::Movable, &[]);
        let mut run = run(by, 9, Migratetype::Movable);
        (run.whole_zone, run.free_pfn) = (whole_zone, run.migrate_pfn);
        let middle = Pfn::new(BASE + 1024);
        let of = &mut mm.compaction.zones[0];
        (of.cached_migrate, of.cached_free) = ([middle; 2], middle);
        assert_eq!(mm.compaction.compact_finished(&mut run, &mut mm.phys), Finished::Over(result));
        let of = &mm.compaction.zones[0];
        assert_eq!((of.cached_migrate, of.cached_free), ([Pfn::new(BASE); 2], Pfn::new(BASE + 7 * 512)));
        assert_eq!(of.blockskip_flush, demand, "{by:?}");
    }
}

#[test]
fn proactive_compaction_stops_at_the_low_threshold_or_where_kswapd_works() {
    let judged = |more: u64, kswapd_asleep| {
        let halves = (1..8).map(|block| (512 * block, 8));
        let quarters = (1..=2 + more).map(|block| (512 * block + 256, 7));
        let free: Vec<_> = halves.chain(quarters).chain([(0, 9)]).collect();
        let mut mm = zone(classic(), Migratetype::Movable, &free);
        mm.phys.settings.compaction_proactiveness = 20;
        mm.phys.daemons.kswapd[0].asleep = kswapd_asleep;
        mm.phys.finished_by_score(&run(Compactor::Proactive, 9, Migratetype::Movable))
    };
    assert_eq!(judged(0, true), Finished::Over(CompactResult::Success), "80 % of what is free is not in pageblocks");
    assert_eq!(judged(3, true), Finished::Continue, "82 %");
    assert_eq!(judged(3, false), Finished::Over(CompactResult::PartialSkipped));
}

#[test]
fn the_order_that_failed_is_deferred_and_smaller_ones_are_not() {
    let deferred = |of| Deferral { considered: 0, shift: 3, order_failed: 5 }.is_deferred(order(of));
    assert_eq!([4, 5, 6].map(deferred), [false, true, true]);
}

#[test]
fn an_allocation_ends_a_deferral() {
    let mut deferral = Deferral { considered: 3, shift: 3, order_failed: 4 };
    deferral.succeed(order(9), false);
    assert_eq!(deferral, Deferral { considered: 3, shift: 3, order_failed: 10 }, "a block that nobody took");
    deferral.succeed(order(9), true);
    assert_eq!(deferral, Deferral { considered: 0, shift: 0, order_failed: 10 });
}

#[test]
fn only_the_longest_deferral_starts_over() {
    let restarts = |considered, shift| Deferral { considered, shift, order_failed: 4 }.is_restarting(order(9), 6);
    assert!(restarts(64, 6) && !restarts(63, 6) && !restarts(8, 3));
}

#[test]
fn remote_requests_defer_apart_where_their_cap_is_another() {
    for (remote_cap, apart) in [(6, false), (4, true)] {
        let policy = classic_with(|rules| (rules.defer_cap, rules.defer_remote_cap) = (6, remote_cap));
        let mut mm = zone(policy, Migratetype::Movable, &[]);
        assert_eq!(mm.phys.asker(ZONE, NodeId(0)), Asker::Local);
        let remote = mm.phys.asker(ZONE, NodeId(1));
        assert_eq!(remote == Asker::Remote, apart);
        for asker in [Asker::Local, Asker::Remote] {
            (0..9).for_each(|_| mm.compaction.defer_compaction(ZONE, order(9), asker, &mut mm.phys));
        }
        let shifts = |mm: &Mm| mm.compaction.zones[0].deferral.map(|of| of.shift);
        assert_eq!(shifts(&mm), [6, remote_cap]);
        mm.compaction.compaction_defer_reset(ZONE, order(9), Asker::Remote, true, &mut mm.phys);
        assert_eq!(shifts(&mm), [0, 0], "an allocation ends the deferral of everybody");
        mm.compaction.defer_compaction(ZONE, order(9), Asker::Local, &mut mm.phys);
        mm.compaction.zones[0].blockskip_flush = true;
        mm.compaction.compaction_paid_off(ZONE, order(9), &mut mm.phys);
        assert_eq!((shifts(&mm), mm.compaction.zones[0].blockskip_flush), ([0, 0], false), "hints stay");
    }
}

#[test]
fn kcompactd_is_woken_for_blocks_that_it_could_make() {
    let woken = |of, parts: u64| {
        let free: Vec<_> = (0..parts).map(|part| (128 * part, 6)).collect();
        let mut mm = zone(classic(), Migratetype::Movable, &free);
        mm.phys.frames.edit_zone(0, |zone| zone.watermarks = Watermarks { min: 10, low: 12, high: 15 });
        mm.phys.daemons.kcompactd[0].asleep = true;
        let request = DaemonRequest { order: order(of), class: ZoneKind::Normal };
        mm.phys.wakeup_kcompactd(NodeId(0), request);
        (mm.phys.daemons.kcompactd[0].request == Some(request), mm.phys.daemons.wakeups.kcompactd != 0)
    };
    assert_eq!(woken(9, 20), (true, true));
    assert_eq!(woken(9, 16), (true, false), "1024 pages are too few: it is noted and left");
    assert_eq!(woken(0, 20), (false, false), "single pages need no compaction");
}

#[test]
fn what_daemons_look_at_is_counted_apart() {
    let mut mm = zone(classic(), Migratetype::Movable, &[]);
    mm.phys.count_daemon_scans(CompactTotals { migrate_scanned: 5, free_scanned: 7 });
    let counters = mm.counters();
    assert_eq!((counters.compact_daemon_migrate_scanned, counters.compact_daemon_free_scanned), (5, 7));
}

fn run_of_request() -> CompactControl {
    CompactControl::new(Compactor::Request, ZONE, Some(Order::PAGEBLOCK), ZoneKind::Normal)
}

#[test]
fn a_run_waits_where_more_pages_are_isolated_than_half_of_those_on_the_lists() {
    let frames: Vec<F> = (0..512).map(|at| if at < 30 { F::Page } else { F::Free }).collect();
    let world = World::new(classic(), &frames);
    let mm = &mut *world.mm.borrow_mut();
    let waits: Vec<bool> = (0..12)
        .map(|at| {
            let page = mm.phys.frames.at(Pfn::new(BASE + at));
            mm.pages.lru.isolate_lru(page, &mut mm.phys);
            mm.pages.too_many_isolated(&run_of_request(), &mm.phys)
        })
        .collect();
    assert_eq!(waits.iter().position(|&waits| waits), Some(10), "11 of 30 are isolated, 19 on the lists");
}

#[test]
fn pageblocks_that_reach_out_of_the_zone_are_no_sources() {
    let world = World::new(classic(), &[F::Page; 2 * 512 + 100]);
    let mm = world.mm.borrow();
    let blocks =
        [0, 1, 2].map(|block| mm.phys.block_in_zone(&run_of_request(), Pfn::new(BASE + 512 * block)).is_some());
    assert_eq!(blocks, [true, true, false]);
}

#[test]
fn the_place_of_the_free_scanner_only_comes_down() {
    let world = World::new(classic(), &[F::Free; 4 * 512]);
    let mut mm = world.mm.borrow_mut();
    let zone = &mut mm.compaction.zones[0];
    zone.reset_cached(PfnRange::of(Pfn::new(BASE), Pages::new(4 * 512)));
    let places = [3, 1, 2, 0].map(|block| {
        zone.advance_free(Pfn::new(BASE + 512 * block));
        (zone.cached_free.get() - BASE) / 512
    });
    assert_eq!(places, [3, 1, 1, 0]);
}
