//! The five hosts of docs/advise.md, end to end: memory ages in the lab, advice is asked for its state, the best remedy is applied on the
//! copy, and the program runs anew. Three of them take half a minute of a CPU each, and wait for `CAPTURES=all`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use crate::schemas::hold;
use crate::support::order9;

/// The state of a host that aged.
struct Host {
    _folder: TempDir,
    snapshot: PathBuf,
}

/// Runs `order9` with words.
#[track_caller]
fn ran(line: &str) -> String {
    order9(line.split(' ')).success()
}

impl Host {
    /// Runs a scenario, and takes the snapshot whose name ends so.
    #[track_caller]
    fn aged(scenario: &str, more: &str, snapshot: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let scenario = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(scenario);
        let runs = folder.path().join("runs");
        ran(format!("run {} -o {}{more}", scenario.display(), runs.display()).as_str());
        let end = format!("{snapshot}.o9snap");
        let entries = fs::read_dir(&runs).expect("the runs are there");
        let mut paths = entries.map(|entry| entry.expect("an entry").path());
        let snapshot = paths.find(|path| path.to_string_lossy().ends_with(&end)).expect("the snapshot is kept");
        Self { _folder: folder, snapshot }
    }

    /// Advice for a demand. Fewer than the three runs that each remedy has tell hardly anything from chance.
    #[track_caller]
    fn advice(&self, demand: &str) -> Value {
        let line = format!("advise {} {demand} --prices guest-disk --json", self.snapshot.display());
        let advice = serde_json::from_str(&ran(&line)).expect("it is JSON");
        hold("advise", &advice);
        advice
    }

    /// Runs a program on the state, with this remedy applied if there is one: the share of memory that is huge, and the time of an access.
    #[track_caller]
    fn program(&self, program: &str, remedy: Option<&Value>) -> (f64, f64) {
        let mut line =
            format!("run {program} --machine {} --prices guest-disk --seeds 1 --json", self.snapshot.display());
        let settings = remedy.map(|of| of["settings"].as_array().unwrap().clone()).unwrap_or_default();
        for pair in settings {
            line += &format!(" --set {}", pair.as_str().unwrap());
        }
        if let Some(drop) = remedy.and_then(|of| of["drop_caches"].as_str()) {
            line += &format!(
                " --param drop_first={}",
                1 + ["pages", "slab", "all"].iter().position(|of| *of == drop).unwrap()
            );
        }
        if remedy.is_some_and(|of| of["compact_all"] == true) {
            line += " --param compact_first=0";
        }
        let results: Value = serde_json::from_str(&ran(&line)).expect("it is JSON");
        let tables = results["report"]["tables"].as_array().unwrap();
        let value = |operation: &str| {
            let mut rows = tables.iter().flat_map(|table| table["rows"].as_array().unwrap());
            rows.find(|row| row["operation"] == operation).map_or(0.0, |row| row["cells"][0]["value"].as_f64().unwrap())
        };
        (value("huge"), value("access"))
    }
}

/// Whether a host that takes long is left to those who have time, and says so.
fn is_left_out() -> bool {
    let is_left_out = std::env::var_os("CAPTURES").is_none_or(|word| word != "all");
    if is_left_out {
        eprintln!("skipped: takes half a minute; CAPTURES=all, or make soak, has this host, too");
    }
    is_left_out
}

#[track_caller]
fn best(advice: &Value) -> &Value {
    advice["findings"].as_array().unwrap().first().unwrap_or_else(|| panic!("nothing is worth it: {advice:#}"))
}

/// All remedies that were tried, by the beginning of their names.
fn tried<'a>(advice: &'a Value, name: &str) -> Option<&'a Value> {
    let all = |key: &str| advice[key].as_array().unwrap().iter();
    all("findings").chain(all("others")).find(|of| of["remedy"]["name"].as_str().unwrap().starts_with(name))
}

