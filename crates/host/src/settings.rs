//! Settings by their Linux path: sysctls and the files of /sys that bear on memory, each by name and with the form of its
//! value. Nothing else in these directories is read, and what does not have the form is left out and named.

use std::collections::BTreeMap;
use std::io;

use order9_units::{HugeDefrag, SizeEnabled};

use crate::form::Form::{self, Choice, Mask, Number, Numbers, Size, Word};
use crate::source::Files;

/// Names in one directory, with the form of their values.
type Kept = &'static [(&'static str, Form)];

const VM: &str = "/proc/sys/vm";
const THP: &str = "/sys/kernel/mm/transparent_hugepage";
const POOLS: &str = "/sys/kernel/mm/hugepages";

const ENABLED: Form = Choice(&SizeEnabled::WORDS);
const SHMEM: Form = Choice(&["always", "inherit", "within_size", "advise", "never", "deny", "force"]);
const TRUTH: Form = Word(&["true", "false"]);

/// Sysctls that say something of memory management in any release; those of security and of groups of users are not here.
#[rustfmt::skip]
const SYSCTLS: Kept = &[
    ("admin_reserve_kbytes", Number), ("compact_unevictable_allowed", Number), ("compaction_proactiveness", Number),
    ("defrag_mode", Number), ("dirty_background_bytes", Number), ("dirty_background_ratio", Number),
    ("dirty_bytes", Number), ("dirty_expire_centisecs", Number), ("dirty_ratio", Number),
    ("dirty_writeback_centisecs", Number), ("dirtytime_expire_seconds", Number), ("extfrag_threshold", Number),
    ("hugepages_treat_as_movable", Number), ("hugetlb_optimize_vmemmap", Number), ("laptop_mode", Number),
    ("lowmem_reserve_ratio", Numbers), ("max_map_count", Number), ("min_free_kbytes", Number),
    ("min_slab_ratio", Number), ("min_unmapped_ratio", Number), ("movable_gigantic_pages", Number),
    ("nr_hugepages", Number), ("nr_hugepages_mempolicy", Number), ("nr_overcommit_hugepages", Number),
    ("numa_stat", Number), ("numa_zonelist_order", Word(&["Node", "Zone", "Default", "node", "zone", "default"])),
    ("oom_dump_tasks", Number), ("oom_kill_allocating_task", Number), ("overcommit_kbytes", Number),
    ("overcommit_memory", Number), ("overcommit_ratio", Number), ("page-cluster", Number),
    ("page_lock_unfairness", Number), ("panic_on_oom", Number), ("percpu_pagelist_fraction", Number),
    ("percpu_pagelist_high_fraction", Number), ("shrink_inodes_with_pagecache", Number), ("stat_interval", Number),
    ("swappiness", Number), ("user_reserve_kbytes", Number), ("vfs_cache_pressure", Number),
    ("vfs_cache_pressure_denom", Number), ("watermark_boost_factor", Number), ("watermark_scale_factor", Number),
    ("zone_reclaim_mode", Number),
];

const KERNEL: Kept = &[("numa_balancing", Number), ("numa_balancing_promote_rate_limit_MBps", Number)];

const HUGE: Kept = &[
    ("defrag", Choice(&HugeDefrag::WORDS)),
    ("enabled", ENABLED),
    ("hpage_pmd_size", Number),
    ("shmem_enabled", SHMEM),
    ("shrink_underused", Number),
    ("use_zero_page", Number),
];

const KHUGEPAGED: Kept = &[
    ("alloc_sleep_millisecs", Number),
    ("defrag", Number),
    ("full_scans", Number),
    ("max_ptes_none", Number),
    ("max_ptes_shared", Number),
    ("max_ptes_swap", Number),
    ("pages_collapsed", Number),
    ("pages_to_scan", Number),
    ("scan_sleep_millisecs", Number),
];

/// Of each size of folios.
const SIZE: Kept = &[("enabled", ENABLED), ("shmem_enabled", SHMEM)];

/// Counters that stand beside the settings of each size.
#[rustfmt::skip]
const SIZE_STATS: Kept = &[
    ("anon_fault_alloc", Number), ("anon_fault_fallback", Number), ("anon_fault_fallback_charge", Number),
    ("nr_anon", Number), ("nr_anon_partially_mapped", Number), ("shmem_alloc", Number), ("shmem_fallback", Number),
    ("shmem_fallback_charge", Number), ("split", Number), ("split_deferred", Number), ("split_failed", Number),
    ("swpin", Number), ("swpin_fallback", Number), ("swpin_fallback_charge", Number), ("swpout", Number),
    ("swpout_fallback", Number), ("zswpout", Number),
];

