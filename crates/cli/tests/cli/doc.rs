//! `order9 doc`: pages and meanings, from the command alone.

use std::fs;
use std::path::Path;

use crate::support::order9;

fn doc(topic: &str) -> String {
    order9(["doc", topic]).success()
}

#[test]
fn pages_are_those_of_the_repository() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/running.md")).unwrap();
    assert_eq!(doc("running"), page);
    assert_eq!(doc("running"), doc("running.md"));
    assert!(doc("results/numa").starts_with("# "));
}

#[test]
fn every_kind_of_name_is_explained() {
    let word = doc("pageblock");
    assert!(word.starts_with("# pageblock (glossary)\n\n") && word.contains("512 frames"), "{word}");
    let counter = doc("compact_stall");
    assert!(counter.starts_with("# direct compaction (glossary)\n"), "{counter}");
    assert!(counter.contains("# compact_stall (counter)\n\n- kind: counts since boot and never falls\n"), "{counter}");
    assert!(counter.contains("Pages that mention it: "), "{counter}");
    assert!(doc("order9_nr_huge_free").contains("- unit: blocks of 2 MiB\n- place: of order9"));
    let switch = doc("fallback.defrag_mode");
    assert!(switch.starts_with("# fallback.defrag_mode (switch)\n") && switch.contains("linux-6.18"), "{switch}");
    let setting = doc("vm.min_free_kbytes");
    assert!(setting.starts_with("# vm.min_free_kbytes (setting)\n") && setting.contains("- unit: kB\n"), "{setting}");
    assert!(doc("defrag_mode").contains("(switch)") && doc("defrag_mode").contains("(setting)"));
}

#[test]
fn all_topics_are_named_and_an_unknown_one_is_refused_with_the_nearest() {
    let list = order9(["doc"]).success();
    for part in
        ["- running ", "## Words", "fallback.defrag_mode", "vm.min_free_kbytes", "compact_stall", "order9_nr_huge_free"]
    {
        assert!(list.contains(part), "{part}: {list}");
    }
    let ran = order9(["doc", "compact_stal"]);
    assert_eq!(ran.refusal(), "no topic is called compact_stal: `order9 doc` names all; did you mean compact_stall?");
}
