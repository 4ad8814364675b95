//! Proof that whoever is killed while it changes settings does no harm: settings of memory before and after, and what kills at many
//! moments found.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::job::Job;

/// Folders whose files are settings of memory.
const FOLDERS: [&str; 3] =
    ["/proc/sys/vm", "/sys/kernel/mm/transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/khugepaged"];
/// Files there that count what khugepaged has done.
const COUNTS: [&str; 2] = ["full_scans", "pages_collapsed"];

/// All settings of memory that can be read, by path.
#[must_use]
pub fn settings_of_memory() -> BTreeMap<PathBuf, String> {
    let is_setting = |path: &Path| !COUNTS.iter().any(|count| path.ends_with(count));
    let entries = FOLDERS.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let paths = entries.map(|entry| entry.path()).filter(|path| is_setting(path));
    paths.filter_map(|path| fs::read_to_string(&path).ok().map(|text| (path, text))).collect()
}

/// A process that changes settings of a machine, and is killed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Victim {
    /// A run as a host makes it: its settings come back at the end, and at the next start.
    Run(Job),
    /// A change by `order9 apply` of settings, each as NAME=VALUE: `order9 undo` takes it back.
    Change(Vec<String>),
}

/// Account of kills, each followed by what takes the change back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kills {
    /// Kills after which a way back lay on disk: a run's journal, or the record of a change.
    pub ways_back: u32,
    /// Kills after which a setting had another value than before.
    pub changed: u32,
    /// Findings at the end that must not be: the kill, and which setting or way back.
    pub failed: Vec<String>,
}
