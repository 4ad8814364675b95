//! Pictures and JSON.

use std::fs;

use crate::support::{bundled, order9, order9_line};

#[test]
fn pictures_are_whole_files() {
    let folder = tempfile::tempdir().unwrap();
    let snapshot = bundled("host-fragmented.o9snap");
    for (name, start, end) in [("map.png", &b"\x89PNG"[..], &b"IEND\xaeB`\x82"[..]), ("map.svg", b"<svg ", b"</svg>\n")]
    {
        let path = folder.path().join(name);
        let words = ["inspect", snapshot.to_str().unwrap(), "--map", path.to_str().unwrap()];
        order9(words).success();
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.starts_with(start) && bytes.ends_with(end), "{name}");
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "no temporary file stays");
}

#[test]
fn json_carries_its_schema_and_the_whole_inspection() {
    let text = order9_line("inspect {} --json", &bundled("host-fragmented.o9snap")).success();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema"], 1);
    assert_eq!(json["machine"]["cpus"], 2);
    let zones = json["nodes"][0]["zones"].as_array().unwrap();
    for zone in zones {
        let census: u64 = zone["findings"]["census"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
        assert_eq!(census, zone["present"].as_u64().unwrap(), "frames of {}", zone["name"]);
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_order9"))
        .args(["inspect".as_ref(), bundled("host-fresh.o9snap").as_os_str()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[test]
fn colour_comes_only_when_asked_for() {
    let snapshot = bundled("host-fresh.o9snap");
    assert!(!order9_line("inspect {}", &snapshot).success().contains('\u{1b}'));
    assert!(order9_line("inspect {} --color always", &snapshot).success().contains("\u{1b}[38;5;"));
}
