//! Pages of every kind move, with all that belongs to them.

use alloc::vec::Vec;

use order9_frames::FrameState;
use order9_units::{Order, Pages};

use super::{CPU, MigrateMode, MigrateReason, Migrated, World, address};
use crate::migrate::DriverAnswer;
use crate::page_cache::tests::{flush, read_pages, write_page};
use crate::page_flags::PageFlag;
use crate::space::{Access, Backing, FaultStep, MmapRequest, PageView, TableStep};
use crate::trace::Event;
use crate::{Gfp, LruList, Request, ZoneId};

const fn moved(moved: u64) -> Migrated {
    Migrated { moved, freed: 0, failed: 0, out_of_targets: false }
}

#[test]
fn pages_of_a_program_move_with_state_and_entries() {
    let world = World::new();
    let program = world.program(3);
    let before = world.pages(program, 3);
    {
        let mut mm = world.mm.borrow_mut();
        mm.mark_accessed(before[1]);
        mm.take_work();
    }
    assert_eq!(world.gather(&before, MigrateMode::Async), moved(3));
    let after = world.pages(program, 3);
    let mut mm = world.mm.borrow_mut();
    let (work, isolated) = mm.settle_work(|done| (*done.rest, done.lru.isolated));
    assert_eq!((work.pages_copied, work.folios_moved, work.rmap_walks, isolated), (3, 3, 6, 3));
    assert_eq!((work.ptes_cleared, work.ptes_set, work.tlb_flushes), (3, 3, 3));
    for (&old, &new) in before.iter().zip(&after) {
        assert!(
            old != new && matches!(mm.phys.frames.frame(old), FrameState::Pcp { .. }),
            "{old:?} is cached by the CPU"
        );
        assert_eq!(mm.phys.frames.frame(new), FrameState::Allocated { order: Order::ZERO });
    }
    let referenced = after
        .iter()
        .map(|&pfn| mm.phys.frames.word(mm.phys.frames.at(pfn)).has(PageFlag::Referenced))
        .collect::<Vec<_>>();
    assert_eq!(referenced, [false, true, false]);
    let PageView::Present { writable, young, dirty, .. } = mm.page_at(program.0, program.1) else { panic!("present") };
    assert_eq!((writable, young, dirty), (true, false, true), "an access is forgotten, a write is not");
    assert_eq!((mm.counters().pgmigrate_success, mm.counters().pgmigrate_fail), (3, 0));
    let (mode, reason) = (MigrateMode::Async, MigrateReason::Compaction);
    let event = Event::MigratePages { succeeded: 3, failed: 0, mode, reason };
    assert!(mm.phys.events_mut().contains(&event));
}

#[test]
fn a_page_of_several_programs_moves_for_all_of_them() {
    let world = World::new();
    let parent = world.program(1);
    let child = {
        let mut mm = world.mm.borrow_mut();
        let mut fork = mm.fork(parent.0).expect("the parent lives");
        loop {
            match mm.fork_step(&mut fork).expect("nobody interferes") {
                TableStep::Progress => {}
                TableStep::NeedTable(vpn) => {
                    let table = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_PGTABLE_USER)).expect("it is free");
                    mm.give_table(fork.child(), vpn, table, CPU);
                }
                TableStep::NeedCopy(_) => unreachable!("nothing is pinned"),
                TableStep::Done => break fork.child(),
            }
        }
    };
    let before = world.page(parent, 0);
    world.mm.borrow_mut().take_work();
    assert_eq!(world.gather(&[before], MigrateMode::Async), moved(1));
    assert_ne!(world.page(parent, 0), before);
    assert_eq!(world.page(parent, 0), world.page((child, parent.1), 0));
    let work = world.mm.borrow_mut().take_work();
    assert_eq!((work.ptes_cleared, work.ptes_set, work.tlb_flushes), (2, 2, 1));
}

#[test]
fn locked_pages_stay_unevictable() {
    let world = World::new();
    let program = world.program(2);
    world.mm.borrow_mut().mlock(program.0, program.1, Pages::new(2).bytes()).expect("it is mapped");
    assert_eq!(world.gather(&world.pages(program, 2), MigrateMode::Async), moved(2));
    assert_eq!(
        world.mm.borrow().pages.lru.lru_list(ZoneId(0), LruList::Unevictable, &world.mm.borrow().phys).count(),
        2
    );
}

