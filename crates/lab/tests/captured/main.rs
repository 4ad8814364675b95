//! Runs that start from captured hosts: their settings, their memory, and every workload in it.

mod extremes;
mod settings;
mod workloads;

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use order9_lab::{Memory, Nobody, Plan, PlanError, machines, run};
use order9_machine::TraceKinds;
use order9_procfs::command_line::CommandLine;
use order9_record::{Digest, Experiment};
use order9_snapshot::{Snapshot, format};
use order9_units::{Bytes, Nanos};
use order9_workloads::{Value, Workload};

fn on(plan: &Plan) -> Result<Experiment, PlanError> {
    run(plan, NonZeroUsize::MIN, &Nobody)
}

/// Every snapshot below `tests/data`, by path.
fn captures() -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == format::EXTENSION) {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "two captures are bundled");
    found
}

fn captured(path: &Path) -> Memory {
    let bytes = fs::read(path).expect("it is bundled");
    let snapshot = format::read(bytes.as_slice()).expect("it is intact");
    from(snapshot, &bytes)
}

fn from(snapshot: Snapshot, bytes: &[u8]) -> Memory {
    Memory::Snapshot { path: "a.o9snap".to_owned(), digest: Digest::of_bytes(bytes), snapshot: Arc::new(snapshot) }
}

/// The smaller of the two old captures.
fn fresh() -> Snapshot {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/host-fresh.o9snap");
    format::read(fs::File::open(path).expect("it is bundled")).expect("it is intact")
}

/// A small use of a workload from this memory.
fn plan(workload: Workload, memory: Memory, policy: &str) -> Plan {
    Plan {
        workload,
        chosen: small(workload),
        policies: vec![order9_policy::load(policy).expect("it is built in")],
        own_settings: BTreeMap::new(),
        guards: BTreeMap::new(),
        ablation: None,
        machine: machines::load("epyc-vm").expect("it is built in"),
        memory,
        cmdline: CommandLine::default(),
        reserve: Bytes::ZERO,
        settings: workload
            .spec()
            .settings(&small(workload))
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        seeds: vec![1],
        sample_every: workload.spec().counters_every,
        same_lists: false,
        notes: Vec::new(),
        sample_finely: false,
        maps_every: None,
        check_every: None,
        trace: TraceKinds::NONE,
        command: vec!["a test".to_owned()],
    }
}

/// Parameters with which a workload ends within moments.
fn small(workload: Workload) -> BTreeMap<&'static str, Value> {
    let mib = |n: u64| Value::Bytes(Bytes::new(n << 20));
    let seconds = |n: u64| Value::Time(Nanos::new(n * 1_000_000_000));
    let one = || Value::Counts(vec![1]);
    match workload {
        Workload::Usemem => {
            [("size", mib(64)), ("loops", Value::Count(1)), ("iterations", Value::Count(1)), ("threads", one())].into()
        }
        Workload::FillAndFree => [("size", mib(64))].into(),
        Workload::FsMark => {
            [("processes", Value::Count(2)), ("files", Value::Count(100)), ("iterations", Value::Count(2))].into()
        }
        Workload::StreamReader => [("size", mib(32)), ("file_size", mib(8)), ("time", seconds(1))].into(),
        Workload::Uptime => [("days", 1), ("files_percent", 1), ("rate_percent", 1)]
            .map(|(key, count)| (key, Value::Count(count)))
            .into(),
        Workload::FragMix => [("duration", seconds(1))].into(),
        Workload::HugeAlloc => [("failures", Value::Count(1))].into(),
        Workload::HugetlbGrow => [("size", mib(64)), ("tries", Value::Count(2))].into(),
        Workload::HugeAllocUnmovable => [("spare_percent", Value::Count(90)), ("watch", seconds(2))].into(),
        Workload::JavaHeap => [("heap", mib(64))].into(),
        Workload::MapAndWrite => [("size", mib(64)), ("madvise", Value::Word("yes"))].into(),
        Workload::Stutter => {
            [("hog", mib(32)), ("file", mib(16)), ("copies", Value::Count(1)), ("probe", mib(4))].into()
        }
        Workload::ThpChallenge => [("size", mib(64)), ("files_percent", Value::Count(1)), ("threads", one())].into(),
        Workload::ThpFioscale => [("size", mib(64)), ("files_percent", Value::Count(1))].into(),
        Workload::ThpScale => [("size", mib(64)), ("threads", one())].into(),
        Workload::FragmentedNodeFault => {
            [("size", mib(16)), ("cache_percent", Value::Count(5)), ("bystander_percent", Value::Count(2))].into()
        }
        Workload::NumaAccessLatency => [("size", mib(8))].into(),
        Workload::PinnedGuest => [("sizes", Value::Counts(vec![2, 4]))].into(),
        Workload::VmLargerThanNode => {
            [("size", mib(32)), ("bystander_percent", Value::Count(2)), ("cache_percent", Value::Count(2))].into()
        }
        Workload::Idle => [("time", seconds(2))].into(),
        Workload::LikeHost => [("time", seconds(2))].into(),
        // Programs from outside are in no list.
        Workload::Trace | Workload::Own(_) => BTreeMap::new(),
    }
}
