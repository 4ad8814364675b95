//! Comparisons over runs: copies are no evidence, repetitions are, and what is printed on request.

use std::collections::BTreeMap;
use std::path::Path;

use order9_record::{Existing, Experiment, Target, Workload, read};

use crate::support::{folder_with_machine, order9_line};

/// Kernel allocations where memory is freed by chance: seeds differ.
const RANDOM: &str =
    "run hugealloc --machine {}/tiny.toml --param pattern=random --policy linux-5.0 --policy linux-6.18";

/// Stores the runs of `from` in `to`, each of them as often as `seeds` says.
fn copy(from: &Path, to: &Path, seeds: u64) {
    let loaded = read(from).expect("a run directory");
    let mut inputs = loaded.manifest.inputs;
    inputs.seeds = (1..=seeds).collect();
    let copies = loaded.runs.iter().flat_map(|run| {
        inputs.seeds.iter().map(|&seed| {
            let mut run = run.clone();
            run.seed = seed;
            run
        })
    });
    let experiment = Experiment::new(inputs.clone(), copies.collect());
    Target::new(to, Existing::Keep).and_then(|target| target.write(&experiment, &[])).expect("it can be written");
}

#[test]
fn runs_of_a_program_from_outside_are_compared_and_reported() {
    let folder = folder_with_machine();
    let path = |name: &str| folder.path().join(name);
    order9_line(&format!("{RANDOM} --seeds 2 -o {{}}/one"), folder.path()).success();
    let loaded = read(&path("one")).expect("a run directory");
    let stored = |name: &str, better: Option<BTreeMap<String, String>>| {
        let mut inputs = loaded.manifest.inputs.clone();
        inputs.workload = Workload { name: "mine".to_owned(), better, ..inputs.workload };
        let experiment = Experiment::new(inputs, loaded.runs.clone());
        Target::new(&path(name), Existing::Keep)
            .and_then(|target| target.write(&experiment, &[]))
            .expect("it can be written");
    };
    stored("mine", Some([("alloc".to_owned(), "higher".to_owned())].into()));
    let text = order9_line("compare {}/mine", folder.path()).success();
    assert!(text.contains("alloc") && text.contains("2M hugepages allocated"), "{text}");
    order9_line("report {}/mine -o {}/page.html", folder.path()).success();
    stored("unknown", None);
    let refused = order9_line("compare {}/unknown", folder.path());
    assert!(refused.refusal().contains("this version has no workload mine"), "{}", refused.refusal());
    stored("wrong", Some([("alloc".to_owned(), "hihger".to_owned())].into()));
    let refused = order9_line("compare {}/wrong", folder.path());
    assert!(refused.refusal().contains("better: alloc is hihger, expected lower or higher"), "{}", refused.refusal());
}

#[test]
fn ten_copies_of_a_run_are_not_significant() {
    let folder = folder_with_machine();
    order9_line(&format!("{RANDOM} --seeds 1 -o {{}}/one"), folder.path()).success();
    copy(&folder.path().join("one"), &folder.path().join("ten"), 10);
    let (one, ten) = (
        order9_line("compare {}/one", folder.path()).success(),
        order9_line("compare {}/ten", folder.path()).success(),
    );
    assert!(ten.contains("linux-6.18: all 10 runs are equal and count as one.\n"), "{ten}");
    assert!(ten.contains("  one run, not tested: ") && ten.contains("One run: differences are not tested."), "{ten}");
    assert!(!ten.contains("%*") && !ten.contains('\u{b1}'), "{ten}");
    let tables = |text: &str| text.split("\nlinux-6.18 against").next().map(str::to_owned);
    assert_eq!(tables(&ten), tables(&one), "counters are those of one run, and so is everything else");
    // Pooled as published, they look like ten times as much evidence.
    let pooled = order9_line("compare {}/ten --layout mmtests", folder.path()).success();
    assert!(pooled.contains("%*") || !pooled.contains("Amean"), "{pooled}");
}

#[test]
fn repetitions_are_compared_over_runs() {
    let folder = folder_with_machine();
    let text = order9_line(&format!("{RANDOM} --seeds 3 -o {{}}/three"), folder.path()).success();
    assert!(text.starts_with("hugealloc Latencies, means of 3 runs \u{b1} 95 %\n"), "{text}");
    assert!(text.contains("\nMeans of 3 runs (least..most)\n"), "{text}");
    let verdict = text.split("\nlinux-6.18 against linux-5.0\n").nth(1).expect("there is a verdict");
    assert!(verdict.starts_with("  alloc p50 (us)  ") && verdict.contains(", n = 3)\n"), "{verdict}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");

    order9_line(&format!("{RANDOM} --seeds 2 -o {{}}/two"), folder.path()).success();
    let text = order9_line("compare {}/three {}/two", folder.path()).success();
    assert!(text.contains("means of 2 and 3 runs") && text.contains("differs from"), "{text}");
    assert!(text.contains(", n = 3 and 2)\n"), "{text}");

    let json = order9_line("compare {}/three --json", folder.path()).success();
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let main = &json["report"]["by_run"]["main"][0];
    assert_eq!(main["values"][1]["values"].as_array().map(Vec::len), Some(3));
    assert!(main["verdicts"][1]["outcome"].is_string() && main["verdicts"][0].is_null(), "{main}");
}

