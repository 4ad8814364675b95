//! Settings of a made-up machine: what Linux 6.18 starts with.

use std::collections::BTreeMap;

use order9_units::{HugeDefrag, HugeEnabled, SizeEnabled};

/// Settings below /proc/sys/vm.
const VM: [(&str, &str); 16] = [
    ("compact_unevictable_allowed", "1"),
    ("compaction_proactiveness", "20"),
    ("defrag_mode", "0"),
    ("dirty_background_ratio", "10"),
    ("dirty_ratio", "20"),
    ("extfrag_threshold", "500"),
    ("lowmem_reserve_ratio", "256\t256\t32\t0\t0"),
    ("nr_hugepages", "0"),
    ("nr_overcommit_hugepages", "0"),
    ("overcommit_memory", "0"),
    ("percpu_pagelist_high_fraction", "0"),
    ("swappiness", "60"),
    ("vfs_cache_pressure", "100"),
    ("watermark_boost_factor", "15000"),
    ("watermark_scale_factor", "10"),
    ("zone_reclaim_mode", "0"),
];

/// Settings below /sys/kernel/mm/transparent_hugepage.
const THP: [(&str, &str); 11] = [
    ("shmem_enabled", "always within_size advise [never] deny force"),
    ("shrink_underused", "1"),
    ("use_zero_page", "1"),
    ("hpage_pmd_size", "2097152"),
    ("khugepaged/alloc_sleep_millisecs", "60000"),
    ("khugepaged/defrag", "1"),
    ("khugepaged/max_ptes_none", "511"),
    ("khugepaged/max_ptes_shared", "256"),
    ("khugepaged/max_ptes_swap", "64"),
    ("khugepaged/pages_to_scan", "4096"),
    ("khugepaged/scan_sleep_millisecs", "10000"),
];

/// Sizes of folios between a base page and a huge page, in kB: off by default.
const FOLIO_KIB: [u32; 8] = [8, 16, 32, 64, 128, 256, 512, 1024];

/// All settings, with `vm.min_free_kbytes` as computed for the machine.
pub(super) fn defaults(min_free_kbytes: u64) -> BTreeMap<String, String> {
    let vm = VM.map(|(name, value)| (format!("/proc/sys/vm/{name}"), value.to_owned()));
    let thp = THP.map(|(name, value)| (thp_path(name), value.to_owned()));
    let modes = [
        ("enabled", choice(&HugeEnabled::WORDS, HugeEnabled::Always.word())),
        ("defrag", choice(&HugeDefrag::WORDS, HugeDefrag::Madvise.word())),
        ("hugepages-2048kB/enabled", choice(&SizeEnabled::WORDS, SizeEnabled::Inherit.word())),
    ];
    let modes = modes.map(|(name, value)| (thp_path(name), value));
    let never = choice(&SizeEnabled::WORDS, SizeEnabled::Never.word());
    let folio = FOLIO_KIB.map(|kib| (thp_path(&format!("hugepages-{kib}kB/enabled")), never.clone()));
    let min_free = ("/proc/sys/vm/min_free_kbytes".to_owned(), min_free_kbytes.to_string());
    vm.into_iter().chain(thp).chain(modes).chain(folio).chain([min_free]).collect()
}

/// A file that shows all its words, the one in force in brackets.
fn choice(words: &[&str], chosen: &str) -> String {
    let shown = words.iter().map(|&word| if word == chosen { format!("[{word}]") } else { word.to_owned() });
    shown.collect::<Vec<_>>().join(" ")
}

fn thp_path(name: &str) -> String {
    format!("/sys/kernel/mm/transparent_hugepage/{name}")
}
