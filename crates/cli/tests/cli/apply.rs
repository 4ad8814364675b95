//! Settings that are applied and taken back: on copies of a host's files, which need no right, and on the host itself as root.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::MutexGuard;
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::bench::{host, wait_for};
use crate::golden::compare;
use crate::kills::next;
use crate::schemas::hold;
use crate::shells::tool;
use crate::support::{Ran, order9, order9_line};

/// Files of a host, as far as these tests need them.
const FILES: [(&str, &str); 8] = [
    ("proc/sys/kernel/osrelease", "6.12.9-amd64\n"),
    ("proc/sys/kernel/random/boot_id", "44ef5aee-b699-4391-b13d-73ed2cbe90f9\n"),
    ("proc/sys/vm/compaction_proactiveness", "20\n"),
    ("proc/sys/vm/lowmem_reserve_ratio", "256\t256\t32\t0\n"),
    ("proc/sys/vm/swappiness", "60\n"),
    ("sys/kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never\n"),
    ("sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "always inherit madvise [never]\n"),
    ("etc/tuned/active_profile", "throughput-performance\n"),
];

/// A directory with these files.
pub(crate) fn copies() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (path, text) in FILES {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("it can be made");
        fs::write(path, text).expect("it can be written");
    }
    folder
}

/// All files below a folder by path, but for those that order9 keeps for itself; folders have no text.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(folder).expect("it can be read").flatten() {
            let is_folder = entry.path().is_dir();
            let text = if is_folder { String::new() } else { fs::read_to_string(entry.path()).expect("it is text") };
            files.insert(entry.path(), text);
            if is_folder {
                collect(&entry.path(), files);
            }
        }
    }
    let mut files = BTreeMap::new();
    collect(folder, &mut files);
    files.retain(|path, _| !path.starts_with(folder.join("run")) && !path.starts_with(folder.join("var")));
    files
}

fn json(line: &str, path: &Path) -> serde_json::Value {
    serde_json::from_str(&order9_line(line, path).success()).expect("it is JSON")
}

#[test]
fn a_change_is_shown_listed_and_taken_back() {
    let folder = copies();
    let before = files(folder.path());
    let line = "apply --root {} --set vm.compaction_proactiveness=60 --set thp.defrag=defer+madvise \
                --persist sysctl.d --persist tmpfiles.d";
    let applied = order9_line(line, folder.path()).success();
    compare("apply.txt", &applied);
    let read = |path: &str| fs::read_to_string(folder.path().join(path)).expect("it is there");
    assert_eq!(read("proc/sys/vm/compaction_proactiveness"), "60\n");
    assert_eq!(read("sys/kernel/mm/transparent_hugepage/defrag"), "always defer [defer+madvise] madvise never\n");
    assert!(read("etc/sysctl.d/60-order9.conf").ends_with("\nvm.compaction_proactiveness = 60\n"));
    let listed = order9_line("undo --root {} --list", folder.path()).success();
    assert!(
        listed.starts_with("change 1 of 20") && listed.contains("\nsysctl.d: /etc/sysctl.d/60-order9.conf\n"),
        "{listed}"
    );
    let again = order9_line(line, folder.path()).success();
    assert!(again.ends_with("`order9 undo --last 1` takes this back\n"), "{again}");
    compare("undo.txt", &order9_line("undo --root {}", folder.path()).success());
    assert_eq!(files(folder.path()), before);
    let nothing = order9_line("undo --root {}", folder.path()).success();
    assert_eq!(nothing, "nothing was applied: there is nothing to take back\n");
    assert_eq!(order9_line("undo --root {} --list", folder.path()).success(), "nothing was applied\n");
    let same = order9_line("apply --root {} --set vm.swappiness=60", folder.path()).success();
    assert!(same.ends_with("\nnothing was changed\n"), "{same}");
}

