//! docs/thp.md, docs/hugetlb.md and docs/numa.md name for every rule a test that is there.

use std::fs;
use std::path::Path;

/// All source text below a folder.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("the folder is readable") {
        let path = entry.expect("its entries are").path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&fs::read_to_string(&path).expect("sources are text"));
        }
    }
}

#[test]
fn every_test_that_the_document_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut text = String::new();
    let others = [
        "cli/tests",
        "lab/src",
        "lab/tests",
        "machine/tests",
        "procfs/src",
        "procfs/tests",
        "testkit/tests",
        "units/src",
    ];
    let folders = others.map(|folder| root.join("..").join(folder));
    for folder in folders.iter().chain(&["src", "tests"].map(|folder| root.join(folder))) {
        sources(folder, &mut text);
    }
    for (document, least) in [("docs/thp.md", 30), ("docs/hugetlb.md", 15), ("docs/numa.md", 25)] {
        let words = fs::read_to_string(root.join("../..").join(document)).expect("the document is readable");
        let words = words.split('`').skip(1).step_by(2);
        // Tests are sentences; what else has underscores are names of Linux.
        let linux = |word: &str| {
            [
                "thp_",
                "scan_",
                "numa_",
                "htlb_",
                "__GFP_",
                "mm_",
                "nr_",
                "order9_",
                "PR_",
                "MPOL_",
                "MADV_",
                "set_mempolicy",
            ]
            .iter()
            .any(|start| word.starts_with(start))
        };
        let is_name = |word: &&str| word.matches('_').count() > 2 && !word.contains(['.', '/']) && !linux(word);
        let names: Vec<&str> = words.filter(is_name).collect();
        assert!(names.len() > least, "{} names in {document}", names.len());
        for name in names {
            assert!(text.contains(&format!("fn {name}()")), "{document} names {name}");
        }
    }
}
