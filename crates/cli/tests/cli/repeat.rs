//! Stored runs, repeated and compared.

use std::fs;

use crate::support::{SHORT, bundled, folder_with_machine, order9_line, short_repeated};

#[test]
fn a_repetition_needs_the_directory_alone() {
    let folder = folder_with_machine();
    let policy = "base = 'linux-5.0'\n[pcp]\nhigh = 'low_mark'\n";
    fs::write(folder.path().join("mine.toml"), policy).unwrap();
    let short = short_repeated();
    let line = format!("run {short} --policy linux-5.0 --policy {{}}/mine.toml --seeds 2 --every 10ms -o {{}}/a");
    let line = format!("{line} --cmdline hugepages=4");
    order9_line(&line, folder.path()).success();
    fs::remove_file(folder.path().join("tiny.toml")).unwrap();
    fs::remove_file(folder.path().join("mine.toml")).unwrap();
    let text = order9_line("run --repeat {}/a -o {}/b", folder.path()).success();
    let digests: Vec<_> = text.lines().map(|line| line.split_whitespace().last().expect("a digest")).collect();
    assert_eq!(digests.len(), 2);
    assert_eq!(digests[0], digests[1]);
    let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
    assert_eq!(read("a/latencies.parquet"), read("b/latencies.parquet"));
    let again = order9_line("run --repeat {}/b --json", folder.path()).success();
    let json: serde_json::Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!((&json["same"], json["recorded"].as_str()), (&true.into(), Some(digests[0])));
}

#[test]
fn a_repetition_that_differs_has_status_one() {
    let folder = folder_with_machine();
    order9_line(&format!("run {SHORT} -o {{}}/a"), folder.path()).success();
    let path = folder.path().join("a/manifest.toml");
    let manifest = fs::read_to_string(&path).unwrap();
    fs::write(&path, manifest.replace("iterations = 2", "iterations = 1")).unwrap();
    let ran = order9_line("run --repeat {}/a", folder.path());
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.ends_with("/a: the repetition gave other results\n"), "{}", ran.stderr);
    assert!(ran.stdout.starts_with("recorded  "), "{}", ran.stdout);
}

#[test]
fn what_cannot_be_repeated_is_refused() {
    let folder = folder_with_machine();
    let refusal = |line: &str| order9_line(line, folder.path()).refusal().to_owned();
    assert!(refusal("run --repeat {}").contains("no manifest.toml here"));
    assert!(refusal("run usemem --repeat {}").contains("cannot be used with"));
    order9_line("snapshot synth --size 256M -o {}/map.o9snap", folder.path()).success();
    order9_line("run idle --machine {}/map.o9snap --param time=1s --seeds 1 -o {}/a", folder.path()).success();
    order9_line("snapshot synth --size 256M --seed 2 -o {}/map.o9snap", folder.path()).success();
    assert!(refusal("run --repeat {}/a").contains("map.o9snap: its digest is "));
    fs::remove_file(folder.path().join("map.o9snap")).unwrap();
    assert!(refusal("run --repeat {}/a").contains("map.o9snap: no such file or directory"));
}

#[test]
fn a_run_from_a_captured_host_is_repeated_with_its_kernel_and_settings() {
    let folder = folder_with_machine();
    fs::copy(bundled("host-fresh.o9snap"), folder.path().join("map.o9snap")).unwrap();
    let text = order9_line("run idle --machine {}/map.o9snap --param time=1s -o {}/a", folder.path()).success();
    for part in ["taken from the snapshot: ", "the host's kernel is 6.18", "which runs as linux-6.18"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let manifest = fs::read_to_string(folder.path().join("a/manifest.toml")).unwrap();
    assert!(manifest.contains("host-linux-6.18") && manifest.contains("taken from the snapshot: "), "{manifest}");
    let text = order9_line("run --repeat {}/a", folder.path()).success();
    let digests: Vec<_> = text.lines().map(|line| line.split_whitespace().last().expect("a digest")).collect();
    assert_eq!((digests.len(), digests[0]), (2, digests[1]));
}

#[test]
fn directories_are_compared_column_by_column() {
    let folder = folder_with_machine();
    let run = |name: &str, more: &str| {
        order9_line(&format!("run {SHORT} --policy linux-5.0 {more} -o {{}}/{name}"), folder.path()).success();
    };
    run("a", "--policy linux-5.1");
    run("b", "--set vm.min_free_kbytes=8192");
    let text = order9_line("compare {}/a", folder.path()).success();
    let stored = fs::read_to_string(folder.path().join("a/report.txt")).unwrap();
    assert_eq!(text, stored, "one directory is compared as it was printed");
    let text = order9_line("compare {}/a {}/b", folder.path()).success();
    let titles: Vec<_> = text.lines().take(3).map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(titles[1..], [vec!["a", "a", "b"], vec!["linux-5.0", "linux-5.1", "linux-5.0"]]);
    assert!(text.contains("differs from"), "{text}");
    let json = order9_line("compare {}/a {}/b --json", folder.path()).success();
    serde_json::from_str::<serde_json::Value>(&json).expect("JSON");
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let folder = folder_with_machine();
    order9_line(&format!("run {SHORT} -o {{}}/a"), folder.path()).success();
    order9_line("run idle --machine {}/tiny.toml --param time=1s --seeds 1 -o {}/b", folder.path()).success();
    let refusal = |line: &str| order9_line(line, folder.path()).refusal().to_owned();
    let message = refusal("compare {}/a {}/b");
    assert!(message.ends_with("/b idle: only runs of one workload can be compared"), "{message}");
    assert!(refusal("compare {}/a {}/a").contains("named more than once"));
    assert!(refusal("compare {}/nothing").contains("no manifest.toml here"));
    assert!(refusal("compare").contains("<DIR>"));
    fs::write(folder.path().join("a/latencies.parquet"), "not a table").unwrap();
    assert!(refusal("compare {}/a").contains("latencies.parquet"));
}
