//! docs/thp.md names for every rule a test that is there.

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
    for folder in ["src/thp", "tests", "../machine/tests"] {
        sources(&root.join(folder), &mut text);
    }
    let document = fs::read_to_string(root.join("../../docs/thp.md")).expect("the document is readable");
    let words = document.split('`').skip(1).step_by(2);
    let names: Vec<&str> = words.filter(|word| word.matches('_').count() > 2 && !word.contains(['.', '/'])).collect();
    assert!(names.len() > 30, "{} names", names.len());
    for name in names.into_iter().filter(|name| !name.starts_with("thp_")) {
        assert!(text.contains(&format!("fn {name}()")), "docs/thp.md names {name}");
    }
}
