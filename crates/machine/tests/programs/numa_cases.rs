//! The cases of the thread about `__GFP_THISNODE` in small: two nodes, the rules of where faults look, and who suffers.

use std::collections::BTreeMap;

use order9_machine::{Outcome, Results};
use order9_mm::policy::HugePlacement;
use order9_mm::thp::HugeDefrag;
use order9_workloads::{Parameters, Value, Workload};

use crate::placement::{machine, policy};
use crate::{counter, mib};

/// Runs a workload on two nodes of 128 MiB under a rule.
fn run(workload: Workload, placement: HugePlacement, chosen: &[(&'static str, Value)]) -> Results {
    let machine = machine(policy(placement), HugeDefrag::Madvise);
    let chosen: BTreeMap<_, _> = chosen.iter().cloned().collect();
    let parameters = Parameters::new(workload, &chosen, &machine.facts()).expect("the values are taken");
    let results = machine.run(workload, &parameters, |_| ());
    assert_eq!(results.outcome, Outcome::Completed, "{workload:?} {placement:?}");
    results
}

/// Mean of what was measured under a name; 0 where nothing was.
fn mean(results: &Results, name: &str) -> f64 {
    let at = results.operations.iter().position(|operation| operation.name == name);
    let of_it = |at| results.samples.iter().filter(move |sample| sample.operation as usize == at);
    let values: Vec<f64> = at.into_iter().flat_map(of_it).map(|sample| sample.value).collect();
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

const RULES: [HugePlacement; 5] = [
    HugePlacement::ThisNode,
    HugePlacement::Relax,
    HugePlacement::NoRetry,
    HugePlacement::TwoStepLocal,
    HugePlacement::TwoStep,
];

#[test]
fn a_guest_larger_than_its_node_swaps_the_bystander_out_where_faults_keep_to_the_node() {
    let run = |placement| {
        let chosen = [("size", Value::Bytes(mib(112))), ("bystander_percent", Value::Count(60))];
        run(Workload::VmLargerThanNode, placement, &chosen)
    };
    for placement in RULES {
        let results = run(placement);
        let (lost, swapped) = (mean(&results, "bystander-lost"), counter(&results, "pswpout"));
        let remote = mean(&results, "huge-remote") + mean(&results, "base-remote");
        match placement {
            HugePlacement::ThisNode => assert!(lost > 1000.0 && swapped > 1000, "{lost} lost, {swapped} swapped"),
            _ => assert!(lost == 0.0 && swapped == 0 && remote > 30.0, "{placement:?}: {lost} {swapped} {remote}"),
        }
        let shares = ["huge-local", "huge-remote", "base-local", "base-remote"].map(|name| mean(&results, name));
        assert!((shares.iter().sum::<f64>() - 100.0).abs() < 1e-6, "{placement:?}: {shares:?}");
    }
    let time = |placement| mean(&run(placement), "total-0");
    assert!(time(HugePlacement::Relax) * 3.0 < time(HugePlacement::ThisNode), "swapping takes time");
}

#[test]
fn pinned_guests_beyond_a_node_take_longest_where_faults_keep_to_the_node() {
    let chosen = [("sizes", Value::Counts(vec![50, 120]))];
    let start = |placement, percent: u64| {
        let results = run(Workload::PinnedGuest, placement, &chosen);
        // One batch of pages may go between their fault and their pin.
        assert!(counter(&results, "pswpout") <= 32, "what is pinned cannot be swapped");
        mean(&results, &format!("start-{percent}"))
    };
    for placement in RULES {
        assert!((start(placement, 50) - start(HugePlacement::Relax, 50)).abs() < 1e4, "below a node all are alike");
    }
    let thisnode = start(HugePlacement::ThisNode, 120);
    for placement in &RULES[1..] {
        let other = start(*placement, 120);
        assert!(other < thisnode, "{placement:?} takes {other}, this node alone {thisnode}");
    }
}

#[test]
fn huge_pages_that_no_node_can_have_come_from_nowhere_and_cost_most_where_most_is_tried() {
    let chosen = |fragmented, held| {
        [
            ("size", Value::Bytes(mib(32))),
            ("fragmented", Value::Word(fragmented)),
            ("held", Value::Word(held)),
            ("cache_percent", Value::Count(20)),
        ]
    };
    for held in ["block", "object"] {
        let fault = |placement| {
            let results = run(Workload::FragmentedNodeFault, placement, &chosen("all", held));
            assert!(mean(&results, "huge-local") + mean(&results, "huge-remote") < 15.0, "{held} {placement:?}");
            mean(&results, "fault-both")
        };
        let (hasty, relaxed) = (fault(HugePlacement::NoRetry), fault(HugePlacement::Relax));
        // Which slots need a page table that somebody has to make room for differs.
        assert!(hasty <= 1.01 * relaxed, "{held}: {hasty}, {relaxed}");
    }
    for placement in RULES {
        let results = run(Workload::FragmentedNodeFault, placement, &chosen("local", "block"));
        let remote = mean(&results, "huge-remote");
        match placement {
            HugePlacement::ThisNode | HugePlacement::NoRetry => assert!(remote == 0.0, "{placement:?}: {remote}"),
            _ => assert!(remote > 80.0, "{placement:?}: {remote}"),
        }
    }
}

#[test]
fn khugepaged_makes_memory_at_home_huge_once_the_kernel_has_given_its_own_back() {
    let chosen = [
        ("size", Value::Bytes(mib(8))),
        ("cache_percent", Value::Count(0)),
        ("khugepaged", Value::Time(order9_units::Nanos::new(120_000_000_000))),
    ];
    let results = run(Workload::FragmentedNodeFault, HugePlacement::NoRetry, &chosen);
    assert!(counter(&results, "thp_collapse_alloc") > 0, "khugepaged had time");
    assert!(mean(&results, "later") > 0.0, "what it made is used");
}

#[test]
fn loads_from_every_node_are_told_apart() {
    let results = run(Workload::NumaAccessLatency, HugePlacement::TwoStep, &[("size", Value::Bytes(mib(8)))]);
    let of = |name: &str| results.operations.iter().any(|operation| operation.name == name);
    for name in ["base-node-0", "base-node-1", "huge-node-0", "huge-node-1", "base-ratio-1", "huge-ratio-0"] {
        assert!(of(name), "{name} was measured");
    }
    assert!((mean(&results, "base-ratio-0") - 100.0).abs() < 1e-9, "it is the measure of all others");
}
