//! Text as it is printed on 80 columns without colour, compared with files in `golden/`.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p order9-cli`, then read the difference.

use std::fs;
use std::path::Path;

use crate::support::{bundled, order9, order9_line};

#[track_caller]
pub(crate) fn compare(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, actual).expect("golden files can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "{} differs from what is printed now:\n{actual}", path.display());
}

#[track_caller]
fn inspect(snapshot: &Path) -> String {
    let text = order9(["inspect", "--width", "80", snapshot.to_str().expect("a UTF-8 path")]).success();
    assert_eq!(text.lines().find(|line| line.chars().count() > 80), None, "text fits 80 columns");
    text
}

#[test]
fn a_host_just_after_boot() {
    compare("host-fresh.txt", &inspect(&bundled("host-fresh.o9snap")));
}

#[test]
fn a_fragmented_host() {
    compare("host-fragmented.txt", &inspect(&bundled("host-fragmented.o9snap")));
}

#[test]
fn a_machine_of_two_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("two.o9snap");
    let synth = "snapshot synth --size 8G --nodes 2 --pattern aged --pinned 0.01 --seed 7 -o {}";
    order9_line(synth, &path).success();
    compare("two-nodes.txt", &inspect(&path));
    let one = order9_line("inspect {} --node 1", &path).success();
    assert!(one.contains("Node 1 Normal") && !one.contains("Node 0"), "{one}");
}

#[test]
fn facts_of_a_snapshot() {
    let facts = order9([Path::new("snapshot"), Path::new("info"), &bundled("host-fragmented.o9snap")]).success();
    compare("host-fragmented-info.txt", &facts);
}

#[test]
fn the_built_in_machines() {
    compare("machines-list.txt", &order9(["machines", "list"]).success());
    compare("machines-show-desktop-8g.txt", &order9(["machines", "show", "desktop-8g"]).success());
}
