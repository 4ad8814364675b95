//! Obstacles of a page, the number of attempts, and the waits.

use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::{Order, Pages, Pfn};

use super::{CPU, MigrateMode, Migrated, TRANSFER, World};
use crate::env::{Env, Task, run};
use crate::migrate::{MigrateReason, Waits};
use crate::page_cache::MigrateHandler;
use crate::page_cache::tests::{read_pages, write_page};
use crate::policy::Policy;
use crate::reclaim::PageWrite;
use crate::tasks::migrate::gather::gather_pages;
use crate::tasks::migrate::run::migrate_pages;
use crate::tasks::migrate::targets::Targets;
use crate::{FileId, Gfp, LruList, Mm, Request};

const MODES: [MigrateMode; 3] = [MigrateMode::Async, MigrateMode::SyncLight, MigrateMode::Sync];
const MOVED: Migrated = Migrated { moved: 1, freed: 0, failed: 0, out_of_targets: false };
const FAILED: Migrated = Migrated { moved: 0, freed: 0, failed: 1, out_of_targets: false };

fn batched() -> World {
    let mut policy = Policy::default();
    policy.compaction.batched_migrate = true;
    World::with_policy(policy)
}

/// A page that is being read from a file.
fn locked(world: &World) -> Pfn {
    let file = world.file(1);
    let mut mm = world.mm.borrow_mut();
    let pfn = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("memory is free");
    mm.add_to_page_cache(file, 0, pfn, CPU).expect("it is open");
    world.reads.borrow_mut().push((file, 0));
    pfn
}

/// A dirty page of a file.
fn dirty(world: &World) -> (FileId, Pfn) {
    let file = world.file(1);
    write_page(&mut world.mm.borrow_mut(), file, 0, 1);
    (file, world.file_page(file, 0))
}

/// A page that is being written to its file, and one that is being written to swap.
fn written(world: &World) -> [Pfn; 2] {
    let (file, of_file) = dirty(world);
    let program = world.program(1);
    let of_program = world.page(program, 0);
    let mm = &mut *world.mm.borrow_mut();
    let write = mm.pages.start_writeback(file, Pages::new(1), &mut mm.phys).expect("it is dirty");
    let idx = mm.phys.frames.at(of_program);
    assert!(mm.pages.swap.add_to_swap(idx, &mut mm.phys));
    let swap = mm.pages.start_swap_write(idx, &mut mm.phys);
    world.writes.borrow_mut().extend([PageWrite::File(write), PageWrite::Swap(swap)]);
    [of_file, of_program]
}

#[test]
fn a_pinned_page_fails_in_every_pass_and_goes_back() {
    for mode in MODES {
        let world = World::new();
        let program = world.program(1);
        let pfn = world.page(program, 0);
        world.mm.borrow_mut().pin(pfn).expect("it is allocated");
        world.mm.borrow_mut().take_work();
        assert_eq!(world.gather(&[pfn], mode), FAILED);
        let mut mm = world.mm.borrow_mut();
        let (counters, work) = (mm.counters().clone(), mm.take_work());
        assert_eq!((counters.migrate_failures.pinned, counters.pgmigrate_fail), (10, 1));
        assert_eq!((work.rmap_walks, work.tlb_flushes, work.pages_copied), (20, 10, 0), "every pass unmaps it");
        assert_eq!(work.folios_moved, 0);
        assert_eq!(mm.phys.lru_of(pfn), Some(LruList::ActiveAnon));
        mm.unpin(pfn).expect("it is pinned");
    }
}

#[test]
fn who_may_sleep_waits_for_a_read_from_the_fourth_pass_on() {
    let direct = Task { memalloc: true, ..Task::default() };
    let cases = [
        (MODES[0], Task::default(), 10),
        (MODES[1], direct, 10),
        (MODES[1], Task::default(), 3),
        (MODES[2], Task::default(), 3),
    ];
    for (mode, task, failures) in cases {
        let world = World::new();
        let pfn = locked(&world);
        world.task.set(task);
        let moves = failures == 3;
        assert_eq!(world.gather(&[pfn], mode), if moves { MOVED } else { FAILED }, "{mode:?}, {task:?}");
        let waited = if moves { Waits { number: 1, time: TRANSFER } } else { Waits::default() };
        let mm = world.mm.borrow();
        assert_eq!((mm.counters().migrate_failures.locked, mm.counters().migrate_waits.read), (failures, waited));
    }
}

#[test]
fn a_page_under_writeback_moves_in_sync_mode_alone() {
    for mode in MODES {
        let world = World::new();
        let pages = written(&world);
        let (moved, failures) = if mode == MigrateMode::Sync { (2, 6) } else { (0, 2) };
        assert_eq!(
            world.gather(&pages, mode),
            Migrated { moved, failed: 2 - moved, ..Migrated::default() },
            "{mode:?}"
        );
        let counters = world.mm.borrow().counters().clone();
        assert_eq!((counters.migrate_failures.writeback, counters.pgmigrate_fail), (failures, 2 - moved));
        let waits = counters.migrate_waits;
        // The first wait is over when both are written.
        assert_eq!(waits.file_write.number + waits.swap_write.number, moved / 2);
        world.end_transfers();
        world.mm.borrow().check().expect("every law holds");
    }
}

