//! Every refusal is one sentence with status 2, and leaves no file behind.

use std::fs;
use std::path::Path;

use crate::support::{bundled, order9, order9_line};

/// Runs `line`, which must be refused with a sentence that holds all of `parts` and without leaving a file in the folder
/// that `{}` stands for.
#[track_caller]
fn refused(line: &str, parts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let ran = order9_line(line, folder.path());
    let message = ran.refusal();
    for part in parts {
        assert!(message.contains(part), "expected {part:?} in: {message}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left behind by: {line}");
}

#[test]
fn files_that_are_no_snapshots() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    fs::write(&text, "Node 0, zone Normal\n").unwrap();
    for command in ["inspect {}", "snapshot info {}"] {
        let ran = order9_line(command, &text);
        assert_eq!(ran.refusal(), format!("{}: not an order9 snapshot: it looks like text", text.display()));
        assert!(order9_line(command, folder.path()).refusal().contains("is a directory"));
        assert!(order9_line(command, Path::new("/nonexistent")).refusal().ends_with("no such file or directory"));
        assert!(order9_line(command, Path::new("/dev/null")).refusal().contains("the file is empty"));
    }
}

#[test]
fn damaged_snapshots() {
    let whole = fs::read(bundled("host-fresh.o9snap")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.o9snap");
    for length in [8, 20, 100, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let ran = order9_line("inspect {}", &path);
        assert!(ran.refusal().contains("cut off"), "{length} bytes: {}", ran.stderr);
    }
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    fs::write(&path, flipped).unwrap();
    assert!(order9_line("inspect {}", &path).refusal().contains("damaged: checksum"));
}

#[test]
fn places_that_cannot_be_written() {
    refused("snapshot synth --size 256M -o {}", &["is a directory, expected a file to write"]);
    refused(
        "snapshot synth --size 256M -o {}/no/such/folder.o9snap",
        &["cannot be written: no such file or directory"],
    );
    refused("capture -o {}/no/such/folder.o9snap", &["cannot be written: no such file or directory"]);
    refused("capture -o /proc/order9.o9snap", &["/proc/order9.o9snap: cannot be written"]);
}

#[test]
fn roots_that_hold_no_files() {
    refused("capture -o {}/x.o9snap --root /nonexistent", &["/nonexistent: no such directory"]);
    refused("capture -o {}/x.o9snap --root /dev/null", &["expected a directory that holds proc/ and sys/"]);
    refused("inspect --root {}", &["expected copies of a host's files"]);
}

#[test]
fn names_of_pictures() {
    let snapshot = bundled("host-fresh.o9snap");
    for name in ["map.jpg", "map"] {
        let ran = order9(["inspect".as_ref(), snapshot.as_os_str(), "--map".as_ref(), name.as_ref()]);
        assert_eq!(ran.refusal(), format!("{name}: expected a name that ends in .png or .svg, or - for SVG"));
        assert!(!Path::new(name).exists());
    }
}

#[test]
fn impossible_machines() {
    let synth = |arguments: &str| format!("snapshot synth -o {{}}/x.o9snap {arguments}");
    refused(&synth("--pattern agd"), &["'agd'", "similar value exists: 'aged'"]);
    refused(&synth("--size 1Q"), &["--size", "expected a whole number with K, M, G or T"]);
    refused(&synth("--size 1M"), &["expected 256M to 16T in steps of 128M"]);
    refused(&synth("--size 300M"), &["a machine of 300M", "in steps of 128M"]);
    refused(&synth("--size 32T"), &["expected 256M to 16T"]);
    refused(&synth("--nodes 0"), &["0 nodes"]);
    refused(&synth("--size 8G --nodes 3"), &["at most 2 fit"]);
    refused(&synth("--fill 1.2"), &["fill is 1.2", "from 0 to 1"]);
    refused(&synth("--fill=-0.1"), &["fill is -0.1", "from 0 to 1"]);
    refused(&synth("--fill NaN"), &["from 0 to 1"]);
    refused(&synth("--fill much"), &["'much'", "--fill"]);
    refused(&synth("--fill 0.2 --huge 0.3"), &["more than fill"]);
    refused(&synth("--unmovable 0 --contamination 1"), &["contamination 1"]);
}

#[test]
fn arguments_that_do_not_go_together() {
    let snapshot = bundled("host-fresh.o9snap");
    let refusal = |line: &str| order9_line(line, &snapshot).refusal().to_owned();
    assert!(refusal("inspect {} --node 7").contains("--node 7: no such node, expected 0"));
    assert!(refusal("inspect {} --width 10").contains("40..=240"));
    assert!(refusal("inspect {} --watch=1").contains("cannot be used with"));
    assert!(refusal("inspect {} --root /").contains("cannot be used with"));
    assert!(refusal("inspect --watch=0").contains("0.1 to 3600"));
    assert!(refusal("inspect --watch").contains("needs a terminal"));
    assert!(refusal("inspekt").contains("similar subcommand exists: 'inspect'"));
    assert!(refusal("capture").contains("--output <FILE>"));
}
