//! Small worlds, each of which shows other switches.

use std::collections::BTreeMap;

use order9_machine::disk::DiskSpec;
use order9_machine::{DiskLimits, FileSystem, Machine, MachineDisk, Options, Results};
use order9_mm::policy::Policy;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_procfs::sysctl;
use order9_units::{Nanos, NodeId, Pages, Pfn, PfnRange, ZoneKind};
use order9_workloads::{Parameters, Value, Workload};

use super::alone::Shortage;
use super::{alone, engine, huge_pages, targeted};
use crate::chaos::chaos_under;
use crate::{disk, mib, prices};

/// What was seen of a world under a policy.
#[derive(PartialEq)]
pub(super) enum Seen {
    /// All that a machine says of a run.
    Run(Box<Results>),
    /// What the engine says of itself.
    Text(String),
}

impl From<Results> for Seen {
    fn from(results: Results) -> Self {
        Self::Run(Box::new(results))
    }
}

/// What happens under a policy.
pub(super) type World = fn(Policy) -> Seen;

/// Every world and its name. The search looks into those that no witness names, too.
pub(super) const WORLDS: [(&str, World); 49] = [
    ("requests", |policy| Seen::Text(engine::requests(policy))),
    ("settings", |policy| Seen::Text(engine::settings(policy))),
    ("kernel-blocks", |policy| small(policy).run_program("kernel blocks", targeted::kernel_blocks, |_| ()).into()),
    ("zeros", |policy| {
        let machine = machine(policy, &[64], 1, &[("thp/enabled", "always"), ("thp/use_zero_page", "1")]);
        machine.run_program("zeros", targeted::zeros, |_| ()).into()
    }),
    ("ticks", |policy| {
        let options = Options { tick: Some(Nanos::new(4_000_000)), ..Options::new(1) };
        let chosen = BTreeMap::from([("threads", Value::Counts(vec![5]))]);
        let machine = machine_with(policy, &[128], |_, _| 10, &[0], options, &[("thp/enabled", "always")]);
        let parameters = Parameters::new(Workload::ThpScale, &chosen, &machine.facts()).expect("the values are taken");
        machine.run(Workload::ThpScale, &parameters, |_| ()).into()
    }),
    ("rests", |policy| machine(policy, &[256], 1, &[]).run_program("rests", targeted::rests, |_| ()).into()),
    ("slab", |policy| Seen::Text(engine::dropped_slab(policy))),
    ("large-requests", |policy| Seen::Text(engine::large_requests(policy))),
    ("reach", |policy| {
        let settings = [("vm.zone_reclaim_mode", "1")];
        let machine = machine_with(
            policy,
            &[64, 64, 64],
            |from, to| [10, 30, 40][from.abs_diff(to)],
            &[0, 2],
            Options::new(1),
            &settings,
        );
        machine.run_program("near and far", targeted::near_and_far, |_| ()).into()
    }),
    ("compressed", |policy| {
        let swap = Pages::new(16_384);
        let disks = vec![MachineDisk {
            name: "zram0".to_owned(),
            spec: DiskSpec::in_memory(swap),
            swap,
            limits: DiskLimits::default(),
            file_system: FileSystem::Plain,
        }];
        let machine = machine_with(policy, &[64], |_, _| 10, &[0], Options { disks, ..Options::new(1) }, &[]);
        machine.run_program("compressed memory", targeted::twice_over_more_than_memory, |_| ()).into()
    }),
    ("swapped-in-part", |policy| {
        let swap = Pages::new(19_968);
        let disks = vec![MachineDisk {
            name: "zram0".to_owned(),
            spec: DiskSpec::in_memory(swap),
            swap,
            limits: DiskLimits::default(),
            file_system: FileSystem::Plain,
        }];
        let options = Options { disks, ..Options::new(1) };
        let machine = machine_with(policy, &[64], |_, _| 10, &[0], options, &[("thp/enabled", "always")]);
        machine.run_program("swap", targeted::swapped_in_part, |_| ()).into()
    }),
    ("half-of-each-64k", |policy| {
        let swap = Pages::new(16_384);
        let disks = vec![MachineDisk {
            name: "zram0".to_owned(),
            spec: DiskSpec::in_memory(swap),
            swap,
            limits: DiskLimits::default(),
            file_system: FileSystem::Plain,
        }];
        let options = Options { disks, ..Options::new(1) };
        let settings = [("thp/hugepages-64kB/enabled", "always")];
        let machine = machine_with(policy, &[64], |_, _| 10, &[0], options, &settings);
        machine.run_program("half of each 64 KiB", targeted::half_of_each_64k, |_| ()).into()
    }),
    ("emptied-slots", |policy| small(policy).run_program("emptied slots", targeted::emptied_slots, |_| ()).into()),
    ("large-cache", |policy| {
        let machine = machine(policy, &[1400], 1, &[]);
        machine.run_program("page cache", |sys| targeted::page_cache(sys, mib(1200), mib(400)), |_| ()).into()
    }),
    ("node-file", |policy| {
        machine(policy, &[64], 1, &[]).run_program("administrator", targeted::node_file, |_| ()).into()
    }),
    ("far", |policy| {
        let machine = machine(
            policy,
            &[384, 384],
            1,
            &[("thp/enabled", "always"), ("kernel.numa_balancing_scan_size_mb", "256")],
        );
        machine.run_program("far memory", |sys| targeted::far_memory(sys, mib(256)), |_| ()).into()
    }),
    ("waits-huge-1", |policy| Seen::Text(alone::requests_that_wait(policy, 1, Shortage::HugePages))),
    ("waits-huge-27", |policy| Seen::Text(alone::requests_that_wait(policy, 27, Shortage::HugePages))),
    ("waits-small", |policy| Seen::Text(alone::requests_that_wait(policy, 2, Shortage::SmallBlocks))),
    ("waits-dirty", |policy| Seen::Text(alone::requests_that_wait(policy, 3, Shortage::DirtyPages))),
    ("huge-1", |policy| huge(policy, 1, "always")),
    ("huge-2", |policy| huge(policy, 2, "defer")),
    ("huge-3", |policy| huge(policy, 3, "madvise")),
    ("huge-4", |policy| huge(policy, 4, "defer+madvise")),
    ("huge-5", |policy| huge(policy, 5, "always")),
    ("huge-6", |policy| huge(policy, 6, "madvise")),
    ("huge-7", |policy| huge(policy, 7, "always")),
    ("chaos-0", |policy| chaos(policy, 0)),
    ("chaos-1", |policy| chaos(policy, 1)),
    ("chaos-2", |policy| chaos(policy, 2)),
    ("chaos-3", |policy| chaos(policy, 3)),
    ("chaos-4", |policy| chaos(policy, 4)),
    ("chaos-8", |policy| chaos(policy, 8)),
    ("scale", |policy| one_node(policy, 128, Workload::ThpScale, &[("threads", Value::Counts(vec![3]))])),
    ("fio", |policy| one_node(policy, 128, Workload::ThpFioscale, &[])),
    ("challenge", |policy| one_node(policy, 128, Workload::ThpChallenge, &[])),
    ("mix", |policy| one_node(policy, 128, Workload::FragMix, &[("duration", Value::Time(Nanos::new(1_000_000_000)))])),
    ("alloc", |policy| one_node(policy, 128, Workload::HugeAlloc, &[])),
    ("unmovable", |policy| {
        one_node(policy, 128, Workload::HugeAllocUnmovable, &[("watch", Value::Time(Nanos::new(40_000_000_000)))])
    }),
    ("uptime", |policy| {
        one_node(
            policy,
            256,
            Workload::Uptime,
            &[("days", Value::Count(1)), ("files_percent", Value::Count(20)), ("rate_percent", Value::Count(2))],
        )
    }),
    ("fsmark", |policy| {
        one_node(policy, 64, Workload::FsMark, &[("files", Value::Count(500)), ("iterations", Value::Count(3))])
    }),
    ("stutter", |policy| {
        one_node(
            policy,
            128,
            Workload::Stutter,
            &[
                ("hog", Value::Bytes(mib(64))),
                ("file", Value::Bytes(mib(64))),
                ("copies", Value::Count(1)),
                ("probe", Value::Bytes(mib(4))),
            ],
        )
    }),
    ("stream", |policy| {
        one_node(
            policy,
            64,
            Workload::StreamReader,
            &[("size", Value::Bytes(mib(96))), ("time", Value::Time(Nanos::new(3_000_000_000)))],
        )
    }),
    ("pool", |policy| one_node(policy, 128, Workload::HugetlbGrow, &[])),
    ("heap", |policy| one_node(policy, 128, Workload::JavaHeap, &[])),
    ("usemem", |policy| {
        two_nodes(
            policy,
            128,
            Workload::Usemem,
            &[("loops", Value::Count(1)), ("iterations", Value::Count(1)), ("threads", Value::Counts(vec![3]))],
        )
    }),
    ("larger", |policy| two_nodes(policy, 128, Workload::VmLargerThanNode, &[])),
    ("fault", |policy| two_nodes(policy, 128, Workload::FragmentedNodeFault, &[])),
    ("guest", |policy| two_nodes(policy, 128, Workload::PinnedGuest, &[("sizes", Value::Counts(vec![3, 5]))])),
];

