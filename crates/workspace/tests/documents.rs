//! The documents agree with the tree: links lead somewhere, the code map is complete, tests that show a rule exist, the glossary is in
//! order.

use std::fs;
use std::path::{Path, PathBuf};

/// The top folder of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is readable")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The entries of `folder`, in order of their names.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let list = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = list.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths
}

/// The documents in the top folder, in docs/ and of results.
fn documents() -> Vec<PathBuf> {
    let all = [root(), root().join("docs"), root().join("docs/results")]
        .iter()
        .flat_map(|folder| entries(folder))
        .collect::<Vec<_>>();
    all.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect()
}

/// Targets of the links of a Markdown text that lead to files: `[text](target#anchor)`, anchors taken off.
fn linked_files(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let local = targets.filter(|target| !target.contains("://") && !target.starts_with('#'));
    local.filter_map(|target| target.split('#').next())
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = read(&document);
        let folder = document.parent().expect("a file lies in a folder");
        let lost = linked_files(&text).filter(|target| !folder.join(target).exists());
        broken.extend(lost.map(|target| format!("{}: {target}", document.display())));
    }
    assert!(broken.is_empty(), "links that lead nowhere: {broken:#?}");
}

#[test]
fn the_code_map_names_every_crate() {
    let map = read(&root().join("docs/architecture.md"));
    for folder in entries(&root().join("crates")) {
        let name = folder.file_name().expect("a crate has a name").to_string_lossy().into_owned();
        assert!(map.contains(&format!("| `{name}` |")), "docs/architecture.md has no row for crates/{name}");
    }
}

#[test]
fn the_glossary_is_in_alphabetical_order() {
    let text = read(&root().join("docs/glossary.md"));
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")).skip(1);
    let words: Vec<String> = rows.filter_map(|row| row.split(" |").next()).map(str::to_lowercase).collect();
    for pair in words.windows(2) {
        assert!(pair[0] < pair[1], "{:?} stands before {:?}", pair[0], pair[1]);
    }
}

/// All source text of the crates, tests included.
fn sources(folder: &Path, text: &mut String) {
    for path in entries(folder) {
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            text.push_str(&read(&path));
        }
    }
}

/// Names of Linux and of counters in code spans begin so; other names with several underscores are those of tests, which are
/// sentences.
const NOT_TESTS: [&str; 12] =
    ["__GFP_", "MADV_", "MPOL_", "PR_", "htlb_", "mm_", "nr_", "numa_", "order9_", "scan_", "set_mempolicy", "thp_"];

/// Documents that name for every rule the tests that show it, and how many names there are at least.
const SHOWN: [(&str, usize); 3] = [("docs/thp.md", 30), ("docs/hugetlb.md", 15), ("docs/numa.md", 25)];

#[test]
fn every_test_that_shows_a_rule_exists() {
    let mut text = String::new();
    sources(&root().join("crates"), &mut text);
    for (document, least) in SHOWN {
        let words = read(&root().join(document));
        let spans = words.split('`').skip(1).step_by(2);
        let is_name = |span: &&str| {
            let other = NOT_TESTS.iter().any(|start| span.starts_with(start));
            span.matches('_').count() > 2 && !span.contains(['.', '/']) && !other
        };
        let names: Vec<&str> = spans.filter(is_name).collect();
        assert!(names.len() > least, "{} names in {document}", names.len());
        let lost: Vec<&str> = names.into_iter().filter(|name| !text.contains(&format!("fn {name}()"))).collect();
        assert!(lost.is_empty(), "{document} names tests that are not there: {lost:#?}");
    }
}
