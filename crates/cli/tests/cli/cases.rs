//! `order9 run` of a file of cases: one table, the same on any number of cores.

use std::fs;

use crate::support::order9_line;

/// Two nodes of 256 MiB with an SSD, a machine for one case and a second with slow remote memory.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let tables = "[reserved.boot_tables]\nsize = \"1 MiB\"\nsource = \"Made up: small.\"\n";
    let node = |distances: &str| format!("[[nodes]]\nmemory = \"256 MiB\"\ncpus = 2\ndistances = {distances}\n");
    let nodes = [node("[10, 21]"), node("[21, 10]")].concat();
    let slow = "[remote]\nlatency = { factor = 9, source = \"Made up: slow.\" }\nload_huge = { ns = 900, source = \"Made up: slow.\" }\nload_base = { ns = 950, source = \"Made up.\" }\n";
    let scenario = "\
        policies = [\"thp-thisnode\", \"thp-relax\", \"thp-noretry\", \"thp-estimate\"]\nseeds = 1\n\
        [[case]]\nname = \"guest\"\nworkload = \"vm-larger-than-node\"\nmachine = \"tiny.toml\"\n\
        parameters = { size = \"280M\", bystander_percent = 50, cache_percent = 0 }\n\
        [[case]]\nname = \"own node fragmented\"\nworkload = \"fragmented-node-fault\"\n\
        machines = [\"tiny.toml\", \"slow.toml\"]\n\
        parameters = { size = \"64M\", fragmented = \"local\", cache_percent = 0 }\n";
    for (name, text) in [
        ("tiny.toml", format!("base = \"xeon-2s-ssd\"\n{nodes}{tables}")),
        ("slow.toml", format!("base = \"tiny.toml\"\n{slow}")),
        ("cases.toml", scenario.to_owned()),
    ] {
        fs::write(folder.path().join(name), text).expect("the file can be written");
    }
    folder
}

#[test]
fn cases_become_one_table_with_an_answer() {
    let folder = folder();
    let run = |more: &str| order9_line(&format!("run {{}}/cases.toml{more}"), folder.path()).success();
    let text = run(" --jobs 1");
    assert_eq!(text, run(" --jobs 2"), "the same on any number of cores");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].contains("| thisnode ") && lines[0].contains("| estimate "), "{text}");
    assert_eq!(lines.iter().filter(|line| line.contains("| touching, s")).count(), 3, "{text}");
    assert!(text.contains("Least hurt by "), "{text}");
    assert!(text.contains("own node fragmented: the answer changes with the machine."), "{text}");
    assert!(lines.last().is_some_and(|line| line.starts_with("digest ")), "{text}");
}

#[test]
fn what_the_table_says_is_what_the_runs_came_to() {
    let folder = folder();
    let run = |line: &str| order9_line(line, folder.path()).success();
    let table: serde_json::Value = serde_json::from_str(&run("run {}/cases.toml --json")).expect("JSON");
    let cell = |row: usize, policy: usize| &table["rows"][row]["cells"][policy];
    let number = |row, policy, key: &str| cell(row, policy)[key].as_f64().expect("a number");
    let after = |row: usize, policy: usize, nth: usize| cell(row, policy)["seconds"][nth].as_f64().expect("a time");
    let (thisnode, relax, noretry, estimate) = (0, 1, 2, 3);
    assert!(number(0, thisnode, "swapped") > 0.0, "it swaps while the other node is free");
    assert!([relax, noretry, estimate].iter().all(|&policy| number(0, policy, "swapped") == 0.0));
    assert!(after(0, relax, 0) < after(0, thisnode, 0));
    assert_eq!([number(1, relax, "huge_remote"), number(1, noretry, "huge_remote")], [100.0, 0.0]);
    // A remote huge page is worth it on one machine and not on the other.
    assert!(after(1, relax, 3) < after(1, noretry, 3) && after(2, noretry, 3) < after(2, relax, 3));
    assert_eq!(number(2, estimate, "huge_remote"), 0.0, "the prices of the machine decide");
    let one: serde_json::Value =
        serde_json::from_str(&run("run {}/cases.toml --case guest --policy thp-relax --json")).expect("JSON");
    assert!(one["runs"][0]["policy"] == "thp-relax", "one case is an experiment with tables of its own");
}

#[test]
fn a_table_is_not_stored_and_says_what_is() {
    let folder = folder();
    let refused = |more: &str| {
        let ran = order9_line(&format!("run {{}}/cases.toml {more}"), folder.path());
        ran.refusal().replace(&format!("{}/", folder.path().display()), "")
    };
    assert_eq!(
        refused("-o {}/out"),
        "--output: a table of cases is printed as a whole; --case NAME makes one of them an experiment of its own"
    );
    assert_eq!(refused("--case gust"), "--case: no case is called 'gust'; did you mean guest?");
    assert!(!folder.path().join("out").exists());
}
