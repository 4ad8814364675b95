//! Each rule of the 2019 series alone on top of the classic scanners, and all of them together.

use super::*;
use crate::env::CompactResult;

const HUGE: u64 = 512;

/// Pageblocks of which so many frames are free, at even places, all other frames holding pages.
fn blocks(free: &[usize]) -> Vec<F> {
    let frames = free.iter().flat_map(|&free| {
        (0..HUGE as usize).map(move |at| if at % 2 == 0 && at / 2 < free { F::Free } else { F::Page })
    });
    frames.collect()
}

fn run(policy: Policy, frames: &[F]) -> (World, CompactResult) {
    let world = World::new(policy, frames);
    let result = world.compact_huge(CompactPriority::Async).result;
    (world, result)
}

#[test]
fn rule_7_finishes_the_pageblock_whatever_the_order() {
    let order = Order::new(4).expect("a small order");
    for (rule, aligned) in [(false, false), (true, true)] {
        let policy = classic_with(|rules| rules.finish_block_always = rule);
        let world = World::new(policy, &blocks(&[0, 0, 0, 0, 256, 256]));
        let compacted = world.compact(order, Gfp::GFP_HIGHUSER_MOVABLE, CompactPriority::SyncLight);
        assert_eq!(compacted.result, CompactResult::Success);
        assert_eq!(world.ends().0.is_multiple_of(HUGE), aligned, "{rule}");
    }
}

#[test]
fn rule_8_takes_targets_in_spite_of_a_boost() {
    // Somebody takes most of the free memory in a way that boosts the zone.
    fn others(mm: &mut Mm) {
        let request = Request { cpu: usize::MAX, ..Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE) };
        while mm.phys.frames.zones()[0].free() > 520 {
            mm.alloc_fast(&request).expect("memory is free");
        }
        mm.phys.frames.edit_zone(0, |zone| zone.boost = 512);
    }
    for (rule, result) in [(false, CompactResult::Contended), (true, CompactResult::Success)] {
        let policy = classic_with(|rules| rules.isolate_ignores_boost = rule);
        let world = World::new(policy, &blocks(&[0, 0, 0, 0, 256, 256, 256, 256, 256]));
        world.others.set(Some(others));
        assert_eq!(world.compact_huge(CompactPriority::Async).result, result, "{rule}");
    }
}

/// A zone whose third pageblock is half free in one piece, among pageblocks without anything free; targets are above.
fn one_is_half_free() -> Vec<F> {
    let mut frames = blocks(&[0, 0, 0, 0, 0, 0, 0, 0, 256, 256, 256, 256]);
    frames[2 * 512..2 * 512 + 256].fill(F::Free);
    frames
}

#[test]
fn rule_9_begins_with_the_pageblock_that_is_free_in_part() {
    let (linear, result) = run(classic(), &one_is_half_free());
    assert_eq!((result, linear.moved()), (CompactResult::Success, 512));
    let (fast, result) = run(classic_with(|rules| rules.source_search = SourceSearch::FreeLists), &one_is_half_free());
    assert_eq!((result, fast.moved(), fast.ends().0), (CompactResult::Success, 256, 3 * HUGE));
    assert_eq!(fast.totals().migrate_scanned, 1 + 1 + 256, "an entry, the free block, and the pages");
}

#[test]
fn rule_9_is_wasted_where_its_mark_is_taken_for_another_run() {
    for (wasted, moved) in [(false, 256), (true, 512)] {
        let policy = classic_with(|rules| {
            (rules.source_search, rules.source_private) = (SourceSearch::FreeLists, true);
            rules.fast_source_wasted = wasted;
        });
        let (world, result) = run(policy, &one_is_half_free());
        assert_eq!((result, world.moved()), (CompactResult::Success, moved), "{wasted}");
        assert!(world.skipped().contains(&2));
    }
}

#[test]
fn rule_10_marks_the_pageblock_while_it_is_emptied() {
    let frames = blocks(&[0, 0, 0, 256, 256, 256, 256, 256]);
    let (classic_world, _) = run(classic(), &frames);
    assert!(!classic_world.skipped().contains(&0));
    for aligned_only in [false, true] {
        let policy = classic_with(|rules| {
            rules.source_private = true;
            rules.private_aligned_only = aligned_only;
        });
        let (world, result) = run(policy.clone(), &frames);
        assert_eq!(result, CompactResult::Success);
        assert!(world.skipped().contains(&0), "its first frame is a page");
        let (world, _) = run(policy, &blocks(&[1, 0, 0, 256, 256, 256, 256, 256]));
        assert_eq!(world.skipped().contains(&0), !aligned_only, "its first frame is free");
    }
}

