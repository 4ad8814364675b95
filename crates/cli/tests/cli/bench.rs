//! Runs on the kernel of this host, and what they leave: nothing.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::MutexGuard;
use std::thread::sleep;
use std::time::{Duration, Instant};

use order9_live::settings_of_memory;

use crate::schemas::hold;
use crate::support::{Ran, host_alone, order9, order9_line};

/// A setting that every kernel from 5.9 on has and that hurts nobody.
const SETTING: &str = "/proc/sys/vm/compaction_proactiveness";
pub(crate) const UNDO: &str = "/run/order9/undo";

/// One test at a time: a host has one journal. `None` where this host is not one to run on.
pub(crate) fn host() -> Option<MutexGuard<'static, ()>> {
    let guard = host_alone();
    let ran = order9(["bench", "idle", "--param", "time=1ms"]);
    let needs = ["it needs root", "this is a container", "a control group leaves", "are to be left"];
    if ran.status == 2 && needs.iter().any(|why| ran.stderr.contains(why)) {
        let line = format!("SKIPPED: a test of order9 bench: {}", ran.stderr);
        write!(std::io::stderr(), "{line}").expect("stderr");
        return None;
    }
    ran.success();
    Some(guard)
}

fn setting() -> String {
    fs::read_to_string(SETTING).expect("a kernel from 5.9 on").trim().to_owned()
}

/// A value that the setting does not have.
fn other() -> &'static str {
    if setting() == "37" { "38" } else { "37" }
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn wait_for(what: &str, holds: impl Fn() -> bool) {
    let until = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < until, "{what} did not come");
        sleep(Duration::from_millis(5));
    }
}

/// A run that goes on for longer than a test.
fn start(value: &str) -> Child {
    let set = format!("vm.compaction_proactiveness={value}");
    let args = ["bench", "idle", "--param", "time=300s", "--set", &set];
    let child =
        Command::new(env!("CARGO_BIN_EXE_order9")).args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the command starts");
    wait_for("the setting", || setting() == value);
    child
}

/// Programs that a supervisor has started.
pub(crate) fn programs() -> usize {
    let is_program = |path: &Path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0).nth(1) == Some(b"program")
    };
    fs::read_dir("/proc").expect("this is Linux").flatten().filter(|entry| is_program(&entry.path())).count()
}

#[test]
fn a_dry_run_says_what_would_change_and_changes_nothing() {
    let line = "bench hugealloc --param size=64M --param driver=advised --reserve 1M --dry-run";
    let text = order9_line(line, Path::new("")).success();
    assert!(text.starts_with("hugealloc on Linux "), "{text}");
    assert!(
        text.contains("/sys/kernel/mm/transparent_hugepage/enabled") && text.contains("-> madvise, and back"),
        "{text}"
    );
    assert!(text.ends_with("nothing was changed\n"), "{text}");
}

#[test]
fn what_only_the_lab_can_do_is_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    let scenario = folder.path().join("scenario.toml");
    fs::write(&scenario, "workload = \"idle\"\npolicies = [\"linux-5.0\"]\n").expect("it can be written");
    let ran = order9_line("bench {}/scenario.toml", folder.path());
    assert!(ran.refusal().ends_with("only the lab takes a policy: a real kernel does what it does"), "{}", ran.stderr);
    let ran = order9_line("bench hugealloc --param drver=advised", folder.path());
    assert!(ran.refusal().contains("did you mean driver?"), "{}", ran.stderr);
}

#[test]
fn a_run_has_the_form_of_the_lab_s_and_leaves_nothing() {
    let Some(_host) = host() else { return };
    let folder = tempfile::tempdir().expect("a directory");
    let before = setting();
    let line = "bench frag-mix --param driver=advised --param rate=0 --param duration=1s --seeds 2 -o {}/live";
    let text = order9_line(line, folder.path()).success();
    assert!(text.contains("frag-mix Latencies") && text.contains("THP fault alloc"), "{text}");
    assert_eq!((setting(), Path::new(UNDO).exists(), programs()), (before, false, 0));
    let json = order9_line("compare {}/live --json", folder.path()).success();
    assert!(json.contains("Huge pages got"), "{json}");
    let map = fs::read_dir(folder.path().join("live")).expect("a directory").flatten().map(|entry| entry.path());
    let map = map.into_iter().find(|path| path.extension().is_some_and(|end| end == "o9snap")).expect("a snapshot");
    let map = map.to_str().expect("a UTF-8 path");
    order9(["inspect", map, "--json"]).success();
    order9(["plot", &format!("{}/live", folder.path().display())]).success();
    let ran = order9_line("run --repeat {}/live", folder.path());
    assert!(ran.refusal().ends_with("it took place on a live kernel, which the lab cannot repeat"), "{}", ran.stderr);
}

