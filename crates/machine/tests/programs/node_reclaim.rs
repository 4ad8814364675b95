//! Reclaim of a node on request: the node gives what was asked of it, and no other node gives anything.

use std::num::NonZeroU64;

use order9_machine::{Event, Machine, Options, Outcome, Results, Thread, TraceKinds};
use order9_mm::policy::Policy;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, NodeId, Pages, Pfn, PfnRange, ZoneKind};
use order9_workloads::{Access, AddressSpace, Administration, Files, Mapping, Nodes, Processes, Stop};

use crate::{counter, disk, mib, prices};

const NODE: Bytes = mib(32);
/// Bytes of the file: fewer than may be dirty on node 0, so that all its pages lie there.
const FILE: Bytes = mib(4);

/// Two nodes, and a disk with swap.
fn machine(policy: &str) -> Machine {
    let policy: Policy = order9_policy::load(policy).expect("it is built in").policy;
    let zone = |node: u16| {
        let span = PfnRange::of(Pfn::new((1 << 20) + (u64::from(node) << 16)), Pages::from_bytes_floor(NODE));
        ZoneSpec { node: NodeId(node), kind: ZoneKind::Normal, span }
    };
    let cpus = vec![NodeId(0), NodeId(1)];
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10, 20] }, NodeSpec { distances: vec![20, 10] }],
        zones: vec![zone(0), zone(1)],
        cpus: cpus.clone(),
        ..Layout::default()
    };
    let mm = MmBuilder::new(&layout, policy).expect("zones are a layout").content_tags().boot();
    let disks = vec![disk(Pages::from_bytes_floor(NODE))];
    let traced = ["mm_vmscan_node_reclaim_begin", "mm_vmscan_node_reclaim_end"];
    let trace = traced.into_iter().try_fold(TraceKinds::NONE, TraceKinds::with).expect("they are tracepoints");
    let options = Options { disks, trace, trace_max: 1_000, check_every: NonZeroU64::new(64), ..Options::new(1) };
    Machine::new(mm, cpus, prices(), &options).expect("there are CPUs")
}

/// Fills cache, all of it clean, and memory of node 0, and then has `node` reclaimed; `expected` is whether it gives as much.
fn reclaimed(policy: &str, node: u16, amount: Bytes, swappiness: Option<u64>, expected: bool) -> Results {
    machine(policy).run_program(
        "administrator",
        move |sys: Thread| async move {
            sys.set_affinity(&sys.cpus_of(NodeId(0))).await?;
            let file = sys.create_file(FILE).await?;
            sys.fsync(file).await?;
            let area = sys.mmap(Mapping::anon(mib(8))).await?;
            sys.touch(area, Access::Write).await?;
            assert_eq!(sys.reclaim(NodeId(node), amount, swappiness).await?, expected);
            Ok(())
        },
        |_| (),
    )
}

#[test]
fn a_node_gives_as_much_of_its_cache_as_was_asked() {
    let results = reclaimed("linux-6.18", 0, mib(2), Some(0), true);
    assert_eq!(results.outcome, Outcome::Completed);
    let stolen = counter(&results, "pgsteal_proactive");
    assert!((512..=512 + 256).contains(&stolen), "{stolen} pages for 512");
    let others = ["pgsteal_direct", "pgsteal_kswapd", "pswpout"].map(|name| counter(&results, name));
    assert_eq!(others, [0; 3], "nobody else reclaimed, and cache was taken alone");
    let told = results.events.iter().map(|traced| match traced.event {
        Event::NodeReclaimBegin { node, .. } => (Some(node), 0),
        Event::NodeReclaimEnd { reclaimed } => (None, reclaimed),
        other => panic!("{other:?} was not asked for"),
    });
    let told: Vec<_> = told.collect();
    let [first, second] = [told[0].0, told[1].0];
    assert_eq!((first, second), (Some(NodeId(0)), None), "a part begins and ends before the next");
    assert_eq!(told.iter().map(|(_, reclaimed)| reclaimed).sum::<u64>(), stolen);
}

#[test]
fn memory_of_programs_goes_to_swap_where_cache_is_not_enough_unless_swappiness_spares_it() {
    // The tries are over before the disk has written: the pages do not count as reclaimed.
    let swapped = |swappiness| counter(&reclaimed("linux-6.18", 0, mib(8), swappiness, false), "pswpout");
    assert!(swapped(None) > 512, "{} of 2048 pages", swapped(None));
    assert_eq!(swapped(Some(0)), 0);
}

#[test]
fn a_node_that_has_not_as_much_says_so() {
    let results = reclaimed("linux-6.18", 0, mib(24), Some(0), false);
    assert_eq!(results.outcome, Outcome::Completed);
    let of_file = FILE.get() >> 12;
    let stolen = counter(&results, "pgsteal_proactive");
    assert!((of_file * 3 / 4..=of_file).contains(&stolen), "{stolen} of the {of_file} pages of the file");
    let idle = reclaimed("linux-6.18", 1, mib(4), None, false);
    assert_eq!(counter(&idle, "pgsteal_proactive"), 0, "nothing of node 0 for a request to node 1");
}

#[test]
fn a_kernel_without_the_file_and_a_machine_without_the_node_refuse() {
    for (policy, node) in [("linux-6.12", 0), ("linux-6.18", 2)] {
        let refused = Outcome::Stopped(Stop::Refused { call: "write", errno: "ENOENT" });
        assert_eq!(reclaimed(policy, node, mib(4), None, true).outcome, refused, "{policy}, node {node}");
    }
}
