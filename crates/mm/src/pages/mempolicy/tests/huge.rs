//! Huge pages under a policy.

use alloc::vec;
use alloc::vec::Vec;

use order9_units::{NodeId, Pages, PfnRange, ZoneKind};

use super::super::{MbindFlags, Mode, Movable, PageMove};
use super::{START, address, args, bytes, mask, node, program, write};
use crate::env::run;
use crate::hugetlb::PoolSize;
use crate::migrate::tests::World;
use crate::policy::HugePlacement;
use crate::shmem::{ShmemEnabled, ShmemHuge};
use crate::space::{Access, Backing, Errno, FaultStep, MmapRequest, Place, Prot, Pte, SpaceId, TableStep};
use crate::tasks::mempolicy::bind_range::mbind;
use crate::tasks::mempolicy::migrate_pages::migrate_space;
use crate::tasks::mempolicy::move_pages::move_pages;
use crate::thp::{HugeDefrag, HugeEnabled};
use crate::{Gfp, Layout, NodeSpec, NodeUse, ZoneSpec};

const HUGE: u64 = 512;

/// Three nodes of 8 MiB with a CPU each, and huge pages for everybody.
fn world(placement: HugePlacement) -> World {
    let mut policy = super::newest();
    policy.thp.placement = placement;
    let zone = |node: u16| ZoneSpec {
        node: NodeId(node),
        kind: ZoneKind::Normal,
        span: PfnRange::of(order9_units::Pfn::new((1 << 20) + u64::from(node) * super::NODE), Pages::new(super::NODE)),
    };
    let layout = Layout {
        nodes: (0..3).map(|_| NodeSpec { distances: alloc::vec![20; 3] }).enumerate().map(own_is_near).collect(),
        zones: (0..3).map(zone).collect(),
        cpus: (0..3).map(NodeId).collect(),
        ..Layout::default()
    };
    let world = World::of(&layout, policy);
    {
        let mm = &mut *world.mm.borrow_mut();
        mm.phys.set_thp_enabled(HugeEnabled::Always);
    };
    {
        let mm = &mut *world.mm.borrow_mut();
        mm.phys.set_thp_defrag(HugeDefrag::Always);
    };
    {
        let mm = &mut *world.mm.borrow_mut();
        mm.phys.set_min_free_kbytes(128);
    };
    world
}

fn own_is_near((at, mut spec): (usize, NodeSpec)) -> NodeSpec {
    spec.distances[at] = 10;
    spec
}

/// The nodes of the huge pages that faults get in so many slots.
fn slots(world: &World, policy: &super::super::MempolicyArgs, count: u64) -> Vec<Option<u16>> {
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, count * HUGE);
    mm.mbind(space, START, bytes(count * HUGE), policy, false).unwrap();
    let before = mm.counters().thp_fault_alloc;
    (0..count).for_each(|slot| write(mm, space, slot * HUGE, 0));
    assert_eq!(mm.counters().thp_fault_alloc - before, count, "all are huge");
    let nodes = (0..count).map(|slot| node(mm, space, slot * HUGE)).collect();
    mm.exit(space, 0).unwrap();
    mm.check().expect("every law holds");
    nodes
}

#[test]
fn huge_pages_take_turns_whole() {
    let world = world(HugePlacement::ThisNode);
    let nodes = slots(&world, &args(Mode::Interleave, "0-2"), 6);
    assert_eq!(nodes[..3], nodes[3..], "{nodes:?}");
    let mut round = nodes[..3].to_vec();
    round.sort_unstable();
    assert_eq!(round, [Some(0), Some(1), Some(2)], "one slot on each node");
    let hits: Vec<u64> = world.mm.borrow().phys.frames.numa_counters().iter().map(|numa| numa.interleave_hit).collect();
    assert_eq!(hits, [2, 2, 2], "one event for a huge page");
}

