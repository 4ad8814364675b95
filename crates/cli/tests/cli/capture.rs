//! Captures: of this host with whatever rights the test has, and of copied files.

use std::fs;
use std::path::Path;

use crate::support::{order9, order9_line};

/// Copies of the files that need no privilege.
fn bundle(folder: &Path) {
    let zoneinfo = "Node 0, zone   Normal\n  pages free     600\n        min      10\n        low      12\n        high     14\n        \
                    spanned  1024\n        present  1024\n        managed  1024\n  start_pfn:           0\n";
    let files = [
        ("zoneinfo", zoneinfo),
        (
            "buddyinfo",
            "Node 0, zone   Normal     88      0      0      0      0      0      0      0      0      1      0\n",
        ),
        ("vmstat", "nr_free_pages 600\ncompact_stall 4\ncompact_success 3\ncompact_fail 1\n"),
    ];
    fs::create_dir_all(folder.join("proc")).unwrap();
    for (name, text) in files {
        fs::write(folder.join("proc").join(name), text).unwrap();
    }
}

#[test]
fn this_host_can_be_captured_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.o9snap");
    let text = order9_line("capture -o {}", &path).success();
    assert!(text.starts_with(path.to_str().unwrap()), "{text}");
    order9_line("snapshot info {}", &path).success();
    order9_line("inspect {}", &path).success();
}

#[test]
fn without_the_map_the_rest_is_shown_and_the_lack_said_first() {
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path());
    let text = order9_line("inspect --root {}", folder.path()).success();
    assert!(text.starts_with("No map: the memory map could not be read"), "{text}");
    assert!(text.contains("85 % of free memory"), "{text}");
    assert!(text.contains("compact_stall"), "{text}");
}

#[test]
fn a_capture_without_the_map_keeps_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path());
    let path = folder.path().join("rest.o9snap");
    let words = ["capture", "-o", path.to_str().unwrap(), "--root", folder.path().to_str().unwrap()];
    assert!(order9(words).success().contains("not read: /proc/kpageflags"));
    assert!(order9_line("inspect {}", &path).success().starts_with("No map: the memory map could not be read"));
}

#[test]
fn a_linked_output_keeps_its_link() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (target, link) = (directory.path().join("target.o9snap"), directory.path().join("link.o9snap"));
    std::fs::write(&target, "old").expect("the target can be written");
    std::os::unix::fs::symlink(&target, &link).expect("a link can be made");
    let mut order9 = std::process::Command::new(env!("CARGO_BIN_EXE_order9"));
    let done = order9.args(["snapshot", "synth", "--size", "1G", "-o"]).arg(&link).output().expect("order9 runs");
    assert!(done.status.success(), "{done:?}");
    assert!(link.is_symlink());
    assert!(std::fs::metadata(&target).expect("the target is there").len() > 100);
}