#[test]
fn rule_10_starts_behind_what_was_looked_at_and_by_an_oversight_one_further() {
    for (overshoot, cached) in [(false, HUGE), (true, 2 * HUGE)] {
        let policy = classic_with(|rules| (rules.source_private, rules.cached_migrate_overshoot) = (true, overshoot));
        let mut frames = blocks(&[0, 0, 256, 256, 256, 256, 256]);
        frames[..512].fill(F::Kernel);
        let (world, result) = run(policy, &frames);
        assert_eq!((result, world.cached()[0]), (CompactResult::Success, Some(cached)), "{overshoot}");
    }
}

#[test]
fn rule_11_takes_targets_from_the_lists() {
    // Free frames lie deep below the end of the zone, where the scanner comes late.
    let mut frames = blocks(&[0; 14]);
    (6..11).for_each(|block| frames[block * 512..block * 512 + 256].fill(F::Free));
    let run = |policy| {
        let world = World::new(policy, &frames);
        // So few large blocks are no fragmentation worth a run otherwise.
        world.with(|mm| mm.phys.settings.extfrag_threshold = 0);
        let result = world.compact_huge(CompactPriority::Async).result;
        (world, result)
    };
    let (linear, _) = run(classic());
    let (fast, result) = run(classic_with(|rules| rules.target_search = TargetSearch::FreeLists));
    assert_eq!((result, fast.moved()), (CompactResult::Success, linear.moved()));
    assert_eq!(linear.totals().free_scanned, 3 * HUGE + 1 + 256 + 1, "three and a half pageblocks in vain");
    assert!(fast.totals().free_scanned <= 10, "{:?}", fast.totals());
    assert_eq!(fast.ends().1, 13 * HUGE, "the scanner stays where it is");
    let searches = |world: &World| world.events(|event| matches!(event, CompactEvent::FastIsolateFreepages { .. }));
    assert!(searches(&linear) == 0 && searches(&fast) > 0);
}

#[test]
fn rule_13_finishes_the_pageblock_in_spite_of_a_busy_lock() {
    let frames = blocks(&[0, 0, 0, 256, 256, 256, 256, 256]);
    for (rule, result, moved) in [(false, CompactResult::Contended, 0), (true, CompactResult::Success, 512)] {
        let world = World::new(classic_with(|rules| rules.contention_finish_block = rule), &frames);
        world.lru_busy.set(true);
        assert_eq!((world.compact_huge(CompactPriority::Async).result, world.moved()), (result, moved));
    }
    let world = World::new(classic(), &frames);
    world.lru_busy.set(true);
    let patient = world.compact_huge(CompactPriority::SyncLight).result;
    assert_eq!(patient, CompactResult::Success, "who may sleep waits for the lock");
}

#[test]
fn a_busy_zone_lock_ends_an_asynchronous_run_without_targets() {
    let world = World::new(classic(), &blocks(&[0, 0, 0, 256, 256, 256, 256, 256]));
    world.zone_busy.set(true);
    assert_eq!((world.compact_huge(CompactPriority::Async).result, world.moved()), (CompactResult::Contended, 0));
}

#[test]
fn rule_14_passes_over_huge_pages_before_it_looks_at_them() {
    let mut frames = blocks(&[0, 0, 0, 256, 256, 256, 256, 256]);
    frames[..1024].fill(F::Huge);
    let (classic_world, _) = run(classic(), &frames);
    let (world, result) = run(classic_with(|rules| rules.skip_huge_block_early = true), &frames);
    assert_eq!(result, CompactResult::Success);
    assert_eq!(classic_world.totals().migrate_scanned - world.totals().migrate_scanned, 2);
    assert_eq!((classic_world.cached()[0], world.cached()[0]), (Some(HUGE), Some(2 * HUGE)));
}

#[test]
fn rule_15_brings_the_patient_position_along_where_nothing_can_be_taken() {
    for (rule, patient) in [(false, 0), (true, 1)] {
        let mut frames = blocks(&[0, 0, 256, 256, 256, 256, 256]);
        frames[..1024].fill(F::Kernel);
        let (world, result) = run(classic_with(|rules| rules.sync_cached_unusable = rule), &frames);
        assert_eq!(result, CompactResult::Success);
        assert_eq!(world.cached()[..2], [Some(HUGE), Some(patient * HUGE)], "{rule}");
    }
}

