//! Why a policy is no good: one sentence with file, line, what was expected, and the nearest valid name.

use crate::nearest::proposal;

/// A policy that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A name that is neither a preset nor a path.
    #[error(
        "no policy is called '{name}'{}; `order9 policies list` names all, a file is given with / or .toml in its name",
        proposal(*.nearest)
    )]
    UnknownPreset {
        /// As given.
        name: String,
        /// The preset that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A file that cannot be read, or is no text.
    #[error("{file}: {problem}")]
    Unreadable {
        /// As named by the user.
        file: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Something wrong at a line.
    #[error("{file}, line {line}: {problem}")]
    At {
        /// As named by the user.
        file: String,
        /// From 1 on.
        line: usize,
        /// What is wrong there.
        problem: Problem,
    },
    /// A base that cannot be loaded.
    #[error("{file}, line {line}: base: {cause}")]
    Base {
        /// The file that names it.
        file: String,
        /// From 1 on.
        line: usize,
        /// Why.
        cause: Box<PolicyError>,
    },
    /// A policy that is its own base.
    #[error("policies must not be based on each other in a circle: {}", files.join(" -> "))]
    Cycle {
        /// The way round; the last is the first.
        files: Vec<String>,
    },
    /// A policy that stands on nothing and leaves switches open.
    #[error(
        "{file}: expected a base, or a value for every switch; without value: {}",
        missing.join(", ")
    )]
    Incomplete {
        /// The file.
        file: String,
        /// Keys of the switches that no line sets.
        missing: Vec<&'static str>,
    },
    /// Values that exclude each other.
    #[error("{file}: {one} and {other} exclude each other: {why}")]
    Conflict {
        /// The policy.
        file: String,
        /// Key and value of one side, and where it was set.
        one: String,
        /// Key and value of the other side, and where it was set.
        other: String,
        /// What would go wrong.
        why: &'static str,
    },
}

/// What is wrong at a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text is no TOML.
    #[error("{0}")]
    Syntax(String),
    /// No switch is called so.
    #[error("unknown key {key}{}", proposal(*.nearest))]
    UnknownKey {
        /// As written, with its table.
        key: String,
        /// The key that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The switch exists, its mechanism does not.
    #[error("{key} is not modelled yet ({meaning}): leave it out, or name it in `needs`")]
    NotModelled {
        /// The key.
        key: &'static str,
        /// What it would switch.
        meaning: &'static str,
    },
    /// The mechanism exists: the switch can be set.
    #[error("{key} is modelled: set it instead of naming it in `needs`")]
    Modelled {
        /// The key.
        key: &'static str,
    },
    /// A value of the wrong type, an unknown word, or a number out of range.
    #[error("{key} is {found}, expected {expected}")]
    WrongValue {
        /// The key.
        key: String,
        /// As written.
        found: String,
        /// What is accepted.
        expected: String,
    },
}