#[test]
fn a_dry_run_prints_every_form_and_changes_nothing() {
    let folder = copies();
    fs::write(
        folder.path().join("best.toml"),
        "[settings]\nvm.compaction_proactiveness = 60\nvm.lowmem_reserve_ratio = \"256 128\"\nvm.swappiness = 1\n\
         \"thp/defrag\" = \"defer\"\n\"thp/hugepages-64kB/enabled\" = \"always\"\n",
    )
    .expect("it can be written");
    let before = files(folder.path());
    let kinds = ["sysctl.d", "tmpfiles.d", "systemd", "tuned", "cmdline", "ansible"];
    let kinds = kinds.map(|kind| format!(" --persist {kind}")).concat();
    let line = format!("apply {{}}/best.toml --root {{}} --set vm.swappiness=10 --dry-run{kinds}");
    compare("apply-dry-run.txt", &order9_line(&line, folder.path()).success());
    assert_eq!(files(folder.path()), before);
    assert!(!folder.path().join("var").exists() && !folder.path().join("run").exists());
    let line = "apply {}/best.toml --root {} --dry-run --persist ansible -o {}/tasks.yml";
    let text = order9_line(line, folder.path()).success();
    assert!(!text.contains("become"), "{text}");
    let tasks = fs::read_to_string(folder.path().join("tasks.yml")).expect("it was written");
    assert!(tasks.starts_with("---\n- name: Set vm.compaction_proactiveness\n"), "{tasks}");
}

#[test]
fn systemd_takes_what_is_kept() {
    let folder = copies();
    let path = |path: &str| folder.path().join(path).to_str().expect("a UTF-8 path").to_owned();
    let kinds = "--persist systemd --persist tmpfiles.d --persist sysctl.d";
    order9_line(&format!("apply --root {{}} --set vm.swappiness=10 --set thp.defrag=defer {kinds}"), folder.path())
        .success();
    if let Some(output) = tool("systemd-analyze", &["verify", &path("etc/systemd/system/order9-settings.service")]) {
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!complaints.contains("order9"), "{complaints}");
    }
    let defrag = path("sys/kernel/mm/transparent_hugepage/defrag");
    fs::write(&defrag, "").expect("it can be written");
    let arguments = ["--create", "--root", &path(""), &path("etc/tmpfiles.d/order9.conf")];
    if let Some(output) = tool("systemd-tmpfiles", &arguments) {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(fs::read_to_string(&defrag).expect("it is there").trim(), "defer");
    }
}

#[test]
fn json_keeps_to_its_schemas() {
    let folder = copies();
    let set = "--root {} --set vm.swappiness=10 --set thp.defrag=never --json";
    hold("apply", &json(&format!("apply {set} --persist systemd --persist cmdline --dry-run"), folder.path()));
    let applied = json(&format!("apply {set} --persist tuned"), folder.path());
    hold("apply", &applied);
    assert_eq!((&applied["id"], &applied["settings"][0]["after"]), (&1.into(), &"10".into()));
    hold("undo list", &json("undo --root {} --list --json", folder.path()));
    let undone = json("undo --root {} --json", folder.path());
    hold("undo", &undone);
    assert_eq!(undone[0]["settings"][1]["after"], "60");
}

