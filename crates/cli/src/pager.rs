//! Long texts, page by page where standard output is a terminal: by $PAGER, else by less, as git does.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::{Command, Stdio};

use order9_report::terminal::ColourDepth;

use crate::failure::Failure;
use crate::output::{ColourChoice, height, print, print_styled};

/// Prints Markdown: as it is into a pipe, in pages and with headings that stand out on a terminal.
pub(crate) fn show(markdown: &str) -> Result<(), Failure> {
    if !io::stdout().is_terminal() {
        return print(markdown);
    }
    let text = styled(markdown, ColourChoice::Auto.depth());
    if text.lines().count() < height() || !paged(&order9_escape::styled(&text)) {
        return print_styled(&text);
    }
    Ok(())
}

/// Hands `text` to the pager; whether there is one.
fn paged(text: &str) -> bool {
    let pager = std::env::var("PAGER").ok().filter(|pager| !pager.is_empty()).unwrap_or_else(|| "less".to_owned());
    let mut command = Command::new("sh");
    command.args(["-c", &pager]).stdin(Stdio::piped());
    if std::env::var_os("LESS").is_none() {
        // Leave at once where everything fits, take colours, and keep the text on the screen.
        command.env("LESS", "FRX");
    }
    let Ok(mut child) = command.spawn() else { return false };
    // A pager that is left early closes its end.
    let _ = child.stdin.take().map(|mut input| input.write_all(text.as_bytes()));
    // The shell says by 127 that it found no such program.
    child.wait().is_ok_and(|status| status.code() != Some(127))
}

/// Headings in bold.
fn styled(markdown: &str, colour: ColourDepth) -> String {
    let mut is_code = false;
    let line = |line: &str| {
        is_code ^= line.starts_with("```");
        let is_heading = line.starts_with('#') && !is_code;
        format!("{}\n", if is_heading { colour.bold(line) } else { line.to_owned() })
    };
    markdown.lines().map(line).collect()
}
