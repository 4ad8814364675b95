//! Huge pages that are to move: to another node, and out of a range that is taken out.

use alloc::vec::Vec;

use order9_units::{NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use super::super::MigrateReason;
use super::{CPU, World, address};
use crate::env::{OomKill, run};
use crate::mempolicy::{Movable, PageMove};
use crate::policy::Policy;
use crate::space::{Access, Errno, FaultStep, MmapRequest, Place, Prot, SpaceId, VirtAddr};
use crate::tasks::mempolicy::move_pages::move_pages;
use crate::tasks::migrate::place_pages::offline_pages;
use crate::thp::HugeEnabled;
use crate::trace::Event;
use crate::{Gfp, Layout, NodeSpec, Pressure, Request, ZoneSpec};

const NEAR: NodeId = NodeId(0);
const FAR: NodeId = NodeId(1);
const START: VirtAddr = VirtAddr::new(0x7f00_0000_0000);
const HUGE: u64 = 512;

/// Nothing but free memory can be had.
impl Pressure for World {
    async fn oom_kill(&self, _: &Request) -> OomKill {
        OomKill::NoVictim
    }
}

/// Two nodes with 16 MiB each.
fn world(migration: bool) -> World {
    let mut policy = Policy::default();
    policy.thp.migration = migration;
    let zone = |node: u16| ZoneSpec {
        node: NodeId(node),
        kind: ZoneKind::Normal,
        span: PfnRange::of(Pfn::new((1 << 20) + (u64::from(node) << 12)), Pages::new(1 << 12)),
    };
    let world = World::of(
        &Layout {
            nodes: alloc::vec![
                NodeSpec { distances: alloc::vec![10, 20] },
                NodeSpec { distances: alloc::vec![20, 10] }
            ],
            zones: alloc::vec![zone(0), zone(1)],
            cpus: alloc::vec![NEAR],
            ..Layout::default()
        },
        policy,
    );
    {
        let mm = &mut *world.mm.borrow_mut();
        mm.phys.set_min_free_kbytes(128);
    };
    world
}

/// A program with a huge page on node 0, and one with base pages behind it.
fn program(world: &World) -> SpaceId {
    let mut mm = world.mm.borrow_mut();
    mm.phys.set_thp_enabled(HugeEnabled::Always);
    mm.phys.set_min_free_kbytes(128);
    let space = mm.create_space().unwrap();
    let request = MmapRequest { place: Place::Fixed(START), ..MmapRequest::anon(Pages::new(HUGE + 8).bytes()) };
    mm.mmap(space, &request, CPU).unwrap();
    for page in [0, HUGE, HUGE + 1] {
        assert_eq!(mm.touch(space, address(START, page), Access::Write, CPU), FaultStep::Done);
    }
    assert_eq!((mm.counters().thp_fault_alloc, mm.pages.user_levels().anon_thps), (1, 1));
    space
}

fn move_all(world: &World, space: SpaceId, pages: &[u64]) -> Vec<Result<NodeId, Errno>> {
    let pages: Vec<_> = pages.iter().map(|&page| PageMove { addr: address(START, page), to: FAR }).collect();
    run(move_pages(world, space, space, &pages, Movable::Own)).expect("the node is there")
}

/// Moved whole, not moved, split for want of a target, split by themselves; pages moved.
fn counts(world: &World) -> [u64; 5] {
    let mm = world.mm.borrow();
    let counters = mm.counters();
    [
        counters.thp_migration_success,
        counters.thp_migration_fail,
        counters.thp_migration_split,
        counters.thp_split_page,
        counters.pgmigrate_success,
    ]
}

fn node(world: &World, space: SpaceId, page: u64) -> NodeId {
    let pfn = world.page((space, START), page);
    if pfn < Pfn::new((1 << 20) + (1 << 12)) { NEAR } else { FAR }
}

/// Leaves node 1 base pages, but no huge one.
fn in_pieces(world: &World) {
    let mut mm = world.mm.borrow_mut();
    let request = Request { node: FAR, ..Request::new(Order::ZERO, Gfp::GFP_KERNEL | Gfp::THISNODE) };
    let mut taken = Vec::new();
    while let Ok(page) = mm.alloc_fast(&request) {
        taken.push(page);
    }
    taken.into_iter().filter(|page| page.get() % HUGE != 7).for_each(|page| mm.free(page, CPU).unwrap());
}

#[test]
fn huge_pages_move_whole_with_all_their_mappings() {
    let world = world(true);
    let space = program(&world);
    let child = {
        let mut mm = world.mm.borrow_mut();
        let request = MmapRequest { place: Place::Fixed(START), ..MmapRequest::anon(Pages::new(8).bytes()) };
        let child = mm.create_space().unwrap();
        mm.mmap(child, &request, CPU).unwrap();
        child
    };
    assert_eq!(move_all(&world, space, &[0, 5, HUGE]), [Ok(FAR), Ok(FAR), Ok(FAR)]);
    assert_eq!(counts(&world), [1, 0, 0, 0, HUGE + 1]);
    assert_eq!((node(&world, space, 511), node(&world, space, HUGE + 1)), (FAR, NEAR));
    let mut mm = world.mm.borrow_mut();
    assert_eq!(mm.pages.user_levels().anon_thps, 1);
    assert_eq!(mm.touch(space, address(START, 9), Access::Write, CPU), FaultStep::Hit, "no program notices");
    mm.exit(child, CPU).unwrap();
    mm.check().unwrap();
}

#[test]
fn a_page_that_is_mapped_in_parts_and_waits_for_its_split_moves_as_well() {
    let world = world(true);
    let space = program(&world);
    {
        let mut mm = world.mm.borrow_mut();
        mm.munmap(space, address(START, 100), Pages::new(50).bytes(), CPU).unwrap();
        assert_eq!(mm.pages.huge.deferred_splits(NEAR), 1);
    }
    assert_eq!(move_all(&world, space, &[3]), [Ok(FAR)]);
    let mm = world.mm.borrow();
    assert_eq!((mm.pages.huge.deferred_splits(NEAR), mm.pages.huge.deferred_splits(FAR)), (0, 1));
    assert_eq!(mm.counters().thp_deferred_split_page, 1, "it is queued once");
    drop(mm);
    assert_eq!((node(&world, space, 511), counts(&world)[0]), (FAR, 1));
}

#[test]
fn before_4_14_huge_pages_are_split_and_the_one_asked_for_moves() {
    let world = world(false);
    let space = program(&world);
    assert_eq!(move_all(&world, space, &[0, 5]), [Ok(FAR), Ok(FAR)]);
    assert_eq!(counts(&world), [0, 0, 0, 1, 2]);
    assert_eq!((node(&world, space, 5), node(&world, space, 6)), (FAR, NEAR));
}

#[test]
fn without_a_huge_page_there_a_huge_page_is_split_and_moves_in_parts() {
    let world = world(true);
    let space = program(&world);
    in_pieces(&world);
    assert_eq!(move_all(&world, space, &[0]), [Ok(FAR)]);
    assert_eq!(counts(&world), [0, 0, 1, 1, HUGE]);
    assert_eq!(node(&world, space, 511), FAR);
}

#[test]
fn what_is_pinned_shared_or_not_there_does_not_move() {
    let world = world(true);
    let space = program(&world);
    let pinned = world.page((space, START), 7);
    world.mm.borrow_mut().pin(pinned).unwrap();
    assert_eq!(move_all(&world, space, &[0, HUGE + 5]), [Err(Errno::Ebusy), Err(Errno::Enoent)]);
    assert_eq!(counts(&world), [0, 1, 0, 0, 0]);
    assert_eq!(world.mm.borrow().counters().pgmigrate_fail, HUGE);
    assert!(world.mm.borrow().space(space).unwrap().rss().anon_pages == HUGE + 2, "it is as before");
    {
        let mut mm = world.mm.borrow_mut();
        mm.unpin(pinned).unwrap();
        mm.touch(space, address(START, HUGE + 5), Access::Read, CPU);
        let mut fork = mm.fork(space).unwrap();
        while let Ok(step) = mm.fork_step(&mut fork) {
            match step {
                crate::space::TableStep::NeedTable(vpn) => {
                    let table = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_PGTABLE_USER)).unwrap();
                    mm.give_table(fork.child(), vpn, table, CPU);
                }
                crate::space::TableStep::Done => break,
                _ => {}
            }
        }
    }
    assert_eq!(move_all(&world, space, &[0, HUGE + 5]), [Err(Errno::Eacces), Err(Errno::Efault)]);
}

