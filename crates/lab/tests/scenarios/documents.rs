//! docs/running.md names every key of scenario files and every parameter of the workloads, as the tables of the code do.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p order9-lab`, then read the difference.

use std::fs;

use order9_lab::scenario::KEYS;
use order9_workloads::{GENERAL, Parameter, Workload};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/running.md");

fn keys() -> String {
    let row = |key: &order9_lab::scenario::Key| {
        format!("| `{}` | {} | {} | {} |\n", key.key, key.takes, key.meaning, key.default)
    };
    let rows: String = KEYS.iter().map(row).collect();
    format!("| key | takes | meaning | default |\n|---|---|---|---|\n{rows}")
}

fn parameters() -> String {
    let row = |workload: &str, parameter: &Parameter| {
        let takes = parameter.kind.expected();
        let (key, meaning, default) = (parameter.key, parameter.meaning, parameter.default_text);
        format!("| {workload} | `{key}` | {meaning} | {takes} | {default} |\n")
    };
    let own = Workload::ALL.iter().flat_map(|workload| {
        let name = format!("`{}`", workload.name());
        workload.spec().parameters.iter().map(move |parameter| row(&name, parameter))
    });
    let rows = own.chain(GENERAL.iter().map(|parameter| row("every one", parameter)));
    format!("| workload | parameter | meaning | takes | default |\n|---|---|---|---|---|\n{}", rows.collect::<String>())
}

/// The document with the table below `heading` as it should be.
fn with_table(text: &str, heading: &str, table: &str) -> String {
    let start = text.find(heading).unwrap_or_else(|| panic!("docs/running.md has no {heading}"));
    let begin = start + text[start..].find("\n| ").expect("a table below the heading") + 1;
    let end = text[begin..].find("\n\n").map_or(text.len(), |blank| begin + blank + 1);
    format!("{}{table}{}", &text[..begin], &text[end..])
}

#[test]
fn the_tables_are_those_of_the_code() {
    let text = fs::read_to_string(DOCUMENT).expect("docs/running.md is readable");
    let expected = with_table(&with_table(&text, "\n## Keys", &keys()), "\n## Parameters", &parameters());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(DOCUMENT, &expected).expect("docs/running.md can be written");
    }
    assert!(fs::read_to_string(DOCUMENT).unwrap() == expected, "docs/running.md differs from the tables of the code");
}
