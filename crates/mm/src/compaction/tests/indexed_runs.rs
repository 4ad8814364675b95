//! Runs that choose by the index: they move as little as can be, know what is possible, and lose nothing to others.

use order9_units::Migratetype;

use super::*;
use crate::Suitable;
use crate::daemon_request::DaemonRequest;
use crate::env::CompactResult;
use crate::slab::tests::Random;
use crate::tasks::compaction::kcompactd::work;
use crate::tasks::compaction::request::compact_node;
use crate::tasks::compaction::reserve::fill_reserves;

const HUGE: u64 = 512;

pub(super) fn indexed() -> Policy {
    let mut policy = classic();
    policy.compaction = CompactionPolicy {
        source_search: SourceSearch::Index,
        target_search: TargetSearch::Index,
        capture: true,
        isolate_ignores_boost: true,
        ..policy.compaction
    };
    policy
}

#[test]
fn the_worked_example_costs_what_it_must() {
    let world = World::new(indexed(), &worked_example());
    let first = world.compact_huge(CompactPriority::Async);
    assert_eq!(first.captured.map(|pfn| pfn.get() - BASE), Some(4 * HUGE));
    assert_eq!((world.moved(), world.isolated()), (256, 2 * 256));
    assert_eq!(world.totals(), CompactTotals { migrate_scanned: 512, free_scanned: 256 });
    // The kernel's frame in pageblock 5 made it the best target.
    assert_eq!(world.mm.borrow().phys.frames.pageblock(Pfn::new(BASE + 5 * HUGE)).expect("it is there").free, 0);
    let second = world.compact_huge(CompactPriority::Async);
    assert_eq!(second.captured.map(|pfn| pfn.get() - BASE), Some(6 * HUGE));
    assert_eq!(world.moved(), 256 + 284);
    let third = world.compact_huge(CompactPriority::Async);
    assert_eq!((third.result, world.moved()), (CompactResult::Skipped, 256 + 284));
    world.mm.borrow().check().expect("all laws hold");
}

#[test]
fn a_pageblock_that_keeps_something_is_left_alone_and_tried_last() {
    let mut frames = worked_example();
    frames[4 * 512 + 301] = F::Fixed;
    let world = World::new(indexed(), &frames);
    let compacted = world.compact_huge(CompactPriority::Async);
    assert_eq!(compacted.captured.map(|pfn| pfn.get() - BASE), Some(6 * HUGE), "the next one");
    assert_eq!(world.moved(), 284, "nothing is moved in vain");
}

/// Pageblocks by what they hold, some of them of a type that takes no pages.
fn random_zone(random: &mut Random, crowded: bool) -> (Vec<F>, Vec<usize>) {
    let blocks = 8 + random.below(12) as usize;
    let (mut frames, mut unmovable) = (Vec::new(), Vec::new());
    for block in 0..blocks {
        let free = [0, 8, 40, 256, 400, 511][random.below(if crowded { 3 } else { 6 }) as usize];
        let pages = (0..512).map(|_| if random.below(512) < free { F::Free } else { F::Page });
        frames.extend(pages);
        match random.below(6) {
            0 => frames[block * 512 + random.below(512) as usize] = F::Kernel,
            1 => unmovable.push(block),
            _ => {}
        }
    }
    (frames, unmovable)
}

fn random_world(policy: Policy, seed: u64) -> World {
    let (frames, unmovable) = random_zone(&mut Random(seed), seed.is_multiple_of(4));
    let world = World::new(policy, &frames);
    for block in unmovable {
        let pfn = Pfn::new(BASE + block as u64 * HUGE);
        world.with(|mm| {
            mm.phys.frames.isolate_pageblock(pfn).expect("it is whole");
            mm.phys.frames.unisolate_pageblock(pfn, Migratetype::Unmovable).expect("it is isolated");
        });
    }
    world
}