#[test]
fn every_mode_finds_huge_pages_on_its_nodes() {
    for placement in [HugePlacement::ThisNode, HugePlacement::TwoStep, HugePlacement::Relax, HugePlacement::NoRetry] {
        let world = world(placement);
        for (mode, nodes, expected) in [
            (Mode::Bind, "1", 1),
            (Mode::Bind, "0,2", 0),
            (Mode::Preferred, "2", 2),
            (Mode::PreferredMany, "1", 1),
            (Mode::Local, "", 0),
        ] {
            let found = slots(&world, &args(mode, nodes), 2);
            assert_eq!(found, [Some(expected); 2], "{mode:?} {nodes} under {placement:?}");
        }
    }
}

/// Requests of a fault that finds no huge page, attempt after attempt.
fn attempts(placement: HugePlacement, mode: Mode, nodes: &str) -> Vec<(u16, Option<u64>, bool, bool)> {
    let world = world(placement);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, HUGE);
    mm.mbind(space, START, bytes(HUGE), &args(mode, nodes), false).unwrap();
    mm.madvise(space, START, bytes(HUGE), crate::space::Madvise::HugePage, 0).unwrap();
    // Nothing is free.
    let mut taken = Vec::new();
    while let Ok(page) = mm.alloc_fast(&crate::Request::new(order9_units::Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE_LIGHT)) {
        taken.push(page);
    }
    let mut step = mm.touch(space, START, Access::Write, 0);
    let mut found = Vec::new();
    while let FaultStep::NeedPage(fault) = step
        && fault.need().may_be_refused()
    {
        let request = mm.fault_request(&fault, 0);
        let mask = request.nodemask.map(order9_units::NodeMask::bits);
        found.push((request.node.0, mask, request.gfp.has(Gfp::THISNODE), request.gfp.has(Gfp::NORETRY)));
        step = mm.fault_refused(&fault, 0);
    }
    found
}

#[test]
fn placements_hold_within_the_mask_and_turns_bypass_them() {
    use HugePlacement::{ThisNode, TwoStep};
    assert_eq!(attempts(ThisNode, Mode::Bind, "0-1"), [(0, Some(3), true, false)]);
    assert_eq!(attempts(TwoStep, Mode::Bind, "0-1"), [(0, Some(3), true, true), (0, Some(3), false, false)]);
    assert_eq!(attempts(TwoStep, Mode::Preferred, "2"), [(2, None, true, true), (2, None, false, false)]);
    assert_eq!(
        attempts(ThisNode, Mode::Bind, "1-2"),
        [(0, Some(6), false, false)],
        "the CPU's node is not in the mask"
    );
    assert_eq!(attempts(TwoStep, Mode::Bind, "1-2"), [(0, Some(6), false, false)], "once");
    for mode in [Mode::Interleave, Mode::PreferredMany] {
        let found = attempts(TwoStep, mode, "1");
        assert_eq!(found.len(), 1, "{mode:?}");
        assert!(!found[0].2 && !found[0].3, "{mode:?}: one ordinary attempt with all that the fault may do");
    }
}

#[test]
fn proximity_makes_every_effort_on_near_nodes_for_whoever_has_it() {
    let found = |mode| attempts(HugePlacement::MpolProximity, mode, "");
    assert_eq!(found(Mode::Local), [(0, None, false, false)], "as relax, for everybody else");
    assert_eq!(found(Mode::NodeProximity), [(0, None, true, false), (0, Some(6), false, false)]);
}

#[test]
fn shared_memory_takes_turns_whole_and_is_asked_once() {
    let world = world(HugePlacement::TwoStep);
    let mm = &mut *world.mm.borrow_mut();
    mm.pages.cache.set_shmem_enabled(ShmemEnabled::Mount(ShmemHuge::Always));
    let space = mm.create_space().unwrap();
    let (length, prot, backing) = (bytes(3 * HUGE), Prot::RW, Backing::AnonShared);
    mm.mmap(space, &MmapRequest { place: Place::Fixed(START), length, prot, backing, locked: false }, 0).unwrap();
    mm.mbind(space, START, length, &args(Mode::Interleave, "0-2"), false).unwrap();
    (0..3).for_each(|slot| write(mm, space, slot * HUGE, 0));
    assert_eq!(mm.pages.user_levels().shmem_thps, 3);
    let mut nodes: Vec<_> = (0..3).map(|slot| node(mm, space, slot * HUGE)).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, [Some(0), Some(1), Some(2)]);
    mm.check().expect("every law holds");
}

