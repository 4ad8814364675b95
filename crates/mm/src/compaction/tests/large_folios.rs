//! Huge pages of less than 2 MiB in the way of compaction: passed over, moved as one, or split for want of a block.

use super::indexed_runs::indexed;
use super::*;
use crate::space::{Access, FaultStep, MmapRequest, Place, SpaceId, VirtAddr};
use crate::thp::{HugeSize, SizeEnabled};

/// Base pages of a huge page here: 64 KiB.
const PART: u64 = 16;
const SLOT: u64 = 512;

fn at(page: u64) -> VirtAddr {
    VirtAddr::new(SLOT * 4096 * 16 + page * 4096)
}

fn bytes(pages: u64) -> order9_units::Bytes {
    Pages::new(pages).bytes()
}

fn moving(policy: Policy, moves: bool) -> Policy {
    let mut policy = policy;
    policy.compaction.migrate_large_folios = moves;
    policy
}

/// Pageblocks of the program.
const SLOTS: u64 = 6;

/// A zone whose last pageblocks are `rest`, before them six that a program has filled with huge pages of 64 KiB and left
/// half empty: of every two of them it has unmapped one.
fn half_empty(policy: Policy, rest: &[F]) -> (World, SpaceId) {
    let mut frames = vec![F::Free; (SLOTS * SLOT) as usize];
    frames.extend_from_slice(rest);
    let world = World::new(policy, &frames);
    let space = {
        let mut mm = world.mm.borrow_mut();
        let size = HugeSize::of_kib(64).expect("it is one");
        mm.phys.set_thp_size_enabled(size, SizeEnabled::Always);
        let space = mm.create_space().expect("it is the first");
        let whole = MmapRequest { place: Place::Fixed(at(0)), ..MmapRequest::anon(bytes(SLOTS * SLOT)) };
        mm.mmap(space, &whole, CPU).expect("there is room");
        let touched = |mm: &mut Mm, part: u64| mm.touch(space, at(part * PART), Access::Write, CPU) == FaultStep::Done;
        let parts = (0..SLOTS * SLOT / PART).take_while(|&part| touched(&mut mm, part)).count() as u64;
        for part in (1..parts).step_by(2) {
            mm.munmap(space, at(part * PART), bytes(PART), CPU).expect("it is mapped");
        }
        mm.phys.drain_all();
        space
    };
    (world, space)
}

/// Huge pages of 64 KiB that the program has.
fn parts(world: &World) -> u64 {
    let mm = world.mm.borrow();
    mm.thp_size_stat(HugeSize::of_kib(64).expect("it is one"), crate::thp::SizeStat::NrAnon)
}

#[test]
fn they_move_as_one_by_a_switch_and_are_passed_over_without() {
    for (moves, policy, by) in [
        (false, series(), "free lists"),
        (true, series(), "free lists"),
        (true, indexed(), "index"),
        (true, classic(), "scanners"),
    ] {
        let (world, space) = half_empty(moving(policy, moves), &[F::Kernel; SLOT as usize]);
        let (before, of_program) = (parts(&world), world.mm.borrow().pages.user_levels().anon);
        assert!(before > 30 && world.free_huge() == 0, "{before}");
        let captured = world.compact_huge(CompactPriority::SyncLight).captured.is_some();
        assert_eq!((captured || world.free_huge() > 0, world.moved() > 0), (moves, moves), "{by}");
        assert_eq!((parts(&world), world.moved() % PART), (before, 0), "whole all the time");
        let mut mm = world.mm.borrow_mut();
        assert_eq!(mm.pages.user_levels().anon, of_program);
        mm.check().expect("every law holds");
        mm.exit(space, CPU).expect("it lives");
        mm.check().expect("every law holds");
    }
}

#[test]
fn a_run_for_their_own_size_passes_them_over() {
    let (world, _) = half_empty(moving(series(), true), &[F::Kernel; SLOT as usize]);
    let order = Order::new(4).expect("it is one");
    world.compact(order, Gfp::GFP_TRANSHUGE, CompactPriority::SyncLight);
    assert_eq!(world.moved(), 0);
}

