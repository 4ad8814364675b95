//! Nodes of pages under each mode, and refusals of calls.

use alloc::vec;

use order9_units::{NodeId, Order};

use super::super::{MempolicyArgs, Mode, ModeFlags, SpaceTask};
use super::{START, address, args, bytes, mask, node, nodes, nodes_of, program, write};
use crate::env::run;
use crate::policy::MempolicyInterface;
use crate::space::{Errno, SpaceId};
use crate::{Gfp, Request};

#[test]
fn each_mode_has_its_nodes() {
    let world = nodes(4);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, 64);
    let first = START.vpn().get();
    let mut at = 0;
    let mut four = |policy: &MempolicyArgs| {
        mm.set_mempolicy(space, policy).expect("the policy is sound");
        at += 4;
        nodes_of(mm, space, at - 4..at, 1)
    };
    assert_eq!(first % 4, 0, "turns begin at the first node");
    assert_eq!(four(&MempolicyArgs::DEFAULT), [1; 4]);
    assert_eq!(four(&args(Mode::Local, "")), [1; 4]);
    assert_eq!(four(&args(Mode::Preferred, "3")), [3; 4]);
    assert_eq!(four(&args(Mode::Bind, "2-3")), [2; 4], "the nearest of the mask");
    assert_eq!(four(&args(Mode::Bind, "0,3")), [0; 4]);
    assert_eq!(four(&args(Mode::PreferredMany, "2-3")), [2; 4]);
    assert_eq!(four(&args(Mode::Interleave, "0-3")), [0, 1, 2, 3]);
    assert_eq!(four(&args(Mode::Interleave, "0,2")), [0, 2, 0, 2]);
    assert_eq!(four(&args(Mode::WeightedInterleave, "1,3")), [1, 3, 1, 3], "without weights");
    mm.check().expect("every law holds");
}

#[test]
fn each_thread_has_a_policy_and_hands_it_to_those_it_starts() {
    let world = nodes(3);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, 64);
    let older = mm.pages.spaces.start_thread(space).unwrap();
    mm.set_mempolicy(space, &args(Mode::Preferred, "2")).unwrap();
    let younger = mm.pages.spaces.start_thread(space).unwrap();
    let mut page = 0;
    let mut written = |mm: &mut _, task: SpaceTask| {
        page += 1;
        write(mm, task, page, 0);
        node(mm, space, page).expect("it was just written")
    };
    assert_eq!([older, space.into(), younger].map(|task| written(mm, task)), [0, 2, 2]);
    mm.set_mempolicy(younger, &args(Mode::Bind, "1")).unwrap();
    assert_eq!([older, space.into(), younger].map(|task| written(mm, task)), [0, 2, 1]);
    assert_eq!(mm.pages.get_mempolicy(younger, None), Ok(args(Mode::Bind, "1")));
    assert_eq!(mm.pages.get_mempolicy(space, None), Ok(args(Mode::Preferred, "2")));
    // Whoever may use a node makes the space one that is killed for it.
    assert!(mm.pages.spaces.may_use_nodes(space, Some(mask("0"))));
    for task in [older, space.into()] {
        mm.set_mempolicy(task, &args(Mode::Bind, "1-2")).unwrap();
    }
    assert!(!mm.pages.spaces.may_use_nodes(space, Some(mask("0"))));
    // A cpuset takes the policies of all with it.
    mm.set_mems(space, mask("0-1")).unwrap();
    assert_eq!(mm.pages.get_mempolicy(older, None), Ok(args(Mode::Bind, "0-1")));
    assert_eq!(mm.pages.get_mempolicy(younger, None), Ok(args(Mode::Bind, "1")));
    // A child of fork has that of the thread that forks; threads that have ended have none.
    let child = mm.fork(younger).unwrap().child();
    assert_eq!(mm.pages.get_mempolicy(child, None), Ok(args(Mode::Bind, "1")));
    mm.pages.spaces.end_thread(younger);
    assert_eq!(mm.pages.get_mempolicy(younger, None), Err(Errno::Esrch));
    assert_eq!(mm.pages.spaces.start_thread(younger), Err(Errno::Esrch));
    mm.check().expect("every law holds");
}