#[test]
fn a_huge_page_moves_whole_to_the_nodes_of_its_mapping() {
    let world = world(HugePlacement::ThisNode);
    let space = program(&mut world.mm.borrow_mut(), 2 * HUGE);
    write(&mut world.mm.borrow_mut(), space, 5, 0);
    let flags = MbindFlags { strict: true, moves: Some(Movable::Own) };
    run(mbind(&world, space, START, bytes(2 * HUGE), &args(Mode::Bind, "2"), flags)).unwrap();
    assert_eq!(node(&world.mm.borrow(), space, 5), Some(2));
    assert_eq!(world.mm.borrow().counters().thp_migration_success, 1);
    assert_eq!(world.mm.borrow().pages.user_levels().anon_thps, 1);
    let pinned = world.page_of(space, 0);
    world.mm.borrow_mut().pin(pinned).unwrap();
    let moved = run(migrate_space(&world, space, space, mask("2"), mask("0")));
    assert_eq!(moved, Ok(1), "a huge page that cannot move is one");
    world.mm.borrow_mut().unpin(pinned).unwrap();
}

#[test]
fn pools_are_taken_from_the_nodes_of_the_mapping_alone() {
    let world = world(HugePlacement::ThisNode);
    let mm = &mut *world.mm.borrow_mut();
    mm.set_nr_hugepages(PoolSize::all(6));
    let space = mm.create_space().unwrap();
    let (length, prot) = (bytes(4 * HUGE), Prot::RW);
    let backing = Backing::Hugetlb { shared: false, reserves: true };
    mm.mmap(space, &MmapRequest { place: Place::Fixed(START), length, prot, backing, locked: false }, 0).unwrap();
    mm.mbind(space, START, length, &args(Mode::Bind, "1"), false).unwrap();
    let touch = |mm: &mut crate::Mm, slot: u64| mm.touch(space, address(START, slot * HUGE), Access::Write, 0);
    assert_eq!([touch(mm, 0), touch(mm, 1)], [FaultStep::Done, FaultStep::Done]);
    assert_eq!(mm.pages.page_nodes(space, &[START, address(START, HUGE)], &mm.phys), [Ok(NodeId(1)); 2]);
    let reserved = mm.pages.hugetlb.hugetlb_pool().reserved;
    assert_eq!(touch(mm, 2), FaultStep::Bus, "node 1 has no more, whatever was reserved");
    assert_eq!(mm.pages.hugetlb.hugetlb_pool().reserved, reserved);
    mm.mbind(space, START, length, &args(Mode::PreferredMany, "1"), false).unwrap();
    assert_eq!(touch(mm, 2), FaultStep::Done, "elsewhere");
    mm.check().expect("every law holds");
}

/// A program with two pages of a pool, which has six on two nodes, and one that shares them if it is shared.
fn with_pool_pages(mm: &mut crate::Mm, shared: bool) -> [SpaceId; 2] {
    mm.set_nr_hugepages(PoolSize::all(6));
    let space = mm.create_space().unwrap();
    let (length, prot) = (bytes(2 * HUGE), Prot::RW);
    let backing = Backing::Hugetlb { shared, reserves: true };
    mm.mmap(space, &MmapRequest { place: Place::Fixed(START), length, prot, backing, locked: false }, 0).unwrap();
    for slot in 0..2 {
        assert_eq!(mm.touch(space, address(START, slot * HUGE), Access::Write, 0), FaultStep::Done);
    }
    let mut fork = mm.fork(space).unwrap();
    assert_eq!(mm.fork_step(&mut fork), Ok(TableStep::Done));
    [space, fork.child()]
}

