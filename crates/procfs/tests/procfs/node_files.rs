//! Files of nodes, from a machine of two nodes with memory of every kind: sums over nodes are what the machine says.

use std::collections::HashMap;

use order9_mm::hugetlb::PoolSize;
use order9_mm::policy::Policy;
use order9_mm::space::{Access, Backing, FaultStep, MmapRequest, VirtAddr};
use order9_mm::{Layout, Mm, MmBuilder, NodeSpec, ShmemEnabled, ShmemHuge, SpaceId, ZoneSpec};
use order9_procfs::{
    meminfo, render_node_cpulist, render_node_distance, render_node_meminfo, render_node_vmstat, render_numastat,
    vmstat,
};
use order9_units::{NodeId, Pages, Pfn, PfnRange, ZoneKind};

use super::rendered;

const NODES: [NodeId; 2] = [NodeId(0), NodeId(1)];

/// Two nodes with 512 MiB and two CPUs each.
fn boot() -> Mm {
    let span = |node: u64| PfnRange::of(Pfn::new((1 << 20) + (node << 17)), Pages::new(1 << 17));
    let zone = |node: u16| ZoneSpec { node: NodeId(node), kind: ZoneKind::Normal, span: span(node.into()) };
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10, 21] }, NodeSpec { distances: vec![21, 10] }],
        zones: vec![zone(0), zone(1)],
        cpus: [0, 1, 1, 0].map(NodeId).to_vec(),
        ..Layout::default()
    };
    MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot()
}

/// Maps memory and writes to the first `touched` pages of it on a CPU.
fn fill(mm: &mut Mm, space: SpaceId, request: &MmapRequest, touched: u64, cpu: usize) {
    let start = mm.mmap(space, request, cpu).expect("there is room");
    for page in 0..touched {
        let addr = VirtAddr::new(start.get() + Pages::new(page).bytes().get());
        let step = mm.touch(space, addr, Access::Write, cpu);
        assert!(matches!(step, FaultStep::Done | FaultStep::Hit), "{step:?}");
    }
}

/// On both nodes, more on the second: anonymous pages, base, huge and mlocked, shared ones, base and huge, and a pool.
fn machine() -> Mm {
    let mut mm = boot();
    mm.pages_mut().cache_mut().set_shmem_enabled(ShmemEnabled::Mount(ShmemHuge::Always));
    mm.set_nr_hugepages(PoolSize::all(5));
    let space = mm.create_space().expect("it is the first");
    for (cpu, times) in [(0, 1), (1, 2)] {
        let anon = |pages| MmapRequest::anon(Pages::new(pages).bytes());
        for _ in 0..times {
            fill(&mut mm, space, &anon(100), 60, cpu);
            fill(&mut mm, space, &MmapRequest { locked: true, ..anon(10) }, 10, cpu);
            fill(&mut mm, space, &anon(2048), 1024, cpu);
            fill(&mut mm, space, &MmapRequest { backing: Backing::AnonShared, ..anon(1536) }, 600, cpu);
            fill(&mut mm, space, &MmapRequest { backing: Backing::AnonShared, ..anon(20) }, 11, cpu);
        }
    }
    mm.check().expect("every law holds");
    mm
}

/// Names and numbers of a file with one of each in a line; `prefix` stands before them.
fn fields(text: &str, prefix: &str) -> HashMap<String, u64> {
    let field = |line: &str| {
        let mut words = line.strip_prefix(prefix).unwrap_or_else(|| panic!("{line}")).split_whitespace();
        let name = words.next().expect("a name").trim_end_matches(':').to_owned();
        (name, words.next().and_then(|number| number.parse().ok()).expect("a number"))
    };
    text.lines().map(field).collect()
}

fn node_meminfo(mm: &Mm, node: NodeId) -> HashMap<String, u64> {
    fields(&rendered(|out| render_node_meminfo(mm, node, out)), &format!("Node {node} "))
}

fn node_vmstat(mm: &Mm, node: NodeId) -> HashMap<String, u64> {
    fields(&rendered(|out| render_node_vmstat(mm, node, out)), "")
}