#[test]
fn turns_of_a_thread_are_its_own() {
    let world = nodes(3);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, 1);
    mm.set_mempolicy(space, &args(Mode::Interleave, "0-2")).unwrap();
    let table = Request::new(Order::ZERO, Gfp::GFP_KERNEL);
    assert_eq!(mm.task_request(space, table).node, NodeId(0));
    let thread = mm.pages.spaces.start_thread(space).unwrap();
    assert_eq!([0, 0].map(|_| mm.task_request(thread, table).node), [NodeId(1), NodeId(2)], "it goes on from there");
    assert_eq!(mm.pages.next_interleave_node(space), Ok(NodeId(1)));
    assert_eq!(mm.pages.next_interleave_node(thread), Ok(NodeId(0)));
}

#[test]
fn weights_follow_the_bandwidth_unless_somebody_chooses() {
    let world = nodes(3);
    let mm = &mut *world.mm.borrow_mut();
    let bandwidth = [(NodeId(0), 143_100), (NodeId(1), 143_100), (NodeId(2), 19_500)];
    let weights = |mm: &crate::Mm| [0, 1, 2].map(|node| mm.pages.mempolicies.interleave_weight(NodeId(node)));
    // Earlier releases know no bandwidth.
    mm.set_node_bandwidth(bandwidth);
    assert_eq!(weights(mm), [1, 1, 1]);
    mm.phys.policy.mempolicy = MempolicyInterface::AutoWeights;
    mm.set_node_bandwidth([]);
    assert_eq!((weights(mm), mm.pages.mempolicies.weights_follow_bandwidth()), ([1, 1, 1], true));
    assert_eq!(mm.set_weights_follow_bandwidth(true), Err(Errno::Enodev), "none is known");
    mm.set_node_bandwidth(bandwidth);
    assert_eq!(weights(mm), [7, 7, 1]);
    let space = program(mm, 64);
    mm.mbind(space, START, bytes(64), &args(Mode::WeightedInterleave, "0-2"), false).unwrap();
    let found = nodes_of(mm, space, 0..60, 0);
    assert_eq!([0, 1, 2].map(|node| found.iter().filter(|&&found| found == node).count()), [28, 28, 4]);
    // A weight that is written is the end of it, as `false` is; weights stay then.
    mm.pages.mempolicies.set_interleave_weight(NodeId(1), 3);
    assert_eq!((weights(mm), mm.pages.mempolicies.weights_follow_bandwidth()), ([7, 3, 1], false));
    mm.set_node_bandwidth([(NodeId(0), 5), (NodeId(1), 5), (NodeId(2), 5)]);
    assert_eq!(weights(mm), [7, 3, 1]);
    mm.set_weights_follow_bandwidth(true).unwrap();
    assert_eq!(weights(mm), [1, 1, 1]);
    mm.set_weights_follow_bandwidth(false).unwrap();
    mm.set_node_bandwidth(bandwidth);
    assert_eq!(weights(mm), [1, 1, 1]);
}

#[test]
fn weights_say_how_many_pages_in_a_row_a_node_gets() {
    let world = nodes(3);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, 64);
    mm.pages.mempolicies.set_interleave_weight(NodeId(0), 3);
    mm.pages.mempolicies.set_interleave_weight(NodeId(2), 2);
    mm.mbind(space, START, bytes(64), &args(Mode::WeightedInterleave, "0-2"), false).unwrap();
    // Place 0x7f0000000 is the second of a round of six.
    let round = [0, 0, 0, 1, 2, 2];
    let shift = START.vpn().get() % 6;
    let expected: vec::Vec<u16> = (shift..shift + 12).map(|place| round[place as usize % 6]).collect();
    assert_eq!(nodes_of(mm, space, 0..12, 0), expected);
    mm.pages.mempolicies.set_interleave_weight(NodeId(0), 0);
    assert_eq!(mm.pages.mempolicies.interleave_weight(NodeId(0)), 1, "the default again");
}