#[test]
fn pages_of_pools_move_whole_and_keep_what_they_hold() {
    for shared in [true, false] {
        let world = world(HugePlacement::ThisNode);
        let [space, child] = with_pool_pages(&mut world.mm.borrow_mut(), shared);
        let places = [START, address(START, HUGE)];
        let nodes = |space| world.mm.borrow().pages.page_nodes(space, &places, &world.mm.borrow().phys);
        let pools = || [0, 1].map(|node| world.mm.borrow().pages.hugetlb.hugetlb_pool_of(NodeId(node)));
        let before = pools();
        assert_eq!(nodes(space), [Ok(NodeId(0)); 2]);
        let moves = [PageMove { addr: places[0], to: NodeId(1) }];
        let done = run(move_pages(&world, space, space, &moves, Movable::Own));
        assert_eq!(done, Ok(vec![Err(Errno::Eacces)]), "the child shows it, too");
        let done = run(move_pages(&world, space, space, &moves, Movable::All));
        assert_eq!(done, Ok(vec![Ok(NodeId(1))]));
        assert_eq!((nodes(space), nodes(child)), (vec![Ok(NodeId(1)), Ok(NodeId(0))], nodes(space)));
        world.mm.borrow().check().expect("every law holds");
        // It took a free page of the pool there, and left one here.
        assert_eq!(pools().map(|pool| pool.total), before.map(|pool| pool.total));
        assert_eq!(pools().map(|pool| pool.free), [before[0].free + 1, before[1].free - 1]);
        // Where the pool has none, free memory takes its place, and the size stays.
        let all = world.mm.borrow().pages.hugetlb.hugetlb_pool().total;
        while !pools()[1].free.eq(&0) {
            let other = world.mm.borrow_mut().create_space().unwrap();
            let backing = Backing::Hugetlb { shared: false, reserves: false };
            let request =
                MmapRequest { place: Place::Fixed(START), length: bytes(HUGE), prot: Prot::RW, backing, locked: false };
            let mm = &mut *world.mm.borrow_mut();
            mm.mmap(other, &request, 0).unwrap();
            mm.mbind(other, START, bytes(HUGE), &args(Mode::Bind, "1"), false).unwrap();
            assert_eq!(mm.touch(other, START, Access::Write, 0), FaultStep::Done);
        }
        let both = (MbindFlags { strict: true, moves: Some(Movable::All) }, args(Mode::Bind, "1"));
        assert_eq!(run(mbind(&world, space, START, bytes(2 * HUGE), &both.1, both.0)), Ok(()));
        assert_eq!(nodes(space), [Ok(NodeId(1)); 2]);
        assert_eq!(
            (world.mm.borrow().pages.hugetlb.hugetlb_pool().total, pools()[0].total),
            (all, before[0].total - 1)
        );
        assert_eq!(run(migrate_space(&world, space, space, mask("1"), mask("0"))), Ok(0));
        assert_eq!((nodes(space), nodes(child)), (vec![Ok(NodeId(0)); 2], vec![Ok(NodeId(0)); 2]));
        let mut mm = world.mm.borrow_mut();
        mm.check().expect("every law holds");
        // A pinned page stays.
        let head =
            mm.pages.spaces.get(space).unwrap().table.hugetlb(START.vpn()).and_then(Pte::idx).expect("it is mapped");
        let pfn = mm.phys.frames.pfn(head);
        mm.pin(pfn).unwrap();
        drop(mm);
        let moves = [PageMove { addr: START, to: NodeId(1) }];
        let done = run(move_pages(&world, space, space, &moves, Movable::All));
        assert_eq!(done, Ok(vec![Err(Errno::Ebusy)]));
        world.mm.borrow_mut().unpin(pfn).unwrap();
        world.mm.borrow().check().expect("every law holds");
    }
}

#[test]
fn the_second_attempt_of_several_preferred_nodes_stays_in_the_cpuset() {
    let world = world(HugePlacement::ThisNode);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, 1);
    mm.set_mems(space, mask("0-1")).unwrap();
    mm.set_mempolicy(space, &args(Mode::PreferredMany, "1")).unwrap();
    let user = mm.task_request(space, crate::Request::new(order9_units::Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE));
    assert_eq!((user.nodemask, user.uses), (Some(mask("1")), NodeUse::MaskFirst(mask("0-1"))));
}
