//! `order9 tune`: searches on captures of real kernels, their files, and refusals.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde_json::Value;

use crate::apply::copies;
use crate::golden::compare;
use crate::schemas::hold;
use crate::support::{Ran, bundled, order9, order9_line};

/// Two settings on a capture, with a demand that is over in a moment.
const SHORT: &str =
    "tune {} --setting vm.compaction_proactiveness=0,20,80 --setting thp.defrag=madvise,defer --param size=600M";

/// Runs `line` on a capture of a kernel whose faults wait for compaction.
fn tune(line: &str) -> Ran {
    order9_line(line, &bundled("captures").join("fragmented-6.1.o9snap"))
}

/// Arguments that end with a directory for the results.
fn into(line: &str, place: &Path) -> String {
    format!("{line} -o {}", place.to_str().expect("a UTF-8 path"))
}

/// The JSON of a directory of results, held against its schema.
fn json(place: &Path) -> Value {
    let text = fs::read_to_string(place.join("tune.json")).expect("it was written");
    let value = serde_json::from_str(&text).expect("it is JSON");
    hold("tune", &value);
    value
}

#[test]
fn settings_are_found_that_apply_takes() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("found");
    let line = format!("{SHORT} --goal huge=95% --limit p99=200us --limit kcompactd=5%");
    let text = tune(&into(&line, &place)).success();
    let (text, end) = text.split_at(text.find("written to ").expect("it says so"));
    assert!(text.lines().count() <= 24, "{text}");
    assert_eq!(text.lines().find(|line| line.chars().count() > 98), None, "text fits 98 columns");
    assert!(end.trim_end().ends_with("/best.toml` makes the change"), "{end}");
    compare("tune-found.txt", text);
    let found = json(&place);
    assert_eq!((&found["outcome"], &found["best"]["reaches_goal"]), (&"found".into(), &true.into()));
    let svg = fs::read_to_string(place.join("front.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("faults that became huge over fault p99"), "{svg}");
    assert!(fs::read(place.join("front.png")).unwrap().starts_with(b"\x89PNG"));

    let root = copies();
    let best = place.join("best.toml");
    let dry =
        order9(["apply".as_ref(), best.as_os_str(), "--dry-run".as_ref(), "--root".as_ref(), root.path().as_os_str()]);
    let applied = dry.success();
    assert!(applied.contains("vm.compaction_proactiveness"), "{applied}");

    let again = folder.path().join("again");
    tune(&into(&line, &again)).success();
    for file in ["front.svg", "front.png"] {
        assert_eq!(fs::read(place.join(file)).unwrap(), fs::read(again.join(file)).unwrap(), "{file}: the same bytes");
    }
    let without_command = |mut value: Value| {
        value["command"] = Value::Null;
        value
    };
    assert_eq!(without_command(found), without_command(json(&again)), "the same seed, the same search");
}

#[test]
fn what_is_good_enough_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("kept");
    let line = format!("{SHORT} --goal huge=10% --seeds 2");
    let text = tune(&into(&line, &place)).success();
    assert!(text.starts_with("Keep what you have: today's settings reach the goal ("), "{text}");
    assert_eq!(json(&place)["outcome"], "keep");
    assert!(!place.join("best.toml").exists(), "there is nothing to apply");
}

#[test]
fn a_goal_out_of_reach_is_said_to_be() {
    let outside = tune(&format!("{SHORT} --goal huge=95% --limit p99=1us --seeds 2")).success();
    assert!(
        outside.starts_with("Keep what you have: nothing that was tried keeps the limits; nearest is"),
        "{outside}"
    );
    // Two runs each would not tell one from the other.
    let text = tune(&format!("{SHORT} --goal p99=1us --seeds 3 --json")).success();
    let nearer: Value = serde_json::from_str(&text).expect("it is JSON");
    hold("tune", &nearer);
    assert_eq!((&nearer["outcome"], &nearer["best"]["reaches_goal"]), (&"nearer".into(), &false.into()), "{nearer:#}");
    let sentence = nearer["sentences"][0].as_str().unwrap();
    assert!(sentence.starts_with("Nothing reaches the goal (fault p99 at most 1 µs); nearest is "), "{sentence}");
}