#[test]
fn nodes_add_up_to_the_machine() {
    let mm = machine();
    let of_nodes = NODES.map(|node| node_meminfo(&mm, node));
    let of_machine: HashMap<_, _> = meminfo(&mm).collect();
    for (name, value) in &of_nodes[0] {
        let sum: u64 = of_nodes.iter().map(|node| node[name]).sum();
        match name.as_str() {
            "MemUsed" => assert_eq!(sum, of_machine["MemTotal"] - of_machine["MemFree"]),
            "FilePages" => assert_eq!(sum, of_machine["Cached"] + of_machine["Buffers"] + of_machine["SwapCached"]),
            name => assert_eq!(sum, of_machine[name], "{name}: {value} on the first node"),
        }
    }
    for name in ["AnonPages", "AnonHugePages", "ShmemHugePages", "ShmemPmdMapped", "Mlocked", "Mapped", "PageTables"] {
        assert!(of_nodes.iter().all(|node| node[name] > 0), "{name} on both nodes");
    }
    assert_eq!(of_nodes.each_ref().map(|node| node["AnonHugePages"]), [2 * 2048, 4 * 2048]);
    let counts = NODES.map(|node| node_vmstat(&mm, node));
    let of_machine: HashMap<_, _> = vmstat(&mm).collect();
    for name in counts[0].keys().filter(|name| *name != "numa_interleave") {
        assert_eq!(counts.iter().map(|node| node[name]).sum::<u64>(), of_machine[name.as_str()], "{name}");
    }
    for (node, counts) in of_nodes.iter().zip(&counts) {
        assert_eq!(node["AnonHugePages"], 2048 * counts["nr_anon_transparent_hugepages"]);
        assert_eq!(node["ShmemHugePages"], 2048 * counts["nr_shmem_hugepages"]);
        assert_eq!(node["MemFree"], 4 * counts["nr_free_pages"]);
    }
}

#[test]
fn a_node_shows_its_huge_pages_as_linux_lays_them_out() {
    let mm = machine();
    let text = rendered(|out| render_node_meminfo(&mm, NodeId(1), out));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Node 1 MemTotal:         524288 kB");
    assert!(lines[6].starts_with("Node 1 Active(anon):   "), "{}", lines[6]);
    assert_eq!(
        lines[lines.len() - 6..],
        [
            "Node 1 AnonHugePages:      8192 kB",
            "Node 1 ShmemHugePages:    12288 kB",
            "Node 1 ShmemPmdMapped:     8192 kB",
            "Node 1 HugePages_Total:     2",
            "Node 1 HugePages_Free:      2",
            "Node 1 HugePages_Surp:      0",
        ]
    );
    let mut old = Policy::default();
    old.thp.shmem = false;
    assert!(!rendered(|out| render_node_meminfo(&common_boot(old), NodeId(0), out)).contains("ShmemHugePages"), "4.8+");
}

fn common_boot(policy: Policy) -> Mm {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(1 << 12));
    let zone = ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span };
    let nodes = vec![NodeSpec { distances: vec![10] }];
    let layout = Layout { nodes, zones: vec![zone], cpus: vec![NodeId(0)], ..Layout::default() };
    MmBuilder::new(&layout, policy).expect("the layout is sound").boot()
}

#[test]
fn numastat_has_the_counters_of_the_node() {
    let mm = machine();
    let sums = |name: &str| {
        let of = |node| fields(&rendered(|out| render_numastat(&mm, node, out)), "")[name];
        NODES.map(of).iter().sum::<u64>()
    };
    let of_machine: HashMap<_, _> = vmstat(&mm).collect();
    for (name, counter) in [
        ("numa_hit", "numa_hit"),
        ("numa_miss", "numa_miss"),
        ("numa_foreign", "numa_foreign"),
        ("local_node", "numa_local"),
        ("other_node", "numa_other"),
    ] {
        assert_eq!(sums(name), of_machine[counter], "{name}");
    }
    assert!(sums("local_node") > 0);
    assert_eq!(sums("interleave_hit"), 0);
}

#[test]
fn a_node_says_where_it_is() {
    let mm = boot();
    let of = |node| {
        let distance = rendered(|out| render_node_distance(&mm, NodeId(node), out));
        (distance, rendered(|out| render_node_cpulist(&mm, NodeId(node), out)))
    };
    assert_eq!(of(0), ("10 21\n".into(), "0,3\n".into()));
    assert_eq!(of(1), ("21 10\n".into(), "1-2\n".into()));
}
