//! Recordings of this host, and what they leave: a directory, whole, and nothing else.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::MutexGuard;
use std::thread::sleep;
use std::time::{Duration, Instant};

use order9_record::{Loaded, Run, read};

use crate::schemas::hold;
use crate::support::{Ran, host_alone, order9, order9_line};

/// Settings that a bench would change for some workload.
const SETTINGS: [&str; 3] = [
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/kernel/tracepoint_printk",
];

/// The host, for one test at a time; `None`, with a line that says why, where it cannot be recorded.
fn host() -> Option<MutexGuard<'static, ()>> {
    let guard = host_alone();
    let folder = tempfile::tempdir().expect("a directory");
    let ran = order9_line("record -o {}/rec -- /no/such/program", folder.path());
    let needs = ["it needs root", "this is a container"];
    let skipped = ran.status == 2 && needs.iter().any(|why| ran.stderr.contains(why));
    if skipped {
        write!(std::io::stderr(), "SKIPPED: a test of order9 record: {}", ran.stderr).expect("stderr");
    }
    (!skipped).then_some(guard)
}

fn settings() -> Vec<Option<String>> {
    SETTINGS.iter().map(|path| fs::read_to_string(path).ok()).collect()
}

/// The only run of a recording, whose directory is read as any other.
fn recorded(directory: &Path) -> (Run, Loaded) {
    let loaded = read(directory).expect("the recording is whole");
    let [run] = loaded.runs.as_slice() else { panic!("one run") };
    (run.clone(), loaded)
}

fn growth(run: &Run, name: &str) -> i128 {
    run.growth(name).unwrap_or_else(|| panic!("{name} is counted"))
}

/// The command as a process that goes on.
fn start(line: &str, folder: &Path) -> Child {
    let words = line.split(' ').map(|word| word.replace("{}", folder.to_str().expect("a UTF-8 path")));
    let mut command = Command::new(env!("CARGO_BIN_EXE_order9"));
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
}

/// Waits until a process handles SIGINT: a recording that is interrupted from then on is whole.
#[track_caller]
fn wait_for_handler(child: &Child) {
    let handles = || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
    };
    let until = Instant::now() + Duration::from_secs(30);
    while !handles() {
        assert!(Instant::now() < until, "no handler of SIGINT");
        sleep(Duration::from_millis(5));
    }
}

