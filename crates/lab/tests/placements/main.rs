//! Where the pages of small programs lie on two nodes: the same list of programs here, for several releases, and on real kernels
//! (scripts/placements.sh).

mod program;

use std::cell::RefCell;
use std::fs;
use std::io::{self, Write as _};
use std::num::NonZeroU64;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

use order9_machine::cost::{PRICES, Picos, Prices};
use order9_machine::disk::{DiskSpec, Transfer};
use order9_machine::{DiskLimits, FileSystem, Machine, MachineDisk, Options, Outcome, Thread};
use order9_mm::thp::{HugeDefrag, HugeEnabled};
use order9_mm::{Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, Pages, Pfn, PfnRange, ZoneKind};

use program::{Program, Version, programs, take_steps};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Releases that the programs run for, by policy.
const RELEASES: [(&str, Version); 5] = [
    ("linux-4.19", Version(4, 19)),
    ("linux-5.1", Version(5, 1)),
    ("linux-5.6", Version(5, 6)),
    ("linux-5.9", Version(5, 9)),
    ("linux-6.18", Version(6, 18)),
];
/// Pages of a node: 256 MiB.
const NODE: Pages = Pages::new(1 << 16);

fn list() -> Vec<Program> {
    programs(&fs::read_to_string(format!("{ROOT}/tests/data/placements/programs.txt")).expect("the list is there"))
}

/// A disk, without swap.
fn disk() -> MachineDisk {
    let transfer = Transfer { latency: Nanos::new(100_000), bandwidth: Bytes::new(500_000_000) };
    let spec = DiskSpec {
        size: Pages::new(1 << 20),
        read: transfer,
        write: transfer,
        queue_depth: 4,
        nr_requests: 128,
        max_request: Pages::new(256),
        rotating: None,
        write_cache: None,
        in_memory: false,
    };
    let (name, file_system) = ("sda".to_owned(), FileSystem::Plain);
    MachineDisk { name, spec, swap: Pages::ZERO, limits: DiskLimits::default(), file_system }
}

/// Two nodes with a CPU each, settings as the list says.
fn boot(policy: &str) -> Mm {
    let zone = |node: u16| ZoneSpec {
        node: NodeId(node),
        kind: ZoneKind::Normal,
        span: PfnRange::of(Pfn::new((1 << 20) + u64::from(node) * NODE.get()), NODE),
    };
    let layout = Layout {
        nodes: [[10, 21], [21, 10]].map(|row| NodeSpec { distances: row.to_vec() }).to_vec(),
        zones: [0, 1].map(zone).to_vec(),
        cpus: [0, 1].map(NodeId).to_vec(),
        ..Layout::default()
    };
    let policy = order9_policy::load(policy).expect("it is built in").policy;
    let mut mm = MmBuilder::new(&layout, policy).expect("the layout is sound").content_tags().boot();
    mm.phys_mut().set_thp_enabled(HugeEnabled::Madvise);
    mm.phys_mut().set_thp_defrag(HugeDefrag::Madvise);
    mm
}

/// Runs a program for a release; what lies elsewhere than expected.
fn run(program: &Program, policy: &str, release: Version) -> Result<(), String> {
    let mut mm = boot(policy);
    if let Some(weights) = program.weights() {
        for (node, weight) in weights.iter().enumerate() {
            let file = format!("mempolicy/weighted_interleave/node{node}");
            order9_procfs::sysctl::write(&mut mm, &file, weight).expect("the node has memory");
        }
    }
    let mut prices = Prices::default();
    PRICES.iter().for_each(|price| *(price.field)(&mut prices) = Picos::new(100_000));
    let options = Options { check_every: NonZeroU64::new(20_000), disks: vec![disk()], ..Options::new(1) };
    let machine = Machine::new(mm, [0, 1].map(NodeId).to_vec(), prices, &options).expect("there are CPUs");
    let (steps, wrong) = (program.clone(), Rc::new(RefCell::new(Vec::new())));
    let found = Rc::clone(&wrong);
    let body = async move |sys: Thread| {
        found.replace(take_steps(&sys, &steps).await?);
        Ok(())
    };
    let results = machine.run_program("place", body, |_| ());
    let at = results.series.position("thp_fault_alloc").expect("it is counted");
    let huge = results.series.rows.last().expect("there is a last reading")[at];
    let mut wrong = wrong.take();
    wrong.extend(program.wrong_huge(release, NODE.bytes(), huge));
    match results.outcome {
        Outcome::Completed if wrong.is_empty() => Ok(()),
        outcome => Err(format!("{}; {outcome:?}", wrong.join("; "))),
    }
}

#[test]
fn pages_of_the_listed_programs_lie_where_they_are_expected() {
    let programs = list();
    let mut wrong = Vec::new();
    for (policy, release) in RELEASES {
        for program in programs.iter().filter(|program| program.only.has(release)) {
            if let Err(why) = run(program, policy, release) {
                wrong.push(format!("{policy}, {}: {why}", program.name));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_list_has_every_case_and_all_of_it_runs_somewhere() {
    let programs = list();
    let runs = |name: &str| {
        let of = |release| programs.iter().filter(move |program| program.only.has(release));
        RELEASES.iter().any(|&(_, release)| of(release).any(|program| program.name == name))
    };
    for case in [
        "a1",
        "a1-thisnode",
        "a2",
        "a2-thisnode",
        "a3",
        "b1",
        "b2",
        "b2-thisnode",
        "interleave",
        "bind",
        "preferred",
        "migrate",
    ] {
        assert!(runs(case), "{case}");
    }
    assert!(programs.iter().all(|program| runs(&program.name) && program.expects()));
}

#[test]
fn this_kernel_places_pages_as_listed_where_it_has_two_nodes() {
    let skips = |why: &str| {
        // Not by `println`, which tests keep to themselves.
        writeln!(io::stderr(), "skipped: {why}: scripts/placements.sh runs the programs on real kernels")
            .expect("it is open");
    };
    if !Path::new("/sys/devices/system/node/node1").exists() {
        return skips("this host has one node");
    }
    if fs::OpenOptions::new().write(true).open("/sys/kernel/mm/transparent_hugepage/enabled").is_err() {
        return skips("settings of this host can be changed by its root alone");
    }
    let ran = Command::new(format!("{ROOT}/scripts/placements.sh")).output().expect("it can be started");
    assert!(ran.status.success(), "{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
}
