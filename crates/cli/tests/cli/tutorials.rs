//! The tutorials, run as a reader types them: every command of a page, in order, in one empty folder, and what it prints.
//!
//! A line `...` of a page stands for any lines. `UPDATE_GOLDEN=1` writes the outputs that differ into the pages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A command of a page with what the page says that it prints.
struct Step {
    command: String,
    output: Vec<String>,
}

/// Pieces of a page: text as it is, and steps of the blocks that are called `console`.
enum Piece {
    Line(String),
    Step(Step),
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut is_console = false;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("```") {
            is_console = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| is_console) {
            let mut command = command.to_owned();
            while command.ends_with('\\') || command.contains("<<'END'") && !command.ends_with("\nEND") {
                command = format!("{command}\n{}", lines.next().expect("the command ends in its block"));
            }
            pieces.push(Piece::Step(Step { command, output: Vec::new() }));
            continue;
        } else if let Some(Piece::Step(step)) = pieces.last_mut().filter(|_| is_console) {
            step.output.push(line.to_owned());
            continue;
        }
        pieces.push(Piece::Line(line.to_owned()));
    }
    pieces
}

/// Runs a command in `folder`, where `order9` is the command that is tested: what it prints, messages included.
fn run(command: &str, folder: &Path) -> Vec<String> {
    let tested = Path::new(env!("CARGO_BIN_EXE_order9")).parent().unwrap();
    let path = format!("{}:{}", tested.display(), std::env::var("PATH").unwrap_or_default());
    let mut bash = Command::new("bash");
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS"] {
        bash.env_remove(variable);
    }
    let script = format!("set -e\nexec 2>&1\n{command}");
    let output = bash.args(["-c", &script]).current_dir(folder).env("PATH", path).env("TERM", "dumb").output().unwrap();
    let text = String::from_utf8(output.stdout).expect("output is UTF-8");
    assert!(output.status.success(), "$ {command}\n{text}");
    text.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Whether `actual` is what the page says.
fn matches(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((line, rest)) if line == "..." => (0..=actual.len()).any(|left| matches(rest, &actual[left..])),
        Some((line, rest)) => actual.first() == Some(line) && matches(rest, &actual[1..]),
    }
}

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorials").join(name)
}

/// Runs a page from its begin to its end.
fn follow(name: &str) {
    let text = fs::read_to_string(page(name)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut pieces = pieces(&text);
    let mut wrong = Vec::new();
    for piece in &mut pieces {
        let Piece::Step(step) = piece else { continue };
        let actual = run(&step.command, folder.path());
        if !matches(&step.output, &actual) {
            wrong.push(format!("$ {}\n{}", step.command, actual.join("\n")));
            step.output = actual;
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let line = |piece: &Piece| match piece {
            Piece::Line(line) => format!("{line}\n"),
            Piece::Step(Step { command, output }) => {
                format!("$ {command}\n{}", output.iter().map(|line| format!("{line}\n")).collect::<String>())
            }
        };
        fs::write(page(name), pieces.iter().map(line).collect::<String>()).unwrap();
    } else {
        assert!(wrong.is_empty(), "{name} shows other output than:\n{}", wrong.join("\n"));
    }
}

#[test]
fn lost_huge_pages() {
    follow("lost-huge-pages.md");
}

#[test]
fn evaluate_a_patch() {
    follow("evaluate-a-patch.md");
}

#[test]
fn reproduce_a_table() {
    follow("reproduce-a-table.md");
}

#[test]
fn embed_the_allocator() {
    // Its code is tested with the documentation of crates/frames.
    follow("embed-the-allocator.md");
}

#[test]
fn teach_compaction() {
    follow("teach-compaction.md");
}

#[test]
fn every_tutorial_is_followed() {
    let own = include_str!("tutorials.rs");
    for entry in fs::read_dir(page("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(own.contains(&format!("follow(\"{name}\")")), "{name} is not followed by any test");
    }
}
