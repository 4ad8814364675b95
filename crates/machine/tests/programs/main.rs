//! Programs on a whole machine: what they see, what it costs, how they end.

mod chaos;
mod huge;
mod hugetlb;
mod kernel;
mod locks;
mod memory;
mod mempolicy;
mod node_reclaim;
mod numa_balancing;
mod numa_cases;
mod out_of_memory;
mod placement;
mod placements;
mod pressure;
mod processes;
mod steady;
mod switches;
mod tmpfs;
mod workloads;

use std::num::NonZeroU64;

use order9_machine::cost::{PRICES, Picos, Prices};
use order9_machine::disk::{DiskSpec, Transfer};
use order9_machine::{DiskLimits, FileSystem, Machine, MachineDisk, Options, Results, Thread};
use order9_mm::policy::Policy;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, Pages, Pfn, PfnRange, ZoneKind};
use order9_workloads::Stop;

/// Every kind of work takes 10 ns: tests compare times, they do not predict any.
fn prices() -> Prices {
    let mut prices = Prices::default();
    PRICES.iter().for_each(|price| *(price.field)(&mut prices) = Picos::new(10_000));
    // As built-in machines, which have no figures for these.
    for seldom in [
        &mut prices.swap_out,
        &mut prices.swap_in,
        &mut prices.uncache_page,
        &mut prices.uncache_part,
        &mut prices.collapse_range,
        &mut prices.collapse_page,
        &mut prices.collapse_part,
        &mut prices.split_huge_part,
        &mut prices.remap_huge_part,
        &mut prices.free_huge_part,
        &mut prices.hypervisor_fault,
        &mut prices.discard,
    ] {
        *seldom = Picos::ZERO;
    }
    prices.split_pmd = prices.pte_set.times(512);
    prices
}

/// One node, one zone, as many CPUs as wanted, no swap; every step checked, every page's content followed.
fn machine(memory: Bytes, cpus: usize, seed: u64) -> Machine {
    machine_with(memory, cpus, &Options { check_every: NonZeroU64::new(1), ..Options::new(seed) })
}

/// A fast disk with so much swap.
fn disk(swap: Pages) -> MachineDisk {
    let transfer = Transfer { latency: Nanos::new(20_000), bandwidth: Bytes::new(500_000_000) };
    let spec = DiskSpec {
        size: Pages::new(1 << 20),
        read: transfer,
        write: transfer,
        queue_depth: 8,
        nr_requests: 128,
        max_request: Pages::new(320),
        rotating: None,
        write_cache: None,
        in_memory: false,
    };
    MachineDisk {
        name: "sda".to_owned(),
        spec,
        swap,
        limits: DiskLimits { default_request: true, ..DiskLimits::default() },
        file_system: FileSystem::Plain,
    }
}

/// The same as `options` have it.
fn machine_with(memory: Bytes, cpus: usize, options: &Options) -> Machine {
    let span = PfnRange::of(NORMAL, Pages::from_bytes_floor(memory));
    machine_of(&[(ZoneKind::Normal, span)], Policy::default(), cpus, options)
}

/// The same with these zones, under a policy.
fn machine_of(zones: &[(ZoneKind, PfnRange)], policy: Policy, cpus: usize, options: &Options) -> Machine {
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: zones.iter().map(|&(kind, span)| ZoneSpec { node: NodeId(0), kind, span }).collect(),
        cpus: vec![NodeId(0); cpus],
        ..Layout::default()
    };
    let mm =
        MmBuilder::new(&layout, policy).expect("zones are a layout").content_tags().boot().with_compaction_account();
    Machine::new(mm, vec![NodeId(0); cpus], prices(), options).expect("there are CPUs")
}

/// Runs `program` on 8 MiB and two CPUs: a check looks at every page, and so must not have too many.
fn run<F>(program: impl FnOnce(Thread) -> F + 'static) -> Results
where
    F: Future<Output = Result<(), Stop>> + 'static,
{
    machine(MEMORY, 2, 1).run_program("program", program, |_| ())
}

const MEMORY: Bytes = Bytes::new(8 << 20);
/// Where zone Normal begins.
const NORMAL: Pfn = Pfn::new(1 << 20);

const fn mib(n: u64) -> Bytes {
    Bytes::new(n << 20)
}

const fn kib(n: u64) -> Bytes {
    Bytes::new(n << 10)
}

/// The last reading of a counter.
fn counter(results: &Results, name: &str) -> u64 {
    let at = results.series.position(name).expect("the engine has this counter");
    results.series.rows.last().expect("there is a last reading")[at]
}
