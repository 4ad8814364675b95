//! `order9 machines`, and how it says no.

use std::fs;

use crate::support::{order9, order9_line};

#[test]
fn machines_are_listed_and_shown() {
    let list = order9(["machines", "list"]).success();
    assert!(list.lines().any(|line| line.starts_with("epyc-vm ") && line.contains("24 GiB")), "{list}");
    let show = order9(["machines", "show", "epyc-vm"]).success();
    assert!(show.contains("# One page fault: ") && show.contains("[prices.fault]\nns = "), "{show}");
    for command in [&["list"][..], &["show", "epyc-vm"]] {
        let json = order9([&["machines"], command, &["--json"]].concat()).success();
        serde_json::from_str::<serde_json::Value>(&json).expect("JSON");
    }
}

#[test]
fn what_is_shown_can_be_used_as_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let show = order9(["machines", "show", "xeon-2s"]).success();
    fs::write(&path, &show).unwrap();
    let figures = |text: &str| text.lines().filter(|line| !line.contains('#')).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(figures(&order9_line("machines show {}", &path).success()), figures(&show));
}

#[test]
fn a_wrong_machine_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, "base = 'xeon-1s'\n[[nodes]]\nmemory = '16 GiB'\ncpus = 0\ndistances = [10]\n").unwrap();
    let refusal = |line: &str| order9_line(line, &path).refusal().to_owned();
    let expected = format!("{}, line 2: a machine needs at least one CPU, got 0", path.display());
    assert_eq!(refusal("machines show {}"), expected);
    assert!(refusal("machines show xeon-3s").contains("did you mean xeon-"));
    assert!(refusal("machines show").contains("<MACHINE>"));
}