/// Costs of pageblocks that can be emptied: of Movable ones, and of others; and the room for what is in them.
fn costs(world: &World) -> (Vec<u64>, Vec<u64>, u64) {
    let mm = world.mm.borrow();
    let (mut movable, mut others, mut room) = (Vec::new(), Vec::new(), 0);
    for block in mm.phys.frames.blocks().iter().filter(|block| u64::from(block.free) < HUGE && block.absent == 0) {
        let cost = HUGE - u64::from(block.free);
        if block.migratetype == Migratetype::Movable {
            room += u64::from(block.free);
        }
        match (block.is_evacuable(), block.migratetype) {
            (true, Migratetype::Movable) => movable.push(cost),
            (true, _) => others.push(cost),
            (false, _) => {}
        }
    }
    movable.sort_unstable();
    others.sort_unstable();
    (movable, others, room)
}

/// Fewest moves that empty `n` pageblocks; `None` if there is no room for what is in them.
fn fewest_moves(movable: &[u64], others: &[u64], room: u64, n: usize) -> Option<u64> {
    let ways = (0..=n).filter(|&k| k <= movable.len() && n - k <= others.len());
    let feasible = ways.filter_map(|k| {
        let (own, foreign): (u64, u64) = (movable[..k].iter().sum(), others[..n - k].iter().sum());
        (k as u64 * HUGE + foreign <= room).then_some(own + foreign)
    });
    feasible.min()
}

#[test]
fn one_huge_page_costs_the_fewest_moves_or_is_known_to_be_impossible() {
    let (mut possible, mut impossible) = (0, 0);
    for seed in 1..60 {
        let world = random_world(indexed(), seed);
        let (movable, others, room) = costs(&world);
        let spare = world.mm.borrow().phys.frames.zones()[0].free() > 10 + HUGE - 1;
        let fewest = fewest_moves(&movable, &others, room, 1).filter(|_| spare);
        let free_before = world.free_huge() > 0 && spare;
        let compacted = world.compact_huge(CompactPriority::SyncLight);
        match fewest {
            _ if free_before => assert_eq!((compacted.captured, world.moved()), (None, 0), "seed {seed}"),
            Some(moves) => {
                possible += 1;
                assert!(compacted.captured.is_some(), "seed {seed}: {compacted:?}");
                assert_eq!(world.moved(), moves, "seed {seed}");
                let totals = world.totals();
                assert!(totals.migrate_scanned + totals.free_scanned <= HUGE + 2 * moves, "seed {seed}: {totals:?}");
            }
            None => {
                impossible += 1;
                assert_eq!((compacted.result, world.moved()), (CompactResult::Skipped, 0), "seed {seed}");
                let flags = crate::AllocFlags::plain(crate::Mark::Min);
                let mm = world.mm.borrow();
                let zone = mm.phys.frames.zones()[0].id();
                let suitable = mm.phys.compaction_suitable(zone, Order::PAGEBLOCK, ZoneKind::Normal, &flags);
                assert!(matches!(suitable, Suitable::Skipped | Suitable::NotSuitableZone), "seed {seed}");
            }
        }
        world.mm.borrow().check().expect("all laws hold");
    }
    assert!(possible > 15 && impossible > 5, "{possible} and {impossible}");
}

#[test]
fn a_whole_zone_gives_all_it_has_for_the_fewest_moves() {
    let mut gained_together = 0;
    for seed in 100..120 {
        let mut policy = indexed();
        policy.frames.fallback.freelist_hygiene = seed % 2 == 0;
        policy.frames.pcp.keeps_cached_type = !policy.frames.fallback.freelist_hygiene;
        policy.frames.merge_guards_all_types = seed % 2 == 0;
        let world = random_world(policy, seed);
        let (movable, others, room) = costs(&world);
        let most = (0..=movable.len() + others.len())
            .rev()
            .find_map(|n| Some((n as u64, fewest_moves(&movable, &others, room, n)?)));
        let (most, fewest) = most.expect("none is possible");
        let free = world.free_huge();
        run(compact_node(&world, NodeId(0)));
        let gained = world.free_huge() - free;
        gained_together += gained;
        assert!(gained <= most, "seed {seed}: {gained} of {most}: nothing beats the bound");
        // A pageblock of another type may take the room that a later Movable one would have needed, or leave it none.
        assert!(gained + 1 >= most, "seed {seed}: {gained} of {most}");
        if gained == most {
            assert!(100 * world.moved() <= 105 * fewest, "seed {seed}: {} moves, {fewest} suffice", world.moved());
        }
        // Nothing is left to do.
        let moved = world.moved();
        run(compact_node(&world, NodeId(0)));
        assert_eq!((world.moved(), world.free_huge()), (moved, free + gained), "seed {seed}");
        world.mm.borrow().check().expect("all laws hold");
    }
    assert!(gained_together > 20, "{gained_together}");
}