#[test]
fn every_combination_of_few_is_tried() {
    let text = tune(&format!("{SHORT} --goal p50 --seeds 1 --json")).success();
    let all: Value = serde_json::from_str(&text).expect("it is JSON");
    assert_eq!((&all["combinations"], all["tried"].as_array().unwrap().len()), (&6.into(), 6));
    assert_eq!(all["outcome"], "keep", "one run each tells nothing from chance");
}

/// Files of the cells of a cache, with what tells one that was written anew.
fn cells(cache: &Path) -> Vec<(PathBuf, u64)> {
    let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = below(cache.to_owned())
        .flat_map(below)
        .map(|path| (path.clone(), fs::metadata(path).expect("it is there").ino()))
        .collect();
    files.sort();
    files
}

#[test]
fn a_search_goes_on_with_cells_of_its_cache() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cells");
    let snapshot = bundled("captures").join("fragmented-6.1.o9snap");
    let line = format!("{SHORT} --goal huge=95% --limit p99=200us --cache {}", cache.to_str().unwrap());
    let line = line.replace("{}", snapshot.to_str().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_order9"));
    let mut child =
        command.args(line.split(' ')).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    while cells(&cache).is_empty() && child.try_wait().expect("it is a child").is_none() {
        sleep(Duration::from_millis(1));
    }
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    let output = child.wait_with_output().expect("it ends");
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && message.contains("interrupted; runs"), "{:?} {message}", output.status);
    let kept = cells(&cache);

    let whole = tune(&line).success();
    let all = cells(&cache);
    assert!(all.len() > kept.len() && kept.iter().all(|cell| all.contains(cell)), "{} of {}", kept.len(), all.len());
    assert_eq!(tune(&line).success(), whole);
    assert_eq!(cells(&cache), all, "no cell has run again");
    assert_eq!(tune(&format!("{SHORT} --goal huge=95% --limit p99=200us")).success(), whole, "nor does a cache decide");
}

#[test]
fn nothing_is_left_behind_by_a_search_that_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("killed");
    let line = into("tune {} --goal huge --sample 10000", &place);
    let capture = bundled("captures").join("fragmented-6.1.o9snap");
    let mut search = Command::new(env!("CARGO_BIN_EXE_order9"))
        .args(line.split(' ').map(|word| word.replace("{}", capture.to_str().unwrap())))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    // Any moment will do: thousands of runs take minutes.
    sleep(Duration::from_millis(500));
    search.kill().expect("it goes on");
    search.wait().expect("it was started");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_cannot_be_searched_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine"), "").unwrap();
    let full = into("tune {} --goal huge", folder.path());
    for (line, part) in [
        ("tune {}", "--goal"),
        ("tune {} --goal hug=95%", "did you mean huge?"),
        ("tune {} --goal huge=95", "expected a share in percent, such as 95%"),
        ("tune {} --goal huge --limit p99", "expected NAME=VALUE, such as p99=1ms or kcompactd=5%"),
        ("tune {} --goal huge --limit p99=1ms --limit p99=2ms", "--limit p99: named twice"),
        ("tune {} --goal huge --setting vm.swapiness=1", "did you mean vm.swappiness?"),
        ("tune {} --goal huge --setting vm.swappiness", "--setting vm.swappiness: expected NAME=VALUE,VALUE,..."),
        ("tune {} --goal huge --setting vm.swappiness=1,many", "--setting vm.swappiness=1,many: "),
        ("tune {} --goal huge --setting vm.defrag_mode=1", "does not exist under host-linux-6.1"),
        ("tune {} --goal huge --setting vm.drop_caches=1", "vm.drop_caches"),
        ("tune {} --goal access --demand fill-and-free --param size=64M", "fill-and-free measures nothing of the kind"),
        ("tune {} --goal huge --demand jav-heap", "--demand: no workload is called 'jav-heap'"),
        ("tune {} --goal huge --sample 0", "--sample"),
        ("tune /nonexistent --goal huge", "/nonexistent: no such file or directory"),
        (full.as_str(), "holds files, expected a new or empty directory"),
    ] {
        let ran = tune(line);
        let refusal = ran.refusal();
        assert!(refusal.contains(part), "{line}: expected {part:?} in: {refusal}");
    }
}
