//! `order9 reproduce`: claims by name, verdicts, runs that are kept, and what changed since another reproduction.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Ran, order9, order9_line};

/// Two small experiments, of which one has a statement that does not hold.
const QUICK: &str = "reproduce --quick 000-unmovable-backoff stall -o {}/d";

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).expect("the verdicts are there")).expect("JSON")
}

/// Directories of runs, by name.
fn runs(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder.join("d/runs")).expect("there are runs");
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The verdict on each statement.
fn outcomes(verdicts: &Value) -> Vec<&str> {
    let claims = verdicts["claims"].as_array().expect("claims").iter();
    let statements = claims.flat_map(|claim| claim["statements"].as_array().expect("statements"));
    statements.map(|statement| statement["outcome"].as_str().expect("an outcome")).collect()
}

fn ran(args: &str, folder: &Path, status: i32) -> Ran {
    let ran = order9_line(args, folder);
    assert_eq!(ran.status, status, "{}{}", ran.stdout, ran.stderr);
    ran
}

#[test]
fn every_claim_is_listed_with_its_experiment_or_a_reason() {
    let text = order9(["reproduce", "--list"]).success();
    let listed: Value = serde_json::from_str(&order9(["reproduce", "--list", "--json"]).success()).unwrap();
    let claims = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claims");
    for file in fs::read_dir(claims).unwrap() {
        let file = file.unwrap().file_name().into_string().unwrap();
        let Some(claim) = file.strip_suffix(".toml") else { continue };
        assert!(text.lines().any(|line| line.split_whitespace().any(|word| word == claim)), "{claim} is not listed");
        let of = |key: &str| listed[key].as_array().unwrap().iter().filter(|of| of["claim"] == claim).count();
        assert_eq!(of("claims") + of("not_judged"), 1, "{claim}");
    }
    let of_seed = order9(["reproduce", "--list", "003"]).success();
    assert!(of_seed.contains("003-thpscale-latency") && !of_seed.contains("002-"), "{of_seed}");
}

