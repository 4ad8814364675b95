//! Fleets of real captures: facts, page, queries, settings on a sample.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::browser::Browser;
use crate::golden::compare;
use crate::schemas::hold;
use crate::support::{Ran, bundled, order9};

/// A directory with small captures, some of them in a directory below.
fn hosts() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    fs::create_dir(folder.path().join("rack")).expect("a directory below");
    let captures = bundled("captures");
    for (nth, name) in
        ["fresh-7.2", "numa-6.1", "hugetlb-6.12", "zram-6.1", "slabs-6.12", "cache-xfs-6.12"].iter().enumerate()
    {
        let file = format!("{name}.o9snap");
        let place = if nth < 2 { folder.path().join("rack") } else { folder.path().to_owned() };
        fs::copy(captures.join(&file), place.join(&file)).expect("a copy");
    }
    folder
}

fn fleet(hosts: &Path, more: &[&str]) -> (PathBuf, Ran) {
    let out = hosts.join("fleet");
    let mut args = vec!["fleet", hosts.to_str().unwrap(), "-o", out.to_str().unwrap()];
    args.extend(more);
    let ran = order9(args);
    (out, ran)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn captures_become_facts_and_a_page_and_are_read_once() {
    let hosts = hosts();
    let (out, ran) = fleet(hosts.path(), &[]);
    let text = ran.success();
    assert!(text.starts_with("6 hosts, "), "{text}");
    assert!(text.lines().count() <= 25, "more than a screen:\n{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let (table, written) = text.trim_end().rsplit_once('\n').expect("several lines");
    assert!(written.starts_with("Written to "), "{written}");
    compare("fleet-captures.txt", &format!("{table}\n"));
    let summary = json(&fs::read_to_string(out.join("fleet.json")).unwrap());
    assert_eq!((summary["hosts"].as_u64(), summary["known"].as_u64()), (Some(6), Some(0)));
    // Sums are those of the inspections.
    let inspected: u64 = ["numa-6.1", "fresh-7.2", "hugetlb-6.12", "zram-6.1", "slabs-6.12", "cache-xfs-6.12"]
        .iter()
        .map(|name| {
            let file = bundled(&format!("captures/{name}.o9snap"));
            json(&order9([Path::new("inspect"), Path::new("--json"), &file]).success())["total"]["present"]
                .as_u64()
                .unwrap()
        })
        .sum();
    assert_eq!(summary["present_pages"].as_u64(), Some(inspected));
    let facts = fs::read(out.join("facts.parquet")).unwrap();
    // Again: nothing is read; one that moved is known by its content, one that changed is read.
    fs::rename(hosts.path().join("zram-6.1.o9snap"), hosts.path().join("moved.o9snap")).unwrap();
    fs::copy(bundled("captures/copy-xfs-6.1.o9snap"), hosts.path().join("slabs-6.12.o9snap")).unwrap();
    let again = json(&fleet(hosts.path(), &["--json"]).1.success());
    assert_eq!((again["hosts"].as_u64(), again["known"].as_u64()), (Some(6), Some(5)));
    let anew = json(&fleet(hosts.path(), &["--json", "--again", "--jobs", "1"]).1.success());
    hold("fleet", &again);
    assert_eq!(anew["known"].as_u64(), Some(0));
    assert_eq!(anew["distributions"], again["distributions"]);
    assert_ne!(fs::read(out.join("facts.parquet")).unwrap(), facts);
    opened(&out);
}

/// The page draws everything, asks for nothing and complains of nothing, where there is a browser.
fn opened(out: &Path) {
    let Some(browser) = Browser::open(&out.join("index.html"), "light") else { return };
    assert_eq!(browser.complaints, Vec::<String>::new());
    assert_eq!(browser.requests.len(), 1, "{:?}", browser.requests);
}

#[test]
fn damaged_files_are_listed_and_fail_nothing() {
    let hosts = hosts();
    let bytes = fs::read(bundled("captures/zram-6.1.o9snap")).unwrap();
    fs::write(hosts.path().join("cut.o9snap"), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(hosts.path().join("text.o9snap"), "hello").unwrap();
    let list = hosts.path().join("list");
    fs::write(&list, format!("{}\n", hosts.path().join("absent.o9snap").display())).unwrap();
    let (out, ran) = fleet(hosts.path(), &["--from-file", list.to_str().unwrap(), "--json"]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert_eq!(ran.stderr, "order9: 3 of 9 files could not be read; fleet.json and the page name them\n");
    let summary = json(&ran.stdout);
    let unreadable: Vec<String> = summary["unreadable"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| {
            format!(
                "{}: {}",
                Path::new(of["file"].as_str().unwrap()).file_name().unwrap().to_str().unwrap(),
                of["problem"].as_str().unwrap()
            )
        })
        .collect();
    assert_eq!(unreadable.len(), 3, "{unreadable:?}");
    assert!(unreadable[0].starts_with("cut.o9snap: ") && unreadable[1].starts_with("text.o9snap: "), "{unreadable:?}");
    assert_eq!(unreadable[2], "absent.o9snap: no such file");
    assert_eq!(summary["hosts"].as_u64(), Some(6));
    assert!(out.join("index.html").is_file());
}

#[test]
fn what_makes_no_sense_is_refused_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a directory");
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::create_dir(at("empty")).unwrap();
    fs::create_dir(at("full")).unwrap();
    fs::write(at("full/notes"), "mine").unwrap();
    let capture = bundled("captures/zram-6.1.o9snap").to_str().unwrap().to_owned();
    let cases: [(&[&str], &str); 6] = [
        (&["fleet", &at("empty"), "-o", &at("a")], "no *.o9snap is in this directory or below it"),
        (&["fleet", "-o", &at("a")], "no snapshot was named: expected files, directories or --from-file"),
        (&["fleet", &capture, "-o", &at("full")], "holds files, but no facts.parquet"),
        (&["fleet", &at("absent.o9snap"), "-o", &at("b")], "absent.o9snap: no such file"),
        (&["fleet", "query", &at("full"), "select 1"], "holds no facts.parquet"),
        (&["fleet", "what-if", &at("full"), "--set", "vm.swappiness=1"], "holds no facts.parquet"),
    ];
    for (args, expected) in cases {
        let ran = order9(args);
        assert!(ran.refusal().contains(expected), "{args:?}: {}", ran.stderr);
    }
    assert!(!folder.path().join("b/facts.parquet").exists());
    assert_eq!(fs::read_to_string(at("full/notes")).unwrap(), "mine");
}

#[test]
fn queries_go_to_duckdb() {
    let hosts = hosts();
    let (out, ran) = fleet(hosts.path(), &[]);
    ran.success();
    let query = |sql: &str| order9(["fleet", "query", out.to_str().unwrap(), sql, "--format", "csv"]);
    let there =
        |program: &str, args: &[&str]| Command::new(program).args(args).output().is_ok_and(|ran| ran.status.success());
    if !there("duckdb", &["--version"]) && !there("python3", &["-c", "import duckdb"]) {
        eprintln!("SKIPPED: queries were not tried: no duckdb on this host (pip install duckdb)");
        assert!(query("select 1").refusal().contains("pip install duckdb"));
        return;
    }
    assert_eq!(query("select count(*) as n from hosts").success(), "n\n6\n");
    // Nodes and zones sum up to hosts.
    let sums = "select count(*) as wrong from hosts h join (select file, sum(blocks_lost) as lost from zones group by file) z \
                using (file) where h.blocks_lost <> z.lost";
    assert_eq!(query(sums).success(), "wrong\n0\n");
    assert!(query("select nothing from hosts").refusal().starts_with("duckdb: "));
    for (nth, sql) in documented().iter().enumerate() {
        let text = query(sql).success();
        assert!(text.lines().count() > 1, "query {nth} says nothing:\n{sql}\n{text}");
    }
}

/// The queries of docs/fleet.md: its blocks of SQL.
fn documented() -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet.md");
    let text = fs::read_to_string(page).expect("the page");
    let blocks = text.split("```sql\n").skip(1).map(|block| block.split("```").next().unwrap().trim().to_owned());
    let blocks: Vec<String> = blocks.collect();
    assert!(blocks.len() >= 5, "the page has queries");
    blocks
}

/// docs/fleet.md lists every column of the table.
#[test]
fn every_column_is_documented() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/fleet.md");
    let text = fs::read_to_string(page).expect("the page");
    let missing: Vec<String> = order9_fleet::columns::numbers()
        .into_iter()
        .map(|number| number.name)
        .filter(|name| !text.contains(&format!("`{name}`")))
        .filter(|name| !name.ends_with("_pages") || !text.contains("`CLASS_pages`") || is_listed(name))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

/// Whether a column of pages is not that of a class of frames.
fn is_listed(name: &str) -> bool {
    let class = name.trim_end_matches("_pages");
    !order9_snapshot::classify::FrameClass::ALL.iter().any(|of| of.name() == class)
}

#[test]
fn settings_are_tried_on_a_sample_and_answers_are_kept() {
    let hosts = hosts();
    let (out, ran) = fleet(hosts.path(), &[]);
    ran.success();
    let what_if = |sample: &str, more: &[&str]| {
        let args = [
            "fleet",
            "what-if",
            out.to_str().unwrap(),
            "--set",
            "vm.swappiness=10",
            "--sample",
            sample,
            "--seeds",
            "2",
        ];
        let demand = ["--param", "pause=100ms", "--param", "hold=100ms", "--param", "size=32M"];
        order9(args.iter().chain(&demand).chain(more))
    };
    let answer = json(&what_if("2", &["--json"]).success());
    assert_eq!((answer["hosts"].as_u64(), answer["sampled"].as_u64()), (Some(6), Some(2)), "{answer}");
    hold("fleet what-if", &answer);
    let total: f64 = ["helped", "hurt", "mixed", "same", "untried"]
        .iter()
        .map(|of| answer["outcomes"][of]["hosts"].as_f64().unwrap())
        .sum();
    assert!((total - 6.0).abs() < 1e-9, "{answer}");
    let kept = || {
        let folders = fs::read_dir(out.join("what-if")).unwrap().map(|entry| entry.unwrap().path());
        folders.filter(|path| path.is_dir()).map(|path| fs::read_dir(path).unwrap().count()).sum::<usize>()
    };
    assert_eq!(kept(), 2);
    // The same again is the same to the last digit; more hosts add to those.
    assert_eq!(json(&what_if("2", &["--json"]).success()), answer);
    let text = what_if("6", &[]).success();
    assert!(text.contains("By 6 of 6 hosts in 1 group, 2 runs each"), "{text}");
    assert_eq!(kept(), 6);
    let summary = json(&fs::read_to_string(out.join("fleet.json")).unwrap());
    assert_eq!(summary["what_if"][0]["sampled"].as_u64(), Some(6));
    assert!(fs::read_to_string(out.join("index.html")).is_ok());
    // A file that has changed since is not tried as if it were that host.
    let list = fs::read_dir(out.join("what-if"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.is_dir())
        .unwrap();
    fs::remove_dir_all(list).unwrap();
    fs::copy(bundled("captures/copy-xfs-6.1.o9snap"), hosts.path().join("slabs-6.12.o9snap")).unwrap();
    let answer = json(&what_if("6", &["--json"]).success());
    assert_eq!(answer["untried"][0]["problem"], "it has changed since the fleet was read");
    let refused = order9(["fleet", "what-if", out.to_str().unwrap(), "--set", "vm.swapiness=10"]);
    assert!(refused.refusal().contains("vm.swapiness"), "{}", refused.stderr);
}
