//! Files of the control groups with most memory: what each has in huge pages, and how long its tasks waited for memory.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

/// Control groups that are looked at.
const LARGEST: usize = 16;
/// Folders that are visited to find them.
const FOLDERS_MAX: usize = 10_000;
/// Files of the amount in use, of the second and of the first version.
const IN_USE: [&str; 2] = ["memory.current", "memory.usage_in_bytes"];
/// Longest path that is kept: it becomes the name of a file.
const NAME_MAX: usize = 160;
/// Files that are kept, where a group has them.
const KEPT: [&str; 2] = ["memory.stat", "memory.pressure"];

/// Paths of the files, of the largest group first.
pub(crate) fn cgroup_files() -> Vec<String> {
    let [one, memory] = ["/sys/fs/cgroup", "/sys/fs/cgroup/memory"].map(Path::new);
    files(if memory.join(IN_USE[1]).exists() { memory } else { one })
}

fn files(root: &Path) -> Vec<String> {
    let mut sized: Vec<(u64, PathBuf)> = Vec::new();
    let mut left = vec![root.to_owned()];
    let mut visited = 0;
    while let Some(folder) = left.pop()
        && visited < FOLDERS_MAX
    {
        visited += 1;
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        left.extend(entries.filter(|of| of.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()));
        let in_use = |name: &&str| fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok();
        if let Some(bytes) = IN_USE.iter().find_map(in_use) {
            sized.push((bytes, folder));
        }
    }
    sized.sort_unstable_by(|one, other| (Reverse(one.0), &one.1).cmp(&(Reverse(other.0), &other.1)));
    let files = sized.iter().take(LARGEST).flat_map(|(_, folder)| KEPT.map(|name| folder.join(name)));
    let files = files.filter(|path| path.exists()).filter_map(|path| path.to_str().map(str::to_owned));
    files.filter(|path| path.len() <= NAME_MAX && path.chars().all(is_of_a_name)).collect()
}

/// Whether the name of a file may have such a character, beside those that separate folders.
fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/._-@".contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_groups_come_first() {
        let root = std::env::temp_dir().join(format!("order9-cgroups-{}", std::process::id()));
        for (name, bytes) in [("small", 1), ("large/inner", 9)] {
            let folder = root.join(name);
            fs::create_dir_all(&folder).expect("it is made");
            fs::write(folder.join("memory.current"), format!("{bytes}\n")).expect("it is written");
            fs::write(folder.join("memory.stat"), "anon_thp 0\n").expect("it is written");
        }
        let found = files(&root);
        fs::remove_dir_all(&root).expect("it is there");
        let ends: Vec<bool> = ["large/inner/memory.stat", "small/memory.stat"]
            .iter()
            .zip(&found)
            .map(|(end, path)| path.ends_with(end))
            .collect();
        assert_eq!((ends, found.len()), (vec![true, true], 2));
    }
}
