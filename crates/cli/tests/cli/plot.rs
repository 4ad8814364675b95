//! Plots of stored runs.

use std::fs;
use std::path::Path;

use crate::support::{SHORT, folder_with_machine, order9_line, short_repeated};

/// A folder with a run of two policies in `a`.
fn folder_with_run() -> tempfile::TempDir {
    let folder = folder_with_machine();
    let line = format!("run {SHORT} --policy linux-5.0 --policy linux-5.1 --every 10ms -o {{}}/a");
    order9_line(&line, folder.path()).success();
    folder
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = entries.collect();
    names.sort();
    names
}

#[test]
fn metrics_become_pictures_beside_the_run_or_where_asked_for() {
    let folder = folder_with_run();
    let written = order9_line("plot {}/a nr_free_pages pgfault/s (nr_anon_pages+nr_file_pages)%", folder.path());
    let path = folder.path().join("a.svg");
    assert_eq!(written.success(), format!("written to {}\n", path.display()));
    let svg = fs::read_to_string(&path).unwrap();
    for part in [
        "usemem",
        "on tiny.toml, thp/enabled=always",
        "linux-5.0",
        "linux-5.1",
        "nr_free_pages",
        "events/s",
        "MiB",
        "%",
    ] {
        assert!(svg.contains(&format!(">{part}</text>")), "{part}");
    }
    order9_line("plot {}/a nr_free_pages --policy linux-5.1 --seed 1 --to 10ms -o {}/b.png", folder.path()).success();
    assert!(fs::read(folder.path().join("b.png")).unwrap().starts_with(b"\x89PNG"));
    assert_eq!(names(folder.path()), ["a", "a.svg", "b.png", "tiny.toml"], "no temporary file stays");
}

#[test]
fn one_run_gives_the_same_bytes_again() {
    let folder = folder_with_run();
    for ending in ["svg", "png"] {
        for name in ["x", "y"] {
            let line = format!("plot {{}}/a nr_free_pages pgfault/s -o {{}}/{name}.{ending}");
            order9_line(&line, folder.path()).success();
        }
        let read = |name: &str| fs::read(folder.path().join(format!("{name}.{ending}"))).unwrap();
        assert_eq!(read("x"), read("y"));
    }
}

#[test]
fn without_a_metric_it_says_what_changed() {
    let folder = folder_with_run();
    let text = order9_line("plot {}/a", folder.path()).success();
    for part in ["counters changed during", "Levels", "nr_free_pages", "Counters", "pgfault", "--sample"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("nr_mlock"), "it stays 0: {text}");
    let operation = text.lines().last().and_then(|line| line.split_whitespace().next()).expect("an operation");
    let line = format!("plot {{}}/a --sample {operation} -o {{}}/b.svg");
    order9_line(&line, folder.path()).success();
}

#[test]
fn a_counter_that_one_policy_lacks_is_drawn_for_the_others_and_said() {
    let folder = folder_with_machine();
    let line = format!("run {SHORT} --policy linux-4.4 --policy linux-5.1 --every 10ms -o {{}}/a");
    order9_line(&line, folder.path()).success();
    let text = order9_line("plot {}/a allocstall_normal pgfault", folder.path()).success();
    assert!(
        text.starts_with("allocstall_normal: no line for linux-4.4, which does not count it\nwritten to "),
        "{text}"
    );
    let listed = |policy: &str| order9_line(&format!("plot {{}}/a --policy {policy}"), folder.path()).success();
    assert_ne!(listed("linux-4.4"), listed("linux-5.1"));
    assert!(
        order9_line("plot {}/a --policy linux-5.2", folder.path()).refusal().contains("expected linux-4.4, linux-5.1")
    );
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let folder = folder_with_run();
    let refused = |line: &str, part: &str| {
        let ran = order9_line(line, folder.path());
        assert!(ran.refusal().contains(part), "expected {part:?} in: {}", ran.stderr);
    };
    refused("plot {}/a nr_free_page", "the run has no such counter; did you mean nr_free_pages?");
    refused("plot {}/a nr_free_pages+", "character 15: expected the name of a counter");
    refused("plot {}/a nr_free_pages+pgfault", "bytes and events do not add up");
    refused("plot {}/a nr_free_pages --policy linux-5.2", "expected linux-5.0, linux-5.1");
    refused("plot {}/a nr_free_pages --seed 7", "--seed 7: the run has none; expected 1");
    refused("plot {}/a --sample nothing", "--sample nothing: the run has none; expected ");
    refused("plot {}/a nr_free_pages --from 1h", "there is nothing from 60 min");
    refused("plot {}/a nr_free_pages --from now", "expected a length of time");
    refused("plot {}/a nr_free_pages --width 10", "400..=4000");
    refused("plot {}/a nr_free_pages -o {}/a.jpg", "expected a name that ends in .png or .svg, or - for SVG");
    refused("plot {}/a nr_free_pages -o {}/no/a.svg", "cannot be written");
    refused("plot {}/nothing nr_free_pages", "no manifest.toml here");
    assert_eq!(names(folder.path()), ["a", "tiny.toml"]);
}

#[test]
fn a_short_run_has_readings_enough_for_a_picture() {
    let folder = folder_with_machine();
    order9_line(&format!("run {SHORT} -o {{}}/a"), folder.path()).success();
    let loaded = order9_record::read(&folder.path().join("a")).unwrap();
    let readings = loaded.runs[0].counters.times.len();
    assert!((200..=401).contains(&readings), "{readings}");
    // To read changes nothing: samples and the counters at the end are those of a run that is read seldom.
    order9_line(&format!("run {SHORT} --every 1s -o {{}}/b"), folder.path()).success();
    let seldom = order9_record::read(&folder.path().join("b")).unwrap();
    let (one, other) = (&loaded.runs[0], &seldom.runs[0]);
    assert_eq!(other.counters.times.len(), 2);
    assert_eq!((&one.samples, &one.durations, &one.phases), (&other.samples, &other.durations, &other.phases));
    for counter in &one.counters.columns {
        let other = other.counters.columns.iter().find(|other| other.name == counter.name).unwrap();
        assert_eq!(counter.values.last(), other.values.last(), "{}", counter.name);
    }
}

#[test]
fn samples_become_curves() {
    let folder = folder_with_machine();
    let short = short_repeated();
    let line = format!("run {short} --policy linux-5.0 --policy linux-5.1 --seeds 2 -o {{}}/a");
    order9_line(&line, folder.path()).success();
    let written = order9_line("plot {}/a --cdf", folder.path()).success();
    assert!(written.ends_with("a-cdf.svg\n"), "{written}");
    let svg = fs::read_to_string(folder.path().join("a-cdf.svg")).unwrap();
    assert!(svg.contains(">linux-5.1 (2 seeds)</text>") && svg.contains(" samples</text>"));
    let listed = order9_line("plot {}/a", folder.path()).success();
    let operation = listed.split("--sample").nth(1).unwrap().lines().nth(1).unwrap().split_whitespace().next().unwrap();
    order9_line(&format!("plot {{}}/a --cdf {operation} -o {{}}/one.png"), folder.path()).success();
    let refused = order9_line("plot {}/a --cdf nothing", folder.path());
    assert!(refused.refusal().starts_with("--cdf nothing: the run has none; expected "), "{}", refused.stderr);
    let refused = order9_line("plot {}/a --worth pgfault", folder.path());
    assert!(refused.refusal().contains("takes no policy apart"), "{}", refused.stderr);
}