#[test]
fn rule_17_goes_on_though_others_wait_for_the_cpu() {
    for (aborts, result) in [(true, CompactResult::Contended), (false, CompactResult::Success)] {
        let policy = classic_with(|rules| rules.resched_aborts_async = aborts);
        let world = World::new(policy, &blocks(&[0, 0, 0, 256, 256, 256, 256, 256]));
        world.resched.set(true);
        assert_eq!(world.compact_huge(CompactPriority::Async).result, result);
    }
}

#[test]
fn rule_18_is_done_with_pageblocks_that_it_has_searched() {
    let (world, result) = run(classic_with(|rules| rules.free_cursor_slow = true), &worked_example());
    assert_eq!((result, world.moved()), (CompactResult::Success, 396));
    assert_eq!((world.skipped(), world.cached()[2]), (vec![0, 6, 7], Some(6 * HUGE)));
}

#[test]
fn rule_20_looks_at_every_32nd_frame_where_nothing_is_free() {
    let policy = classic_with(|rules| rules.target_stride = TargetStride::Adaptive);
    let (sampled, _) = run(policy.clone(), &worked_example());
    let thorough = World::new(policy, &worked_example());
    assert_eq!(thorough.compact_huge(CompactPriority::SyncLight).result, CompactResult::Success);
    let [sampled, thorough] = [sampled, thorough].map(|world| world.totals().free_scanned);
    assert!(sampled < 512 && thorough > 1000, "{sampled} {thorough}");
}

#[test]
fn rule_21_looks_again_where_there_is_something_to_do() {
    let mut frames = blocks(&[0, 0, 100, 256, 0, 256, 256, 256, 256]);
    frames[..1024].fill(F::Kernel);
    frames[8 * 512..].fill(F::Kernel);
    for (rule, cached) in [(SkipReset::Full, [0, 0, 8]), (SkipReset::Selective, [2, 2, 7])] {
        let world = World::new(classic_with(|rules| rules.skip_reset = rule), &frames);
        world.with(|mm| {
            (0..9).for_each(|block| mm.compaction.skip.set(block, true));
            mm.compaction.zones[0].blockskip_flush = true;
            mm.compaction.reset_isolation_suitable_of(NodeId(0), &mut mm.phys);
        });
        assert_eq!(world.cached(), cached.map(|block| Some(block * HUGE)), "{rule:?}");
        let left = if rule == SkipReset::Full { vec![] } else { vec![0, 1, 8] };
        assert_eq!(world.skipped(), left, "{rule:?}");
    }
    let policy = classic_with(|rules| (rules.skip_reset, rules.reset_free_last_frame) = (SkipReset::Selective, true));
    let world = World::new(policy, &frames);
    world.with(|mm| {
        mm.compaction.zones[0].blockskip_flush = true;
        mm.compaction.reset_isolation_suitable_of(NodeId(0), &mut mm.phys);
    });
    assert_eq!(world.cached()[2], Some(8 * HUGE - 1), "by an oversight, the last frame of the pageblock");
}

#[test]
fn rule_22_gives_the_block_to_who_made_it_exactly_once() {
    for cpus in [0, 1] {
        let policy = classic_with(|rules| rules.capture = true);
        let world = World::with_cpus(policy, &worked_example(), cpus);
        let free = world.mm.borrow().phys.frames.zones()[0].free();
        let Compacted { result, captured } = world.compact_huge(CompactPriority::Async);
        let pfn = captured.expect("the task made it");
        assert_eq!((result, pfn.get() - BASE), (CompactResult::Success, HUGE));
        assert_eq!(world.mm.borrow().phys.frames.frame(pfn), crate::FrameState::Allocated { order: Order::PAGEBLOCK });
        assert_eq!((world.mm.borrow().counters().compact_captured, world.free_huge()), (1, 0));
        assert_eq!(world.mm.borrow().phys.frames.zones()[0].free() + HUGE, free);
        world.with(|mm| mm.free(pfn, CPU)).expect("it is an allocation like any other");
        assert_eq!(world.free_huge(), 1);
    }
}

#[test]
fn the_whole_series_works_together() {
    let world = World::new(series(), &worked_example());
    let compacted = world.compact_huge(CompactPriority::Async);
    assert!(compacted.captured.is_some(), "{compacted:?}");
    assert!(world.moved() <= 332 + 96, "{}", world.moved());
}