#[test]
fn a_full_node_passes_pages_on_only_where_the_mode_lets_it() {
    let world = nodes(3);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, 3 * super::NODE);
    let mut at = 0;
    // Writes pages until one goes elsewhere, or there is none at all.
    let mut fill = |policy: &MempolicyArgs, from: u16| {
        mm.set_mempolicy(space, policy).unwrap();
        loop {
            at += 1;
            match mm.touch(space, address(START, at - 1), crate::space::Access::Write, 0) {
                crate::space::FaultStep::Done if node(mm, space, at - 1) == Some(from) => {}
                crate::space::FaultStep::Done => break node(mm, space, at - 1),
                _ => break None,
            }
        }
    };
    assert_eq!(fill(&args(Mode::Bind, "2"), 2), None, "the slow path's turn, within the mask");
    assert_eq!(fill(&args(Mode::Preferred, "2"), 2), Some(1), "the nearest to node 2");
    assert_eq!(fill(&args(Mode::PreferredMany, "1-2"), 1), None, "the mask has nothing without reclaim");
    assert_eq!(fill(&args(Mode::Bind, "1-2"), 1), None);
    mm.check().expect("every law holds");
}

#[test]
fn several_preferred_nodes_are_asked_without_reclaim_and_then_all() {
    let world = nodes(2);
    let space = program(&mut world.mm.borrow_mut(), 2 * super::NODE);
    world.mm.borrow_mut().set_mempolicy(space, &args(Mode::PreferredMany, "1")).unwrap();
    let elsewhere = (0..2 * super::NODE).find(|&page| {
        let step = world.mm.borrow_mut().touch(space, address(START, page), crate::space::Access::Write, 0);
        let crate::space::FaultStep::NeedPage(fault) = step else {
            return node(&world.mm.borrow(), space, page) != Some(1);
        };
        let request = world.mm.borrow_mut().fault_request(&fault, 0);
        let pfn = run(crate::alloc_slow(&world, &request)).expect("node 0 has memory");
        world.mm.borrow_mut().fault_go_on(&fault, pfn, 0);
        node(&world.mm.borrow(), space, page) != Some(1)
    });
    let elsewhere = elsewhere.expect("node 1 is full at last");
    assert!(elsewhere > super::NODE / 2, "all of node 1 down to the min watermark comes first");
    assert_eq!(node(&world.mm.borrow(), space, elsewhere), Some(0));
    let counters = world.mm.borrow();
    let numa = counters.phys.frames.numa_counters();
    assert_eq!((numa[0].miss, numa[1].foreign), (0, 0), "the second attempt intends the node of the CPU");
}

#[test]
fn a_mapping_goes_before_its_task_and_the_task_before_the_system() {
    let world = nodes(3);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, 30);
    mm.set_mempolicy(space, &args(Mode::Bind, "1")).unwrap();
    mm.mbind(space, address(START, 10), bytes(10), &args(Mode::Bind, "2"), false).unwrap();
    assert_eq!(mm.space(space).unwrap().vmas().count(), 3);
    let of = |mm: &mut _, page: u64| nodes_of(mm, space, page..page + 1, 0)[0];
    assert_eq!([of(mm, 0), of(mm, 10), of(mm, 20)], [1, 2, 1]);
    mm.mbind(space, address(START, 10), bytes(10), &MempolicyArgs::DEFAULT, false).unwrap();
    assert_eq!(mm.space(space).unwrap().vmas().count(), 1, "mappings with the same policy merge");
    assert_eq!(of(mm, 11), 1);
    let child = mm.fork(space).unwrap().child();
    assert_eq!(mm.pages.get_mempolicy(child, None), Ok(args(Mode::Bind, "1")));
    write(mm, child, 5, 0);
    assert_eq!(node(mm, child, 5), Some(1));
}

