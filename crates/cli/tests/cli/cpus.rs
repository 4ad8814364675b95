//! CPUs that a workload is bound to, and how its threads spread over nodes: by where its memory comes to lie.

use std::fs;

use crate::support::{Ran, order9_line};

/// Runs usemem with two threads on two nodes of two CPUs.
fn run(more: &str) -> Ran {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let tables = "[reserved.boot_tables]\nsize = \"1 MiB\"\nsource = \"Made up: small.\"\n";
    let node = |distances: &str| format!("[[nodes]]\nmemory = \"256 MiB\"\ncpus = 4\ndistances = {distances}\n");
    let machine = format!("base = \"xeon-2s\"\n{}{}{tables}", node("[10, 21]"), node("[21, 10]"));
    fs::write(folder.path().join("two.toml"), machine).expect("the file can be written");
    let line = format!(
        "run usemem --machine {{}}/two.toml --seeds 1 --full --param size=64M --param loops=1 --param iterations=1 \
         --threads 2 --param mempolicy=local {more}"
    );
    order9_line(line.trim_end(), folder.path())
}

/// Pages that the run's processes had mapped on each node, on average.
fn mapped(more: &str) -> [f64; 2] {
    let text = run(more).success();
    let of = |node: usize| {
        let row = format!("Pages Mapped-{node} ");
        let line = text.lines().find(|line| line.starts_with(&row));
        line.map_or(0.0, |line| line.split_whitespace().nth(2).and_then(|word| word.parse().ok()).expect("a number"))
    };
    [of(0), of(1)]
}

#[test]
fn a_program_uses_the_memory_of_the_cpus_that_it_is_bound_to() {
    let [home, other] = mapped("");
    assert!(home > 1000.0 && other > 1000.0, "threads spread over both nodes: {home} and {other}");
    for (cpus, node) in
        [("0-3", 0), ("physcpubind:1", 0), ("4,6", 1), ("0-7:7", 2), ("cpunodebind:1", 1), ("cpunodebind:all", 2)]
    {
        let pages = mapped(&format!("--param cpus={cpus}"));
        match node {
            2 => assert!(pages.iter().all(|pages| *pages > 1000.0), "{cpus}: {pages:?}"),
            node => assert!(pages[node] > 1000.0 && pages[1 - node] < 100.0, "{cpus}: {pages:?}"),
        }
    }
}

#[test]
fn packed_threads_stay_on_one_node() {
    let [home, other] = mapped("--param spread=packed");
    assert!(home.max(other) > 1000.0 && home.min(other) < 100.0, "{home} and {other}");
    assert_eq!(mapped("--param spread=even"), mapped(""));
}

#[test]
fn cpus_that_are_not_there_are_refused() {
    for (cpus, says) in [
        ("8", "expected CPUs from 0 to 7, which the machine has; 8 is none of them"),
        ("cpunodebind:2", "expected nodes from 0 to 1, which the machine has; 2 is none of them"),
        ("3-1", "expected \"all\", a list of CPUs such as \"0-3,8\" or \"0-31:2\", or \"cpunodebind:\" with nodes"),
    ] {
        let ran = run(&format!("--param cpus={cpus}"));
        assert!(ran.refusal().contains(says), "{}", ran.stderr);
    }
    assert!(run("--param spread=odd").refusal().contains("expected \"even\" or \"packed\""));
}
