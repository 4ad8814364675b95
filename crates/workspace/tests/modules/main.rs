//! Who may use whom inside the engine: modules of `crates/mm` stand in layers, and none uses what stands above it.
//!
//! Imports, paths, calls of methods and accesses to fields count, tests do not. The table of layers is in layers.rs and in
//! docs/architecture.md. With `--nocapture` the figures of the engine are printed.

use std::collections::BTreeSet;
use std::fs;

use counts::Counts;
use graph::cycles;
use layers::{LAYERS, height};
use references::References;
use source::{Source, read_crate};
use types::Types;

mod counts;
mod graph;
mod layers;
mod references;
mod source;
mod types;

const ENGINE: &str = "mm";

fn engine() -> (Vec<Source>, References) {
    let sources = read_crate(ENGINE);
    let types = Types::of(&sources);
    let found = references::references(&sources, &types, &layers::module);
    (sources, found)
}

fn pairs(references: &References) -> impl Iterator<Item = (&str, &str)> {
    references.keys().map(|(from, to)| (from.as_str(), to.as_str()))
}

fn is_upward(from: &str, to: &str) -> bool {
    height(to) > height(from)
}

fn upward(references: &References) -> impl Iterator<Item = (&(String, String), &BTreeSet<String>)> {
    references.iter().filter(|((from, to), _)| is_upward(from, to))
}

/// Prints the figures, and what is used along every edge that runs upward.
fn report(sources: &[Source], references: &References) {
    println!("{}", Counts::of(ENGINE, sources));
    let names: usize = upward(references).map(|(_, names)| names.len()).sum();
    println!("upward edges: {} of {}, names used along them: {names}", upward(references).count(), references.len());
    println!("modules in cycles: {}", cycles(pairs(references)).iter().map(Vec::len).sum::<usize>());
    for ((from, to), names) in upward(references) {
        println!("{from} -> {to}: {}", names.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
    }
}

#[test]
fn no_module_of_the_engine_uses_what_stands_above_it() {
    let (sources, references) = engine();
    report(&sources, &references);
    let mut found: BTreeSet<String> = upward(&references).map(|((from, to), _)| format!("{from} -> {to}")).collect();
    for circle in cycles(pairs(&references).filter(|(from, to)| !is_upward(from, to))) {
        let layer = &LAYERS[height(circle[0])];
        if layer.cycle.is_empty() {
            found.extend(circle.iter().map(|module| format!("{module} in a circle")));
        }
    }
    assert!(
        found.is_empty(),
        "runs upward or in a circle: see the table of layers in docs/architecture.md: {found:#?}"
    );
}

#[test]
fn every_module_of_the_engine_stands_in_one_layer() {
    let sources = read_crate(ENGINE);
    let exists = |name: &str| sources.iter().any(|source| source.module.join("::") == name);
    let listed: Vec<&str> = LAYERS.iter().flat_map(|layer| layer.modules).copied().collect();
    for name in &listed {
        assert!(exists(name), "{name} stands in the table of layers, and is no module");
        assert_eq!(listed.iter().filter(|other| *other == name).count(), 1, "{name} stands in the table twice");
    }
    for source in sources.iter().filter(|source| !source.module.is_empty()) {
        let path = source.module.join("::");
        let is_container = listed.iter().any(|name| name.starts_with(&format!("{path}::")));
        assert!(is_container || layers::module(&source.module).is_some(), "{path} stands in no layer");
    }
}

#[test]
fn the_document_shows_the_table_of_layers() {
    let path = source::folder("workspace").join("../../docs/architecture.md");
    let text = fs::read_to_string(path).expect("docs/architecture.md is readable");
    let shown: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("| | layer |")).skip(2).collect();
    let rows: Vec<String> = LAYERS.iter().enumerate().map(|(at, layer)| layers::row(at, layer)).collect();
    let table = rows.join("\n");
    assert!(shown.len() >= rows.len() && shown[..rows.len()] == rows, "docs/architecture.md should show:\n{table}");
    assert!(shown.get(rows.len()).is_none_or(|line| !line.starts_with('|')), "the document shows more layers");
}