#[test]
fn bad_input_is_refused_by_name_and_changes_nothing() {
    let folder = copies();
    fs::write(folder.path().join("bad.toml"), "vm.swappiness = 10\n\n[settings]\nthp.defrag = \"madvize\"\n")
        .expect("it can be written");
    let before = files(folder.path());
    for (arguments, sentence) in [
        (
            "--set vm.swapiness=1",
            "--set vm.swapiness=1: no setting is called 'vm.swapiness'; did you mean vm.swappiness?",
        ),
        ("--set vm.swappiness", "--set vm.swappiness: expected NAME=VALUE"),
        ("--set vm.swappiness=201", "--set vm.swappiness=201: vm.swappiness takes 0 to 200, not '201'"),
        ("--set vm.swappiness=", "--set vm.swappiness=: vm.swappiness takes 0 to 200, not ''"),
        (
            "--set vm.swappiness=10;reboot",
            "--set vm.swappiness=10;reboot: vm.swappiness takes 0 to 200, not '10;reboot'",
        ),
        (
            "--set vm.swappiness=1 --set thp.defrag=sometimes",
            "--set thp.defrag=sometimes: thp/defrag takes one of always, defer, defer+madvise, madvise, never, not 'sometimes'",
        ),
        (
            "--set thp/hugepages-64kB/enabled=alway",
            "--set thp/hugepages-64kB/enabled=alway: thp/hugepages-64kB/enabled takes one of always, inherit, madvise, never, not 'alway'; did \
             you mean always?",
        ),
        (
            "--set thp/hugepages-16kB/enabled=always",
            "--set thp/hugepages-16kB/enabled=always: thp/hugepages-16kB/enabled does not exist in \
          this kernel, 6.12.9-amd64: Linux has it from 6.8 on, so this kernel was built without it",
        ),
        (
            "--set vm.defrag_mode=1",
            "--set vm.defrag_mode=1: vm.defrag_mode does not exist in this kernel, 6.12.9-amd64: it came with Linux 6.15",
        ),
        ("--set thp/hpage_pmd_size=1", "--set thp/hpage_pmd_size=1: thp/hpage_pmd_size is read-only"),
        (
            "--set vm.drop_caches=3",
            "--set vm.drop_caches=3: writing vm.drop_caches starts something that nobody could take back: write it by hand, to \
             /proc/sys/vm/drop_caches",
        ),
        ("--set vm.swappiness=1 --set vm.swappiness=2", "--set vm.swappiness=2: vm.swappiness is set twice"),
        ("", "no setting is given: expected a settings file, or --set NAME=VALUE"),
        (
            "{}/bad.toml",
            "{}/bad.toml, line 4: thp/defrag takes one of always, defer, defer+madvise, madvise, never, not 'madvize'; did you mean madvise?",
        ),
        ("{}/none.toml", "{}/none.toml: no such file or directory"),
        (
            "--set thp.defrag=defer --persist sysctl.d",
            "--persist sysctl.d: thp/defrag cannot be kept so; files of /sys are for tmpfiles.d: add --persist tmpfiles.d",
        ),
        ("--set vm.swappiness=1 -o x", "-o is for the text of --persist cmdline or ansible, and neither is given"),
        (
            "--set vm.swappiness=1 --persist sysctld",
            "invalid value 'sysctld' for '--persist <KIND>' [possible values: sysctl.d, tmpfiles.d, systemd, tuned, cmdline, ansible]; a \
             similar value exists: 'sysctl.d'",
        ),
    ] {
        let line = format!("apply --root {{}} {arguments}");
        let ran = order9_line(line.trim_end(), folder.path());
        assert_eq!(ran.refusal(), sentence.replace("{}", folder.path().to_str().expect("a UTF-8 path")));
        assert_eq!(files(folder.path()), before, "{arguments}");
    }
    assert!(
        order9_line("undo --root {} --last 0", folder.path())
            .refusal()
            .starts_with("invalid value '0' for '--last <N>'")
    );
    assert_eq!(order9_line("undo --root {} --list", folder.path()).success(), "nothing was applied\n");
}

#[test]
fn a_second_instance_is_refused() {
    let folder = copies();
    order9_line("apply --root {} --set vm.swappiness=10", folder.path()).success();
    let path = folder.path().join("run/order9/lock");
    let lock = File::open(&path).expect("it was made");
    lock.lock().expect("it can be locked");
    let before = files(folder.path());
    for line in ["apply --root {} --set vm.swappiness=20", "undo --root {}"] {
        let sentence = format!("another order9 changes settings of this host: wait for its end ({})", path.display());
        assert_eq!(order9_line(line, folder.path()).refusal(), sentence);
    }
    assert_eq!(files(folder.path()), before);
}

#[test]
fn what_somebody_changed_since_stays_without_force() {
    let folder = copies();
    let before = files(folder.path());
    order9_line("apply --root {} --set vm.swappiness=10 --persist sysctl.d", folder.path()).success();
    fs::write(folder.path().join("proc/sys/vm/swappiness"), "30\n").expect("it can be written");
    let sentence =
        "nothing was taken back: vm.swappiness is 30, and was left at 10; --force takes it back all the same";
    assert_eq!(order9_line("undo --root {}", folder.path()).refusal(), sentence);
    order9_line("undo --root {} --force", folder.path()).success();
    assert_eq!(files(folder.path()), before);
}

