//! Nothing foreign reaches a terminal, a picture or JSON as it is: names of files, snapshots, run directories.

use std::fs;
use std::path::Path;

use order9_snapshot::format;
use order9_snapshot::{Missing, Snapshot, Source};

use crate::support::{Ran, SHORT, bundled, folder_with_machine, order9, order9_line};

/// ESC with CSI, OSC 8 and OSC 52, BEL, C1 controls, DEL, bidi overrides, an unseen character, line ends.
const ODD: &str = "a\u{1b}[2J\u{1b}]8;;http:x\u{7}\u{1b}]52;c;aGk=\u{7}\u{9b}31m\u{7f}\u{202e}gnp\u{2066}\u{200b}\r\nb";

/// Whether output is made of lines that show themselves.
fn is_clean(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || order9_escape::is_plain(c))
}

#[track_caller]
fn clean(ran: &Ran) {
    assert!(is_clean(&ran.stdout), "{:?}", ran.stdout);
    assert!(is_clean(&ran.stderr), "{:?}", ran.stderr);
}

/// As [`Ran::refusal`], and clean.
#[track_caller]
fn refused(args: &[&str], part: &str) {
    let ran = order9(args);
    assert!(ran.refusal().contains(part), "{}", ran.stderr);
    clean(&ran);
}

#[test]
fn names_of_files_are_escaped_by_every_command() {
    let folder = folder_with_machine();
    let odd = folder.path().join(ODD);
    let name = odd.to_str().unwrap();
    let shown = order9_escape::path(&odd);
    for args in [
        vec!["inspect", name],
        vec!["snapshot", "info", name],
        vec!["inspect", "--root", name],
        vec!["capture", "--root", name, "-o", "/dev/null"],
        vec!["compare", name],
        vec!["plot", name, "nr_free_pages", "-o", "/nowhere/x.svg"],
        vec!["run", "--repeat", name],
        vec!["run", "idle", "-o", "/dev/null/x", "--policy", name],
        vec!["policies", "show", name],
        vec!["policies", "diff", "linux-5.0", name],
        vec!["machines", "show", name],
        vec!["run", "idle", "--machine", name],
        vec!["run", "idle", "--memory", name],
        vec!["run", name],
        vec!["run", "idle", "--set", ODD],
        vec!["run", "idle", "--param", ODD],
        vec!["run", "idle", "--events", ODD],
        vec!["inspect", "--map", name],
        vec![ODD],
    ] {
        refused(&args, "");
    }
    let snapshot = folder.path().join(format!("{ODD}.o9snap"));
    let made = order9(["snapshot", "synth", "--size", "256M", "-o", snapshot.to_str().unwrap()]);
    clean(&made);
    made.success();
    let captured = order9(["capture", "-o", snapshot.to_str().unwrap()]);
    clean(&captured);
    assert!(captured.success().starts_with(&shown), "the name is on the first line");
}

#[test]
fn a_policy_of_an_odd_name_runs_under_its_name_written_out() {
    let folder = folder_with_machine();
    let policy = folder.path().join("a\u{1b}[2J\u{9b}\u{7}\u{202e}\u{200b}\nb.toml");
    fs::write(&policy, "base = \"linux-5.0\"\n").unwrap();
    let words = format!("run {SHORT} --json -o {{}}/d --policy");
    let mut args: Vec<String> =
        words.split(' ').map(|word| word.replace("{}", folder.path().to_str().unwrap())).collect();
    args.push(policy.to_str().unwrap().to_owned());
    let ran = order9(&args);
    clean(&ran);
    ran.success();
    let directory = folder.path().join("d");
    for file in ["report.txt", "report.json", "manifest.toml"] {
        assert!(is_clean(&fs::read_to_string(directory.join(file)).unwrap()), "{file}");
    }
    for line in ["compare {}", "compare {} --json", "plot {}", "plot {} nr_free_pages -o {}.svg"] {
        let ran = order9_line(line, &directory);
        clean(&ran);
        ran.success();
    }
    assert!(is_clean(&fs::read_to_string(folder.path().join("d.svg")).unwrap()));
}