#[test]
fn a_database_after_a_backup_ran_wants_page_cache_dropped() {
    if is_left_out() {
        return;
    }
    let host = Host::aged("advise-database.toml", "", "warm");
    // Three runs of the program as the host is differ by more than the remedy saves.
    let advice = host.advice("--want 512M --seeds 8");
    let best = best(&advice);
    assert!(best["remedy"]["name"].as_str().unwrap().contains("drop_caches="), "{best:#}");
    assert!(
        best["case"]["costs"]["reread_ns"].as_f64() > advice["now"]["costs"]["reread_ns"].as_f64(),
        "cache is a price"
    );
    let program = "map-and-write --param size=512M --param madvise=yes";
    let ((before, slow), (after, quick)) = (host.program(program, None), host.program(program, Some(&best["remedy"])));
    assert!(after > before + 5.0 && quick < slow, "huge {before} % to {after} %, access {slow} ns to {quick} ns");
}

#[test]
fn a_jvm_starts_after_uptime_with_what_the_advice_says() {
    if is_left_out() {
        return;
    }
    let host = Host::aged("advise-jvm.toml", " --param days=1", "day-1");
    let demand = "java-heap --param heap=512M";
    let advice = host.advice("--demand java-heap --param heap=512M");
    let now = advice["now"]["access_ns"]["mean"].as_f64();
    let (_, before) = host.program(demand, None);
    match advice["findings"].as_array().unwrap().first() {
        // On a host as young as a test has time for, huge pages may be left for all of the heap.
        None => assert!(advice["sentence"].as_str().unwrap().starts_with("Do nothing"), "{advice:#}"),
        Some(best) => {
            let (_, after) = host.program(demand, Some(&best["remedy"]));
            assert!(after <= before, "{before} ns to {after} ns with {}", best["remedy"]["name"]);
        }
    }
    assert!(now.is_some_and(|now| now > 0.0), "{advice:#}");
    let owners = advice["owners"]["users"].as_array().unwrap();
    assert!(owners.len() > 1, "services and the database are named: {owners:#?}");
}

#[test]
fn guests_with_pinned_memory_are_named_as_what_only_a_restart_mends() {
    let host = Host::aged("advise-guests.toml", "", "guest-70");
    let advice = host.advice("--want 256M --param pause=0s --param hold=0s");
    let guest = &advice["owners"]["users"][0];
    assert_eq!(guest["owner"]["process"]["command"], "guest");
    assert!(guest["stays"].as_u64() >= Some(600) && guest["stays"] == guest["alone"], "{guest:#}");
    assert_eq!(advice["restart"]["holders"][0]["class"], "pinned");
    assert!(tried(&advice, "restart guest").is_some_and(|of| of["verdict"] != "better"), "it takes as much again");
    assert!(advice["sentence"].as_str().unwrap().starts_with("Do nothing"), "{advice:#}");
}

#[test]
fn a_build_machine_full_of_dentries_keeps_its_cache() {
    if is_left_out() {
        return;
    }
    let host = Host::aged("advise-build.toml", "", "made");
    let advice = host.advice("--want 512M --param pause=0s --param hold=0s");
    let drop = tried(&advice, "drop_caches=3").expect("it is tried");
    assert!(drop["worth_ns"].as_f64() < Some(0.0), "files are read again for nothing: {drop:#}");
    assert!(advice["sentence"].as_str().unwrap().starts_with("Do nothing: "), "{advice:#}");
}

#[test]
fn a_host_of_containers_has_a_program_whose_memory_is_worth_collapsing() {
    let host = Host::aged("advise-containers.toml", "", "fragmented");
    let advice = host.advice("--want 512M");
    let best = best(&advice);
    assert_eq!(best["remedy"]["collapse"]["command"], "frag-mix", "{best:#}");
    assert_eq!(best["order9"], "sudo order9 collapse 1");
    let saved = best["case"]["costs"]["holder_ns"].as_f64().unwrap();
    assert!(saved < -1e9, "the program itself is quicker: {saved}");
    let html = host.snapshot.with_extension("html");
    let line = format!(
        "advise {} --want 64M --prices guest-disk --seeds 1 --html {}",
        host.snapshot.display(),
        html.display()
    );
    ran(&line);
    let page = fs::read_to_string(&html).expect("the page is written");
    assert!(page.starts_with("<!doctype html>") || page.starts_with("<!DOCTYPE html>"), "{}", &page[..60]);
}
