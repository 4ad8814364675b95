//! docs/machines.md names every figure, as the tables of the code do.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p order9-lab`, then read the difference.

use std::fs;
use std::path::Path;

use order9_lab::machines::{DISK_FIGURES, DISTANCE_FIGURES, FIGURES, List, Unit};
use order9_machine::cost::PRICES;

/// The table of figures in Markdown.
fn figures() -> String {
    let row = |info: &order9_lab::machines::FigureInfo| {
        let unit = match info.unit {
            Unit::Time => "ns",
            Unit::Size => "size",
            Unit::Factor => "factor",
            Unit::Rate => "MB/s",
            Unit::Count => "count",
            Unit::FileSystem => "name",
        };
        format!("| `{}` | {unit} | {} |\n", info.key, info.meaning.trim_end_matches('.'))
    };
    let rows: String = FIGURES.iter().chain(DISTANCE_FIGURES.iter()).chain(DISK_FIGURES.iter()).map(row).collect();
    format!("| key | unit | meaning |\n|---|---|---|\n{rows}")
}

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/machines.md");
    let text = fs::read_to_string(&path).expect("docs/machines.md is readable");
    let start = text.find("## Figures").expect("docs/machines.md has a list of figures");
    let begin = start + text[start..].find("\n| ").expect("a table below the heading") + 1;
    let end = text[begin..].find("\n\n").map_or(text.len(), |blank| begin + blank + 1);
    let expected = format!("{}{}{}", &text[..begin], figures(), &text[end..]);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &expected).expect("docs/machines.md can be written");
    }
    assert!(fs::read_to_string(&path).unwrap() == expected, "docs/machines.md differs from the tables of the code");
    expected
}

#[test]
fn every_figure_and_every_machine_is_described() {
    let text = document();
    for info in PRICES {
        assert!(text.contains(&format!("| `prices.{}` | ns | {}", info.key, info.meaning.trim_end_matches('.'))));
    }
    for machine in List::new().unwrap().machines {
        assert!(text.contains(&format!("| `{}` |", machine.name)), "{} is described", machine.name);
    }
}
