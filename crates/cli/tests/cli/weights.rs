//! Weights of interleaving that follow the bandwidth of nodes in the machine's file.

use std::fs;

use crate::support::{Ran, order9_line};

/// Runs usemem by weights on two nodes with these lines in the machine's file.
fn run(bandwidth: [&str; 2], more: &str) -> Ran {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let tables = "[reserved.boot_tables]\nsize = \"1 MiB\"\nsource = \"Made up: small.\"\n";
    let node = |distances: &str, rate: &str| {
        let nodes = format!("[[nodes]]\nmemory = \"256 MiB\"\ncpus = 1\ndistances = {distances}\n");
        let rate = if rate.is_empty() {
            String::new()
        } else {
            format!("[nodes.bandwidth]\nmb_per_s = {rate}\nsource = \"Made up.\"\n")
        };
        nodes + &rate
    };
    let nodes = node("[10, 21]", bandwidth[0]) + &node("[21, 10]", bandwidth[1]);
    fs::write(folder.path().join("two.toml"), format!("base = \"xeon-2s\"\n{nodes}{tables}"))
        .expect("it can be written");
    let line = format!(
        "run usemem --machine {{}}/two.toml --policy linux-6.18 --seeds 1 --full --param size=64M --param loops=1 \
         --param iterations=1 --param anon_percent=100 --threads 1 --set thp/enabled=never \
         --param mempolicy=weighted-interleave:all {more}"
    );
    order9_line(line.trim_end(), folder.path())
}

/// How many times as many pages node 0 has as node 1.
fn ratio(ran: Ran) -> f64 {
    let text = ran.success();
    let of = |node: usize| -> f64 {
        let row = format!("Pages Mapped-{node} ");
        let line = text.lines().find(|line| line.starts_with(&row)).expect("pages lie on both nodes");
        line.split_whitespace().nth(2).and_then(|word| word.parse().ok()).expect("a number")
    };
    of(0) / of(1)
}

#[test]
fn weights_of_a_machine_follow_its_bandwidth() {
    let folder = "mempolicy/weighted_interleave";
    let near = |ran, expected: f64| {
        let found = ratio(ran);
        assert!((found - expected).abs() < 0.01 * expected, "{found} for {expected}");
    };
    near(run(["30000", "10000"], ""), 3.0);
    near(run(["30000", "10000"], &format!("--set {folder}/node0=5")), 5.0);
    near(run(["", ""], ""), 1.0);
    let refusal = run(["", ""], &format!("--set {folder}/auto=1"));
    let says = "auto needs a bandwidth of some node, and none is known: all weights are 1";
    assert!(refusal.refusal().contains(says), "{}", refusal.stderr);
    let wrong = run(["fast", "10000"], "");
    assert!(wrong.refusal().contains("two.toml, line 7"), "{}", wrong.stderr);
}