#[test]
fn after_a_restart_only_files_go() {
    let folder = copies();
    order9_line("apply --root {} --set vm.swappiness=10 --persist sysctl.d", folder.path()).success();
    fs::write(folder.path().join("proc/sys/kernel/random/boot_id"), "another\n").expect("it can be written");
    let text = order9_line("undo --root {}", folder.path()).success();
    assert!(text.contains("change 1: the machine was restarted since"), "{text}");
    assert!(text.ends_with("/etc/sysctl.d/60-order9.conf: as before change 1\n"), "{text}");
    assert_eq!(fs::read_to_string(folder.path().join("proc/sys/vm/swappiness")).expect("it is there"), "10\n");
    assert!(!folder.path().join("etc/sysctl.d").exists());
}

#[test]
fn who_may_not_change_settings_is_told_so() {
    for (wrapper, why) in [
        (&["setpriv", "--reuid", "65534", "--clear-groups"][..], "this changes settings of the kernel: it needs root"),
        (&["unshare", "--user", "--map-root-user"], "this is a container: its root is not the host's"),
    ] {
        for command in [&["apply", "--set", "vm.swappiness=60"][..], &["undo"]] {
            let mut wrapped = Command::new(wrapper[0]);
            wrapped.args(&wrapper[1..]).arg(env!("CARGO_BIN_EXE_order9")).args(command);
            let Ok(output) = wrapped.output() else {
                println!("SKIPPED: no {} on this host", wrapper[0]);
                continue;
            };
            let message = String::from_utf8(output.stderr).expect("messages are UTF-8");
            if output.status.code() == Some(2) {
                assert!(message.contains(why), "{message}");
            } else {
                println!("SKIPPED: {}: {message}", wrapper[0]);
            }
        }
    }
}

/// Kills, each at a moment of its own.
const KILLS: u64 = 100;

/// Kills `command` at any moment of its life again and again. `prepare` comes before each and `settle` after it.
fn kill(seed: u64, command: &dyn Fn() -> Command, prepare: &dyn Fn(), settle: &mut dyn FnMut(u64)) {
    prepare();
    let begin = Cell::new(Instant::now());
    // Somebody else's order9 may be at work on the host.
    wait_for("the first run", || {
        begin.set(Instant::now());
        command().status().expect("the command starts").success()
    });
    let whole = begin.get().elapsed().as_micros() as u64;
    settle(0);
    let mut state = seed;
    for kill in 1..=KILLS {
        prepare();
        let mut child = command().spawn().expect("the command starts");
        sleep(Duration::from_micros(next(&mut state) % (whole * 11 / 10)));
        // A run that is through already leaves nothing to be killed.
        let _ = child.kill();
        child.wait().expect("it ends");
        settle(kill);
    }
}

/// Says that a test of kills showed little: on a busy machine all of them may come too early or too late.
fn says_if_none(kills: u64) {
    if kills == 0 {
        writeln!(std::io::stderr(), "SKIPPED in part: no kill fell between begin and end").expect("stderr");
    }
}

fn silent(arguments: &[&str], root: Option<&Path>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_order9"));
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(root) = root {
        command.arg("--root").arg(root);
    }
    command
}

const APPLY: [&str; 17] = [
    "apply",
    "--set",
    "vm.compaction_proactiveness=61",
    "--set",
    "vm.swappiness=37",
    "--set",
    "vm.lowmem_reserve_ratio=255",
    "--set",
    "thp/defrag=defer",
    "--persist",
    "sysctl.d",
    "--persist",
    "tmpfiles.d",
    "--persist",
    "systemd",
    "--persist",
    "tuned",
];

