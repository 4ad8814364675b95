//! Why nothing was changed: one sentence each.

use std::io;

use order9_journal::JournalError;
use order9_toml::{FileError, Problem, proposal};

use crate::persist::Kind;
use crate::releases::Release;

/// Reason against one wish.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A key without a value.
    #[error("expected NAME=VALUE")]
    NoPair,
    /// No setting is called so.
    #[error("no setting is called '{name}'{}", if nearest.is_some() { proposal(*.nearest) } else { "; docs/settings.md names all".to_owned() })]
    Unknown {
        /// The name as given.
        name: String,
        /// The name that was probably meant.
        nearest: Option<&'static str>,
    },
    /// The file can only be read.
    #[error("{0} is read-only")]
    ReadOnly(String),
    /// Writing the file starts something, and the file keeps no value.
    #[error("writing {0} starts something that nobody could take back: write it by hand, to {1}")]
    NoValue(String, String),
    /// The running kernel does not have the file.
    #[error("{name} does not exist in this kernel{}{}", release.as_ref().map(|release| format!(", {release}")).unwrap_or_default(), reason(*.came, release.as_deref()))]
    Absent {
        /// Name of the setting.
        name: String,
        /// Release of the running kernel.
        release: Option<String>,
        /// The release with which it came, where that is known.
        came: Option<Release>,
    },
    /// The file does not take the value.
    #[error("{name} takes {takes}, not '{value}'{}", proposal(nearest.as_deref()))]
    Value {
        /// Name of the setting.
        name: String,
        /// The value as given.
        value: String,
        /// The values that the file takes, in words.
        takes: String,
        /// The word that was probably meant.
        nearest: Option<String>,
    },
    /// The file cannot be read.
    #[error("{path}: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// The error of the system.
        error: io::Error,
    },
    /// Two wishes for one file.
    #[error("{0} is set twice")]
    Twice(String),
    /// Two settings of which only one counts.
    #[error("{0} and {1} exclude each other: writing one makes the other 0")]
    Exclusive(String, String),
}

/// Why the running kernel lacks a setting, as far as that is known.
fn reason(came: Option<Release>, running: Option<&str>) -> String {
    let running = running.and_then(Release::parse);
    match came {
        Some(came) if running.is_some_and(|running| running >= came) => {
            format!(": Linux has it from {came} on, so this kernel was built without it")
        }
        Some(came) => format!(": it came with Linux {came}"),
        None => String::new(),
    }
}

/// Reason for which nothing was changed, or nothing was taken back.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// A wish that is refused.
    #[error("{said}: {refusal}")]
    Wish {
        /// The argument, or the file with its line.
        said: String,
        /// Reason of it.
        refusal: Refusal,
    },
    /// A settings file that cannot be read.
    #[error(transparent)]
    SettingsFile(#[from] FileError<Problem>),
    /// No setting was named.
    #[error("no setting is given: expected a settings file, or --set NAME=VALUE")]
    NoWishes,
    /// Another instance is at work, or its lock cannot be had.
    #[error(transparent)]
    Lock(#[from] JournalError),
    /// A file cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: String,
        /// The error of the system.
        error: io::Error,
    },
    /// A record that this program did not write.
    #[error("{path}: is no record of `order9 apply`: {why}")]
    Record {
        /// The file.
        path: String,
        /// The error of the reader.
        why: String,
    },
    /// A way to keep settings that cannot hold some of them.
    #[error("--persist {}: {} cannot be kept so; {}", options(.kinds), settings.join(", "), .hint)]
    CannotHold {
        /// The ways that were asked for.
        kinds: Vec<Kind>,
        /// Names of the settings.
        settings: Vec<String>,
        /// The way that would do.
        hint: &'static str,
    },
    /// A file of somebody else lies in the place of a persistent file.
    #[error("{0}: is there already and is not as order9 wrote it: move it away first")]
    Foreign(String),
    /// A write that was refused; everything before it was put back.
    #[error("{what}; everything is as before{}", but_for(.left))]
    Write {
        /// The file, and the error of the system.
        what: String,
        /// Files that could not be put back, with the reasons.
        left: Vec<String>,
    },
    /// Files that are no longer as they were left.
    #[error("nothing was taken back: {}; --force takes it back all the same", .0.join("; "))]
    Changed(Vec<String>),
    /// Files that could not be put back.
    #[error("not everything could be put back: {}; `order9 undo` tries again, and with --force leaves the rest as it is", .0.join("; "))]
    Left(Vec<String>),
}

fn options(kinds: &[Kind]) -> String {
    kinds.iter().map(|kind| kind.word()).collect::<Vec<_>>().join(" --persist ")
}

fn but_for(left: &[String]) -> String {
    if left.is_empty() { String::new() } else { format!(" but for {}", left.join("; ")) }
}
