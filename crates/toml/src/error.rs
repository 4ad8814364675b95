//! Why a file is no good: one sentence with file, line, what was expected, and the nearest valid name.

use std::fmt::{Debug, Display};

use crate::chain::Kind;
use crate::words::{nearest, proposal, shown};

/// A file, or a chain of files, that cannot be read. `P` is what can be wrong at a line of this kind of file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileError<P: Debug + Display + 'static> {
    /// A name that is neither built in nor a path.
    #[error(
        "no {} is called '{name}'{}; `order9 {} list` names all, a file is given with / or .toml in its name",
        kind.one, proposal(*.nearest), kind.many
    )]
    UnknownName {
        /// Kind of file that was looked for.
        kind: Kind,
        /// The name as given.
        name: String,
        /// The built-in name that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A file that cannot be read, or is no text.
    #[error("{file}: {problem}")]
    Unreadable {
        /// The path as the user named it.
        file: String,
        /// The error, in words.
        problem: String,
    },
    /// An error at a line.
    #[error("{file}, line {line}: {problem}")]
    At {
        /// The path as the user named it.
        file: String,
        /// Number of the line, from 1 on.
        line: usize,
        /// The error at that line.
        problem: P,
    },
    /// A base that cannot be loaded.
    #[error("{file}, line {line}: base: {cause}")]
    Base {
        /// The file that names it.
        file: String,
        /// Number of the line, from 1 on.
        line: usize,
        /// The error in the file that is inherited from.
        cause: Box<Self>,
    },
    /// A file that is its own base.
    #[error("{} must not be based on each other in a circle: {}", kind.many, files.join(" -> "))]
    Cycle {
        /// Kind of the files.
        kind: Kind,
        /// The way round; the last is the first.
        files: Vec<String>,
    },
}

/// Errors at a line that any kind of file can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text is no TOML.
    #[error("{0}")]
    Syntax(String),
    /// No key is called so.
    #[error("unknown key {key}{}", proposal(*.nearest))]
    UnknownKey {
        /// The key as written, with its table.
        key: String,
        /// The key that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A value of the wrong type, an unknown word, or a number out of range.
    #[error("{key} is {found}, expected {expected}")]
    WrongValue {
        /// Key of the value.
        key: String,
        /// The value as written.
        found: String,
        /// The accepted values, in words.
        expected: String,
    },
}

impl Problem {
    /// A key that is none of `names`.
    pub fn unknown_key(key: &str, names: impl IntoIterator<Item = &'static str>) -> Self {
        Self::UnknownKey { key: shown(key), nearest: nearest(key, names) }
    }
}