#[test]
fn without_capture_the_block_is_free_for_everybody() {
    let mut policy = indexed();
    policy.compaction.capture = false;
    let world = World::new(policy, &worked_example());
    let compacted = world.compact_huge(CompactPriority::Async);
    assert_eq!((compacted.result, compacted.captured, world.free_huge()), (CompactResult::Success, None, 1));
    assert_eq!(
        world.mm.borrow().phys.frames.pageblock(Pfn::new(BASE + 4 * HUGE)).expect("it is there").migratetype,
        Migratetype::Movable
    );
}

#[test]
fn kcompactd_works_ahead_once_a_huge_page_is_taken_as_long_as_that_is_cheap() {
    let of = |free: u64, works_ahead| {
        let mut policy = indexed();
        policy.compaction.works_ahead = works_ahead;
        let frames: Vec<F> = (0..8 * 512).map(|at| if at % 512 < free { F::Free } else { F::Page }).collect();
        let world = World::new(policy, &frames);
        world.mm.borrow_mut().phys.daemons.kcompactd[0].asleep = true;
        world.compact_huge(CompactPriority::Async).captured.expect("there is room for one");
        let woken = !world.mm.borrow().phys.daemons.kcompactd[0].asleep;
        run(fill_reserves(&world, NodeId(0), ZoneKind::Normal));
        (woken, world.free_huge())
    };
    // Between the low and the high mark there is room for one.
    assert_eq!(of(300, true), (true, 1));
    assert_eq!(of(300, false), (false, 0));
    assert_eq!(of(256, true), (false, 0), "half a pageblock would have to move for nobody in particular");
}

#[test]
fn a_run_of_kcompactd_for_a_huge_page_goes_on_to_work_ahead() {
    let of = |order, works_ahead| {
        let mut policy = indexed();
        policy.compaction.works_ahead = works_ahead;
        let frames: Vec<F> = (0..8 * 512).map(|at| if at % 512 < 300 { F::Free } else { F::Page }).collect();
        let world = World::new(policy, &frames);
        // Between the low and the high mark there is room for two.
        world.with(|mm| mm.phys.frames.edit_zone(0, |zone| zone.watermarks.high = zone.watermarks.low + 2 * HUGE));
        let request = DaemonRequest { order: Order::new(order).expect("an order"), class: ZoneKind::Normal };
        run(work(&world, NodeId(0), request));
        world.free_huge()
    };
    assert_eq!([of(9, true), of(9, false), of(3, true)], [2, 1, 0]);
}

#[test]
fn only_the_daemon_makes_way_and_before_each_batch() {
    let of = |gives_way| {
        let mut policy = indexed();
        policy.compaction.works_ahead = true;
        policy.compaction.gives_way = gives_way;
        let frames: Vec<F> = (0..8 * 512).map(|at| if at % 512 < 300 { F::Free } else { F::Page }).collect();
        let world = World::new(policy, &frames);
        world.compact_huge(CompactPriority::Async).captured.expect("there is room for one");
        let direct = world.ways_made.get();
        let moved = world.moved();
        run(fill_reserves(&world, NodeId(0), ZoneKind::Normal));
        assert_eq!(world.moved() - moved, 212, "the cheapest pageblock is emptied");
        (direct, world.ways_made.get())
    };
    assert_eq!(of(false), (0, 0));
    let (direct, daemon) = of(true);
    assert_eq!(direct, 0, "somebody waits for it");
    assert!(daemon > 212 / 32, "{daemon}");
}

