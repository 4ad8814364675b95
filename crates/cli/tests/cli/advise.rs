//! `order9 ask`, `order9 what-if` and `order9 advise`: answers from captures of real kernels, their JSON, and refusals.

use std::path::PathBuf;

use serde_json::Value;

use crate::golden::compare;
use crate::schemas::hold;
use crate::support::{Ran, bundled, order9_line};

/// A capture of a real kernel in a guest of 1 GiB or so.
fn capture(name: &str) -> PathBuf {
    bundled("captures").join(name)
}

/// The text of an answer, which fits a screen and names the capture nowhere.
#[track_caller]
fn text(line: &str, name: &str) -> String {
    let text = order9_line(line, &capture(name)).success();
    assert!(text.lines().count() <= 25, "{text}");
    assert_eq!(text.lines().find(|line| line.chars().count() > 98), None, "text fits 98 columns");
    text
}

/// JSON of `line`, held against the schema of the command.
#[track_caller]
fn json(command: &str, line: &str, name: &str) -> Value {
    let text = order9_line(&format!("{command} {line} --json"), &capture(name)).success();
    let value = serde_json::from_str(&text).expect("it is JSON");
    hold(command, &value);
    value
}

#[test]
fn an_answer_names_the_share_and_what_stands_in_the_way() {
    let slabs = text("ask 512M {}", "slabs-6.12.o9snap");
    compare("ask-slabs.txt", &slabs);
    assert_eq!(slabs, text("ask 512M {}", "slabs-6.12.o9snap"), "the same again");
    let easy = text("ask 256M {}", "fragmented-6.1.o9snap");
    assert!(easy.starts_with("Yes: 100 % of 256 MiB would be in huge pages. A huge fault takes "), "{easy}");
    assert!(easy.contains("\nFirst obstacle: none: free huge pages are enough"), "{easy}");
}

#[test]
fn settings_are_an_obstacle_by_name() {
    let answer = json("ask", "64M --madvise no {}", "fragmented-6.1.o9snap");
    assert_eq!((&answer["obstacle"]["kind"], &answer["huge_percent"]["mean"]), (&"settings".into(), &0.0.into()));
    assert!(answer["sentence"].as_str().unwrap().starts_with("No: 0 % of 64 MiB"), "{answer:#}");
    let never = json("ask", "600M --defrag never {}", "fragmented-6.1.o9snap");
    assert_eq!(never["settings"]["thp/defrag"], "never");
    assert_eq!(never["obstacle"]["kind"], "no-compaction", "{never:#}");
    assert_eq!(never["efforts"]["compaction_stalls"]["mean"], 0.0);
}

#[test]
fn more_than_memory_holds_is_answered_with_what_fits() {
    let answer = json("ask", "64T {} --seeds 2", "fresh-7.2.o9snap");
    let written = answer["written"].as_u64().unwrap();
    assert!(written > 100 << 20 && written < 4 << 30, "{written}");
    assert!(answer["sentence"].as_str().unwrap().starts_with("No: 64 TiB do not fit, "), "{answer:#}");
    assert_eq!(answer["notes"], Value::Array(Vec::new()), "nobody is killed");
}

/// Beside Linux 6.18, where a program got 98.9 % from the same memory and 632,000 pages moved (docs/thp.md).
#[test]
fn huge_pages_of_64_kib_stand_in_the_way_only_where_compaction_passes_them_over() {
    let share = |policy: &str| {
        let line = format!("9G {{}} --seeds 1 --policy {policy}");
        json("ask", &line, "host-small-huge-6.18.o9snap")["huge_percent"]["mean"].as_f64().unwrap()
    };
    let shares = ["linux-6.18", "linux-6.18+compaction.migrate_large_folios=false"].map(share);
    assert!(shares[0] > 97.0 && shares[1] < 70.0, "{shares:?}");
}

#[test]
fn a_node_is_asked_alone() {
    let answer = json("ask", "64M --node 1 {}", "numa-6.1.o9snap");
    let zones = answer["zones"].as_array().unwrap();
    assert!(!zones.is_empty() && zones.iter().all(|zone| zone["node"] == 1), "{answer:#}");
    let ran = order9_line("ask 64M --node 7 {}", &capture("numa-6.1.o9snap"));
    assert!(ran.refusal().starts_with("--node 7: no such node with memory, expected 0, 1"), "{}", ran.stderr);
}

