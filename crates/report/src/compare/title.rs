//! Titles of columns, and how they break into two lines.

use schemars::JsonSchema;
use serde::Serialize;

/// Title of a column: usually a kernel release and its changes, `5.3.0-rc3-vanilla`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Title(String);

impl Title {
    /// A title; line breaks in it become spaces, for it has to fit into a row.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.replace(['\n', '\r'], " "))
    }

    /// The whole title.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The title over two rows: split at the first `-`, or behind `-rcN` if that is what the first `-` begins.
    #[must_use]
    pub fn lines(&self) -> [&str; 2] {
        let Some((first, rest)) = self.0.split_once('-') else { return [&self.0, ""] };
        match after_candidate(rest) {
            None => [first, rest],
            Some("") => [&self.0, ""],
            Some(rest) => [&self.0[..self.0.len() - rest.len() - 1], rest],
        }
    }
}

/// The rest of `text` behind `rcN-`; empty if nothing follows, `None` if `text` does not begin so.
fn after_candidate(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("rc")?;
    let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = behind.len() < rest.len();
    match behind.strip_prefix('-') {
        _ if !numbered => None,
        Some(behind) => Some(behind),
        None if behind.is_empty() => Some(""),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_split_at_the_first_dash_but_release_candidates_stay_whole() {
        let cases = [
            ("5.0.0-linear", ["5.0.0", "linear"]),
            ("4.19.0-relaxthisnode-v1r1", ["4.19.0", "relaxthisnode-v1r1"]),
            ("5.3.0-rc3-vanilla", ["5.3.0-rc3", "vanilla"]),
            ("5.3.0-rc12-shrinker-v1r1", ["5.3.0-rc12", "shrinker-v1r1"]),
            ("5.3.0-rc3", ["5.3.0-rc3", ""]),
            ("5.3.0-rcx-y", ["5.3.0", "rcx-y"]),
            ("5.3.0-rc3x-y", ["5.3.0", "rc3x-y"]),
            ("vanilla", ["vanilla", ""]),
            ("", ["", ""]),
            ("-", ["", ""]),
        ];
        for (title, lines) in cases {
            assert_eq!(Title::new(title).lines(), lines, "{title}");
        }
    }
}
