//! Doc comments name their subject: none begins with a word that stands in place of a noun.
//!
//! Only the mechanical part of the rule is tested: the first word of a comment. CONTRIBUTING.md has the rest. No
//! comment is spared.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Beginnings of doc comments that leave the reader to find the noun in another line.
const REFUSED: [&str; 37] = [
    "Anybody",
    "Anything",
    "As it",
    "As many",
    "As much",
    "How",
    "It",
    "Its",
    "Of it",
    "Of them",
    "Of these",
    "Of those",
    "Of what",
    "Of which",
    "Of whom",
    "One of those",
    "One that",
    "One which",
    "One who",
    "So far",
    "So long",
    "So many",
    "So much",
    "Somebody",
    "Something",
    "Such",
    "That",
    "The same",
    "Their",
    "They",
    "Those",
    "What",
    "Whatever",
    "Where",
    "Which",
    "Who",
    "Whose",
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Paths in `folder`, in order of their names.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let list = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = list.map(|entry| entry.expect("a readable folder").path()).collect();
    paths.sort();
    paths
}

/// Rust files in `folder` and below.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in entries(folder) {
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// The text of a line that is a doc comment.
fn doc(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    Some(text.trim_start())
}

/// First lines of the doc comments of a file, each with its number from 1 on.
fn first_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut before = None;
    text.lines().enumerate().filter_map(move |(at, line)| {
        let now = doc(line);
        let is_first = std::mem::replace(&mut before, now).is_none();
        now.filter(|_| is_first).map(|line| (at + 1, line))
    })
}

fn is_refused(comment: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '\'');
    REFUSED.iter().any(|start| comment.strip_prefix(start).is_some_and(ends))
}

/// Refused comments by crate, as places with their text.
fn found() -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for folder in entries(&crates()).into_iter().filter(|folder| folder.join("src").is_dir()) {
        let mut files = Vec::new();
        sources(&folder.join("src"), &mut files);
        let mut places = Vec::new();
        for file in files {
            let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            let refused = first_lines(&text).filter(|(_, comment)| is_refused(comment));
            places.extend(refused.map(|(line, comment)| format!("{}:{line}: {comment}", file.display())));
        }
        let name = folder.file_name().expect("a crate has a name").to_string_lossy().into_owned();
        found.insert(name, places);
    }
    found
}

#[test]
fn doc_comments_name_their_subject() {
    for (name, places) in found() {
        assert!(places.is_empty(), "crates/{name}: doc comments begin without their noun:\n{}", places.join("\n"));
    }
}

#[test]
fn a_word_is_refused_as_a_whole_and_at_the_beginning_only() {
    assert!(is_refused("What it is."));
    assert!(is_refused("The same, by node."));
    assert!(!is_refused("Whatsapp"));
    assert!(!is_refused("Whether pages move."));
    assert!(!is_refused("Pages of what moves."));
    let text = "/// One.\n/// What follows is no beginning.\nfn f() {}\n/// Two.\n";
    assert_eq!(first_lines(text).collect::<Vec<_>>(), [(1, "One."), (4, "Two.")]);
}
