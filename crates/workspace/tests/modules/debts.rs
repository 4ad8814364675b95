//! What does not hold yet, in debts.txt: the list may only shrink.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/modules/debts.txt")
}

/// Compares what is found with what is listed.
///
/// # Panics
/// Where something new is found, and where something listed is found no more; with `UPDATE_GOLDEN` in the environment
/// that is taken off the list instead.
pub(crate) fn check(found: &BTreeSet<String>) {
    let text = fs::read_to_string(file()).expect("debts.txt is readable");
    let listed: BTreeSet<String> = text.lines().map(str::to_owned).collect();
    let paid: Vec<&String> = listed.difference(found).collect();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let left: String = listed.intersection(found).map(|line| format!("{line}\n")).collect();
        fs::write(file(), left).expect("debts.txt is writable");
    } else {
        assert!(paid.is_empty(), "holds now: take it off tests/modules/debts.txt (UPDATE_GOLDEN=1 does): {paid:#?}");
    }
    let new: Vec<&String> = found.difference(&listed).collect();
    assert!(new.is_empty(), "runs upward or in a circle: see the table of layers in docs/architecture.md: {new:#?}");
}
