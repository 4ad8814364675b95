//! The documents agree with the tree: links lead somewhere, the code map is complete, sources and switches that they name exist, the
//! glossary is in order.

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

/// The documents in the top folder, in docs/, of results and tutorials.
fn documents() -> Vec<PathBuf> {
    let all = [root(), root().join("docs"), root().join("docs/results"), root().join("docs/tutorials")]
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
    let (text, _) = text.split_once("## Our words").expect("the glossary ends with our words");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| ")).skip(1);
    let words: Vec<String> = rows.filter_map(|row| row.split(" |").next()).map(str::to_lowercase).collect();
    for pair in words.windows(2) {
        assert!(pair[0] < pair[1], "{:?} stands before {:?}", pair[0], pair[1]);
    }
}

/// Paths of all sources of the crates, tests included, from the top folder on.
fn sources(folder: &Path, files: &mut Vec<String>) {
    for path in entries(folder) {
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path.strip_prefix(root()).expect("it was found there").to_string_lossy().into_owned());
        }
    }
}

/// Code spans of a Markdown text.
fn spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn sources_that_documents_name_exist() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    let is_there = |name: &str| files.iter().any(|file| file == name || file.ends_with(&format!("/{name}")));
    for document in documents() {
        let text = read(&document);
        let is_source =
            |span: &&str| span.ends_with(".rs") && !span.contains([' ', '*', '\n']) && !span.contains("NAME");
        let lost: Vec<&str> = spans(&text).filter(is_source).filter(|name| !is_there(name)).collect();
        assert!(lost.is_empty(), "{} names sources that are not there: {lost:#?}", document.display());
    }
}

/// Names of the switches in the first column of docs/policies.md, which is generated from the policy's table.
fn switches() -> Vec<String> {
    let text = read(&root().join("docs/policies.md"));
    let names = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    names.filter(|name| name.contains('.') && !name.contains('-')).map(str::to_owned).collect()
}

#[test]
fn switches_that_documents_name_exist() {
    let switches = switches();
    assert!(switches.len() > 50, "docs/policies.md has {} switches", switches.len());
    let group = |name: &str| name.split_once('.').map(|(group, _)| group.to_owned());
    let groups: Vec<String> = switches.iter().filter_map(|name| group(name)).collect();
    let is_key =
        |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    for document in documents() {
        let text = read(&document);
        let is_switch = |span: &&str| {
            span.split_once('.')
                .is_some_and(|(of, key)| is_key(key) && key != "rs" && groups.iter().any(|group| group == of))
        };
        let known = |name: &str| switches.iter().any(|switch| switch == name);
        let lost: Vec<&str> = spans(&text).filter(is_switch).filter(|name| !known(name)).collect();
        assert!(lost.is_empty(), "{} names switches that are not there: {lost:#?}", document.display());
    }
}
