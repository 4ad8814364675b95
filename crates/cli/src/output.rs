//! Where results go: standard output at once, files whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use clap::ValueEnum;
use order9_report::terminal::ColourDepth;

use crate::failure::{Failure, io_sentence};

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
    /// What to draw with on standard output.
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

/// Writes `text` to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Writes `value` to standard output as JSON.
pub(crate) fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value).map_err(io::Error::from)?;
    text.push('\n');
    print(&text)
}

/// Writes the file at `path` whole or not at all: into a temporary file beside it that takes its name when complete. A
/// link is followed; a device or pipe takes the bytes as they come, since only a regular file can be replaced.
pub(crate) fn write_file<E: std::fmt::Display>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> Result<(), E>,
) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::file(path, "is a directory, expected a file to write"));
    }
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let failed = |error: &io::Error| Failure::file(path, format!("cannot be written: {}", io_sentence(error)));
    if target.metadata().is_ok_and(|target| !target.is_file()) {
        let file = File::options().write(true).open(&target).map_err(|error| failed(&error))?;
        let mut out = BufWriter::new(&file);
        write(&mut out).map_err(|error| Failure::file(path, error))?;
        return out.flush().map_err(|error| failed(&error));
    }
    let folder = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let file = new_file(folder).map_err(|error| failed(&error))?;
    let mut out = BufWriter::new(file.as_file());
    write(&mut out).map_err(|error| Failure::file(path, error))?;
    out.flush().map_err(|error| failed(&error))?;
    drop(out);
    file.persist(&target).map_err(|error| failed(&error.error))?;
    Ok(())
}

/// A temporary file in `folder` with the permissions a new file gets.
fn new_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = std::fs::Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(".order9-").permissions(permissions).tempfile_in(folder)
}