#[test]
fn without_a_block_of_their_size_they_are_split_and_their_parts_move() {
    // Free frames behind them lie one by one.
    let rest: Vec<F> = (0..4 * SLOT).map(|at| if at % 2 == 0 { F::Kernel } else { F::Free }).collect();
    let (world, _) = half_empty(moving(classic(), true), &rest);
    let before = parts(&world);
    world.compact_huge(CompactPriority::SyncLight);
    let size = HugeSize::of_kib(64).expect("it is one");
    let splits = world.mm.borrow().thp_size_stat(size, crate::thp::SizeStat::Split);
    assert!(splits > 0 && parts(&world) == before - splits, "{splits} of {before}");
    assert!(world.moved() >= splits * PART, "{}", world.moved());
    world.mm.borrow().check().expect("every law holds");
}

/// A zone whose first pageblocks a file has filled with folios of 64 KiB, every other of which was dropped; of the others one is
/// dirty and one mapped.
fn half_empty_file(policy: Policy) -> (World, crate::FileId, SpaceId) {
    let mut frames = vec![F::Free; (SLOTS * SLOT) as usize];
    frames.extend_from_slice(&[F::Kernel; SLOT as usize]);
    let world = World::new(policy, &frames);
    let (file, space) = {
        let mut mm = world.mm.borrow_mut();
        mm.mount(crate::slab::CacheSpec::EXT4_INODE).expect("nothing is mounted");
        let file = mm.fs_create(Pages::new(SLOTS * SLOT)).expect("there is room");
        mm.fs_open_fast(file, &Request::new(Order::ZERO, Gfp::GFP_KERNEL));
        let order = Order::new(4).expect("it is one");
        let mut index = 0;
        while let Ok(block) = mm.alloc_fast(&Request::new(order, Gfp::GFP_HIGHUSER_MOVABLE)) {
            mm.add_to_page_cache(file, index, block, CPU).expect("the file is open");
            mm.end_page_read(file, index, Pages::new(PART), CPU);
            index += PART;
        }
        (0..index).step_by(2 * PART as usize).for_each(|at| {
            mm.punch_hole(file, at, Pages::new(PART), CPU).expect("it is open");
        });
        mm.write_page(file, PART + 3, order9_units::Nanos::ZERO);
        let space = mm.create_space().expect("it is the first");
        let backing = crate::space::Backing::File { file, offset: Pages::ZERO, shared: true };
        let request = MmapRequest { place: Place::Fixed(at(0)), backing, ..MmapRequest::anon(bytes(SLOTS * SLOT)) };
        mm.mmap(space, &request, CPU).expect("there is room");
        mm.touch(space, at(3 * PART), Access::Read, CPU);
        mm.phys.drain_all();
        (file, space)
    };
    (world, file, space)
}

#[test]
fn folios_of_files_move_as_one_with_what_is_known_of_them() {
    use crate::page_cache::MigrateHandler::{Absent, Present};
    for (moves, handler, policy) in [
        (false, Present, series()),
        (true, Present, series()),
        (true, Absent, series()),
        (true, Present, indexed()),
        (true, Present, classic()),
    ] {
        let (world, file, space) = half_empty_file(moving(policy, moves));
        world.mm.borrow_mut().pages.cache.set_migrate_handler(file, handler);
        let before = world.mm.borrow().pages.user_levels().file;
        assert_eq!(world.free_huge(), 0);
        let captured = world.compact_huge(CompactPriority::SyncLight).captured.is_some();
        // Without a handler the dirty one stays.
        assert!(handler == Absent || (captured || world.free_huge() > 0) == moves);
        assert_eq!((world.moved() > 0, world.moved() % PART), (moves, 0), "whole all the time");
        let mut mm = world.mm.borrow_mut();
        assert_eq!((mm.pages.user_levels().file, mm.write_pending(None).dirty), (before, PART));
        mm.check().expect("every law holds");
        let Mm { pages, phys, .. } = &mut *mm;
        let write = pages.start_writeback(file, Pages::new(64), phys).expect("it is dirty");
        assert_eq!((write.index, write.pages), (PART + 3, Pages::new(1)));
        mm.file_written(&write, order9_units::Nanos::ZERO, CPU);
        mm.exit(space, CPU).expect("it lives");
        mm.truncate(file, Pages::ZERO, CPU).expect("it is open");
        mm.check().expect("every law holds");
        assert_eq!(mm.pages.user_levels().file, 0);
    }
}
