//! Workloads in small: what they leave behind, and that they measure what they say.

use std::collections::BTreeMap;

use order9_machine::{Machine, Options, Outcome, Results, Unit};
use order9_mm::policy::Policy;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, Pages, Pfn, PfnRange, ZoneKind};
use order9_workloads::{Parameters, Value, Workload};

use crate::{counter, mib, prices};

/// The names of what was measured, with their units and how often.
fn measured(results: &Results) -> Vec<(&str, Unit, usize)> {
    let count = |at| results.samples.iter().filter(|sample| sample.operation as usize == at).count();
    let operations = results.operations.iter().enumerate();
    operations.map(|(at, operation)| (operation.name.as_str(), operation.unit, count(at))).collect()
}

/// Runs a workload on one node without checks: these are millions of steps.
fn run(workload: Workload, memory: Bytes, chosen: &[(&'static str, Value)]) -> (Results, Vec<String>) {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::from_bytes_floor(memory));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0); 2],
        ..Layout::default()
    };
    let mm = MmBuilder::new(&layout, Policy::default()).expect("one zone is a layout").boot();
    let options = Options { sample_every: Nanos::new(3_600_000_000_000), ..Options::new(1) };
    let mut machine = Machine::new(mm, vec![NodeId(0); 2], prices(), &options).expect("there are CPUs");
    let names = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let seen = std::rc::Rc::clone(&names);
    machine.keep_snapshots(move |name, engine, _| {
        engine.check().expect("all laws hold");
        seen.borrow_mut().push(name.to_owned());
    });
    let chosen: BTreeMap<_, _> = chosen.iter().cloned().collect();
    let parameters = Parameters::new(workload, &chosen, &machine.facts()).expect("the values are taken");
    (machine.run(workload, &parameters, |_| ()), names.take())
}

#[test]
fn fsmark_makes_its_files_in_every_iteration_and_removes_them() {
    let chosen = [("files", Value::Count(100)), ("iterations", Value::Count(3))];
    let (results, _) = run(Workload::FsMark, mib(64), &chosen);
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!(measured(&results), [("1-files/sec", Unit::PerSecond, 3)]);
    assert!(results.samples.iter().all(|sample| sample.value > 1e6), "a file takes 0.5 us and more: {results:?}");
    let phases: Vec<_> = results.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(phases, ["iteration-1", "iteration-2", "iteration-3", "delete"]);
    let allocated = |at: usize, name: &str| {
        let column = results.series.position(name).expect("it is counted");
        results.phases[at].counters[column]
    };
    assert_eq!(allocated(3, "nr_shmem") - allocated(0, "nr_shmem"), 3 * 16 * 100);
    assert_eq!(counter(&results, "nr_shmem"), 0);
}

#[test]
fn stream_readers_share_the_files_keep_their_rate_and_sample_every_second() {
    let chosen = [
        ("size", Value::Bytes(mib(16))),
        ("file_size", Value::Bytes(mib(2))),
        ("readers", Value::Count(3)),
        ("order", Value::Word("random")),
        ("written_percent", Value::Count(20)),
        ("rate", Value::Bytes(mib(4))),
        ("time", Value::Time(Nanos::new(10_500_000_000))),
    ];
    let (results, _) = run(Workload::StreamReader, mib(64), &chosen);
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!(measured(&results), [("stream-3", Unit::PerSecond, 30)]);
    assert!(results.samples.iter().all(|sample| (3.8..4.2).contains(&sample.value)), "{:?}", results.samples);
    assert_eq!(counter(&results, "nr_shmem"), 0, "files and logs are removed");
}

#[test]
fn uptime_ages_memory_for_days_and_keeps_the_state_of_each() {
    let chosen = [("days", Value::Count(2)), ("files_percent", Value::Count(5)), ("rate_percent", Value::Count(20))];
    let (results, snapshots) = run(Workload::Uptime, mib(256), &chosen);
    assert_eq!((results.outcome.clone(), results.kills.len()), (Outcome::Completed, 0));
    assert_eq!(snapshots, ["day-1", "day-2"]);
    let phases: Vec<_> = results.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(phases, ["prepare", "day-1", "day-2", "end"]);
    let restart = |day: u64| {
        let names = ["unit", "huge", "local", "restart", "access", "tlb-miss"];
        names.map(|name| format!("{name}-{day}"))
    };
    let expected: Vec<String> = restart(1).into_iter().chain(restart(2)).collect();
    let names: Vec<_> = results.operations.iter().map(|operation| operation.name.clone()).collect();
    assert_eq!(names, expected);
    let at_end = |name: &str| {
        let column = results.series.position(name).expect("it is counted");
        results.phases[3].counters[column]
    };
    // 30 % and 20 % of memory, and what else lives.
    let anon = at_end("nr_anon_pages") * 100 / (256 << 8);
    assert!((48..60).contains(&anon), "{anon} % of memory is anonymous");
    assert!(at_end("nr_slab_unreclaimable") > 0 && at_end("order9_nr_slab_blocks") > 0);
    assert!(at_end("order9_nr_huge_lost") > 0);
}