#[test]
fn requests_and_daemons_go_down_to_the_min_mark() {
    let marks = World::new(indexed(), &worked_example()).mm.borrow().phys.frames.zones()[0].watermarks();
    let asks = |free: u64| {
        let all: u64 = 8 * HUGE;
        let frames: Vec<F> =
            (0..all).map(|at| if at * free / all < (at + 1) * free / all { F::Free } else { F::Page }).collect();
        let world = World::new(indexed(), &frames);
        let mm = world.mm.borrow();
        let zone = &mm.phys.frames.zones()[0];
        assert_eq!(zone.free(), free);
        let flags = crate::AllocFlags::plain(crate::Mark::Min);
        let direct = mm.phys.compaction_suitable(zone.id(), Order::PAGEBLOCK, ZoneKind::Normal, &flags);
        (direct, mm.phys.suitable_for_any(zone, Order::PAGEBLOCK, ZoneKind::Normal))
    };
    assert_eq!(asks(marks.min + HUGE - 1), (Suitable::Skipped, Suitable::Skipped));
    assert_eq!(asks(marks.min + HUGE), (Suitable::Continue, Suitable::Continue));
}

#[test]
fn smaller_and_larger_orders_are_left_to_the_scanners() {
    for order in [4, 10] {
        let world = World::new(indexed(), &worked_example());
        world.compact(Order::new(order).expect("it exists"), Gfp::GFP_TRANSHUGE, CompactPriority::SyncLight);
        assert_eq!(world.mm.borrow().counters().index_emptied, 0);
        world.mm.borrow().check().expect("all laws hold");
    }
}

#[test]
fn reclaim_for_a_huge_page_is_asked_for_only_where_it_makes_the_difference() {
    let flags = crate::AllocFlags::plain(crate::Mark::Min);
    let asks = |frames: &[F], reclaimable| {
        let world = World::new(indexed(), frames);
        let mm = world.mm.borrow();
        let zone = &mm.phys.frames.zones()[0];
        let suitable = mm.phys.compaction_suitable(zone.id(), Order::PAGEBLOCK, ZoneKind::Normal, &flags);
        let helps = mm.phys.reclaim_makes_suitable(zone.id(), reclaimable, ZoneKind::Normal, &flags);
        let balanced = mm.pages.is_balanced(NodeId(0), Order::PAGEBLOCK, ZoneKind::Normal, &mm.phys);
        (suitable, helps, balanced)
    };
    // Every pageblock keeps a page of the kernel: nothing helps, and kswapd does not try.
    let spoilt: Vec<F> = (0..8 * 512).map(|at| if at % 512 == 9 { F::Kernel } else { F::Free }).collect();
    assert_eq!(asks(&spoilt, 4096), (Suitable::NotSuitableZone, false, true));
    // Half of the pages are free: compaction can start, and more free pages are no use.
    let half: Vec<F> = (0..8 * 512).map(|at| if at % 2 == 0 { F::Page } else { F::Free }).collect();
    assert_eq!(asks(&half, 4096), (Suitable::Continue, false, true));
    // A hundred are: it takes the rest of a huge page.
    let full: Vec<F> = (0..8 * 512).map(|at| if at % 41 == 0 { F::Free } else { F::Page }).collect();
    assert_eq!(asks(&full, 10), (Suitable::Skipped, false, false));
    assert_eq!(asks(&full, 1000), (Suitable::Skipped, true, false));
}

#[test]
fn a_run_waits_once_for_pages_that_its_own_task_may_hold() {
    let (frames, world) = (worked_example(), World::new(indexed(), &worked_example()));
    let pages = frames.iter().zip(BASE..).filter(|(frame, _)| **frame == F::Page);
    for (_, pfn) in pages.take(1200) {
        let mm = &mut *world.mm.borrow_mut();
        let page = mm.phys.frames.at(Pfn::new(pfn));
        mm.pages.lru.isolate_lru(page, &mut mm.phys);
    }
    let compacted = world.compact_huge(CompactPriority::SyncLight);
    assert_eq!((compacted.result, world.sleeps.get()), (CompactResult::Contended, 1));
}
