//! docs/thp.md says what a fault may do for a huge page as the code does, and docs/numa.md has every placement.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p order9-mm --test documents`, then read the difference.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use order9_mm::Gfp;
use order9_mm::policy::{DefragDefault, HugePlacement, ThpPolicy};
use order9_mm::thp::{HugeDefrag, fault_gfp};

/// The releases in which rights changed, by the heading of their column.
fn releases() -> [(&'static str, ThpPolicy); 4] {
    let v4_11 = ThpPolicy::default();
    let v4_8 = ThpPolicy { defer_madvise: false, words_by_prefix: true, ..v4_11.clone() };
    let v4_6 = ThpPolicy { madvised_noretry: true, ..v4_8.clone() };
    let v4_4 = ThpPolicy { defrag: DefragDefault::Always, defer: false, ..v4_6.clone() };
    [("4.4", v4_4), ("4.6", v4_6), ("4.8", v4_8), ("4.11 and later", v4_11)]
}

/// Rights under `defrag` in advised and in other memory, or the answer of the file to the word.
fn rights(defrag: HugeDefrag, policy: &ThpPolicy) -> String {
    if policy.has_defrag(defrag) {
        let [advised, other] = [true, false].map(|advised| words(fault_gfp(defrag, advised, policy)));
        return if advised == other { advised } else { format!("{advised}; {other}") };
    }
    // Words are compared as far as the shorter one goes.
    let is_taken = |known: &HugeDefrag| policy.has_defrag(*known) && defrag.word().starts_with(known.word());
    match HugeDefrag::ALL.iter().find(|known| policy.words_by_prefix && is_taken(known)) {
        Some(known) => format!("taken for {}", known.word()),
        None => "refused".to_owned(),
    }
}

fn words(gfp: Gfp) -> String {
    let rights = [(Gfp::DIRECT_RECLAIM, "reclaims"), (Gfp::KSWAPD_RECLAIM, "wakes"), (Gfp::NORETRY, "once")];
    let held: Vec<&str> = rights.into_iter().filter(|&(right, _)| gfp.has(right)).map(|(_, word)| word).collect();
    if held.is_empty() { "nothing".to_owned() } else { held.join(", ") }
}

fn table() -> String {
    let headings = releases().map(|(release, _)| release).join(" | ");
    let row = |defrag: HugeDefrag| {
        let cells = releases().map(|(_, policy)| rights(defrag, &policy)).join(" | ");
        format!("| {} | {cells} |\n", defrag.word())
    };
    format!("| `defrag` | {headings} |\n|---|---|---|---|---|\n") + &HugeDefrag::ALL.map(row).concat()
}

#[test]
fn the_table_of_rights_is_that_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/thp.md");
    let text = fs::read_to_string(&path).expect("docs/thp.md is readable");
    let begin = text.find("| `defrag` |").expect("docs/thp.md has the table of rights");
    let end = begin + text[begin..].find("\n\n").expect("text follows the table") + 1;
    let expected = format!("{}{}{}", &text[..begin], table(), &text[end..]);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &expected).expect("docs/thp.md can be written");
    }
    assert!(fs::read_to_string(&path).expect("it was read before") == expected, "docs/thp.md differs:\n{}", table());
}

#[test]
fn every_placement_has_a_row() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/numa.md");
    let text = fs::read_to_string(&path).expect("docs/numa.md is readable");
    let (_, rows) =
        text.split_once("| `thp.placement` | who | attempts |\n|---|---|---|\n").expect("the table is there");
    let rows = rows.lines().take_while(|line| line.starts_with('|'));
    let names: BTreeSet<&str> = rows.filter_map(|row| row.split('`').nth(1)).collect();
    let placements: BTreeSet<&str> = HugePlacement::ALL.iter().map(|placement| placement.name()).collect();
    assert_eq!(names, placements);
}