#[test]
fn every_step_of_the_series_makes_a_block_of_the_worked_example() {
    let steps: [fn(&mut CompactionPolicy); 15] = [
        |rules| rules.drain_mark = DrainMark::IterationStart,
        |rules| rules.nohandler_fail_fast = true,
        |rules| rules.finish_block_always = true,
        |rules| rules.isolate_ignores_boost = true,
        |rules| rules.source_search = SourceSearch::FreeLists,
        |rules| (rules.source_private, rules.private_aligned_only, rules.cached_migrate_overshoot) = (true, true, true),
        |rules| (rules.target_search, rules.target_limit_min) = (TargetSearch::FreeLists, true),
        |rules| rules.rescan_whole_block = true,
        |rules| rules.contention_finish_block = true,
        |rules| rules.skip_huge_block_early = true,
        |rules| rules.sync_cached_unusable = true,
        |rules| rules.resched_aborts_async = false,
        |rules| rules.free_cursor_slow = true,
        |rules| rules.target_order_rr = true,
        |rules| rules.target_stride = TargetStride::Adaptive,
    ];
    let mut together = classic();
    for (at, step) in steps.into_iter().enumerate() {
        step(&mut together.compaction);
        for (how, policy) in [("alone", classic_with(step)), ("with all before", together.clone())] {
            for priority in [CompactPriority::Async, CompactPriority::SyncLight, CompactPriority::SyncFull] {
                // Samples alone see too few of the free frames of so small a zone.
                let samples = policy.compaction.target_stride == TargetStride::Adaptive
                    && policy.compaction.target_search == TargetSearch::Linear;
                if samples && priority == CompactPriority::Async {
                    continue;
                }
                let world = World::new(policy.clone(), &worked_example());
                let result = world.compact_huge(priority).result;
                assert_eq!((result, world.free_huge() > 0), (CompactResult::Success, true), "{at} {how}, {priority:?}");
            }
        }
    }
}

#[test]
fn what_a_drain_of_per_cpu_lists_makes_is_captured_too() {
    let mut frames = worked_example();
    frames.extend([F::Page; 24 * 512]);
    let world = World::new(classic_with(|rules| rules.capture = true), &frames);
    assert!(
        world.mm.borrow().phys.frames.pcp(order9_frames::ZoneId(0), CPU).expect("a CPU").high() > 0,
        "the zone is large enough for per-CPU lists"
    );
    let compacted = world.compact_huge(CompactPriority::Async);
    assert!(compacted.captured.is_some(), "{compacted:?}");
    assert_eq!(world.mm.borrow().counters().compact_captured, 1);
}

#[test]
fn a_look_before_the_drain_costs_one_batch_more() {
    let batches = |before_drain| {
        let mut frames = worked_example();
        frames.extend([F::Page; 24 * 512]);
        let rules = classic_with(|rules| (rules.capture, rules.capture_before_drain) = (true, before_drain));
        let world = World::new(rules, &frames);
        let compacted = world.compact_huge(CompactPriority::Async);
        assert!(compacted.captured.is_some() && compacted.result == CompactResult::Success, "{compacted:?}");
        world.events(|event| matches!(event, CompactEvent::Migratepages { .. }))
    };
    assert_eq!(batches(true), batches(false) + 1);
}

#[test]
fn a_page_that_cannot_move_has_its_pageblock_finished_and_marked() {
    let scans = |world: &World| {
        world.events(
            |event| matches!(event, CompactEvent::IsolateMigratepages { range, .. } if range.start.get() < BASE + HUGE),
        )
    };
    for (rule, scanned, marked) in [(false, 16, false), (true, 2, true)] {
        let frames = blocks(&[0, 0, 0, 256, 256, 256, 256, 256]);
        let world = World::new(classic_with(|rules| rules.finish_on_failure = rule), &frames);
        world.mm.borrow_mut().pin(Pfn::new(BASE)).expect("a page is there");
        assert_eq!(world.compact_huge(CompactPriority::SyncLight).result, CompactResult::Success);
        assert_eq!((scans(&world), world.skipped().contains(&0)), (scanned, marked));
    }
    let world =
        World::new(classic_with(|rules| rules.finish_on_failure = true), &blocks(&[0, 0, 0, 256, 256, 256, 256, 256]));
    world.mm.borrow_mut().pin(Pfn::new(BASE)).expect("a page is there");
    world.compact_huge(CompactPriority::SyncFull);
    assert_eq!(scans(&world), 16, "who has no regard to hints goes on as before");
}