#[test]
fn settings_stand_beside_those_of_the_host() {
    let line = "what-if {} --set thp.defrag=never --param size=600M --param pause=0s --param hold=0s";
    compare("what-if-defrag.txt", &text(line, "fragmented-6.1.o9snap"));
    let line =
        "{} --case thp/defrag=never,vm.swappiness=10 --case vm.compaction_proactiveness=60 --param size=128M --seeds 2";
    let comparison = json("what-if", line, "fragmented-6.1.o9snap");
    assert_eq!(comparison["cases"][0], serde_json::json!(["thp/defrag=never", "vm.swappiness=10"]));
    let rows = comparison["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["cases"].as_array().unwrap().len() == 2), "{comparison:#}");
}

#[test]
fn a_setting_as_it_is_makes_no_difference() {
    let line = "what-if {} --set vm.swappiness=60 --param size=64M --param pause=0s --param hold=0s";
    let text = text(line, "fragmented-6.1.o9snap");
    assert!(text.starts_with("vm.swappiness=60: no difference beyond the spread of runs.\n"), "{text}");
}

#[test]
fn another_program_may_be_the_demand() {
    let line = "what-if {} --set thp.enabled=always --demand fill-and-free --param size=64M --seeds 2";
    let text = text(line, "fragmented-6.1.o9snap");
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("Demand: fill-and-free size=64M"), "{text}");
}

#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    let of = |line: &str| order9_line(line, &capture("fragmented-6.1.o9snap")).refusal().to_owned();
    for (line, part) in [
        ("ask lots {}", "no size: expected a whole number with K, M, G or T"),
        ("ask 1M {}", "1048576 bytes are less than a huge page, expected 2M at least"),
        ("ask 64M {} --madvise maybe", "[possible values: yes, no]"),
        ("ask 64M {} --defrag sometimes", "--set thp/defrag=sometimes"),
        ("ask 64M {} --policy linux-6", "linux-6"),
        ("ask 64M {} --prices nowhere", "--prices nowhere: "),
        ("ask 64M /nonexistent", "/nonexistent: no such file or directory"),
        ("what-if {}", "--set <NAME=VALUE>"),
        ("what-if {} --set vm.swapiness=1", "no setting is called 'vm.swapiness'; did you mean vm.swappiness?"),
        ("what-if {} --set vm.swappiness", "--set vm.swappiness: expected NAME=VALUE"),
        ("what-if {} --set vm.swappiness=many", "--set vm.swappiness=many: "),
        ("what-if {} --case vm.swappiness=1,thp.defrg=always", "did you mean thp/defrag?"),
        ("what-if {} --set vm.defrag_mode=1", "does not exist under host-linux-6.1"),
        ("what-if {} --set vm.swappiness=1 --demand jav-heap", "--demand: no workload is called 'jav-heap'"),
        ("what-if {} --set vm.swappiness=1 --param size=1K", "size"),
        ("advise {} --want lots", "expected a whole number with K, M, G or T"),
        ("advise {} --want 1M", "1048576 bytes are less than a huge page, expected 2M at least"),
        ("advise {} --use soon", "expected a time such as 30s, 10min or 2h"),
        ("advise {} --demand jav-heap", "--demand: no workload is called 'jav-heap'"),
        ("advise {} --demand /nonexistent", "/nonexistent"),
        ("advise {} --demand idle --want 64M", "size"),
        ("advise /nonexistent", "/nonexistent: no such file or directory"),
    ] {
        let refusal = of(line);
        assert!(refusal.contains(part), "{line}: expected {part:?} in: {refusal}");
    }
}

#[test]
fn advice_names_what_is_worth_it_with_its_command() {
    // Memory in which a program gave 3 of 4 pages back at random, and a demand for most of what is available, at once.
    let line = "advise {} --want 1300M --param pause=0s --param hold=0s";
    let advice = text(line, "fragmented-6.1.o9snap");
    compare("advise-fragmented.txt", &advice);
    assert!(advice.starts_with("compact_memory saves "), "{advice}");
    assert!(advice.contains("\n  echo 1 > /proc/sys/vm/compact_memory\n"), "{advice}");
    // Kernels turn huge pages off on machines as small as this one.
    let advice = text("advise {} --want 64M --param pause=0s --param hold=0s", "fresh-5.10.o9snap");
    assert!(advice.starts_with("thp.enabled=madvise saves "), "{advice}");
    assert!(advice.contains("\n  sudo order9 apply --set thp.enabled=madvise\n"), "{advice}");
    assert!(advice.contains("\n  echo madvise > /sys/kernel/mm/transparent_hugepage/enabled\n"), "{advice}");
}

#[test]
fn a_program_is_placed_on_the_node_that_has_room_for_it() {
    let line = "advise {} --want 600M --prices xeon-2s --param pause=0s --param hold=0s";
    let advice = text(&format!("{line} --seeds 8"), "numa-6.1.o9snap");
    compare("advise-numa.txt", &advice);
    assert!(advice.contains("\n  numactl --cpunodebind=1 --membind=1 PROGRAM\n"), "{advice}");
    // Bound to a node that is too small the program is killed, which costs nothing further.
    let advice = text(line, "numa-uneven-7.2.o9snap");
    assert!(advice.starts_with("Do nothing: ") && !advice.contains("bind to node"), "{advice}");
    let placed = text(&format!("{line} --param cpus=cpunodebind:0"), "numa-uneven-7.2.o9snap");
    assert!(!placed.contains("interleave") && !placed.contains("bind to node"), "the user has placed it: {placed}");
}