#[test]
fn huge_pages_make_way_when_their_memory_is_taken_out() {
    let world = world(true);
    let space = program(&world);
    world.mm.borrow_mut().mprotect(space, START, Pages::new(1).bytes(), Prot::READ).unwrap();
    let block = |page: u64| {
        let pfn = world.page((space, START), page);
        PfnRange::of(Pfn::new(pfn.get() & !(HUGE - 1)), Pages::new(HUGE))
    };
    let (range, before) = (block(0), world.page((space, START), 0));
    assert_eq!(run(offline_pages(&world, range)), Ok(true));
    assert_ne!(world.page((space, START), 0), before);
    assert_eq!(counts(&world)[0], 1);
    assert_eq!(
        world.mm.borrow().phys.frames.frame(range.start),
        crate::FrameState::Free { order: Order::PAGEBLOCK, list: order9_units::Migratetype::Isolate }
    );
    assert!(run(offline_pages(&world, range)).is_err(), "it is out already");
    let pinned = world.page((space, START), 0);
    world.mm.borrow_mut().pin(pinned).unwrap();
    assert_eq!(run(offline_pages(&world, block(0))), Ok(false), "a pin keeps it");
    assert!(world.mm.borrow_mut().phys.events_mut().iter().any(|event| {
        matches!(event, Event::MigratePages { succeeded: 512, reason: MigrateReason::MemoryHotplug, .. })
    }));
}

#[test]
fn compaction_passes_huge_pages_by() {
    let world = world(true);
    let space = program(&world);
    let before = world.page((space, START), 0);
    let pages = [before];
    let done = world.gather(&pages, super::MigrateMode::Sync);
    assert_eq!((done.moved, world.page((space, START), 0), counts(&world)[0]), (0, before, 0));
}
