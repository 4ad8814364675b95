//! Records of changes: everything that taking one back needs to know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use crate::persist::Kind;

/// A change of settings that was not taken back, with all that its way back needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// Number of the change, from 1 on.
    pub id: u32,
    /// Moment of the change, in UTC.
    pub time: String,
    /// The user who made it.
    pub by: Who,
    /// The kernel's number of that run of the machine: after a restart settings are the kernel's own again.
    pub boot: String,
    /// Whether the change, or the way back, is under way. It was interrupted if nobody is at work.
    pub under_way: bool,
    /// The settings that were asked for, in the order in which they were written.
    pub settings: Vec<Change>,
    /// Settings that the kernel may have changed along with them.
    pub companions: Vec<Change>,
    /// Ways in which the settings are kept.
    pub kinds: Vec<Kind>,
    /// Files that keep the settings.
    pub files: Vec<Written>,
}

/// A setting with its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Linux' name of the setting.
    pub name: String,
    /// The file of the setting.
    pub path: String,
    /// The value before the change.
    pub before: String,
    /// The value that was asked for; none where the kernel changed the setting by itself.
    pub wanted: Option<String>,
    /// The value that the file showed after the change, once that was through.
    pub after: Option<String>,
}

/// A file that keeps settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// Way in which it keeps them.
    pub kind: Kind,
    /// The file.
    pub path: String,
    /// Checksum of its text, XXH3 of 128 bits.
    pub checksum: String,
    /// The text before the change, of an earlier change; none where there was no file.
    pub before: Option<String>,
    /// Folders that were made for it.
    pub folders: Vec<String>,
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Who {
    /// Number of the user; behind sudo of the one who called it.
    pub uid: u32,
    /// Name of the user, where the environment says one.
    pub name: Option<String>,
}

impl Record {
    /// All paths that the record names.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &String> {
        let of_files = self.files.iter().flat_map(|file| std::iter::once(&file.path).chain(&file.folders));
        self.changes().map(|change| &change.path).chain(of_files)
    }

    /// Settings and companions.
    pub(crate) fn changes(&self) -> impl DoubleEndedIterator<Item = &Change> {
        self.settings.iter().chain(&self.companions)
    }
}

impl Change {
    /// Whether the value after the change is another one, as far as that is known.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.after.as_ref() != Some(&self.before)
    }
}

impl Written {
    /// Whether `text` is what was written.
    pub(crate) fn is_as_written(&self, text: &str) -> bool {
        self.checksum == checksum(text)
    }
}

pub(crate) fn checksum(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

impl Who {
    /// The user who runs this process.
    #[must_use]
    pub fn of_process() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|text| !text.is_empty());
        let sudo = variable("SUDO_UID").and_then(|text| text.parse().ok());
        Self {
            uid: sudo.unwrap_or_else(|| rustix::process::getuid().as_raw()),
            name: variable("SUDO_USER").or_else(|| variable("USER")),
        }
    }
}