/// Of each size of hugetlb pages, of the machine or of a node.
const POOL: Kept = &[
    ("demote_size", Size),
    ("free_hugepages", Number),
    ("nr_hugepages", Number),
    ("nr_hugepages_mempolicy", Number),
    ("nr_overcommit_hugepages", Number),
    ("resv_hugepages", Number),
    ("surplus_hugepages", Number),
];

const LRU_GEN: Kept = &[("enabled", Mask), ("min_ttl_ms", Number)];

/// Settings whose absence tells something: each came with a release or an option.
const EXPECTED: &[&str] = &[
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/vm/compact_unevictable_allowed",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/defrag_mode",
    "/proc/sys/vm/extfrag_threshold",
    "/proc/sys/vm/percpu_pagelist_high_fraction",
    "/proc/sys/vm/watermark_boost_factor",
    "/proc/sys/vm/watermark_scale_factor",
];

/// A setting is a line of some words.
const VALUE_BYTES_MAX: u64 = 4096;

/// Reads every setting.
pub(crate) fn read(files: &mut Files<'_>) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let mut read = |directory: &str, kept: Kept| {
        if files.has_directory(directory, true) {
            read_files(files, directory, kept, &mut settings);
        }
    };
    read(VM, SYSCTLS);
    read("/proc/sys/kernel", KERNEL);
    read(THP, HUGE);
    read("/sys/kernel/mm/lru_gen", LRU_GEN);
    read("/sys/kernel/mm/numa", &[("demotion_enabled", TRUTH)]);
    read("/sys/kernel/mm/swap", &[("vma_ra_enabled", TRUTH)]);
    if !files.has_missed(THP) {
        read_directory(files, &format!("{THP}/khugepaged"), KHUGEPAGED, &mut settings);
        read_sizes(files, &mut settings);
    }
    read_pools(files, POOLS, &mut settings);
    settings
}

/// Reads the settings of each size of folios.
fn read_sizes(files: &mut Files<'_>, into: &mut BTreeMap<String, String>) {
    let sizes = sizes(files, THP);
    if sizes.is_empty() && into.contains_key(&format!("{THP}/enabled")) {
        files.fail(&format!("{THP}/hugepages-*kB"), &io::ErrorKind::NotFound.into());
    }
    for size in sizes {
        read_directory(files, &format!("{THP}/{size}"), SIZE, into);
        read_directory(files, &format!("{THP}/{size}/stats"), SIZE_STATS, into);
    }
}

/// Reads the hugetlb pools below `directory`.
pub(crate) fn read_pools(files: &mut Files<'_>, directory: &str, into: &mut BTreeMap<String, String>) {
    for size in sizes(files, directory) {
        read_directory(files, &format!("{directory}/{size}"), POOL, into);
    }
}

/// The entries `hugepages-NkB` of `directory`, each a power of two and so few.
fn sizes(files: &mut Files<'_>, directory: &str) -> Vec<String> {
    let mut names = files.list(directory);
    names.retain(|name| {
        let kib = name.strip_prefix("hugepages-").and_then(|rest| rest.strip_suffix("kB"));
        kib.and_then(|kib| kib.parse().ok()).is_some_and(|kib: u64| kib.is_power_of_two() && kib.to_string().len() < 12)
    });
    names
}

/// Reads the files `kept` of `directory`, which not every kernel has.
fn read_directory(files: &mut Files<'_>, directory: &str, kept: Kept, into: &mut BTreeMap<String, String>) {
    if files.has_directory(directory, false) {
        read_files(files, directory, kept, into);
    }
}

/// Reads the files `kept` of `directory`. No kernel has all of them.
fn read_files(files: &mut Files<'_>, directory: &str, kept: Kept, into: &mut BTreeMap<String, String>) {
    for (name, form) in kept {
        let path = format!("{directory}/{name}");
        match files.root().read_text(&path, VALUE_BYTES_MAX) {
            Ok(text) if form.fits(text.trim_end()) => {
                into.insert(path, text.trim_end().to_owned());
            }
            Ok(_) => files.miss(&path, format!("left out: expected {}", form.expected())),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !EXPECTED.contains(&path.as_str()) => {}
            Err(error) => files.fail(&path, &error),
        }
    }
}