#[test]
fn files_are_as_before_after_a_hundred_kills_at_any_moment() {
    let folder = copies();
    let root = folder.path();
    let before = files(root);
    let (mut changed, mut interrupted) = (0, 0);
    let record = root.join("var/lib/order9/apply/0001.json");
    kill(20_261_127, &|| silent(&APPLY, Some(root)), &|| {}, &mut |kill| {
        changed += u64::from(kill > 0 && files(root) != before);
        let is_under_way = |text: String| text.contains("\"under_way\": true");
        interrupted += u64::from(fs::read_to_string(&record).is_ok_and(is_under_way));
        let ran = order9_line("undo --root {}", root);
        assert_eq!(ran.status, 0, "kill {kill}: {}", ran.stderr);
        assert_eq!(files(root), before, "kill {kill}");
    });
    says_if_none(interrupted);
    println!("{KILLS} kills of apply: {changed} left changes, {interrupted} in the middle; undo put all back");
}

#[test]
fn a_way_back_that_is_killed_goes_on_at_the_next_start() {
    let folder = copies();
    let root = folder.path();
    let before = files(root);
    let (mut partly, mut whole) = (0, BTreeMap::new());
    let apply = || {
        order9_line("apply --root {} --set vm.compaction_proactiveness=50 --persist sysctl.d", root).success();
        assert!(silent(&APPLY, Some(root)).status().expect("the command starts").success());
    };
    apply();
    whole.append(&mut files(root));
    order9_line("undo --root {}", root).success();
    kill(20_261_128, &|| silent(&["undo"], Some(root)), &apply, &mut |kill| {
        let now = files(root);
        partly += u64::from(now != before && now != whole);
        let ran = order9_line("undo --root {}", root);
        assert_eq!(ran.status, 0, "kill {kill}: {}", ran.stderr);
        assert_eq!(files(root), before, "kill {kill}");
    });
    says_if_none(partly);
    println!("{KILLS} kills of undo: {partly} were half way; the next undo put all back");
}

/// The host for one test, which leaves no change even where it fails.
struct OwnHost(#[expect(dead_code, reason = "it is held as long as the test")] MutexGuard<'static, ()>);

impl Drop for OwnHost {
    fn drop(&mut self) {
        patiently("undo --force");
    }
}

/// The host, where its settings may be changed and nobody has applied any; a line that says why not, where not.
fn own_host() -> Option<OwnHost> {
    let guard = host()?;
    let listed = order9(["undo", "--list"]).success();
    if listed != "nothing was applied\n" {
        writeln!(std::io::stderr(), "SKIPPED: a test of order9 apply: somebody has applied settings here")
            .expect("stderr");
        return None;
    }
    Some(OwnHost(guard))
}

/// Runs a command on the host once nobody else's order9 is at work there.
fn patiently(line: &str) -> Ran {
    let mut ran = order9_line(line, Path::new(""));
    for _ in 0..60 {
        if !ran.stderr.contains("another order9 changes settings of this host") {
            break;
        }
        sleep(Duration::from_secs(1));
        ran = order9_line(line, Path::new(""));
    }
    ran
}

const THP: &str = "/sys/kernel/mm/transparent_hugepage/defrag";

/// Settings of the host by path, those of memory that may change here.
fn settings() -> BTreeMap<&'static str, String> {
    let paths = [
        "/proc/sys/vm/compaction_proactiveness",
        "/proc/sys/vm/swappiness",
        "/proc/sys/vm/dirty_bytes",
        "/proc/sys/vm/dirty_ratio",
        "/proc/sys/vm/min_free_kbytes",
        THP,
    ];
    paths.into_iter().filter_map(|path| Some((path, fs::read_to_string(path).ok()?))).collect()
}