#[test]
fn a_dirty_page_without_handler_is_written_in_sync_mode() {
    for mode in MODES {
        let world = World::new();
        let (file, pfn) = dirty(&world);
        {
            let mm = &mut *world.mm.borrow_mut();
            mm.pages.cache.set_migrate_handler(file, MigrateHandler::Absent);
        };
        let sync = mode == MigrateMode::Sync;
        assert_eq!(world.gather(&[pfn], mode), if sync { MOVED } else { FAILED }, "{mode:?}");
        let counters = world.mm.borrow().counters().clone();
        let failures = counters.migrate_failures;
        // Begun in the first pass, under way in the next two, waited for in the fourth.
        assert_eq!((failures.dirty, failures.writeback), (1, if sync { 2 } else { 0 }));
        assert_eq!(counters.migrate_waits.file_write.number, u64::from(sync));
    }
}

#[test]
fn private_data_without_handler_fails_by_policy() {
    for (fail_fast, mode, failures) in [(true, MODES[0], 1), (true, MODES[2], 10), (false, MODES[1], 10)] {
        let mut policy = Policy::default();
        policy.compaction.nohandler_fail_fast = fail_fast;
        let world = World::with_policy(policy);
        let file = world.file(2);
        read_pages(&mut world.mm.borrow_mut(), file, 0, 1);
        {
            let mm = &mut *world.mm.borrow_mut();
            mm.pages.cache.set_migrate_handler(file, MigrateHandler::AbsentPrivate);
        };
        assert_eq!(world.gather(&[world.file_page(file, 0)], mode), FAILED);
        assert_eq!(world.mm.borrow().counters().migrate_failures.private_data, failures);
    }
}

#[test]
fn translations_are_flushed_once_for_a_batch() {
    let world = batched();
    let pages = world.pages(world.program(40), 40);
    world.mm.borrow_mut().take_work();
    assert_eq!(world.gather(&pages, MigrateMode::SyncLight).moved, 40);
    assert_eq!(world.mm.borrow_mut().take_work().tlb_flushes, 1);
}

#[test]
fn what_a_batch_leaves_is_tried_one_by_one() {
    for mode in MODES {
        let world = batched();
        let [of_file, of_program] = written(&world);
        let program = world.program(2);
        let [pinned, plain] = [world.page(program, 0), world.page(program, 1)];
        world.mm.borrow_mut().pin(pinned).expect("it is allocated");
        let done = world.gather(&[of_file, pinned, plain, of_program], mode);
        let failures = world.mm.borrow().counters().migrate_failures;
        let expected = match mode {
            MigrateMode::Async => ((1, 3), (10, 2)),
            MigrateMode::SyncLight => ((1, 3), (10, 4)),
            MigrateMode::Sync => ((3, 1), (10, 2)),
        };
        assert_eq!(((done.moved, done.failed), (failures.pinned, failures.writeback)), expected, "{mode:?}");
        world.end_transfers();
    }
}

/// Targets that a test counts.
struct Few(Vec<Idx>);

impl Targets for Few {
    fn take(&mut self, _: &mut Mm, _: Idx) -> Option<Idx> {
        self.0.pop()
    }

    fn give_back(&mut self, _: &mut Mm, target: Idx) {
        self.0.push(target);
    }
}

#[test]
fn without_targets_the_rest_is_not_tried() {
    let world = World::new();
    let program = world.program(5);
    let pages = world.pages(program, 5);
    let block = world.free_block(|&order| order.get() == 1).expect("memory is free");
    let done = run(gather_pages(&world, &pages, block, MigrateMode::Async, MigrateReason::ContigRange));
    assert_eq!(done, Ok(Migrated { moved: 2, freed: 0, failed: 1, out_of_targets: true }));
    let mm = world.mm.borrow();
    assert_eq!((mm.counters().pgmigrate_fail, mm.counters().migrate_failures.no_target), (1, 1));
    drop(mm);
    assert_eq!(world.pages(program, 5)[2..], pages[2..], "they are where they were");
}

#[test]
fn a_page_freed_meanwhile_is_a_success_without_a_copy() {
    let world = World::new();
    let program = world.program(2);
    let pages = world.pages(program, 2);
    let block = world.free_block(|_| true).expect("memory is free");
    let (mut sources, mut few) = world.with(|mm| {
        let sources: Vec<Idx> = pages.iter().map(|&pfn| mm.phys.frames.at(pfn)).collect();
        sources.iter().for_each(|&idx| mm.pages.lru.isolate_lru(idx, &mut mm.phys));
        mm.pin(pages[0]).expect("it is allocated");
        mm.exit(program.0, CPU).expect("it lives");
        (sources, Few(mm.phys.hold_frames(block).expect("it is free")))
    });
    let held = few.0.len();
    world.mm.borrow_mut().take_work();
    let pass = migrate_pages(&world, &mut sources, &mut few, MigrateMode::Async, MigrateReason::Compaction);
    assert_eq!(run(pass), Migrated { moved: 0, freed: 1, failed: 1, out_of_targets: false });
    assert_eq!((few.0.len(), world.mm.borrow_mut().take_work().pages_copied), (held, 0));
    world.with(|mm| {
        assert!(sources == [mm.phys.frames.at(pages[0])], "a pin keeps the other");
        mm.pages.putback_movable(sources[0], CPU, &mut mm.phys);
        mm.unpin(pages[0]).expect("it is pinned");
        few.0.into_iter().for_each(|idx| mm.phys.release_held(idx));
    });
    assert_eq!(world.mm.borrow().counters().pgmigrate_success, 1);
}
