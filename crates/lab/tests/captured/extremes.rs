//! Parameters at the ends of what they take: each is refused in words, or the run ends in an outcome.

use order9_lab::{Memory, Plan, PlanError, machines};
use order9_units::{Bytes, Nanos, Pages};
use order9_workloads::{Cpus, Facts, Kind, Mempolicy, Parameters, Recording, Value, Workload};

use super::{fresh, from, on, plan};

/// Accesses that a test has time for; what takes more runs longer, and was asked to.
const STEPS: u64 = 200_000;

fn ends(kind: Kind) -> Vec<Value> {
    match kind {
        Kind::Bytes { .. } => [0, 1, 4096, 1 << 50, u64::MAX].map(|bytes| Value::Bytes(Bytes::new(bytes))).to_vec(),
        Kind::Count { .. } => [0, 1, u64::MAX].into_iter().chain(limit(kind)).map(Value::Count).collect(),
        Kind::Counts { .. } => {
            [0, 1, u64::MAX].into_iter().chain(limit(kind)).map(|count| Value::Counts(vec![count])).collect()
        }
        Kind::Time => [0, 1, u64::MAX]
            .map(|time| Value::Time(Nanos::new(time)))
            .into_iter()
            .chain([Value::Time(Kind::TIME_MAX)])
            .collect(),
        Kind::Word(words) => words.iter().map(|word| Value::Word(word)).collect(),
        Kind::Mempolicy => vec![Value::Mempolicy(Mempolicy::DEFAULT)],
        Kind::Cpus => vec![Value::Cpus(Cpus::All)],
        Kind::Recording => vec![Value::Recording(Recording::example())],
    }
}

const fn limit(kind: Kind) -> Option<u64> {
    match kind {
        Kind::Count { max, .. } | Kind::Counts { max, .. } => Some(max),
        Kind::Bytes { .. } | Kind::Time | Kind::Word(_) | Kind::Mempolicy | Kind::Cpus | Kind::Recording => None,
    }
}

/// A machine of 1 GiB: many runs fill it.
fn on_small_machine(workload: Workload) -> Plan {
    let mut machine = machines::load("desktop-8g").expect("it is built in");
    machine.nodes[0].memory = Bytes::from_gib(1);
    Plan { machine, ..plan(workload, Memory::Empty, "linux-6.18") }
}

fn facts(plan: &Plan) -> Facts {
    let memory = plan.machine.memory();
    let disk = plan.machine.disks.first().map(|_| Bytes::from_gib(900));
    Facts { memory, cpus: 4, nodes: vec![memory], disk, available: None }
}

#[test]
fn ends_of_ranges_are_refused_in_words_or_end() {
    for workload in Workload::ALL {
        for parameter in workload.spec().parameters {
            for value in ends(parameter.kind) {
                let mut plan = on_small_machine(workload);
                if workload.spec().parameters.iter().any(|parameter| parameter.key == "fill_percent") {
                    plan.chosen.entry("fill_percent").or_insert(Value::Count(1));
                }
                plan.chosen.insert(parameter.key, value.clone());
                let facts = facts(&plan);
                let demand =
                    Parameters::new(workload, &plan.chosen, &facts).map(|chosen| workload.demand(&chosen, &facts));
                if demand
                    .is_ok_and(|demand| (STEPS..1 << 40).contains(&demand.steps) && demand.files < Bytes::from_gib(900))
                {
                    continue;
                }
                let told = format!("{} {} {value}", workload.name(), parameter.key);
                match on(&plan) {
                    Ok(_) => {}
                    Err(PlanError::Parameter { .. } | PlanError::TooMuch { .. }) => {}
                    Err(other) => panic!("{told}: {other}"),
                }
            }
        }
    }
}

#[test]
fn what_no_machine_holds_is_refused_at_once() {
    for (workload, key) in [
        (Workload::Usemem, "size"),
        (Workload::FillAndFree, "size"),
        (Workload::JavaHeap, "heap"),
        (Workload::StreamReader, "size"),
        (Workload::StreamReader, "file_size"),
        (Workload::StreamReader, "kernel"),
        (Workload::Stutter, "hog"),
        (Workload::Stutter, "file"),
        (Workload::Stutter, "probe"),
        (Workload::ThpScale, "size"),
        (Workload::ThpChallenge, "size"),
        (Workload::ThpFioscale, "size"),
        (Workload::FsMark, "file_size"),
    ] {
        for size in [999 << 40, u64::MAX] {
            let mut plan = on_small_machine(workload);
            plan.chosen.insert(key, Value::Bytes(Bytes::new(size)));
            let error = on(&plan).expect_err("it is refused").to_string();
            assert!(error.starts_with(workload.name()) && error.contains("TiB"), "{error}");
        }
    }
}

#[test]
fn more_swap_than_slots_have_numbers_is_refused_whatever_memory_holds() {
    for memory in [Memory::Empty, from(fresh(), b"fresh")] {
        let mut plan = plan(Workload::Idle, memory, "linux-6.18");
        plan.machine.disks = machines::load("desktop-8g").expect("it is built in").disks;
        let swap = Pages::from_bytes_floor(Bytes::from_gib(20 << 10));
        (plan.machine.disks[0].spec.size, plan.machine.disks[0].swap) = (swap, swap);
        let error = on(&plan).expect_err("it is refused").to_string();
        assert!(error.contains("swap on all disks together is at most") && error.contains("5368709120"), "{error}");
    }
}
