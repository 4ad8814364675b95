//! Settings by their Linux path: sysctls and the trees of /sys that bear on memory.

use std::collections::BTreeMap;
use std::fs;

use crate::source::Files;

/// Files that act when they are read or written, and hold nothing: never touched.
const TRIGGERS: &[&str] = &["compact", "compact_memory", "demote", "drop_caches", "stat_refresh"];

/// Sysctls that say something of security or of a group of users and nothing of memory management.
const UNRELATED: &[&str] =
    &["hugetlb_shm_group", "legacy_va_layout", "mmap_min_addr", "mmap_rnd_bits", "mmap_rnd_compat_bits"];

/// Settings whose absence tells something: each came with a release or an option.
const EXPECTED: &[&str] = &[
    "/proc/sys/vm/compact_unevictable_allowed",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/defrag_mode",
    "/proc/sys/vm/extfrag_threshold",
    "/proc/sys/vm/percpu_pagelist_high_fraction",
    "/proc/sys/vm/watermark_boost_factor",
    "/proc/sys/vm/watermark_scale_factor",
];

/// Directories whose files are settings, or counters that stand beside them.
const TREES: &[&str] = &[
    "/proc/sys/vm",
    "/sys/kernel/mm/transparent_hugepage",
    "/sys/kernel/mm/hugepages",
    "/sys/kernel/mm/lru_gen",
    "/sys/kernel/mm/numa",
    "/sys/kernel/mm/swap",
];

/// A file of sysfs holds one page of text, a sysctl a few numbers.
const VALUE_BYTES_MAX: usize = 4096;

/// How deep the trees go: `transparent_hugepage/hugepages-64kB/stats/swpout` is three levels.
const DEPTH_MAX: u32 = 3;

/// Reads every setting.
pub(crate) fn read(files: &mut Files<'_>) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for tree in TREES {
        read_tree(files, tree, DEPTH_MAX, &mut settings);
    }
    read_one(files, "/proc/sys/kernel/numa_balancing", &mut settings);
    for path in EXPECTED {
        if !settings.contains_key(*path) && !files.has_missed(path) {
            read_one(files, path, &mut settings);
        }
    }
    let thp = "/sys/kernel/mm/transparent_hugepage";
    let per_size = format!("{thp}/hugepages-");
    if settings.contains_key(&format!("{thp}/enabled")) && !settings.keys().any(|path| path.starts_with(&per_size)) {
        files.fail(&format!("{per_size}*kB"), &std::io::ErrorKind::NotFound.into());
    }
    settings
}

/// Reads every file below `directory` that can be read at all.
pub(crate) fn read_tree(files: &mut Files<'_>, directory: &str, depth: u32, into: &mut BTreeMap<String, String>) {
    for name in files.list(directory) {
        let path = format!("{directory}/{name}");
        if files.root().is_directory(&path) {
            if depth > 0 {
                read_tree(files, &path, depth - 1, into);
            }
        } else if !TRIGGERS.contains(&name.as_str()) && !UNRELATED.contains(&name.as_str()) {
            read_one(files, &path, into);
        }
    }
}

/// Reads one file, which is expected to be there. One that nobody may read is write-only and no setting.
fn read_one(files: &mut Files<'_>, path: &str, into: &mut BTreeMap<String, String>) {
    if fs::metadata(files.root().locate(path)).is_ok_and(|meta| is_write_only(&meta)) {
        return;
    }
    let Some(text) = files.text(path) else { return };
    if text.len() > VALUE_BYTES_MAX {
        files.miss(path, format!("cannot be used: expected at most {VALUE_BYTES_MAX} bytes, found {}", text.len()));
        return;
    }
    into.insert(path.to_owned(), text.trim_end().to_owned());
}

#[cfg(unix)]
fn is_write_only(meta: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    meta.permissions().mode() & 0o444 == 0
}

#[cfg(not(unix))]
fn is_write_only(_: &fs::Metadata) -> bool {
    false
}
