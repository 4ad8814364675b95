//! Files written back: strings and comments.

use std::fmt;

/// Columns that comments are wrapped to.
const WIDTH: usize = 100;

/// A string of TOML; `text` holds no control characters.
#[must_use]
pub fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A string of TOML that goes over several lines where it is long, but holds no line breaks. Spaces become single ones.
#[must_use]
pub fn paragraph(text: &str) -> String {
    let one_line = quoted(text);
    if one_line.chars().count() + "source = ".len() <= WIDTH {
        return one_line;
    }
    let escaped = text.replace('\\', "\\\\").replace("\"\"\"", "\"\"\\\"");
    format!("\"\"\"\\\n{}\"\"\"", wrapped(&escaped, WIDTH - " \\".len()).join(" \\\n"))
}

/// Writes `text` as comment lines.
///
/// # Errors
/// Those of the writer.
pub fn comment(f: &mut impl fmt::Write, text: &str) -> fmt::Result {
    wrapped(text, WIDTH - "# ".len()).iter().try_for_each(|line| writeln!(f, "# {line}"))
}

/// The words of `text`, on lines of up to `width` characters where a word is not longer than that.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::*;

    /// The string that TOML reads where `written` stands as a value.
    fn read(written: &str) -> String {
        let text = format!("source = {written}");
        let table = DeTable::parse(&text).expect("TOML").into_inner();
        table["source"].get_ref().as_str().expect("a string").to_owned()
    }

    #[test]
    fn what_is_written_is_read() {
        let quotes = "she said \"yes\" \\ \"\"\" ".repeat(10);
        for text in ["", "short \"quoted\" \\", &"word ".repeat(50), &quotes, &"x".repeat(300)] {
            assert_eq!(read(&quoted(text)), text);
            let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
            assert_eq!(read(&paragraph(&words)), words);
        }
    }

    #[test]
    fn lines_are_wrapped_at_words() {
        let mut written = String::new();
        comment(&mut written, &"word ".repeat(50)).unwrap();
        assert!(written.lines().all(|line| line.starts_with("# word") && line.len() <= WIDTH), "{written}");
        assert_eq!(written.lines().count(), 3);
    }
}
