//! Orderings that the cases of the discussion of 2018 must show, whatever the sizes: who swaps, who waits, who gets huge pages
//! where. By the names of its placements: thisnode was Linux then, relax and noretry were proposed, two_step_local and two_step
//! came after.

use std::fs;
use std::num::NonZeroUsize;

use order9_lab::cases::{CaseCell, CaseTable};
use order9_lab::scenario::Named;
use order9_lab::{Nobody, run};
use order9_units::Bytes;

const POLICIES: [&str; 7] = [
    "thp-thisnode",
    "thp-relax",
    "thp-noretry",
    "thp-compact-only",
    "thp-compact-only-wmark",
    "thp-two-step-local",
    "thp-two-step",
];

const CASES: &str = r#"
[[case]]
name = "more than a node"
workload = "vm-larger-than-node"
parameters = { size = "1300M", bystander_percent = 0, cache_percent = 0 }
[[case]]
name = "beside a bystander"
workload = "vm-larger-than-node"
parameters = { size = "1200M", bystander_percent = 50, cache_percent = 10 }
[[case]]
name = "pinned"
workload = "vm-larger-than-node"
parameters = { size = "1200M", bystander_percent = 0, cache_percent = 0, pinned = "yes" }
[[case]]
name = "all fragmented"
workload = "fragmented-node-fault"
parameters = { size = "256M", cache_percent = 0 }
machines = ["xeon-2s-ssd", "four.toml"]
[[case]]
name = "all fragmented and full"
workload = "fragmented-node-fault"
parameters = { size = "128M", cache_percent = 0, bystander_percent = 80 }
[[case]]
name = "own fragmented"
workload = "fragmented-node-fault"
parameters = { size = "256M", cache_percent = 0, fragmented = "local" }
[[case]]
name = "page cache everywhere"
workload = "vm-larger-than-node"
parameters = { size = "512M", bystander_percent = 0, cache_percent = 200 }
[[case]]
name = "nearly four nodes"
workload = "vm-larger-than-node"
parameters = { size = "3600M", bystander_percent = 0, cache_percent = 0 }
machines = ["four.toml"]
"#;

/// The cases on two nodes of 1 GiB, and one of them on four.
fn table() -> CaseTable {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let node = |at: usize| {
        let distances: Vec<u32> = (0..4).map(|to| if to == at { 10 } else { 21 }).collect();
        format!("[[nodes]]\nmemory = \"1 GiB\"\ncpus = 2\ndistances = {distances:?}\n")
    };
    let four: String = (0..4).map(node).collect();
    fs::write(folder.path().join("four.toml"), format!("base = \"xeon-2s-ssd\"\n{four}")).expect("it can be written");
    let top = format!("policies = {POLICIES:?}\nseeds = 1\nmachine = \"xeon-2s-ssd\"\nnode_memory = \"1 GiB\"\n");
    let path = folder.path().join("cases.toml");
    fs::write(&path, top + CASES).expect("it can be written");
    let Named::Cases(cases) = Named::read(path.to_str().expect("UTF-8")).expect("it is sound") else {
        panic!("it holds cases");
    };
    let mut table = CaseTable::new(POLICIES.map(str::to_owned).to_vec());
    for (case, plan) in cases.plan(Bytes::from_gib(1), &[]).expect("it can be planned") {
        let experiment = run(&plan, NonZeroUsize::new(2).expect("two"), &Nobody).expect("it runs");
        table.push(&case, &plan.machine.name, &experiment);
    }
    table
}

/// Equal within two percent.
fn alike(one: f64, other: f64) -> bool {
    (one - other).abs() <= 0.02 * one.max(other)
}

#[test]
fn cases_of_the_discussion_come_out_in_the_order_that_was_reported() {
    let table = table();
    println!("{}", table.to_text());
    let row = |nth: usize| -> [&CaseCell; 7] { std::array::from_fn(|policy| &table.rows[nth].cells[policy]) };
    let touching = |cells: [&CaseCell; 7]| cells.map(|cell| cell.seconds[0]);
    for nth in [0, 1] {
        let cells = row(nth);
        let [thisnode, relax, noretry, _, by_watermark, local, two_step] = touching(cells);
        assert!(cells[0].swapped > 0.0 && cells[1..].iter().all(|cell| cell.swapped == 0.0), "who swaps, row {nth}");
        assert!(relax <= local * 1.02 && alike(local, two_step) && two_step < thisnode, "row {nth}");
        assert!(by_watermark < thisnode && noretry < thisnode, "row {nth}");
        let huge = cells.map(|cell| cell.huge_local + cell.huge_remote);
        assert!([1, 5, 6].iter().all(|&policy| huge[policy] > 95.0), "huge pages elsewhere, row {nth}");
        assert!([2, 3].iter().all(|&policy| huge[policy] < 90.0 && cells[policy].huge_remote == 0.0), "row {nth}");
    }
    let pinned = row(2);
    let [thisnode, relax, _, _, by_watermark, local, two_step] = touching(pinned);
    assert!(pinned.iter().all(|cell| cell.swapped == 0.0), "what is pinned is not swapped out");
    assert!(
        [relax, by_watermark, local, two_step].iter().all(|time| *time < thisnode),
        "nor searched for ever elsewhere"
    );
    let (two, four) = (touching(row(3)), touching(row(4)));
    let [thisnode, relax, noretry, only, _, local, _] = two;
    assert!(
        alike(noretry, only) && noretry <= thisnode && thisnode < relax,
        "every node that is searched in vain costs"
    );
    assert!(thisnode < local && local <= relax + (thisnode - noretry) * 1.02, "at most one search of home more");
    assert!(row(3).iter().chain(&row(4)).all(|cell| cell.huge_local + cell.huge_remote == 0.0), "none can be had");
    assert!(four[1] - four[0] > 1.5 * (two[1] - two[0]), "with more nodes, more is searched");
    assert!(alike(four[0], two[0]) && alike(four[2], two[2]), "at home nothing changes");
    let full = row(5);
    assert!(full[2].swapped == 0.0 && full[3].swapped == 0.0 && full[0].swapped > 0.0, "who reclaims pointlessly");
    let own = row(6);
    let [thisnode, relax, _, _, _, local, _] = touching(own);
    assert!([1, 5, 6].iter().all(|&policy| own[policy].huge_remote == 100.0), "remote huge pages");
    assert!([0, 2, 3].iter().all(|&policy| own[policy].huge_remote == 0.0), "base pages at home");
    assert!(relax <= local && local < thisnode, "a free page elsewhere is quicker than a search at home");
    let huge = row(7).map(|cell| cell.huge_local + cell.huge_remote);
    let [_, relax, noretry, only, _, local, two_step] = huge;
    assert!(alike(noretry, only) && noretry < 0.95 * local, "without reclaim only what kswapd happens to free");
    assert!(alike(local, two_step) && two_step <= relax * 1.02, "the others reclaim for it");
    let four = row(8);
    let [thisnode, relax, noretry, _, by_watermark, local, two_step] = touching(four);
    assert!(four[0].swapped > 0.0 && four[1..].iter().all(|cell| cell.swapped == 0.0), "who swaps on four nodes");
    assert!(relax <= local * 1.02 && alike(local, two_step) && two_step < thisnode, "whoever goes elsewhere");
    assert!(by_watermark < thisnode && noretry < thisnode, "and who takes base pages there");
}
