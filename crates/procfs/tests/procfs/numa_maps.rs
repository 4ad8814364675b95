//! /proc/PID/numa_maps and the counters of nodes beside it.

use order9_mm::Mm;
use order9_mm::mempolicy::{MempolicyArgs, Mode, ModeFlags};
use order9_mm::policy::{MempolicyInterface, Policy};
use order9_mm::space::Access;
use order9_mm::thp::HugeEnabled;
use order9_procfs::{render_numa_maps, render_numastat};
use order9_units::{NodeId, NodeMask};

use super::{CPU, START, boot_nodes, map, pages, rendered, touch};

#[test]
fn numa_maps_show_policy_and_nodes_and_numastat_whose_turn_was_kept() {
    let mempolicy = MempolicyInterface::BindBalancing;
    let mut mm = boot_nodes(Policy { mempolicy, ..Policy::default() }, 2, 1 << 13);
    mm.phys_mut().set_thp_enabled(HugeEnabled::Never);
    let space = mm.create_space().expect("it is the first");
    map(&mut mm, space, 0, 100);
    map(&mut mm, space, 200, 4);
    let turns = MempolicyArgs::new(Mode::Interleave, NodeMask::parse("0-1").expect("a list of nodes"));
    mm.mbind(space, START, pages(100), &turns, false).expect("it is mapped");
    touch(&mut mm, space, START, 0..100, Access::Write);
    let numastat = rendered(|out| render_numastat(&mm, NodeId(1), out));
    assert!(numastat.contains("interleave_hit 50\n") && numastat.contains("other_node 50\n"), "{numastat}");
    let maps = |mm: &Mm| rendered(|out| render_numa_maps(mm, mm.space(space).expect("it lives"), out));
    let first = "7f0000000000 interleave:0-1 anon=100 dirty=100 N0=50 N1=50 kernelpagesize_kB=4\n";
    assert_eq!(maps(&mm), format!("{first}7f00000c8000 default\n"));
    let bind = MempolicyArgs::new(Mode::Bind, NodeMask::parse("1").expect("a list of nodes"));
    mm.set_mempolicy(space, &bind).expect("there is such a node");
    assert_eq!(maps(&mm), format!("{first}7f00000c8000 bind:1\n"), "mappings without policy show that of the task");
    let flagged = MempolicyArgs { flags: ModeFlags::Static, balances: true, ..bind };
    mm.set_mempolicy(space, &flagged).expect("5.12+ balances among the nodes of bind");
    assert_eq!(maps(&mm), format!("{first}7f00000c8000 bind=static|balancing:1\n"));
    mm.exit(space, CPU).expect("it lives");
}
