//! Published claims, re-run small: what becomes of every statement is printed, and held to a golden file, so that a change
//! of behaviour that changes a verdict is seen. The full sizes are in docs/results.md.

mod orderings;

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use order9_lab::{Cell, Memory, Observer, Plan, judge_claim, machines, pooled_report, run};
use order9_machine::{Tick, TraceKinds};
use order9_procfs::command_line::CommandLine;
use order9_record::{Experiment, Inputs, Run};
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
        sample_every: workload.spec().counters_every,
        same_lists: false,
        sample_finely: false,
        maps_every: None,
        check_every: None,
        trace: TraceKinds::NONE,
        command: vec!["a test".to_owned()],
    }
}

/// The same on two nodes with swap, with three seeds.
fn on_two_nodes(workload: Workload, chosen: &[(&'static str, Value)], policies: [&str; 2], node: Bytes) -> Plan {
    let machine = machines::load("xeon-2s-ssd").expect("it is built in").with_node_memory(node).expect("there is room");
    let chosen_map = chosen.iter().cloned().collect();
    let settings = workload
        .spec()
        .settings(&chosen_map)
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    Plan { machine, settings, seeds: vec![1, 2, 3], ..plan(workload, chosen, policies, node) }
}

/// One line for each statement of a claim about the two policies of a plan.
fn verdicts(claim: &str, plan: &Plan) -> String {
    verdicts_of(claim, plan, std::slice::from_ref(plan))
}

/// The same where a claim is about several machines: one for each of `plans`, of which the first two give the columns.
fn verdicts_of(claim: &str, plan: &Plan, plans: &[Plan]) -> String {
    let experiments: Vec<_> = plans.iter().map(run_all).collect();
    let columns = [0, 1].map(|column| plan.policies[column].name.as_str());
    judged(claim, columns, &plans.iter().zip(&experiments).collect::<Vec<_>>())
}

fn run_all(plan: &Plan) -> Experiment {
    run(plan, NonZeroUsize::new(2).expect("two"), &Nobody).expect("it runs")
}

/// One line for each statement of a claim about two policies that ran.
fn judged(claim: &str, policies: [&str; 2], experiments: &[(&Plan, &Experiment)]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("../../claims").join(claim)).expect("the claim is there");
    let claim = parse(claim, &text).expect("it is a claim");
    let (plan, experiment) = experiments[0];
    let machines: Vec<(&str, &Run)> =
        experiments.iter().flat_map(|(plan, of)| of.runs.iter().map(|run| (plan.machine.name.as_str(), run))).collect();
    let of = |policy: &str| experiment.runs.iter().filter(|run| run.policy == policy).collect::<Vec<_>>();
    let columns = policies.map(|policy| (policy, of(policy)));
    let report = pooled_report(plan.workload, &columns, Style::from(Generation::Y2019));
    let mut lines = String::new();
    for verdict in judge_claim(&claim, &report, &columns[0].1, &columns[1].1, &machines) {
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

const MIB: u64 = 1 << 20;

/// The claims of the discussion of where huge pages come from, but for those of thpfioscale and of access times.
#[test]
fn where_huge_pages_come_from() {
    let node = Bytes::new(1024 * MIB);
    let guest = [("size", Value::Bytes(Bytes::new(1200 * MIB)))];
    let guest = on_two_nodes(Workload::VmLargerThanNode, &guest, ["thp-thisnode", "thp-relax"], node);
    let fault = [("size", Value::Bytes(Bytes::new(256 * MIB))), ("cache_percent", Value::Count(0))];
    let fault = on_two_nodes(Workload::FragmentedNodeFault, &fault, ["thp-thisnode", "thp-relax"], node);
    let found = [
        ("004-vm-larger-than-node-stall.toml", guest),
        ("004-fragmented-nodes-fault-latency.toml", fault),
        ("004-usemem-numa-compact-relaxthisnode.toml", numa_compact("linux-4.19-relaxthisnode", node)),
        ("004-usemem-numa-compact-noretry.toml", numa_compact("linux-4.19-noretry", node)),
    ];
    let found = found.iter().map(|(claim, plan)| format!("{claim}\n{}", verdicts(claim, plan)));
    compare_with("claims-004.txt", &found.collect::<Vec<_>>().join("\n"));
}

/// usemem in the form of usemem-stress-numa-compact: one process, all of it anonymous, huge pages for everybody.
fn numa_compact(patched: &str, node: Bytes) -> Plan {
    let chosen = [
        ("anon_percent", Value::Count(100)),
        ("loops", Value::Count(6)),
        ("iterations", Value::Count(3)),
        ("threads", Value::Counts(vec![1, 3, 4])),
    ];
    let mut plan = on_two_nodes(Workload::Usemem, &chosen, ["linux-4.19", patched], node);
    plan.settings.push(("thp/defrag".to_owned(), "always".to_owned()));
    plan
}

/// The published tables of thpfioscale: faults beside page cache and slab that stay in use.
#[test]
fn huge_pages_beside_files_that_stay_in_use() {
    let node = Bytes::new(512 * MIB);
    let patched = ["relaxthisnode", "noretry"];
    let mut found = Vec::new();
    for (variant, tables) in [("default", &["latency", "huge"][..]), ("madvhugepage", &["latency"])] {
        let chosen = [("variant", Value::Word(variant))];
        let policies = ["linux-4.19", "linux-4.19-relaxthisnode"];
        let mut plan = Plan { seeds: vec![1, 2], ..on_two_nodes(Workload::ThpFioscale, &chosen, policies, node) };
        plan.policies.push(order9_policy::load("linux-4.19-noretry").expect("built in"));
        let experiment = run_all(&plan);
        assert_who_reclaims_for_huge_pages(&experiment, variant == "madvhugepage");
        for (table, patch) in tables.iter().flat_map(|table| patched.map(|patch| (table, patch))) {
            let claim = format!("004-thpfioscale-{variant}-{table}-{patch}.toml");
            let policies = ["linux-4.19", &format!("linux-4.19-{patch}")];
            found.push(format!("{claim}\n{}", judged(&claim, policies, &[(&plan, &experiment)])));
        }
    }
    compare_with("claims-004-thpfioscale.txt", &found.join("\n"));
}

/// Reclaim for huge pages is wasted in part, under the policies that do any: for memory that asks for huge pages.
fn assert_who_reclaims_for_huge_pages(experiment: &Experiment, asks: bool) {
    for run in &experiment.runs {
        let [all, behind] = ["order9_huge_reclaimed", "order9_huge_reclaimed_behind"].map(|name| run.growth(name));
        let (all, behind) = (all.expect("a counter"), behind.expect("a counter"));
        let reclaims = asks && run.policy != "linux-4.19-noretry";
        assert_eq!(reclaims, 0 < behind && behind < all, "{}: {behind} of {all}", run.policy);
    }
}

#[test]
fn what_accesses_cost_on_the_machines_of_the_discussion() {
    let chosen = [("size", Value::Bytes(Bytes::new(64 * MIB)))];
    let on = |machine: &str| {
        let policies = ["thp-thisnode", "thp-relax"];
        let plan = plan(Workload::NumaAccessLatency, &chosen, policies, Bytes::from_gib(1));
        let mut machine = machines::load(machine).expect("built in");
        machine = machine.with_node_memory(Bytes::new(512 * MIB)).expect("there is room");
        // More than the TLB holds, on little memory.
        machine.prices.access.tlb_entries = 1;
        Plan { machine, ..plan }
    };
    let plans = ["xeon-2s", "broadwell-2s", "naples-2s"].map(on);
    let claim = "004-access-latency.toml";
    compare_with("claims-004-access.txt", &format!("{claim}\n{}", verdicts_of(claim, &plans[0], &plans)));
}