#[test]
fn what_was_set_is_what_one_gets() {
    let world = nodes(4);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, 10);
    assert_eq!(mm.pages.get_mempolicy(space, None), Ok(MempolicyArgs::DEFAULT));
    let relative = MempolicyArgs { flags: ModeFlags::Relative, ..args(Mode::Bind, "5") };
    mm.set_mempolicy(space, &relative).unwrap();
    assert_eq!(mm.pages.get_mempolicy(space, None), Ok(relative));
    assert_eq!(mm.pages.get_mempolicy(space, Some(START)), Ok(MempolicyArgs::DEFAULT), "the mapping has none");
    mm.mbind(space, START, bytes(1), &args(Mode::Preferred, "2,3"), false).unwrap();
    assert_eq!(mm.pages.get_mempolicy(space, Some(START)), Ok(args(Mode::Preferred, "2")));
    assert_eq!(mm.pages.get_mempolicy(space, Some(address(START, 10))), Err(Errno::Efault));
    assert_eq!(mm.pages.get_mempolicy(SpaceId(9), None), Err(Errno::Esrch));
    assert_eq!(mm.pages.next_interleave_node(space), Err(Errno::Einval));
    mm.set_mempolicy(space, &args(Mode::Interleave, "1,3")).unwrap();
    let next = |mm: &crate::Mm| mm.pages.next_interleave_node(space).map(|node| node.0);
    assert_eq!(next(mm), Ok(1));
    let kernel = Request::new(Order::ZERO, Gfp::GFP_KERNEL);
    let turns = [0; 3].map(|_| mm.task_request(space, kernel).node.0);
    assert_eq!((turns, next(mm)), ([1, 3, 1], Ok(3)));
    assert_eq!(mm.mems_allowed(space), Ok(mask("0-3")));
}

#[test]
fn the_kernels_own_memory_follows_the_task_unless_it_may_not_wait() {
    let world = nodes(3);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, 1);
    mm.set_mempolicy(space, &args(Mode::Bind, "2")).unwrap();
    let asked = |mm: &mut crate::Mm, gfp| mm.task_request(space, Request::new(Order::ZERO, gfp)).nodemask;
    assert_eq!(asked(mm, Gfp::GFP_KERNEL), Some(mask("2")));
    assert_eq!(asked(mm, Gfp::GFP_ATOMIC), None);
    // A page table of a fault is the task's, its page the mapping's.
    mm.mbind(space, START, bytes(1), &args(Mode::Bind, "1"), false).unwrap();
    write(mm, space, 0, 0);
    assert_eq!(node(mm, space, 0), Some(1));
    assert_eq!(mm.node_levels(NodeId(2)).user.page_tables, 1);
}

#[test]
fn a_home_node_goes_before_the_node_of_the_cpu() {
    let world = nodes(2);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, 2);
    mm.mbind(space, START, bytes(2), &args(Mode::Bind, "0-1"), false).unwrap();
    mm.set_mempolicy_home_node(space, START, bytes(2), NodeId(1)).unwrap();
    assert_eq!(nodes_of(mm, space, 0..2, 0), [1, 1]);
}

#[test]
fn counters_say_whose_turn_was_kept() {
    let world = nodes(2);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, 100);
    mm.mbind(space, START, bytes(100), &args(Mode::Interleave, "0-1"), false).unwrap();
    nodes_of(mm, space, 0..100, 0);
    let hits: vec::Vec<u64> = mm.phys.frames.numa_counters().iter().map(|numa| numa.interleave_hit).collect();
    assert_eq!(hits, [50, 50, 0]);
    assert_eq!(mm.phys.frames.numa_counters()[1].other, 50);
    assert_eq!(mm.pages_by_node(mm.space(space).unwrap()), [50, 50, 0]);
}

#[test]
fn a_cpu_without_memory_takes_from_the_nearest_node() {
    let world = nodes(2);
    let mm = &mut *world.mm.borrow_mut();
    let space = program(mm, 10);
    assert_eq!(nodes_of(mm, space, 0..1, 2), [1], "node 2 has a CPU and no memory");
    mm.set_mempolicy(space, &args(Mode::Bind, "0")).unwrap();
    assert_eq!(nodes_of(mm, space, 1..2, 2), [0]);
    mm.set_mempolicy(space, &args(Mode::Local, "")).unwrap();
    assert_eq!(nodes_of(mm, space, 2..3, 2), [1]);
}