#[test]
fn a_control_group_moves_where_it_is_in_nobody_s_way() {
    let line = "{} --want 600M --prices xeon-2s --param pause=0s --param hold=0s --seeds 2";
    let bound = "--param cpus=cpunodebind:0 --param mempolicy=bind:0";
    let advice = json("advise", &format!("{line} {bound}"), "numa-groups-6.12.o9snap");
    let findings = advice["findings"].as_array().unwrap();
    let of = |finding: &&serde_json::Value| finding["remedy"]["name"] == "move /batch to node 1";
    let moved = findings.iter().find(of).unwrap_or_else(|| panic!("{advice:#}"));
    assert!(moved["more"].as_u64().unwrap() > 500 << 20, "the program is killed beside the group: {moved:#}");
    assert!(moved["case"]["moved"]["mean"].as_f64().unwrap() > 90_000.0, "400 MiB went in the lab: {moved:#}");
    let files = [
        "echo +cpuset > /sys/fs/cgroup/cgroup.subtree_control",
        "echo 1 > /sys/fs/cgroup/batch/cpuset.cpus",
        "echo 1 > /sys/fs/cgroup/batch/cpuset.mems",
    ];
    assert_eq!(moved["linux"], serde_json::json!(files));
    let names = [findings.as_slice(), advice["others"].as_array().unwrap()].concat();
    let moves = names.iter().filter(|tried| tried["remedy"]["name"].as_str().unwrap().starts_with("move ")).count();
    assert_eq!(moves, 1, "/web is on the node that would have room for it");
    // Processes that move are to be found among those of the captured memory.
    let run = |moved: &str| {
        let folder = tempfile::tempdir().unwrap();
        let line = format!(
            "run map-and-write --machine {{}} --param size=64M {moved} -o {}",
            folder.path().join("run").display()
        );
        order9_line(&line, &capture("numa-groups-6.12.o9snap"))
    };
    let refused = |ran: Ran, with: &str| assert!(ran.status == 2 && ran.stderr.contains(with), "{}", ran.stderr);
    refused(run("--param move_first=9999"), "adopt failed with ESRCH");
    refused(run("--param move_first=0 --param move_node=7"), "write of cpuset.cpus failed with EINVAL");
}

#[test]
fn where_nothing_is_worth_it_the_advice_is_to_do_nothing() {
    let advice = text("advise {} --want 64M --param pause=0s --param hold=0s", "slabs-6.12.o9snap");
    assert!(advice.starts_with("Do nothing: 100 % of the demand is huge as the host is, and none of "), "{advice}");
    assert!(advice.contains("Only a restart mends "), "{advice}");
}

#[test]
fn advice_as_json_has_every_remedy_that_was_tried() {
    let line = "{} --want 800M --param pause=0s --param hold=0s --seeds 2";
    let advice = json("advise", line, "hugetlb-6.12.o9snap");
    let [best] = advice["findings"].as_array().unwrap().as_slice() else { panic!("{advice:#}") };
    assert_eq!(best["remedy"]["settings"], serde_json::json!(["vm.nr_hugepages=65"]), "idle pages of the pool fit");
    assert!(best["more"].as_u64().unwrap() > 32 << 20, "{best:#}");
    let others = advice["others"].as_array().unwrap();
    let names: Vec<_> = others.iter().map(|other| other["remedy"]["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"drop_caches=2") && names.contains(&"compact_memory"), "{names:?}");
    assert!(!names.contains(&"thp.enabled=always"), "the host has it: {names:?}");
    assert!(!names.iter().any(|name| name.starts_with("vm.defrag_mode")), "6.12 has none: {names:?}");
    assert!(others.iter().all(|other| other["verdict"] != "better"), "{others:#?}");
}

#[test]
fn nodes_are_compacted_one_by_one() {
    let line = "{} --want 64M --param pause=0s --param hold=0s --seeds 2";
    let advice = json("advise", line, "numa-6.1.o9snap");
    let all = |key: &str| advice[key].as_array().unwrap().clone();
    let nodes: Vec<_> = [all("findings"), all("others")].concat();
    let of = |name: &str| nodes.iter().find(|finding| finding["remedy"]["name"] == name).cloned().unwrap();
    assert_eq!(of("compact node 1")["linux"][0], "echo 1 > /sys/devices/system/node/node1/compact");
    assert!(of("compact node 0")["case"]["moved"]["mean"].as_f64().unwrap() > 0.0, "it was done in the lab");
    assert_eq!(of("compact_memory")["remedy"]["compact_nodes"], serde_json::json!([0, 1]));
}
