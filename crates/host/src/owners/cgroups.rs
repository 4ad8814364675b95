//! /proc/kpagecgroup: the control group that pays for each frame, by the inode of its folder.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use order9_snapshot::owners::OWNERS_MAX;

/// Folders of control groups that are known at most.
const FOLDERS_MAX: usize = OWNERS_MAX;
/// Bytes that are read at once.
const AT_ONCE: usize = 1 << 18;

/// Control group of one frame after the other.
pub(super) struct CgroupWords {
    file: BufReader<File>,
    /// Path of each folder by its inode.
    paths: BTreeMap<u64, String>,
    /// Place of those that hold memory, in the list of owners.
    places: BTreeMap<u64, usize>,
    /// The last word with its place: neighbours are usually alike.
    last: (u64, Option<usize>),
}

impl CgroupWords {
    pub(super) fn open() -> Result<Self, &'static str> {
        let file = File::open("/proc/kpagecgroup").map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "kernel built without CONFIG_MEMCG or CONFIG_PROC_PAGE_MONITOR",
            _ => "needs root, or CAP_SYS_ADMIN",
        })?;
        let file = BufReader::with_capacity(AT_ONCE, file);
        Ok(Self { file, paths: paths(root()), places: BTreeMap::new(), last: (0, None) })
    }

    /// Control group of the next frame, added to `names` where it is new; `None` where nobody pays for it.
    pub(super) fn next(&mut self, names: &mut Vec<String>) -> Option<usize> {
        let mut bytes = [0; size_of::<u64>()];
        let inode = if self.file.read_exact(&mut bytes).is_ok() { u64::from_ne_bytes(bytes) } else { 0 };
        if inode != self.last.0 {
            self.last = (inode, self.place(inode, names));
        }
        self.last.1
    }

    fn place(&mut self, inode: u64, names: &mut Vec<String>) -> Option<usize> {
        if let Some(&place) = self.places.get(&inode) {
            return Some(place);
        }
        let name = self.paths.get(&inode).cloned().unwrap_or_else(|| format!("inode {inode}"));
        if inode == 0 || names.len() >= OWNERS_MAX {
            return None;
        }
        names.push(name);
        self.places.insert(inode, names.len() - 1);
        Some(names.len() - 1)
    }
}

/// Folder of the hierarchy that memory is charged in.
fn root() -> &'static Path {
    let [one, memory] = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory"].map(Path::new);
    if memory.join("memory.usage_in_bytes").exists() { memory } else { one }
}

/// Paths of all control groups below a folder, by inode, as /proc/PID/cgroup spells them.
fn paths(root: &Path) -> BTreeMap<u64, String> {
    let mut paths = BTreeMap::new();
    let mut left: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(folder) = left.pop()
        && paths.len() < FOLDERS_MAX
    {
        let Ok(metadata) = folder.metadata() else { continue };
        let below = folder.strip_prefix(root).map(Path::to_string_lossy).unwrap_or_default();
        paths.insert(metadata.ino(), format!("/{below}"));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        left.extend(entries.filter(|of| of.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_known_by_their_inode() {
        let root = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(root.path().join("system.slice/db.service")).expect("it is made");
        let paths = paths(root.path());
        let inode = root.path().join("system.slice/db.service").metadata().expect("it is there").ino();
        assert_eq!((paths.len(), paths[&inode].as_str()), (3, "/system.slice/db.service"));
        assert!(paths.values().any(|path| path == "/"));
    }
}
