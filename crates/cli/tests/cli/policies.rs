//! `order9 policies`, and how it says no.

use std::fs;

use crate::support::{order9, order9_line};

#[test]
fn policies_are_listed_shown_and_compared() {
    let list = order9(["policies", "list"]).success();
    assert!(list.lines().any(|line| line.starts_with("linux-5.1 ")), "{list}");
    let diff = order9(["policies", "diff", "linux-5.0", "linux-5.1"]).success();
    assert!(diff.contains("the fast path tries other local zones before it mixes types (5.1+"), "{diff}");
    let diff = order9(["policies", "diff", "linux-4.4", "linux-7.2"]).success();
    assert!(diff.contains("Not modelled yet") && diff.contains("thp.khugepaged_sizes: true"), "{diff}");
    for command in [&["list"][..], &["show", "linux-5.1"], &["diff", "linux-5.0", "linux-5.1"]] {
        let json = order9([&["policies"], command, &["--json"]].concat()).success();
        serde_json::from_str::<serde_json::Value>(&json).expect("JSON");
    }
}

#[test]
fn what_is_shown_can_be_used_as_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, order9(["policies", "show", "linux-6.18"]).success()).unwrap();
    let diff = order9_line("policies diff linux-6.18 {}", &path).success();
    assert_eq!(diff, format!("{} does what linux-6.18 does.\n", path.display()));
}

#[test]
fn a_wrong_policy_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, "base = 'linux-5.0'\n[pcp]\nhihg = 'low_mark'\n").unwrap();
    let refusal = |line: &str| order9_line(line, &path).refusal().to_owned();
    let expected = format!("{}, line 3: unknown key pcp.hihg; did you mean pcp.high?", path.display());
    assert_eq!(refusal("policies show {}"), expected);
    assert!(refusal("policies show linux-5.00").contains("did you mean linux-5.0?"));
    assert!(refusal("policies diff linux-5.0").contains("<AFTER>"));
}