#[test]
fn a_second_call_makes_no_run_and_gives_the_same_verdicts() {
    let folder = folder();
    let first = ran(QUICK, folder.path(), 0);
    assert_eq!(first.stderr, "order9: 2 experiments, 6 of 6 runs to make\n");
    for part in ["000-unmovable-backoff\n", "does not hold", "published", "measured", "reproduce.md", "2 of 2 seeds"] {
        assert!(first.stdout.contains(part), "{part}: {}", first.stdout);
    }
    let (names, verdicts) = (runs(folder.path()), folder.path().join("d/reproduce.json"));
    assert!(names.len() == 2 && names[0].starts_with("stall-") && names[1].starts_with("unmovable-"), "{names:?}");
    let written = json(&verdicts);
    assert_eq!((&written["version"], &written["size"]), (&Value::from(1), &Value::from("quick")));
    let found = outcomes(&written);
    assert!(found.len() == 5 && found.contains(&"holds") && found.contains(&"fails"), "{found:?}");
    let page = fs::read_to_string(folder.path().join("d/reproduce.md")).unwrap();
    assert!(page.contains("## 004-vm-larger-than-node-stall") && page.contains("| statement | published |"), "{page}");

    let made = |name: &String| fs::metadata(folder.path().join("d/runs").join(name)).unwrap().modified().unwrap();
    let times: Vec<_> = names.iter().map(made).collect();
    let second = ran(QUICK, folder.path(), 0);
    assert_eq!(second.stderr, "order9: 2 experiments, all of 6 runs kept: nothing to run\n");
    assert_eq!((second.stdout, json(&verdicts)), (first.stdout, written));
    assert_eq!(names.iter().map(made).collect::<Vec<_>>(), times);
    // The runs are run directories like any other.
    let compared = order9(["compare", folder.path().join("d/runs").join(&names[1]).to_str().unwrap()]).success();
    assert!(compared.contains("linux-5.9"), "{compared}");

    // Another build makes them anew, unless the user takes those of any build.
    let other = folder.path().join("order9");
    fs::copy(env!("CARGO_BIN_EXE_order9"), &other).unwrap();
    fs::OpenOptions::new().append(true).open(&other).unwrap().write_all(b" ").unwrap();
    let of_other = |more: &str| {
        let line = format!("reproduce --quick 000-unmovable-backoff -o d {more}");
        let output = Command::new(&other).args(line.split_whitespace()).current_dir(folder.path()).output().unwrap();
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (stdout, stderr) = of_other("--any-build");
    assert!(stderr.contains("nothing to run"), "{stderr}");
    assert!(stdout.contains("another build of order9 made the runs"), "{stdout}");
    let (stdout, stderr) = of_other("");
    assert!(stderr.contains("2 of 2 runs to make"), "{stderr}");
    assert!(!stdout.contains("another build"), "{stdout}");
}

#[test]
fn verdicts_that_got_worse_are_named_and_fail() {
    let folder = folder();
    ran(QUICK, folder.path(), 0);
    let before = folder.path().join("before.json");
    let text = fs::read_to_string(folder.path().join("d/reproduce.json")).unwrap();
    let against = format!("{QUICK} --against {{}}/before.json");
    fs::write(&before, &text).unwrap();
    let same = ran(&against, folder.path(), 0);
    assert!(same.stdout.contains("5 statements compared: 0 worse, 0 better"), "{}", same.stdout);
    let directory = ran(&format!("{QUICK} --against {{}}/d"), folder.path(), 0);
    assert!(directory.stdout.contains("0 worse"), "{}", directory.stdout);

    fs::write(&before, text.replace("\"outcome\": \"fails\"", "\"outcome\": \"holds\"")).unwrap();
    let worse = ran(&against, folder.path(), 1);
    assert!(worse.stdout.contains("worse  004-vm-larger-than-node-stall: "), "{}", worse.stdout);
    assert!(worse.stderr.ends_with(" got worse\n"), "{}", worse.stderr);

    fs::write(&before, text.replace("\"outcome\": \"holds\"", "\"outcome\": \"not-measured\"")).unwrap();
    let better = ran(&against, folder.path(), 0);
    assert!(better.stdout.contains("better 000-unmovable-backoff: "), "{}", better.stdout);
    assert!(better.stdout.contains("0 worse, "), "{}", better.stdout);
    let json: Value = serde_json::from_str(&ran(&format!("{against} --json"), folder.path(), 0).stdout).unwrap();
    assert_eq!((&json["worse"], json["claims"].as_array().unwrap().len()), (&Value::from(0), 2));
}

#[test]
fn an_interrupted_reproduction_goes_on() {
    let folder = folder();
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_order9"));
        let line = "reproduce --quick stall --seeds 6 --jobs 1 -o d";
        command.args(line.split_whitespace()).current_dir(folder.path()).env("TERM", "dumb");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let child = start().spawn().unwrap();
    let begun = Instant::now();
    while kept(folder.path()).is_empty() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no run ends");
        thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
    let text = |output: &Output| String::from_utf8(output.stderr.clone()).unwrap();
    let interrupted = child.wait_with_output().unwrap();
    assert!(text(&interrupted).contains(" of 12 runs are kept; the same command goes on"), "{}", text(&interrupted));
    assert!(!folder.path().join("d/reproduce.json").exists());
    let left = kept(folder.path());
    let times: Vec<_> = left.iter().map(|path| fs::metadata(path).unwrap().modified().unwrap()).collect();
    assert!(!times.is_empty());
    let output = start().output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(kept(folder.path()).is_empty() && folder.path().join("d/reproduce.json").exists());
}

/// Runs that an interrupted attempt has kept.
fn kept(folder: &Path) -> Vec<PathBuf> {
    let partial = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with(".order9-partial-");
    let below = |path: PathBuf| fs::read_dir(path).into_iter().flatten().map(|entry| entry.unwrap().path());
    let cells = below(folder.join("d/runs")).filter(partial).flat_map(below);
    cells.filter(|path| path.extension().is_some_and(|ending| ending == "cell")).collect()
}

#[test]
fn claims_that_no_run_can_judge_are_named_with_the_reason() {
    let folder = folder();
    let text = order9_line("reproduce 004-thread-figures -o {}/d", folder.path()).success();
    assert!(text.contains("not judged: its statement compares two figures"), "{text}");
    let written = json(&folder.path().join("d/reproduce.json"));
    assert!(written["claims"][0]["why"]["no-experiment"].as_str().unwrap().contains("told of in passing"), "{written}");
    assert_eq!(outcomes(&written), ["not-measured"]);
}

#[test]
fn what_cannot_be_reproduced_is_refused_before_anything_runs() {
    let folder = folder();
    let refusal = |line: &str| order9_line(line, folder.path()).refusal().to_owned();
    let unknown = refusal("reproduce --quick 003-thpscale-latenzy -o {}/d");
    assert!(unknown.contains("no claim and no experiment is called '003-thpscale-latenzy'; did you mean"), "{unknown}");
    assert!(refusal("reproduce").contains("--quick"));
    assert!(refusal("reproduce --quick").contains("--output"));
    assert!(refusal("reproduce --quick --full -o {}/d").contains("cannot be used with"));
    assert!(refusal("reproduce --quick stall --seeds none -o {}/d").starts_with("--seeds none: "));
    assert!(refusal("reproduce --quick stall --jobs 0 -o {}/d").starts_with("--jobs 0: "));
    let file = folder.path().join("file");
    fs::write(&file, "{}").unwrap();
    assert!(refusal("reproduce --quick stall -o {}/file").contains("cannot be made"));
    assert!(refusal("reproduce --quick stall -o {}/d --against {}/none").contains("no such file"));
    assert!(refusal("reproduce --quick stall -o {}/d --against {}/file").contains("expected a reproduce.json"));
    fs::write(&file, "{\"version\": 2}").unwrap();
    assert!(refusal("reproduce --quick stall -o {}/d --against {}/file").contains("version 2 of the form, expected 1"));
    fs::write(&file, r#"{"version": 1, "order9": "0.1.0", "size": "full", "claims": []}"#).unwrap();
    let size = refusal("reproduce --quick stall -o {}/d --against {}/file");
    assert!(size.contains("holds verdicts at full size, expected quick size"), "{size}");
    assert!(!folder.path().join("d").exists());
}