fn one_node(policy: Policy, mib: u64, workload: Workload, chosen: &[(&'static str, Value)]) -> Seen {
    programs(policy, &[mib], workload, chosen)
}

fn two_nodes(policy: Policy, mib: u64, workload: Workload, chosen: &[(&'static str, Value)]) -> Seen {
    programs(policy, &[mib, mib], workload, chosen)
}

/// A node of 64 MiB with huge pages.
fn small(policy: Policy) -> Machine {
    machine(policy, &[64], 1, &[("thp/enabled", "always")])
}

fn chaos(policy: Policy, seed: u64) -> Seen {
    chaos_under(policy, seed, mib(4), None).into()
}

/// Random programs around huge pages on two nodes of 32 MiB, with a word in thp/defrag.
fn huge(policy: Policy, seed: u64, defrag: &str) -> Seen {
    let settings = [("thp/enabled", "always"), ("thp/defrag", defrag), ("thp/khugepaged/scan_sleep_millisecs", "10")];
    let machine = machine(policy, &[32, 32], seed, &settings);
    machine.run_program("huge pages", |sys| huge_pages::Program::new(sys).run(), |_| ()).into()
}

fn programs(policy: Policy, nodes: &[u64], workload: Workload, chosen: &[(&'static str, Value)]) -> Seen {
    let chosen: BTreeMap<_, _> = chosen.iter().cloned().collect();
    let machine = machine(policy, nodes, 1, workload.spec().settings(&chosen));
    let parameters = Parameters::new(workload, &chosen, &machine.facts()).expect("the values are taken");
    machine.run(workload, &parameters, |_| ()).into()
}

/// Nodes of so many MiB, two CPUs each; node 0 has a zone of 16 MiB below its Normal. Settings that the release does not have
/// are left out.
fn machine(policy: Policy, nodes: &[u64], seed: u64, settings: &[(&str, &str)]) -> Machine {
    let cpus: Vec<usize> = (0..nodes.len()).collect();
    machine_with(policy, nodes, |from, to| if from == to { 10 } else { 21 }, &cpus, Options::new(seed), settings)
}

/// Such a machine with other distances, and with CPUs on some of its nodes.
fn machine_with(
    policy: Policy,
    nodes: &[u64],
    distance: fn(usize, usize) -> u32,
    nodes_with_cpus: &[usize],
    options: Options,
    settings: &[(&str, &str)],
) -> Machine {
    let mut zones = Vec::new();
    let mut at = Pfn::new(1 << 12);
    for (node, &mib) in nodes.iter().enumerate() {
        let mut zone = |kind, mib: u64| {
            let span = PfnRange::of(at, Pages::new(mib << 8));
            zones.push(ZoneSpec { node: NodeId(node as u16), kind, span });
            at = span.end;
        };
        if node == 0 {
            zone(ZoneKind::Dma32, 16);
            zone(ZoneKind::Normal, mib - 16);
        } else {
            zone(ZoneKind::Normal, mib);
        }
    }
    let cpus: Vec<NodeId> = nodes_with_cpus.iter().flat_map(|&node| [NodeId(node as u16); 2]).collect();
    let distances = |of: usize| (0..nodes.len()).map(|to| distance(of, to)).collect();
    let layout = Layout {
        nodes: (0..nodes.len()).map(|node| NodeSpec { distances: distances(node) }).collect(),
        zones,
        cpus: cpus.clone(),
        ..Layout::default()
    };
    let mut mm = MmBuilder::new(&layout, policy).expect("the layout is sound").boot();
    mm.tune(|tunables| {
        let scan = &mut tunables.numa_scan;
        (scan.delay_ms, scan.period_min_ms, scan.size_mb) = (1, 10, 16);
    });
    for (name, value) in [("kernel.numa_balancing", "1")].iter().chain(settings) {
        let _ = sysctl::write(&mut mm, name, value);
    }
    let disks = if options.disks.is_empty() { vec![disk(Pages::new(4096))] } else { options.disks };
    let options = Options { disks, ..options };
    Machine::new(mm, cpus, prices(), &options).expect("there are CPUs")
}