#[test]
fn settings_of_the_host_change_and_come_back() {
    let Some(_host) = own_host() else { return };
    let before = settings();
    let applied = patiently("apply --set vm.swappiness=37 --set vm.dirty_bytes=104857600");
    assert_eq!(applied.status, 0, "{}", applied.stderr);
    assert_ne!(settings(), before);
    // A kernel that has been told of bytes refuses none; what was written before is put back.
    let now = settings();
    let Ran { status, stderr, .. } = patiently("apply --set vm.swappiness=38 --set vm.dirty_bytes=0");
    if status == 2 {
        assert!(stderr.starts_with("order9: /proc/sys/vm/dirty_bytes: the kernel refuses '0': "), "{stderr}");
        assert!(stderr.ends_with("; everything is as before\n"), "{stderr}");
        assert_eq!(settings(), now);
    } else {
        patiently("undo --last 1").success();
    }
    patiently("undo").success();
    assert_eq!(settings(), before);
}

/// A setting that makes khugepaged work all the time.
const BUSY: &str = "thp/khugepaged/scan_sleep_millisecs";

#[test]
fn a_change_that_costs_too_much_goes_back_by_itself() {
    for (arguments, part) in [
        ("--watch 5s", "expected a time of 10s or more"),
        ("--watch 10s --limit khugepage=1%", "did you mean khugepaged?"),
        ("--limit psi=1%", "--watch <TIME>"),
        ("--watch 10s --dry-run", "--dry-run"),
    ] {
        let ran = order9_line(&format!("apply --set vm.swappiness=60 {arguments}"), Path::new(""));
        assert!(ran.refusal().contains(part), "{}", ran.stderr);
    }
    let Some(_host) = own_host() else { return };
    let Ok(before) = fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{}", &BUSY[4..])) else {
        writeln!(std::io::stderr(), "SKIPPED: a test of order9 apply: this kernel has no huge pages").expect("stderr");
        return;
    };
    let apply = format!("apply --set {BUSY}=11 --json --watch 10s --limit khugepaged=");
    let kept = patiently(&format!("{apply}10000%")).success();
    let kept: serde_json::Value = serde_json::from_str(&kept).expect("it is JSON");
    hold("apply", &kept);
    let share = kept["watched"]["shares"][0]["share"].as_f64().expect("it was measured");
    assert!(kept["watched"]["broken"].is_null() && share < 100.0, "{kept:#}");
    patiently("undo").success();
    if share == 0.0 {
        writeln!(std::io::stderr(), "SKIPPED: a test of order9 apply: khugepaged does not work here").expect("stderr");
        return;
    }
    let broken = patiently(&format!("{apply}0%"));
    if broken.status == 0 {
        let kept: serde_json::Value = serde_json::from_str(&broken.success()).expect("it is JSON");
        assert_eq!(kept["watched"]["shares"][0]["share"].as_f64(), Some(0.0), "{kept:#}");
        patiently("undo").success();
        writeln!(std::io::stderr(), "SKIPPED: a test of order9 apply: khugepaged slept meanwhile").expect("stderr");
        return;
    }
    assert_eq!(broken.status, 1, "{}", broken.stderr);
    assert!(
        broken.stderr.starts_with("order9: khugepaged ") && broken.stderr.ends_with(": the change was taken back\n"),
        "{}",
        broken.stderr
    );
    let after = fs::read_to_string(format!("/sys/kernel/mm/transparent_hugepage/{}", &BUSY[4..])).expect("it is there");
    assert_eq!((order9(["undo", "--list"]).success().as_str(), after), ("nothing was applied\n", before));
}

#[test]
fn settings_of_the_host_are_as_before_after_a_hundred_kills_at_any_moment() {
    let Some(_host) = own_host() else { return };
    let before = settings();
    let mut changed = 0;
    let mut arguments = vec!["apply", "--set", "vm.swappiness=37", "--set", "vm.dirty_bytes=104857600"];
    if before.contains_key(THP) {
        arguments.extend(["--set", "thp.defrag=defer"]);
    }
    kill(20_261_129, &|| silent(&arguments, None), &|| {}, &mut |kill| {
        changed += u64::from(kill > 0 && settings() != before);
        let ran = patiently("undo");
        assert_eq!(ran.status, 0, "kill {kill}: {}", ran.stderr);
        assert_eq!(settings(), before, "kill {kill}");
    });
    says_if_none(changed);
    println!("{KILLS} kills of apply: {changed} left settings that were not as before; undo put all back");
}
