//! Pages that are there already: `mbind` with its flags, `move_pages`, `migrate_pages`, cpusets.

use alloc::vec::Vec;

use order9_units::{NodeId, NodeMask};

use super::super::{MbindFlags, MempolicyArgs, Mode, ModeFlags, Movable, PageMove};
use super::{START, address, args, bytes, mask, node, nodes, nodes_of, program, write};
use crate::env::run;
use crate::migrate::tests::World;
use crate::space::{Access, Errno, SpaceId};
use crate::tasks::mempolicy::bind_range::mbind;
use crate::tasks::mempolicy::cpuset::set_mems;
use crate::tasks::mempolicy::migrate_pages::migrate_space;
use crate::tasks::mempolicy::move_pages::move_pages;

const OWN: MbindFlags = MbindFlags { strict: false, moves: Some(Movable::Own) };
const OWN_STRICT: MbindFlags = MbindFlags { strict: true, moves: Some(Movable::Own) };
const STRICT: MbindFlags = MbindFlags { strict: true, moves: None };

fn bind(world: &World, space: SpaceId, pages: u64, policy: &MempolicyArgs, flags: MbindFlags) -> Result<(), Errno> {
    run(mbind(world, space, START, bytes(pages), policy, flags))
}

/// A program with `count` pages on the node of CPU 0.
fn filled(world: &World, count: u64) -> SpaceId {
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, count);
    nodes_of(mm, space, 0..count, 0);
    space
}

fn where_they_are(world: &World, space: SpaceId, count: u64) -> Vec<Option<u16>> {
    (0..count).map(|page| node(&world.mm.borrow(), space, page)).collect()
}

fn child(world: &World, space: SpaceId) -> SpaceId {
    let mm = &mut *world.mm.borrow_mut();
    let mut fork = mm.fork(space).unwrap();
    loop {
        match mm.fork_step(&mut fork).unwrap() {
            crate::space::TableStep::Done => return fork.child(),
            crate::space::TableStep::NeedTable(vpn) => {
                let page = mm.alloc_fast(&crate::Request::new(order9_units::Order::ZERO, crate::Gfp::GFP_PGTABLE_USER));
                mm.give_table(fork.child(), vpn, page.unwrap(), 0);
            }
            _ => {}
        }
    }
}

#[test]
fn pages_move_to_where_the_new_policy_has_them_and_keep_what_they_hold() {
    let world = nodes(4);
    let space = filled(&world, 8);
    let before = world.mm.borrow().page_at(space, START);
    assert_eq!(bind(&world, space, 8, &args(Mode::Bind, "2"), MbindFlags::default()), Ok(()));
    assert_eq!(world.mm.borrow().page_at(space, START), before, "without a flag it is for pages to come");
    assert_eq!(bind(&world, space, 8, &args(Mode::Bind, "2"), OWN), Ok(()));
    assert_eq!(where_they_are(&world, space, 8), [Some(2); 8]);
    assert_eq!(bind(&world, space, 8, &args(Mode::Interleave, "0-1"), OWN_STRICT), Ok(()));
    assert_eq!(where_they_are(&world, space, 4), [Some(0), Some(1), Some(0), Some(1)]);
    assert_eq!(bind(&world, space, 8, &args(Mode::Interleave, "0-3"), OWN), Ok(()));
    assert_eq!(where_they_are(&world, space, 2), [Some(0), Some(1)], "pages on nodes of the mask stay");
    assert_eq!(bind(&world, space, 8, &MempolicyArgs::DEFAULT, OWN), Ok(()));
    assert_eq!(where_they_are(&world, space, 8), [Some(0); 8], "the node of the CPU");
}

