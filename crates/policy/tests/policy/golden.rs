//! Text as it is printed, compared with files in `golden/`.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p order9-policy`, then read the difference.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use order9_policy::{Diff, List, Show, load};

#[track_caller]
fn compare(name: &str, actual: impl Display) {
    let actual = actual.to_string();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/policy/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &actual).expect("golden files can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "{} differs from what is printed now:\n{actual}", path.display());
}

#[track_caller]
fn compare_diff(before: &str, after: &str) {
    let diff = Diff::new(&load(before).unwrap(), &load(after).unwrap());
    compare(&format!("diff-{before}-{after}.txt"), diff);
}

#[test]
fn the_list() {
    compare("list.txt", List::new().unwrap());
}

#[test]
fn the_oldest_and_the_newest() {
    compare("show-linux-4.4.txt", Show::new(&load("linux-4.4").unwrap()));
    compare("show-linux-6.18.txt", Show::new(&load("linux-6.18").unwrap()));
}

#[test]
fn what_the_published_comparisons_compare() {
    compare_diff("linux-4.4", "linux-4.4-nodefrag");
    compare_diff("linux-4.19", "linux-4.19-relaxthisnode");
    compare_diff("linux-4.19", "linux-4.19-noretry");
    compare_diff("linux-5.0", "linux-5.1");
    compare_diff("linux-5.3-rc3", "linux-5.3-shrinker");
    compare_diff("linux-5.6", "linux-5.9");
}

#[test]
fn releases_far_apart() {
    compare_diff("linux-4.4", "linux-6.18");
    compare_diff("linux-6.18", "linux-4.4");
    compare_diff("linux-6.18", "order9");
}