/// A bundled snapshot with one string replaced, and the file that has `ODD` for it, all checksums sound.
fn forged(change: fn(&mut Snapshot, &str)) -> Vec<u8> {
    let mut snapshot = format::read(fs::File::open(bundled("host-fresh.o9snap")).unwrap()).unwrap();
    // A mark without odd characters, which is exchanged below the checksums.
    let mark = "\u{b6}".repeat(ODD.len());
    change(&mut snapshot, &mark);
    let mut file = Vec::new();
    format::write(&snapshot, &mut file).unwrap();
    crate::forge::with_meta(&file, |meta| {
        let odd = serde_json::to_string(ODD).unwrap();
        meta.replace(&mark, odd.trim_matches('"'))
    })
}

#[test]
fn snapshots_with_odd_strings_are_refused_by_every_command() {
    let changes: [fn(&mut Snapshot, &str); 8] = [
        |snapshot, odd| snapshot.machine.kernel_release = odd.to_owned(),
        |snapshot, odd| snapshot.machine.kernel_command_line = odd.to_owned(),
        |snapshot, odd| snapshot.source = Source::Synthetic(odd.to_owned()),
        |snapshot, odd| drop(snapshot.settings.insert(odd.to_owned(), "1".to_owned())),
        |snapshot, odd| drop(snapshot.settings.insert("/proc/sys/vm/swappiness".to_owned(), odd.to_owned())),
        |snapshot, odd| {
            let _ = snapshot.vmstat.insert(odd.to_owned(), 1);
        },
        |snapshot, odd| {
            let _ = snapshot.zones[0].counters.insert(odd.to_owned(), 1);
        },
        |snapshot, odd| snapshot.missing.push(Missing { path: odd.to_owned(), reason: odd.to_owned() }),
    ];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("forged.o9snap");
    let map = folder.path().join("map.svg");
    for change in changes {
        fs::write(&path, forged(change)).unwrap();
        let name = path.to_str().unwrap();
        let why = "holds characters that a terminal would obey or nobody sees";
        refused(&["inspect", name], why);
        refused(&["inspect", name, "--json"], why);
        refused(&["inspect", name, "--map", map.to_str().unwrap()], why);
        refused(&["snapshot", "info", name], why);
        refused(&["snapshot", "info", name, "--json"], why);
        refused(&["run", "idle", "--machine", name], why);
        assert!(!map.exists());
    }
}

#[test]
fn a_directory_of_odd_files_is_captured_without_what_a_terminal_obeys() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("proc/sys/kernel/osrelease", &format!("6.1{ODD}"));
    write("proc/vmstat", &format!("nr_free_pages 600\nodd{} 3\n", ODD.replace(['\r', '\n'], "")));
    write("proc/sys/vm/swappiness", &format!("60{ODD}"));
    let file = folder.path().join("x.o9snap");
    for line in ["capture --root {} -o {}/x.o9snap", "inspect --root {}", "inspect --root {} --json"] {
        clean(&order9_line(line, folder.path()));
    }
    if Path::new(&file).exists() {
        clean(&order9_line("inspect {}", &file));
    }
}

#[test]
fn names_in_a_forged_manifest_are_refused() {
    let folder = folder_with_machine();
    order9_line(&format!("run {SHORT} -o {{}}/d"), folder.path()).success();
    let manifest = folder.path().join("d/manifest.toml");
    let text = fs::read_to_string(&manifest).unwrap();
    let odd = |from: &str, to: &str| text.replace(from, to);
    for forged in [odd("title = \"linux", "title = \"\\u001b[2Jlinux"), odd("name = \"fault", "name = \"\\u009bfault")]
    {
        if forged == text {
            continue;
        }
        fs::write(&manifest, forged).unwrap();
        for line in ["compare {}/d", "plot {}/d", "run --repeat {}/d"] {
            let ran = order9_line(line, folder.path());
            assert!(ran.refusal().contains("expected printable characters"), "{}", ran.stderr);
            clean(&ran);
        }
    }
}
