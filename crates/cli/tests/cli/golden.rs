//! Text as it is printed on 80 columns without colour, compared with files in `golden/`.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p order9-cli`, then read the difference.

use std::fs;
use std::path::Path;

use crate::support::{bundled, order9};

#[track_caller]
fn compare(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, actual).expect("golden files can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "{} differs from what is printed now:\n{actual}", path.display());
}

#[track_caller]
fn inspect(snapshot: &Path) -> String {
    order9(["inspect", "--width", "80", snapshot.to_str().expect("a UTF-8 path")]).success()
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
fn text_fits_eighty_columns() {
    for name in ["host-fresh.o9snap", "host-fragmented.o9snap"] {
        let text = inspect(&bundled(name));
        let long = text.lines().find(|line| line.chars().count() > 80);
        assert_eq!(long, None, "{name}");
    }
}

#[test]
fn facts_of_a_snapshot() {
    let facts = order9([Path::new("snapshot"), Path::new("info"), &bundled("host-fragmented.o9snap")]).success();
    compare("host-fragmented-info.txt", &facts);
}
