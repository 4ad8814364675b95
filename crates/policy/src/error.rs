//! Why a policy is no good: one sentence with file, line, what was expected, and the nearest valid name.

use order9_toml::FileError;

/// A policy that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    /// A name or a file, its own or that of a base, that cannot be read.
    #[error(transparent)]
    File(#[from] FileError<Problem>),
    /// A policy that stands on nothing and leaves switches open.
    #[error(
        "{file}: expected a base, or a value for every switch; without value: {}",
        missing.join(", ")
    )]
    Incomplete {
        /// Path of the file.
        file: String,
        /// Keys of the switches that no line sets.
        missing: Vec<&'static str>,
    },
    /// Values that exclude each other.
    #[error("{file}: {one} and {other} exclude each other: {why}")]
    Conflict {
        /// Path of the policy.
        file: String,
        /// Key and value of one side, and where it was set.
        one: String,
        /// Key and value of the other side, and where it was set.
        other: String,
        /// The contradiction between the values, in words.
        why: &'static str,
    },
}

/// Errors at a line of a policy file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// An error that any kind of file can have.
    #[error(transparent)]
    Any(#[from] order9_toml::Problem),
    /// The switch exists, its mechanism does not.
    #[error("{key} is not modelled yet ({meaning}): leave it out, or name it in `needs`")]
    NotModelled {
        /// Key of the planned switch.
        key: &'static str,
        /// The behaviour that the switch would change.
        meaning: &'static str,
    },
    /// The mechanism exists: the switch can be set.
    #[error("{key} is modelled: set it instead of naming it in `needs`")]
    Modelled {
        /// Key of the planned switch.
        key: &'static str,
    },
}
