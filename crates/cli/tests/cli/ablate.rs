//! `order9 run --ablate`: a policy taken apart, and what is refused.

use std::fs;

use crate::support::{folder_with_machine, order9_line};

/// The last patch of the compaction series, which changes two switches, one of which counts otherwise, and has requests for
/// which nothing was tried look at the free lists once more.
const CAPTURE: &str = "run hugealloc --machine {}/tiny.toml --ablate linux-5.0+p22 --against linux-5.0";

/// The cells of the line of `switch` in the table below `heading`.
fn row<'a>(text: &'a str, heading: &str, switch: &str) -> Vec<&'a str> {
    let table = text.split("\n\n").find(|part| part.starts_with(heading)).expect("the table is printed");
    let line = table.lines().find(|line| line.trim_start().starts_with(switch)).expect("the switch has a row");
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).skip(1).collect()
}

#[test]
fn every_switch_is_tried_alone_and_taken_away() {
    let folder = folder_with_machine();
    let text = order9_line(&format!("{CAPTURE} --seeds 1 -o {{}}/a"), folder.path()).success();
    assert!(text.starts_with("hugealloc under linux-5.0 and linux-5.0+p22, one run each\n"), "{text}");
    assert!(text.contains("\n  gained: 2M hugepages allocated (huge pages) "), "{text}");
    let (alone, without) = ("linux-5.0 with one switch of linux-5.0+p22", "linux-5.0+p22 with one switch of linux-5.0");
    let counted = row(&text, alone, "slow_path.stall_counts");
    assert_eq!(counted.len(), 7, "{counted:?}");
    assert_ne!(counted[3], "-", "success is counted otherwise");
    assert_ne!(row(&text, without, "compaction.capture"), ["-"; 7]);
    assert!(!text.contains("not modelled yet"), "these presets need nothing that is missing: {text}");

    let picture = order9_line("plot {}/a --worth fault-huge -o {}/worth.svg", folder.path());
    assert!(picture.refusal().contains("--worth fault-huge: the run has none; expected "), "{}", picture.stderr);
    order9_line("plot {}/a --worth thp_fault_alloc -o {}/worth.svg", folder.path()).success();
    let svg = fs::read_to_string(folder.path().join("worth.svg")).unwrap();
    for part in
        ["slow_path.stall_counts", "compaction.capture", "linux-5.0 with the switch", "linux-5.0+p22 without it"]
    {
        assert!(svg.contains(&format!(">{part}</text>")), "{part}");
    }

    let report = fs::read_to_string(folder.path().join("a/report.txt")).unwrap();
    assert!(text.starts_with(&report), "{report}");
    let digest = text.lines().find_map(|line| line.strip_prefix("digest ")).expect("a digest is printed");
    let again = order9_line("run --repeat {}/a", folder.path()).success();
    assert_eq!(again, format!("recorded  {digest}\nrepeated  {digest}\n"));
}

#[test]
fn json_holds_all_values_of_all_seeds() {
    let folder = folder_with_machine();
    let text = order9_line(&format!("{CAPTURE} --seeds 2 --json"), folder.path()).success();
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(2 * (2 + 2 * 2)), "both whole policies and four others");
    let ablation = &json["ablation"];
    assert_eq!((&ablation["runs"], &ablation["quantities"][0]["name"]), (&2.into(), &"migrate".into()));
    let capture = &ablation["switches"][1];
    assert_eq!((&capture["switch"], &capture["ablate"]), (&"compaction.capture".into(), &"true".into()));
    assert_eq!(capture["without"]["policy"], "linux-5.0+p22-compaction.capture");
    assert_eq!(capture["alone"]["values"].as_array().map(Vec::len), Some(7));
    // Both runs have the same memory to begin with, and none of it by chance.
    let moved = &ablation["against"]["values"][2];
    assert_eq!(moved["values"].as_array().map(Vec::len), moved["runs"].as_u64().map(|runs| runs as usize));
    assert!(capture["alone"]["differences"][2]["finding"].is_string(), "{capture}");
}

#[test]
fn what_cannot_be_ablated_is_refused() {
    let folder = folder_with_machine();
    let refused = |arguments: &str, expected: &str| {
        let ran = order9_line(&format!("run hugealloc -o {{}}/out {arguments}"), folder.path());
        assert!(ran.refusal().contains(expected), "{}", ran.stderr);
    };
    refused("--ablate linux-5.1", "--ablate linux-5.1: expected the policy to hold it against, too: against");
    refused("--against linux-5.0", "--against linux-5.0: expected the policy to take apart, too: ablate");
    refused(
        "--ablate linux-5.1 --against linux-5.0 --policy linux-4.4",
        "--policy linux-4.4: ablate and against name all policies: leave others out",
    );
    refused(
        "--ablate linux-5.1 --against linux-5.1",
        "linux-5.1 differs from linux-5.1 in no switch that is modelled: there is nothing to ablate",
    );
    refused(
        "--ablate linux-5.1 --against linux-5.0 --layout mmtests",
        "--layout mmtests: there are no published tables of single switches",
    );
    refused(
        "--ablate linux-5.1 --against linux-5.00",
        "--against linux-5.00: no policy is called 'linux-5.00'; did you mean linux-5.0?",
    );
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left behind");
}
