//! Files written back: strings and comments.

use std::fmt;

/// Columns that comments are wrapped to.
const WIDTH: usize = 100;

/// A string of TOML; `text` holds no control characters.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Writes `text` as comment lines.
///
/// # Errors
/// Those of the writer.
pub fn comment(f: &mut impl fmt::Write, text: &str) -> fmt::Result {
    let mut column = 1;
    write!(f, "#")?;
    for word in text.split(' ') {
        if column + 1 + word.chars().count() > WIDTH {
            write!(f, "\n#")?;
            column = 1;
        }
        write!(f, " {word}")?;
        column += 1 + word.chars().count();
    }
    writeln!(f)
}
