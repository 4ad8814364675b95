//! Runs that are interrupted: what has ended is kept, and going on gives what would have come without the interruption.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::folder_with_machine;

const LINE: &str = "run usemem --machine ./tiny.toml --param size=64M --param loops=1 --param iterations=2 --threads 1,2 \
                    --policy linux-5.0 --policy linux-5.1 --seeds 20 --events mm_page_alloc_extfrag --maps 1s --jobs 1 -o d";

fn order9(folder: &Path, more: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_order9"));
    command.args(LINE.split_whitespace().chain(more.split_whitespace())).current_dir(folder);
    command.env("TERM", "dumb").env_remove("CLICOLOR_FORCE").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn kept(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder.join(".order9-partial-d")).into_iter().flatten();
    let mut cells: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cells.retain(|path| path.extension().is_some_and(|ending| ending == "cell"));
    cells.sort();
    cells
}

/// Every file below a directory.
fn content(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![directory.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(directory).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Starts the runs and ends them with `signal` when some are kept.
fn interrupted(folder: &Path, signal: &str) -> Output {
    let child = order9(folder, "").spawn().unwrap();
    let begun = Instant::now();
    while kept(folder).len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(120), "no run ends");
        thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    child.wait_with_output().unwrap()
}

#[track_caller]
fn refused(folder: &Path, more: &str, part: &str) {
    let output = order9(folder, more).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && message.contains(part), "{message}");
}

#[test]
fn going_on_gives_what_one_run_would_have_given() {
    use std::os::unix::process::ExitStatusExt as _;
    let whole = folder_with_machine();
    assert!(order9(whole.path(), "").status().unwrap().success());
    assert!(kept(whole.path()).is_empty(), "nothing stays beside a run that was stored");

    let folder = folder_with_machine();
    let output = interrupted(folder.path(), "INT");
    assert_eq!(output.status.signal(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains(" of 40 runs are kept; the same command with --resume goes on"), "{message}");
    assert!(!folder.path().join("d").exists());

    refused(folder.path(), "", "an interrupted run with ");
    refused(folder.path(), "", "--resume goes on with it, --force starts anew");
    refused(folder.path(), "--resume --param size=96M", "it differs in workload or its parameters");
    refused(folder.path(), "--resume --set vm.swappiness=10 --every 3s", "it differs in settings, what is recorded");

    // A damaged cell runs again.
    let cells = kept(folder.path());
    let mut bytes = fs::read(&cells[0]).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&cells[0], bytes).unwrap();
    let again = interrupted_again(folder.path(), cells.len());
    assert!(again.status.success() || again.status.signal() == Some(15));
    let resumed = order9(folder.path(), "--resume").output().unwrap();
    let done = folder.path().join("d");
    assert!(done.exists(), "{}", String::from_utf8_lossy(&resumed.stderr));
    let (one, other) = (content(&whole.path().join("d")), content(&done));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    let differing: Vec<_> = one.iter().filter(|(path, bytes)| other[*path] != **bytes).map(|(path, _)| path).collect();
    assert!(differing.is_empty(), "{differing:?}");
    assert!(kept(folder.path()).is_empty());
}

/// Goes on, and is interrupted once more when another run has ended.
fn interrupted_again(folder: &Path, before: usize) -> Output {
    let child = order9(folder, "--resume").spawn().unwrap();
    let begun = Instant::now();
    while kept(folder).len() <= before && !folder.join("d").exists() {
        assert!(begun.elapsed() < Duration::from_secs(120), "no run ends");
        thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-s", "TERM", &child.id().to_string()]).status().unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn starting_anew_throws_away_what_was_kept() {
    let folder = folder_with_machine();
    interrupted(folder.path(), "HUP");
    let output = order9(folder.path(), "--force").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(kept(folder.path()).is_empty() && folder.path().join("d").exists());
    refused(folder.path(), "--resume", "holds the run");
}