/// Ends of a process that was sent a signal: status, standard output, standard error.
fn signalled(child: Child, signal: &str) -> (Option<i32>, String, String) {
    Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill is there");
    let output = child.wait_with_output().expect("the command ends");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_command_is_recorded_and_keeps_its_output_and_its_status() {
    let Some(_host) = host() else { return };
    let (folder, before) = (tempfile::tempdir().expect("a directory"), settings());
    let directory = folder.path().join("rec");
    let script =
        "echo to-stdout; echo to-stderr >&2; head -c 50000000 /dev/zero | tail -c 1 >/dev/null; sleep 0.3; exit 7";
    let output = directory.to_str().expect("UTF-8");
    let Ran { status, stdout, stderr } = order9(["record", "-o", output, "--every", "50ms", "--", "sh", "-c", script]);
    assert_eq!((status, stdout.as_str()), (0, "to-stdout\n"), "{stderr}");
    assert!(stderr.starts_with("to-stderr\n") && stderr.contains("the command ended with exit status 7"), "{stderr}");
    assert!(stderr.contains("replays it"), "{stderr}");
    assert_eq!(settings(), before);
    let (run, loaded) = recorded(&directory);
    assert!(growth(&run, "pgfault") > 100 && growth(&run, "pgfree") > 0 && run.counters.times.len() > 4);
    assert!(
        run.counters.position("order9_pressure_some_ns").is_some()
            || run.notes.iter().any(|note| note.contains("pressure"))
    );
    let files: Vec<_> = loaded.manifest.files.iter().map(|file| file.path.as_str()).collect();
    for end in ["-start.o9snap", "-end.o9snap", "proc-buddyinfo-trace.gz", "proc-zoneinfo-trace.gz", "report.txt"] {
        assert!(files.iter().any(|file| file.ends_with(end)), "no {end} in {files:?}");
    }
    order9_line("compare {}/rec --json", folder.path()).success();
    order9_line("plot {}/rec", folder.path()).success();
    let start = files.iter().find(|file| file.ends_with("-start.o9snap")).expect("it is there");
    order9_line(&format!("inspect {{}}/rec/{start} --json"), folder.path()).success();
    let ran = order9_line("run --repeat {}/rec", folder.path());
    assert!(ran.refusal().ends_with("it took place on a live kernel, which the lab cannot repeat"), "{}", ran.stderr);
    // Memory of the host takes a while to become the lab's: another test starts from a small guest's.
    let line = "run trace {}/rec --memory empty --machine desktop-8g --seeds 1 -o {}/play";
    order9_line(line, folder.path()).success();
    order9_line("compare {}/rec {}/play", folder.path()).success();
}

#[test]
fn the_host_as_it_is_is_recorded_until_its_time_or_a_signal() {
    let Some(_host) = host() else { return };
    let folder = tempfile::tempdir().expect("a directory");
    let Ran { status, stdout, stderr } = order9_line("record -o {}/short --for 200ms --every 50ms", folder.path());
    assert_eq!((status, stdout.as_str()), (0, ""), "{stderr}");
    let Ran { status, stdout, stderr } = order9_line("record -o {}/json --json -- echo of-the-command", folder.path());
    assert!(status == 0 && stderr.contains("of-the-command"), "{stderr}");
    hold("record", &serde_json::from_str(&stdout).expect("JSON"));
    let (run, _) = recorded(&folder.path().join("short"));
    assert!((200..2000).contains(&(run.durations.elapsed.get() / 1_000_000)), "{:?}", run.durations);
    for (signal, name) in [("-INT", "interrupted"), ("-TERM", "terminated")] {
        let child = start(&format!("record -o {{}}/{name}"), folder.path());
        wait_for_handler(&child);
        let (status, stdout, stderr) = signalled(child, signal);
        assert_eq!((status, stdout.as_str()), (Some(0), ""), "{stderr}");
        assert!(stderr.contains("the recording ended by a signal"), "{stderr}");
        let (run, _) = recorded(&folder.path().join(name));
        assert!(run.counters.times.len() >= 2);
    }
}

#[test]
fn a_command_whose_recording_ends_is_ended() {
    let Some(_host) = host() else { return };
    let folder = tempfile::tempdir().expect("a directory");
    let ran = order9_line("record -o {}/rec --for 100ms -- sleep 300", folder.path());
    assert!(ran.status == 0 && ran.stderr.contains("signal 15 ended the command"), "{}", ran.stderr);
    let child = start("record -o {}/interrupted -- sleep 300", folder.path());
    wait_for_handler(&child);
    let (status, _, stderr) = signalled(child, "-INT");
    assert!(status == Some(0) && stderr.contains("by a signal; signal 15 ended the command"), "{stderr}");
}

#[test]
fn requests_are_counted_by_type_and_order_and_events_of_others_are_kept() {
    let Some(_host) = host() else { return };
    let folder = tempfile::tempdir().expect("a directory");
    let line = "record -o {}/rec --every 100ms --events --events=mm_page_free -- sh -c :";
    let ran = order9_line(line, folder.path());
    if ran.stderr.contains("tracing") && ran.status == 2 {
        write!(std::io::stderr(), "SKIPPED: a test of events: {}", ran.stderr).expect("stderr");
        return;
    }
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let directory = folder.path().join("rec");
    let (run, loaded) = recorded(&directory);
    assert!(growth(&run, "order9_alloc_movable_order_0") > 0 && growth(&run, "order9_alloc_unmovable_order_0") > 0);
    let cell = format!("{}/iter-1/trace.txt", run.policy);
    let text = fs::read_to_string(directory.join(cell)).expect("events are kept");
    assert!(text.contains("mm_page_free: pfn=") && !text.contains("mm_page_alloc:"), "requests are counted, not kept");
    let recording = loaded.manifest.inputs.workload.parameters["recording"].as_str().expect("a text").to_owned();
    assert!(recording.contains(" m0=") && recording.contains(" u0="), "{recording}");
    // Two recordings of events would take each other's.
    let child = start("record -o {}/first --events", folder.path());
    wait_for_handler(&child);
    let until = Instant::now() + Duration::from_secs(30);
    let busy = loop {
        let ran = order9_line("record -o {}/second --events --for 1ms --force", folder.path());
        if ran.status == 2 || Instant::now() > until {
            break ran;
        }
    };
    assert!(busy.refusal().starts_with("another order9 records events of this host"), "{}", busy.stderr);
    assert_eq!(signalled(child, "-INT").0, Some(0));
    assert!(folder.path().join("first/manifest.toml").is_file());
}

#[test]
fn what_cannot_be_recorded_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().expect("a directory");
    let refused = |line: &str, says: &str| {
        let ran = order9_line(line, folder.path());
        assert!(ran.refusal().contains(says), "{line}: {}", ran.stderr);
        assert_eq!(fs::read_dir(folder.path()).expect("a directory").count(), 0, "{line}");
    };
    refused("record -o {}/rec --for soon", "--for soon: expected a length of time such as \"30s\"");
    refused("record -o {}/rec --every 0s", "--every 0s: expected a length of time");
    refused("record --for 1s", "--output");
    if host().is_some() {
        refused("record -o {}/rec -- /no/such/program", "/no/such/program: No such file");
        let ran = order9_line("record -o {}/rec --events=no_such_event --for 1s", folder.path());
        assert!(
            ran.stderr.contains("no tracepoint of this kernel is called 'no_such_event'")
                || ran.stderr.contains("tracing"),
            "{}",
            ran.stderr
        );
        fs::write(folder.path().join("file"), "").expect("it can be written");
        let ran = order9_line("record -o {}/file --for 1s", folder.path());
        assert!(ran.refusal().contains("is no directory"), "{}", ran.stderr);
    }
}

#[test]
fn containers_and_users_without_rights_are_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    let output = folder.path().join("rec");
    let binary = env!("CARGO_BIN_EXE_order9");
    let ways: [(&[&str], &str); 2] = [
        (&["unshare", "--user", "--map-root-user"], "this is a container"),
        (&["setpriv", "--reuid", "65534", "--clear-groups"], "it needs root"),
    ];
    for (way, says) in ways {
        let directory = if says == "it needs root" { Path::new("/tmp/order9-never-written") } else { &output };
        let run = Command::new(way[0])
            .args(&way[1..])
            .arg(binary)
            .args(["record", "--for", "1s", "-o"])
            .arg(directory)
            .output();
        let message = run.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
        match message {
            Ok(message) if message.starts_with("order9: ") => {
                assert!(message.contains(says) && !directory.exists(), "{message}");
            }
            // Neither the program nor the right to use it is everywhere.
            other => writeln!(std::io::stderr(), "SKIPPED: {way:?}: {other:?}").expect("stderr"),
        }
    }
}
