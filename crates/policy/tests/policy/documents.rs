//! docs/policies.md names every switch, as the tables of this crate do.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p order9-policy`, then read the difference.

use std::fs;
use std::path::Path;

use order9_policy::{PLANNED, Values, switches};

/// The table of switches in Markdown.
fn table_of_switches() -> String {
    let mut rows = "| switch | value | behaviour | Linux |\n|---|---|---|---|\n".to_owned();
    for switch in switches() {
        let mut row = |value: &str, does: &str, releases: &str| {
            let key = if rows.contains(&format!("| `{}` |", switch.key)) { "" } else { switch.key };
            let key = if key.is_empty() { String::new() } else { format!("`{key}`") };
            rows += &format!("| {key} | {value} | {does} | {releases} |\n");
        };
        if let Values::Number { subject, says, range, releases, .. } = &switch.values {
            let sysctl = switch.sysctl.map(|name| format!("; `{name}`")).unwrap_or_default();
            let does = format!("{subject} {}{sysctl}", says.replace("{}", "N"));
            row(&format!("N, {} to {}", range.start(), range.end()), &does, releases);
        }
        for case in switch.values.cases() {
            let subject = match &switch.values {
                Values::Flag { .. } => String::new(),
                Values::Word { subject, .. } | Values::Number { subject, .. } => format!("{subject} "),
            };
            row(&format!("`{}`", case.name), &format!("{subject}{}", case.says), case.releases);
        }
    }
    rows
}

/// The table of planned switches in Markdown.
fn planned() -> String {
    let mut rows = "| switch | values | planned behaviour |\n|---|---|---|\n".to_owned();
    for planned in PLANNED {
        let values: Vec<_> = planned.values.iter().map(|value| format!("`{value}`")).collect();
        rows += &format!("| `{}` | {} | {} |\n", planned.key, values.join(", "), planned.meaning);
    }
    rows
}

/// `text` with the table below `heading` replaced by `table`.
fn with_table(text: &str, heading: &str, table: &str) -> String {
    let start = text.find(heading).unwrap_or_else(|| panic!("docs/policies.md has the heading {heading}"));
    let begin = start + text[start..].find("\n| ").expect("a table below the heading") + 1;
    let end = text[begin..].find("\n\n").map_or(text.len(), |blank| begin + blank + 1);
    format!("{}{table}{}", &text[..begin], &text[end..])
}

#[test]
fn the_tables_are_those_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies.md");
    let text = fs::read_to_string(&path).expect("docs/policies.md is readable");
    let expected = with_table(&text, "## Switches", &table_of_switches());
    let expected = with_table(&expected, "## Not modelled yet", &planned());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &expected).expect("docs/policies.md can be written");
    }
    assert!(fs::read_to_string(&path).unwrap() == expected, "docs/policies.md differs from the tables of the code");
}
