//! Proof that a run which is killed does no harm: settings of memory before and after, and what kills at many moments found.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

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

/// Account of kills, each followed by the next start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kills {
    /// Kills after which an undo journal lay there.
    pub journals: u32,
    /// Kills after which a setting had another value than before the run.
    pub changed: u32,
    /// Findings after the next start that must not be: the kill, and which setting or journal.
    pub failed: Vec<String>,
}
