//! Results on standard output, messages on standard error: everything passes here, and nothing that a terminal would obey.

use std::io::{self, IsTerminal, Write};

use clap::ValueEnum;
use order9_report::terminal::ColourDepth;

use crate::failure::Failure;

/// `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColourChoice {
    /// Colour on a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Colour, even into a pipe.
    Always,
    /// No colour.
    Never,
}

impl ColourChoice {
    /// Colours that standard output can show.
    pub(crate) fn depth(self) -> ColourDepth {
        let on = match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto if anstyle_query::no_color() => false,
            Self::Auto if anstyle_query::clicolor_force() => true,
            Self::Auto => {
                io::stdout().is_terminal()
                    && anstyle_query::clicolor().unwrap_or(true)
                    && anstyle_query::term_supports_color()
            }
        };
        match on {
            false => ColourDepth::None,
            true if anstyle_query::truecolor() => ColourDepth::True,
            true => ColourDepth::Ansi256,
        }
    }
}

/// Columns to draw in: what was asked for, else the terminal's, else 80.
pub(crate) fn width(asked: Option<u16>) -> usize {
    let terminal = || terminal_size::terminal_size().map(|(width, _)| width.0);
    usize::from(asked.or_else(terminal).unwrap_or(80)).clamp(40, 240)
}

/// Lines of the terminal, or 24.
pub(crate) fn height() -> usize {
    terminal_size::terminal_size().map_or(24, |(_, height)| usize::from(height.0))
}

/// Writes `text` to standard output, without any style.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    write(&order9_escape::text(text))
}

/// Writes `text` to standard output with its colours. Foreign strings in it hold plain characters only, as
/// those of a snapshot do.
pub(crate) fn print_styled(text: &str) -> Result<(), Failure> {
    write(&order9_escape::styled(text))
}

/// Writes `value` to standard output as JSON.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    write(&json(value)?)
}

/// `value` as JSON for people and programs, with harmless characters only.
pub(crate) fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let mut text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
    text.push('\n');
    Ok(order9_escape::json(&text).into_owned())
}

/// Writes `text` where messages go: results are on standard output.
pub(crate) fn say(text: &str) -> Result<(), Failure> {
    Ok(io::stderr().lock().write_all(order9_escape::text(text).as_bytes())?)
}

/// Writes the one line that says why a command stopped. Where standard error is gone nobody is left to be told.
pub(crate) fn complain(failure: &Failure) {
    let line = format!("order9: {}\n", order9_escape::line(&failure.to_string()));
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