#[test]
fn strict_says_what_lies_elsewhere() {
    let world = nodes(2);
    let space = filled(&world, 8);
    let policy = args(Mode::Bind, "1");
    assert_eq!(bind(&world, space, 8, &policy, STRICT), Err(Errno::Eio));
    assert_eq!(
        world.mm.borrow().pages.get_mempolicy(space, Some(START)),
        Ok(MempolicyArgs::DEFAULT),
        "nothing was set"
    );
    assert_eq!(bind(&world, space, 8, &args(Mode::Bind, "0"), STRICT), Ok(()));
    let relative = MempolicyArgs { flags: ModeFlags::Relative, ..args(Mode::Bind, "2") };
    assert_eq!(bind(&world, space, 8, &relative, STRICT), Ok(()), "place 2 of two nodes is node 0");
    assert_eq!(bind(&world, space, 8, &MempolicyArgs::DEFAULT, STRICT), Ok(()), "no policy has no misplaced pages");
    let pinned = world.page_of(space, 3);
    world.mm.borrow_mut().pin(pinned).unwrap();
    assert_eq!(bind(&world, space, 8, &policy, OWN), Ok(()), "not strict");
    assert_eq!(where_they_are(&world, space, 8).iter().filter(|&&node| node == Some(0)).count(), 1);
    assert_eq!(bind(&world, space, 8, &policy, OWN_STRICT), Err(Errno::Eio));
    assert_eq!(world.mm.borrow().pages.get_mempolicy(space, Some(START)), Ok(policy), "it is set all the same");
    world.mm.borrow_mut().unpin(pinned).unwrap();
}

#[test]
fn what_others_map_moves_only_by_privilege() {
    let world = nodes(2);
    let space = filled(&world, 4);
    let child = child(&world, space);
    write(&mut world.mm.borrow_mut(), space, 0, 0);
    let all = MbindFlags { strict: true, moves: Some(Movable::All) };
    assert_eq!(bind(&world, space, 4, &args(Mode::Bind, "1"), OWN_STRICT), Err(Errno::Eio));
    assert_eq!(where_they_are(&world, space, 4), [Some(1), Some(0), Some(0), Some(0)]);
    {
        let mm = &mut *world.mm.borrow_mut();
        mm.pages.spaces.set_sys_nice(space, false)
    }
    .unwrap();
    assert_eq!(bind(&world, space, 4, &args(Mode::Bind, "1"), all), Err(Errno::Eperm));
    {
        let mm = &mut *world.mm.borrow_mut();
        mm.pages.spaces.set_sys_nice(space, true)
    }
    .unwrap();
    assert_eq!(bind(&world, space, 4, &args(Mode::Bind, "1"), all), Ok(()));
    assert_eq!(where_they_are(&world, space, 4), [Some(1); 4]);
    assert_eq!(where_they_are(&world, child, 4), [Some(0), Some(1), Some(1), Some(1)]);
}

#[test]
fn move_pages_answers_page_by_page() {
    let world = nodes(3);
    let space = filled(&world, 6);
    {
        let mm = &mut *world.mm.borrow_mut();
        super::map(mm, space, 6, 4);
        mm.touch(space, address(START, 6), Access::Read, 0);
    }
    let moves = |pages: &[(u64, u16)], by| {
        let pages: Vec<_> =
            pages.iter().map(|&(page, to)| PageMove { addr: address(START, page), to: NodeId(to) }).collect();
        run(move_pages(&world, space, space, &pages, by))
    };
    let pinned = world.page_of(space, 5);
    world.mm.borrow_mut().pin(pinned).unwrap();
    let answers = moves(&[(0, 1), (1, 2), (2, 0), (5, 1), (6, 1), (7, 1), (99, 1)], Movable::Own).unwrap();
    let to = |node| Ok(NodeId(node));
    let (busy, zero, none, unmapped) = (Err(Errno::Ebusy), Err(Errno::Efault), Err(Errno::Enoent), Err(Errno::Efault));
    assert_eq!(answers, [to(1), to(2), to(0), busy, zero, none, unmapped]);
    assert_eq!(moves(&[(2, 1), (0, 7)], Movable::Own), Err(Errno::Enodev));
    assert_eq!(moves(&[(0, 3)], Movable::Own), Err(Errno::Enodev), "node 3 has no memory");
    assert_eq!(node(&world.mm.borrow(), space, 2), Some(1), "pages before that have moved");
    let pages: Vec<_> = [0, 1, 7, 99].map(|page| address(START, page)).into();
    assert_eq!(
        world.mm.borrow().pages.page_nodes(space, &pages, &world.mm.borrow().phys),
        [to(1), to(2), none, unmapped]
    );
    let forked = child(&world, space);
    assert_eq!(moves(&[(3, 1)], Movable::Own).unwrap(), [Err(Errno::Eacces)]);
    assert_eq!(moves(&[(3, 1)], Movable::All).unwrap(), [to(1)]);
    assert_eq!(node(&world.mm.borrow(), forked, 3), Some(1));
    {
        let mm = &mut *world.mm.borrow_mut();
        mm.pages.spaces.set_sys_nice(space, false)
    }
    .unwrap();
    assert_eq!(moves(&[(3, 1)], Movable::All), Err(Errno::Eperm));
    world.mm.borrow_mut().set_mems(space, mask("0-1")).unwrap();
    assert_eq!(moves(&[(3, 2)], Movable::Own), Err(Errno::Eacces), "outside the cpuset");
    world.mm.borrow_mut().unpin(pinned).unwrap();
}

