//! Completions as shells run them, and manual pages as `man` shows them. Shells and tools that the host lacks are left out visibly.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::{order9, order9_line};

/// Runs a program that a host may lack: none, and a visible line, where it does.
pub(crate) fn tool(program: &str, args: &[&str]) -> Option<Output> {
    match Command::new(program).args(args).env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8").output() {
        Ok(output) => Some(output),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("SKIPPED: no {program} on this host");
            None
        }
        Err(error) => panic!("{program}: {error}"),
    }
}

/// Standard output of a success without messages.
#[track_caller]
fn silent(output: Output) -> String {
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A folder with the completions for `shell`.
fn script(shell: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order9");
    fs::write(&path, order9(["completions", shell]).success()).unwrap();
    (folder, path.to_str().unwrap().to_owned())
}

#[test]
fn bash_completes_commands_options_and_values() {
    let (_folder, path) = script("bash");
    let Some(checked) = tool("bash", &["-n", &path]) else { return };
    silent(checked);
    // As readline does: it looks up the function of the command and hands it the words, the last of which is completed.
    let complete = r#"
        source "$1"; shift
        found=$(complete -p order9); function=${found##*-F }; function=${function%% *}
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
        "$function" order9 "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let completed = |line: &str| {
        let words = ["-c", complete, "bash", &path].into_iter().chain(line.split(' '));
        silent(tool("bash", &words.collect::<Vec<_>>()).expect("bash is there"))
    };
    assert_eq!(completed("order9 po"), "policies\n");
    assert_eq!(completed("order9 policies d"), "diff\n");
    assert_eq!(completed("order9 inspect --w"), "--watch\n--width\n");
    assert_eq!(completed("order9 export runs/x --to p"), "parquet\nperfetto\n");
    assert!(!completed("order9 ").contains("program"), "hidden commands are not offered");
}

#[test]
fn fish_completes_commands_with_their_meaning() {
    let (_folder, path) = script("fish");
    let complete = format!("source {path}; complete -C 'order9 po'; complete -C 'order9 export --to pa'");
    let Some(output) = tool("fish", &["--no-config", "-c", &complete]) else { return };
    let lines = silent(output);
    assert!(lines.starts_with("policies\tName, show or compare policies"), "{lines}");
    assert!(lines.contains("parquet\tTables as Apache Parquet"), "{lines}");
}

#[test]
fn zsh_loads_the_completion() {
    let (_folder, path) = script("zsh");
    let Some(checked) = tool("zsh", &["-f", "-n", &path]) else { return };
    silent(checked);
    let load =
        format!("autoload -Uz compinit; compinit -D -u; source {path}; print -- $_comps[order9] $+functions[_order9]");
    assert_eq!(silent(tool("zsh", &["-f", "-c", &load]).expect("zsh is there")), "_order9 1\n");
}

/// All pages, in a folder `man1` of the folder.
fn pages() -> (tempfile::TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(order9_line("man -o {}/man1", folder.path()).success(), "");
    let paths = fs::read_dir(folder.path().join("man1")).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths.map(|path| path.to_str().unwrap().to_owned()).collect();
    paths.sort();
    (folder, paths)
}

#[test]
fn every_command_has_a_manual_page() {
    let (folder, paths) = pages();
    let page = |name: &str| folder.path().join("man1").join(name);
    for name in ["order9.1", "order9-run.1", "order9-policies-diff.1", "order9-snapshot-synth.1"] {
        assert!(page(name).exists(), "{name} among {paths:?}");
    }
    assert!(!page("order9-program.1").exists(), "hidden commands have no page");
    let help = order9(["--help"]).success();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    for command in commands.filter_map(|line| line.split_whitespace().next()).filter(|name| page_of(name, &help)) {
        assert!(page(&format!("order9-{command}.1")).exists(), "{command}");
    }
    let again = order9_line("man -o {}/man1", folder.path());
    assert!(again.refusal().contains("expected a new or empty directory"));
}

/// Whether a word at the begin of a line of `help` is a command, and not one of its wrapped explanation; `help` has no page.
fn page_of(word: &str, help: &str) -> bool {
    word != "help" && help.contains(&format!("\n  {word} "))
}

#[test]
fn man_shows_every_page_without_a_warning() {
    let (_folder, paths) = pages();
    for path in &paths {
        let Some(output) = tool("man", &["--warnings", "--no-justification", "--no-hyphenation", "-l", path]) else {
            return;
        };
        let text = silent(output);
        let stem = Path::new(path).file_stem().unwrap().to_str().unwrap();
        assert!(text.contains(&format!("{stem} - ")) && text.contains("SEE ALSO"), "{text}");
    }
    let plot = paths.iter().find(|path| path.ends_with("order9-plot.1")).unwrap();
    let text = silent(tool("man", &["-l", plot]).expect("man is there"));
    assert!(
        text.contains("\n         A/s  rate(A)         growth per second\n"),
        "columns stand as in the help: {text}"
    );
    assert!(text.contains("\nEXAMPLES\n         order9 plot runs/fsmark\n"), "examples stand line by line: {text}");
}
