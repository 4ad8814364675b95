//! Published claims, re-run small: what becomes of every statement is printed, and held to a golden file, so that a change
//! of behaviour that changes a verdict is seen. The full sizes are in docs/results.md.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use order9_lab::{Cell, Memory, Observer, Plan, judge_claim, machines, pooled_report, run};
use order9_machine::{Tick, TraceKinds};
use order9_mm::command_line::CommandLine;
use order9_record::{Inputs, Run};
use order9_report::claims::{Outcome, parse};
use order9_report::compare::Style;
use order9_report::stats::Generation;
use order9_snapshot::Snapshot;
use order9_units::Bytes;
use order9_workloads::{Value, Workload};

/// Sees nothing.
struct Nobody;

impl Observer for Nobody {
    fn tick(&self, _: Cell, _: &Tick<'_>) {}

    fn snapshot(&self, _: Cell, _: &str, _: &Snapshot) {}

    fn ended(&self, _: Cell, _: &Run, _: &Inputs) {}
}

/// A claim's workload under its two policies, on one node of this memory.
fn plan(workload: Workload, chosen: &[(&'static str, Value)], policies: [&str; 2], memory: Bytes) -> Plan {
    let mut machine = machines::load("xeon-1s").expect("it is built in");
    machine.nodes[0].memory = memory;
    Plan {
        workload,
        chosen: chosen.iter().cloned().collect(),
        policies: policies.map(|name| order9_policy::load(name).expect("built in")).into(),
        own_settings: BTreeMap::new(),
        ablation: None,
        machine,
        memory: Memory::Empty,
        cmdline: CommandLine::default(),
        settings: Vec::new(),
        seeds: vec![1],
        notes: Vec::new(),
        sample_every: workload.counters_every(),
        sample_finely: false,
        check_every: None,
        trace: TraceKinds::NONE,
        command: vec!["a test".to_owned()],
    }
}

/// One line for each statement of a claim about the two policies of a plan.
fn verdicts(claim: &str, plan: &Plan) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("../../claims").join(claim)).expect("the claim is there");
    let claim = parse(claim, &text).expect("it is a claim");
    let experiment = run(plan, NonZeroUsize::new(2).expect("two"), &Nobody).expect("it runs");
    let of = |policy: &str| experiment.runs.iter().filter(|run| run.policy == policy).collect::<Vec<_>>();
    let columns: Vec<_> = plan.policies.iter().map(|policy| (policy.name.as_str(), of(&policy.name))).collect();
    let report = pooled_report(plan.workload, &columns, Style::from(Generation::Y2019));
    let mut lines = String::new();
    for verdict in judge_claim(&claim, &report, &columns[0].1, &columns[1].1) {
        assert_ne!(verdict.outcome, Outcome::NotMeasured, "{verdict}");
        let outcome = if verdict.outcome == Outcome::Holds { "holds" } else { "does not hold" };
        for evidence in &verdict.evidence {
            println!("{outcome}: {} ({evidence})", verdict.statement);
        }
        lines += &format!("{outcome:<13}  {}\n", verdict.statement);
    }
    lines
}

/// Holds what becomes of a claim to its golden file.
fn compare_with(golden: &str, found: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(golden);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, found).expect("the golden file can be written");
    }
    let expected = fs::read_to_string(&golden).expect("there is a golden file");
    assert_eq!(found, expected, "UPDATE_GOLDEN=1 if the change is meant, and docs/results.md with it");
}

#[test]
fn slab_reclaim_under_boosted_watermarks() {
    // The claim's machine with an eighth of its memory: the workload grows with memory, and would take minutes.
    let small = plan(
        Workload::FsMark,
        &[("iterations", Value::Count(14))],
        ["linux-5.3-rc3", "linux-5.3-shrinker"],
        Bytes::from_gib(2),
    );
    compare_with("claims-001.txt", &verdicts("001-fsmark-small-file-stream.toml", &small));
}

#[test]
fn proactive_compaction_backs_off_where_nothing_can_be_moved() {
    let small = plan(Workload::HugeAllocUnmovable, &[], ["linux-5.6", "linux-5.9"], Bytes::from_gib(4));
    compare_with("claims-000-unmovable.txt", &verdicts("000-unmovable-backoff.toml", &small));
}