#[test]
fn pages_of_files_move_clean_and_dirty() {
    let world = World::new();
    let file = world.file(70);
    {
        let mut mm = world.mm.borrow_mut();
        read_pages(&mut mm, file, 0, 70);
        write_page(&mut mm, file, 65, 1);
    }
    let before: Vec<_> = [0, 65].map(|index| world.file_page(file, index)).into();
    world.mm.borrow_mut().take_work();
    assert_eq!(world.gather(&before, MigrateMode::Async), moved(2));
    let mut mm = world.mm.borrow_mut();
    assert_eq!((mm.phys.work.tlb_flushes, mm.phys.work.rmap_walks), (0, 0), "nobody maps them");
    assert_eq!(mm.phys.work.folios_moved, 2, "a move has work beside mappings");
    assert_ne!(mm.file_page(file, 65), Some(before[1]));
    assert_eq!(mm.write_pending(None).dirty, 1);
    flush(&mut mm, 2);
    mm.check().expect("every law holds");
}

#[test]
fn a_small_file_and_a_mapped_one_of_tmpfs_move() {
    let world = World::new();
    let small = world.file(1);
    let (space, start, tmpfs) = {
        let mut mm = world.mm.borrow_mut();
        write_page(&mut mm, small, 0, 1);
        let tmpfs = mm.create_file(Pages::new(4)).expect("there are few");
        let space = mm.create_space().expect("there are few");
        let backing = Backing::File { file: tmpfs, offset: Pages::ZERO, shared: true };
        let request = MmapRequest { backing, ..MmapRequest::anon(Pages::new(4).bytes()) };
        let start = mm.mmap(space, &request, CPU).expect("there is room");
        assert_eq!(mm.touch(space, address(start, 3), Access::Write, CPU), FaultStep::Done);
        (space, start, tmpfs)
    };
    let before = [world.file_page(small, 0), world.file_page(tmpfs, 3)];
    assert_eq!(world.gather(&before, MigrateMode::Async), moved(2));
    assert_eq!(world.page((space, start), 3), world.file_page(tmpfs, 3));
    assert!(!before.contains(&world.file_page(small, 0)));
}

#[test]
fn pages_in_the_swap_cache_move_with_their_slots() {
    let world = World::new();
    let program = world.program(2);
    let before = world.pages(program, 2);
    {
        let mm = &mut *world.mm.borrow_mut();
        let [mapped, unmapped] = [mm.phys.frames.at(before[0]), mm.phys.frames.at(before[1])];
        assert!(mm.pages.swap.add_to_swap(mapped, &mut mm.phys) && mm.pages.swap.add_to_swap(unmapped, &mut mm.phys));
        mm.pages.unmap_to_swap(unmapped, &mut mm.phys);
    }
    assert_eq!(world.gather(&before, MigrateMode::Async), moved(2));
    let mut mm = world.mm.borrow_mut();
    assert_eq!((mm.pages.swap.swap_cached(), mm.pages.swap.swap_free()), (Pages::new(2), Pages::new(98)));
    assert_eq!(mm.touch(program.0, address(program.1, 1), Access::Read, CPU), FaultStep::Done);
    mm.check().expect("every law holds");
}

#[test]
fn drivers_decide_about_their_pages() {
    use DriverAnswer::{Busy, Keeps, Moves, Refuses};
    let world = World::new();
    let ids = [Moves, Busy, Refuses, Keeps].map(|answer| {
        let mut mm = world.mm.borrow_mut();
        let pfn = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("memory is free");
        let id = mm.register_driver_page(pfn).expect("nobody owns it");
        assert!(mm.register_driver_page(pfn).is_err() && mm.free(pfn, CPU).is_err(), "it is the driver's");
        mm.pages.drivers.set_driver_answer(id, answer);
        id
    });
    let places = || {
        ids.map(|id| {
            world.mm.borrow().pages.drivers.driver_page(id, &world.mm.borrow().phys).expect("it is registered")
        })
    };
    let before = places();
    let done = world.gather(&before, MigrateMode::SyncLight);
    assert_eq!(done, Migrated { moved: 1, failed: 2, ..Migrated::default() });
    assert_eq!(places().map(|pfn| before.contains(&pfn)), [false, true, true, true]);
    let mut mm = world.mm.borrow_mut();
    let failures = mm.counters().migrate_failures;
    assert_eq!((failures.driver_busy, failures.driver_refused, failures.total()), (10, 1, 11));
    assert!(ids.map(|id| mm.release_driver_page(id, CPU)).iter().all(|&there| there));
    assert!(!mm.release_driver_page(ids[0], CPU) && mm.pages.drivers.driver_page(ids[0], &mm.phys).is_none());
    mm.check().expect("every law holds");
}

#[test]
fn movable_content_of_unknown_programs_moves() {
    let world = World::new();
    let pfn = {
        let mut mm = world.mm.borrow_mut();
        let pfn = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("memory is free");
        mm.phys.set_movable_content(pfn, true).expect("it is allocated");
        pfn
    };
    let block = world.free_block(|_| true).expect("memory is free");
    assert_eq!(world.gather(&[pfn], MigrateMode::Async), moved(1));
    let mm = world.mm.borrow();
    assert!(mm.phys.has_movable_content(block) && matches!(mm.phys.frames.frame(pfn), FrameState::Pcp { .. }));
}