#[test]
fn migrate_pages_carries_nodes_over_by_place() {
    let world = nodes(4);
    let space = {
        let mm = &mut *world.mm.borrow_mut();
        let space = program(mm, 4);
        mm.set_mempolicy(space, &args(Mode::Interleave, "0-1")).unwrap();
        nodes_of(mm, space, 0..4, 0);
        space
    };
    let migrate = |from, to| run(migrate_space(&world, space, space, mask(from), mask(to)));
    assert_eq!(migrate("0-1", "1-2"), Ok(0));
    assert_eq!(where_they_are(&world, space, 4), [Some(1), Some(2), Some(1), Some(2)], "no page moves twice");
    assert_eq!(world.mm.borrow().pages.get_mempolicy(space, None), Ok(args(Mode::Interleave, "0-1")), "policies stay");
    assert_eq!(migrate("1-2", "3"), Ok(0));
    assert_eq!(where_they_are(&world, space, 4), [Some(3); 4]);
    assert_eq!(migrate("3", "5"), Err(Errno::Einval));
    world.mm.borrow_mut().set_mems(space, mask("2-3")).unwrap();
    assert_eq!(migrate("3", "0"), Err(Errno::Einval), "outside the caller's cpuset");
    {
        let mm = &mut *world.mm.borrow_mut();
        mm.pages.spaces.set_sys_nice(space, false)
    }
    .unwrap();
    assert_eq!(migrate("3", "0"), Err(Errno::Eperm));
    let pinned = world.page_of(space, 1);
    world.mm.borrow_mut().pin(pinned).unwrap();
    assert_eq!(migrate("3", "2"), Ok(1), "one page could not");
    world.mm.borrow_mut().unpin(pinned).unwrap();
}

#[test]
fn a_cpuset_takes_pages_and_policies_with_it() {
    let world = nodes(4);
    let space = {
        let mm = &mut *world.mm.borrow_mut();
        let space = program(mm, 20);
        mm.set_mems(space, mask("0-1")).unwrap();
        mm.set_mempolicy(space, &args(Mode::Interleave, "0-1")).unwrap();
        mm.mbind(space, address(START, 10), bytes(10), &args(Mode::Bind, "1,3"), false).unwrap();
        assert_eq!(
            mm.pages.get_mempolicy(space, Some(address(START, 10))),
            Ok(args(Mode::Bind, "1")),
            "within the cpuset"
        );
        assert_eq!(nodes_of(mm, space, 0..4, 0), [0, 1, 0, 1]);
        assert_eq!(nodes_of(mm, space, 10..11, 0), [1]);
        space
    };
    assert_eq!(run(set_mems(&world, space, mask("2-3"), true)), Ok(()));
    assert_eq!(where_they_are(&world, space, 4), [Some(2), Some(3), Some(2), Some(3)]);
    let mm = &mut *world.mm.borrow_mut();
    assert_eq!(mm.pages.get_mempolicy(space, None), Ok(args(Mode::Interleave, "2-3")));
    assert_eq!(mm.pages.get_mempolicy(space, Some(address(START, 10))), Ok(args(Mode::Bind, "3")));
    assert_eq!(nodes_of(mm, space, 4..6, 0), [2, 3]);
    mm.set_mempolicy(space, &MempolicyArgs::DEFAULT).unwrap();
    assert_eq!(nodes_of(mm, space, 6..7, 0), [2], "the nearest node of the cpuset to the CPU");
    assert_eq!(mm.set_mems(space, NodeMask::EMPTY), Err(Errno::Enospc));
    assert_eq!(mm.set_mems(space, mask("3-4")), Err(Errno::Einval), "node 4 has no memory");
    assert_eq!(mm.mems_allowed(space), Ok(mask("2-3")));
    let kernel = mm.task_request(space, crate::Request::new(order9_units::Order::ZERO, crate::Gfp::GFP_KERNEL));
    assert_eq!((kernel.nodemask, kernel.uses), (Some(mask("2-3")), crate::NodeUse::FastPathMask));
}