/// A process of a real kernel has memory of its own: what it finds has to be brought back.
#[test]
fn processes_bring_back_what_they_found() {
    let Some(_host) = host() else { return };
    let text = order9_line("bench thpscale --param size=64M --param threads=2", Path::new("")).success();
    // The first figure of a row; 0 where nothing was measured.
    let value = |row: &str| -> f64 {
        let line = text.lines().find_map(|line| line.strip_prefix(row));
        line.and_then(|line| line.split_whitespace().next()).map_or(0.0, |figure| figure.parse().expect("a number"))
    };
    // Units that became huge have latencies; both kinds together have those of all.
    assert_eq!(value("Percentage huge-2") > 0.0, value("Min       fault-huge-2") > 0.0, "{text}");
    assert!(value("Min       fault-both-2") > 0.0 && value("Mean access-2") > 0.0, "{text}");
    let text = order9_line("bench fsmark --param files=500 --param processes=2 --param iterations=1", Path::new(""));
    let text = text.success();
    let rate = text.lines().find(|line| line.starts_with("Hmean")).expect("a rate");
    assert!(rate.split_whitespace().nth(2).and_then(|rate| rate.parse().ok()) > Some(0.0), "{text}");
}

#[test]
fn a_program_that_is_refused_says_why_and_others_get_their_memory() {
    let Some(_host) = host() else { return };
    let ran = order9_line("bench hugealloc-unmovable --reserve 64M", Path::new(""));
    assert_eq!(ran.status, 2);
    assert!(ran.stderr.contains("memory of the kernel that is no single page"), "{}", ran.stderr);
    // The fork of a process with its memory, threads and their ends.
    let text = order9_line("bench thpscale --param size=16M --threads 2 --json", Path::new("")).success();
    assert!(text.contains("thpscale Fault Latencies"), "the table is there");
    hold("bench", &serde_json::from_str(&text).expect("JSON"));
}

#[test]
fn a_calibration_keeps_to_its_schema() {
    let Some(_host) = host() else { return };
    let text = order9_line("calibrate --rounds 1 --json", Path::new("")).success();
    hold("calibrate", &serde_json::from_str(&text).expect("JSON"));
}

#[test]
fn an_interrupted_run_puts_its_settings_back() {
    let Some(_host) = host() else { return };
    let (before, value) = (setting(), other());
    let child = start(value);
    let busy = order9_line("bench idle --param time=1ms", Path::new(""));
    assert!(busy.refusal().starts_with("another order9 changes settings of this host"), "{}", busy.stderr);
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    let output = child.wait_with_output().expect("the command ends");
    let message = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!((output.status.code(), setting(), Path::new(UNDO).exists()), (Some(2), before, false), "{message}");
    assert!(message.contains("interrupted"), "{message}");
}

#[test]
fn settings_that_the_kernel_changes_along_come_back() {
    let Some(_host) = host() else { return };
    let before = settings_of_memory();
    let set = "--set vm.dirty_bytes=67108864 --set vm.overcommit_ratio=60 --set thp/enabled=never";
    let ran = order9_line(&format!("bench idle --param time=1ms {set}"), Path::new(""));
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(settings_of_memory(), before);
    assert!(!Path::new(UNDO).exists());
}

#[test]
fn a_killed_run_s_settings_come_back_at_the_next_start() {
    let Some(_host) = host() else { return };
    let (before, value) = (setting(), other());
    let mut child = start(value);
    wait_for("the program", || programs() == 1);
    child.kill().expect("it can be killed");
    child.wait().expect("it ends");
    wait_for("the end of the program", || programs() == 0);
    assert_eq!(setting(), value);
    let Ran { status, stderr, .. } = order9_line("bench idle --param time=1ms", Path::new(""));
    assert_eq!((status, setting()), (0, before.clone()));
    assert_eq!(stderr, format!("order9: {SETTING} = {before} again: left by an order9 that was killed\n"));
}

/// A directory on a disk keeps what nobody removes, and files of workloads are as large as memory.
#[test]
fn files_of_a_killed_program_go_with_it_or_at_the_next_start() {
    let Some(_host) = host() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let files = || fs::read_dir(folder.path()).expect("a folder").flatten().map(|entry| entry.path()).next();
    let start = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_order9"));
        command.args(["bench", "idle", "--param", "time=300s", "--files"]).arg(folder.path());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the command starts");
        wait_for("a directory for files", || files().is_some());
        fs::write(files().expect("it is there").join("0"), "content").expect("a file");
        child
    };
    let kill = |child: &Child, signal: &str| {
        Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill is there");
    };

    let mut interrupted = start();
    kill(&interrupted, "-INT");
    interrupted.wait().expect("the command ends");
    assert_eq!(files(), None, "the supervisor has ended the program");

    let mut killed = start();
    kill(&killed, "-KILL");
    killed.wait().expect("the command ends");
    wait_for("the end of the program", || programs() == 0);
    assert!(files().is_some(), "nobody was left to remove them");
    order9_line("bench idle --param time=1ms --files {}", folder.path()).success();
    assert_eq!(files(), None);
}

#[test]
fn experiments_that_this_host_cannot_have_are_skipped_and_told() {
    let Some(_host) = host() else { return };
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/referee-disk.toml");
    let ran = order9(["validate", scenario, "--case", "stutter"]);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("SKIPPED: stutter under live-"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--files has to name a directory on a disk"), "{}", ran.stderr);
    assert!(ran.stderr.ends_with("nothing was judged: every experiment was skipped\n"), "{}", ran.stderr);
}