#[test]
fn equal_results_are_called_identical() {
    let folder = folder_with_machine();
    order9_line(&format!("{RANDOM} --seeds 1 -o {{}}/one"), folder.path()).success();
    copy(&folder.path().join("one"), &folder.path().join("two"), 1);
    let text = order9_line("compare {}/one {}/two", folder.path()).success();
    let same = "two-linux-5.0 against one-linux-5.0: identical results: policies and settings do not differ here\n";
    assert!(text.contains(same), "{text}");
}

#[test]
fn brief_is_at_most_twenty_lines_and_says_where_the_rest_is() {
    let folder = folder_with_machine();
    let line = format!("{RANDOM} --policy linux-5.1 --seeds 2 --brief -o {{}}/a");
    let text = order9_line(&line, folder.path()).success();
    assert!(text.lines().count() <= 20 && text.ends_with("\nall rows: --full\n"), "{text}");
    assert!(text.starts_with("hugealloc: means of 2 runs \u{b1} 95 %\n") && text.contains("\ndigest "), "{text}");
    assert!(text.contains("\nlinux-5.1: ") && text.contains("alloc p95"), "{text}");
    let stored = std::fs::read_to_string(folder.path().join("a/report.txt")).expect("a report");
    assert!(stored.contains("Ops Minor Faults"), "what is stored has all rows: {stored}");
    let text = order9_line("compare {}/a --brief", folder.path()).success();
    assert!(text.lines().count() <= 20 && text.ends_with("\nall rows: --full\n"), "{text}");
    let refused = order9_line("compare {}/a --brief --full", folder.path());
    assert!(refused.refusal().contains("--full"), "{}", refused.stderr);
}

#[test]
fn columns_are_chosen_by_their_titles() {
    let folder = folder_with_machine();
    order9_line(&format!("{RANDOM} --policy linux-5.1 --seeds 1 -o {{}}/a"), folder.path()).success();
    let text = order9_line("compare {}/a --policy linux-5.1 --policy linux-5.0", folder.path()).success();
    assert!(text.contains("\nlinux-5.0 against linux-5.1\n") && !text.contains("6.18"), "{text}");
    let refused = order9_line("compare {}/a --policy linux-5.2", folder.path());
    let expected = "no column is called linux-5.2: there are linux-5.0, linux-6.18, linux-5.1; did you mean linux-5.";
    assert!(refused.refusal().contains(expected), "{}", refused.stderr);
    let refused = order9_line("compare {}/a --policy linux-5.1 --policy linux-5.1", folder.path());
    assert!(refused.refusal().contains("linux-5.1: named more than once"), "{}", refused.stderr);
}

#[test]
fn tables_are_printed_for_mails_papers_and_programs() {
    let folder = folder_with_machine();
    order9_line(&format!("{RANDOM} --seeds 2 -o {{}}/a"), folder.path()).success();
    let compare = |rest: &str| order9_line(&format!("compare {{}}/a {rest}"), folder.path());

    let markdown = compare("--format markdown").success();
    assert!(markdown.starts_with("**hugealloc Latencies, means of 2 runs \u{b1} 95 %**\n\n|"), "{markdown}");
    let table: Vec<&str> = markdown.lines().skip(2).take_while(|line| !line.is_empty()).collect();
    let cells = |line: &str| line.matches('|').count();
    assert!(table.len() > 3 && table.iter().all(|line| cells(line) == 5), "{markdown}");
    assert!(table[1].ends_with(":|") || table[1].ends_with(": |"), "{markdown}");
    assert!(markdown.contains("\n- linux-6.18 against linux-5.0: alloc p50 (us) "), "{markdown}");

    let latex = compare("--format latex").success();
    let ends = |what: &str| latex.matches(&format!("\\{what}{{longtable}}")).count();
    assert!(ends("begin") > 2 && ends("begin") == ends("end"), "{latex}");
    let rows = latex.lines().filter(|line| line.ends_with("\\\\") && !line.contains("multicolumn"));
    let columns = |row: &str| row.matches(" & ").count() + 1;
    // Statistic, unit, two values, and two changes where values are compared.
    assert!(rows.clone().count() > 10 && rows.clone().all(|row| matches!(columns(row), 4 | 6)), "{latex}");

    let csv = compare("--format csv").success();
    assert!(csv.starts_with("benchmark,statistic,operation,unit,column,value,change_percent,significant\n"), "{csv}");
    assert_eq!(compare("--format json").success(), compare("--json").success());
    assert_eq!(compare("--format text").success(), order9_line("compare {}/a", folder.path()).success());

    let refused = compare("--format csv --claim nowhere.toml");
    assert!(refused.refusal().starts_with("--claim cannot be used with this --format"), "{}", refused.stderr);
    assert!(compare("--format markdwn").refusal().contains("a similar value exists: 'markdown'"));
}
