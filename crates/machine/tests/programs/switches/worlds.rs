//! Small worlds, each of which shows other switches.

use std::collections::BTreeMap;

use order9_machine::{Machine, Options, Results};
use order9_mm::policy::Policy;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_procfs::sysctl;
use order9_units::{Nanos, NodeId, Pages, Pfn, PfnRange, ZoneKind};
use order9_workloads::{Parameters, Value, Workload};

use super::{engine, huge_pages, targeted};
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
pub(super) const WORLDS: [(&str, World); 32] = [
    ("requests", |policy| Seen::Text(engine::requests(policy))),
    ("settings", |policy| Seen::Text(engine::settings(policy))),
    ("kernel-blocks", |policy| small(policy).run_program("kernel blocks", targeted::kernel_blocks, |_| ()).into()),
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
    let cpus: Vec<NodeId> = (0..nodes.len() * 2).map(|cpu| NodeId(cpu as u16 / 2)).collect();
    let distances = |of: usize| (0..nodes.len()).map(|to| if of == to { 10 } else { 21 }).collect();
    let layout = Layout {
        nodes: (0..nodes.len()).map(|node| NodeSpec { distances: distances(node) }).collect(),
        zones,
        cpus: cpus.clone(),
        ..Layout::default()
    };
    let mut mm = MmBuilder::new(&layout, policy).expect("the layout is sound").boot();
    for (name, value) in [("kernel.numa_balancing", "1")].iter().chain(settings) {
        let _ = sysctl::write(&mut mm, name, value);
    }
    mm.tune(|tunables| {
        let scan = &mut tunables.numa_scan;
        (scan.delay_ms, scan.period_min_ms, scan.size_mb) = (1, 10, 16);
    });
    let options = Options { disks: vec![disk(Pages::new(4096))], ..Options::new(seed) };
    Machine::new(mm, cpus, prices(), &options).expect("there are CPUs")
}
