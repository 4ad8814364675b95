//! docs/conformance.md lists by subject the laws that `check()` recounts and the tests of the engine, both read from the sources.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p order9-workspace --test conformance`.

mod laws;
mod subjects;
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use subjects::{SUBJECTS, Subject, subject_of};

const HEAD: &str = "\
# Conformance

This page is generated from the sources. For each document it lists the laws that `check()` recounts, and the tests of the
engine. The name of a test is the sentence that it shows; the name in the source has `_` for each blank and dot. Laws are
recounted after every step of the tests with random operations, so they hold in whatever order things happen.

";

/// Folders with laws and tests of the engine, from the top folder of the repository.
const FOLDERS: [&str; 7] = [
    "crates/frames/src",
    "crates/frames/tests",
    "crates/machine/tests/programs",
    "crates/mm/src",
    "crates/procfs/src",
    "crates/procfs/tests",
    "crates/testkit/tests",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Rust files in `folder` and below, in order of their paths.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    let list = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = list.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// Laws and tests of one source file.
struct File {
    /// Path from the top folder.
    path: String,
    laws: Vec<String>,
    tests: Vec<String>,
}

fn files() -> Vec<File> {
    let root = root();
    let mut paths = Vec::new();
    for folder in FOLDERS {
        sources(&root.join(folder), &mut paths);
    }
    let file = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let path = path.strip_prefix(&root).expect("it was found there").to_string_lossy().replace('\\', "/");
        File {
            laws: laws::in_source(&path, &text),
            tests: tests::in_source(&text).map(tests::sentence).collect(),
            path,
        }
    };
    paths.into_iter().map(file).collect()
}

fn render_subject(page: &mut String, subject: &Subject, files: &[&File]) {
    let mut line = |line: std::fmt::Arguments<'_>| writeln!(page, "{line}").expect("text takes text");
    line(format_args!("## [{}]({})\n", subject.title, subject.document));
    let with_laws = || files.iter().filter(|file| !file.laws.is_empty());
    if with_laws().next().is_some() {
        line(format_args!("### Laws of {}\n", subject.short));
        for file in with_laws() {
            for law in &file.laws {
                line(format_args!("- {law} (`{}`)", file.path));
            }
        }
        line(format_args!(""));
    }
    line(format_args!("### Tests of {}\n", subject.short));
    for file in files.iter().filter(|file| !file.tests.is_empty()) {
        line(format_args!("`{}`:\n", file.path));
        for test in &file.tests {
            line(format_args!("- {test}"));
        }
        line(format_args!(""));
    }
}

fn page() -> String {
    let files = files();
    let mut by_subject: BTreeMap<usize, Vec<&File>> = BTreeMap::new();
    for file in &files {
        by_subject.entry(subject_of(&file.path)).or_default().push(file);
    }
    let mut page = HEAD.to_owned();
    for (at, subject) in SUBJECTS.iter().enumerate() {
        render_subject(&mut page, subject, by_subject.get(&at).map_or(&[], Vec::as_slice));
    }
    page.truncate(page.trim_end().len());
    page + "\n"
}

#[test]
fn the_page_is_that_of_the_sources() {
    let (path, expected) = (root().join("docs/conformance.md"), page());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &expected).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
    let found = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let other = expected.lines().zip(found.lines()).find(|(expected, found)| expected != found);
    assert!(
        expected == found,
        "docs/conformance.md differs from the sources: UPDATE_GOLDEN=1 writes it anew; first difference {other:?}"
    );
}

#[test]
fn every_subject_has_tests_and_a_document() {
    let files = files();
    for (at, subject) in SUBJECTS.iter().enumerate() {
        let tests: usize = files.iter().filter(|file| subject_of(&file.path) == at).map(|file| file.tests.len()).sum();
        assert!(tests > 0, "no test belongs to {}", subject.title);
        assert!(root().join("docs").join(subject.document).exists(), "docs/{} is not there", subject.document);
    }
}
