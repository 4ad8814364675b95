//! The list of settings. Meanings, ranges and defaults: Linux' Documentation/admin-guide/sysctl/vm.rst and
//! admin-guide/mm/transhuge.rst.

use order9_mm::ShmemEnabled;
use order9_mm::thp::{HugeDefrag, HugeEnabled};
use order9_units::ZoneKind;

use super::Access::{ReadOnly, ReadWrite, WriteOnly};
use super::sizes::SIZES;
use super::{HugetlbFile, KhugepagedFile, Knob, Model, NumaScanFile, NumaScanFolder, Setting, Values};
use crate::Words;

/// Numbers that `vm.lowmem_reserve_ratio` has: one per zone a node can have.
const RATIOS: usize = ZoneKind::COUNT;
const INT_MAX: i64 = i32::MAX as i64;
const UINT_MAX: i64 = u32::MAX as i64;
/// Limited by the width of a `long` alone.
const LONG: i64 = i64::MAX;

/// Programs ask for it by a call of their own.
const STEPS: Model = Model::Missing("setting that works in steps");
const LAPTOP: Model = Model::Missing("disk that sleeps");
const OVERCOMMIT: Model = Model::Missing("accounting of committed memory");
const OOM: Model = Model::Missing("OOM killer");

const fn engine(knob: Knob) -> Model {
    Model::Engine(knob)
}

const fn khugepaged(file: KhugepagedFile) -> Model {
    Model::Engine(Knob::Khugepaged(file))
}

const fn hugetlb(file: HugetlbFile) -> Model {
    Model::Engine(Knob::Hugetlb(file))
}

const fn number(min: i64, max: i64) -> Values {
    Values::Number { min, max }
}

const FLAG: Values = number(0, 1);

/// Settings in /proc/sys: name, access, values, unit, default, model, meaning.
macro_rules! sysctl {
    ($folder:literal, $file:literal, $access:ident, $values:expr, $unit:literal, $default:literal, $model:expr, $meaning:literal) => {
        Setting {
            name: concat!($folder, ".", $file),
            path: concat!("/proc/sys/", $folder, "/", $file),
            meaning: $meaning,
            unit: $unit,
            default: $default,
            values: $values,
            access: $access,
            model: $model,
        }
    };
}

/// Settings in /sys/kernel/mm/transparent_hugepage: parts of the file's name, then the same.
macro_rules! thp {
    ($($file:literal)+, $access:ident, $values:expr, $unit:literal, $default:literal, $model:expr, $meaning:literal) => {
        Setting {
            name: concat!("thp/", $($file),+),
            path: concat!("/sys/kernel/mm/transparent_hugepage/", $($file),+),
            meaning: $meaning,
            unit: $unit,
            default: $default,
            values: $values,
            access: $access,
            model: $model,
        }
    };
}

pub(super) use thp;

/// Settings in /sys/kernel/mm/hugepages/hugepages-2048kB: file, access, model, meaning.
macro_rules! pool {
    ($file:literal, $access:ident, $of:ident, $meaning:literal) => {
        Setting {
            name: concat!("hugetlb/", $file),
            path: concat!("/sys/kernel/mm/hugepages/hugepages-2048kB/", $file),
            meaning: $meaning,
            unit: "huge pages",
            default: "0",
            values: number(0, LONG),
            access: $access,
            model: hugetlb(HugetlbFile::$of),
        }
    };
}

/// Settings of the scans of NUMA balancing: folder, name, path, file.
macro_rules! numa_scan {
    ($folder:ident, $name:literal, $path:literal, $file:ident) => {
        Setting {
            name: $name,
            path: $path,
            meaning: scan_meaning(NumaScanFile::$file),
            unit: if matches!(NumaScanFile::$file, NumaScanFile::SizeMb) { "MiB" } else { "ms" },
            default: scan_default(NumaScanFile::$file),
            values: number(matches!(NumaScanFile::$file, NumaScanFile::SizeMb) as i64, INT_MAX),
            access: ReadWrite,
            model: engine(Knob::NumaScan(NumaScanFile::$file, NumaScanFolder::$folder)),
        }
    };
}

const fn scan_meaning(file: NumaScanFile) -> &'static str {
    match file {
        NumaScanFile::DelayMs => "Age of a process at which NUMA balancing first scans it",
        NumaScanFile::PeriodMinMs => "CPU time in which NUMA balancing scans all of a process at the fastest",
        NumaScanFile::PeriodMaxMs => "CPU time in which NUMA balancing scans all of a process at the slowest",
        NumaScanFile::SizeMb => "Memory that one scan of NUMA balancing takes the access from",
    }
}

const fn scan_default(file: NumaScanFile) -> &'static str {
    match file {
        NumaScanFile::DelayMs | NumaScanFile::PeriodMinMs => "1000",
        NumaScanFile::PeriodMaxMs => "60000",
        NumaScanFile::SizeMb => "256",
    }
}

/// Every setting that concerns memory management, in the order of paths.
pub static SETTINGS: &[Setting] = &{
    let mut all = [BEFORE_SIZES[0]; BEFORE_SIZES.len() + SIZES.len() * SIZES[0].len() + BEHIND_SIZES.len()];
    let (before, of_size) = (BEFORE_SIZES.len(), SIZES[0].len());
    let mut at = 0;
    while at < all.len() {
        all[at] = match at.checked_sub(before) {
            None => BEFORE_SIZES[at],
            Some(of) if of < SIZES.len() * of_size => SIZES[of / of_size][of % of_size],
            Some(of) => BEHIND_SIZES[of - SIZES.len() * of_size],
        };
        at += 1;
    }
    all
};

/// Settings before the files of huge pages by size, in the order of paths.
#[rustfmt::skip]
const BEFORE_SIZES: &[Setting] = &[
    sysctl!("kernel", "numa_balancing", ReadWrite, number(0, 3), "", "0; of Linux 1 with several nodes", engine(Knob::NumaBalancing),
        "Whether pages move to the node that uses them (1), and between tiers of memory (2), which is refused"),
    numa_scan!(Sysctl, "kernel.numa_balancing_scan_delay_ms", "/proc/sys/kernel/numa_balancing_scan_delay_ms", DelayMs),
    numa_scan!(Sysctl, "kernel.numa_balancing_scan_period_max_ms", "/proc/sys/kernel/numa_balancing_scan_period_max_ms", PeriodMaxMs),
    numa_scan!(Sysctl, "kernel.numa_balancing_scan_period_min_ms", "/proc/sys/kernel/numa_balancing_scan_period_min_ms", PeriodMinMs),
    numa_scan!(Sysctl, "kernel.numa_balancing_scan_size_mb", "/proc/sys/kernel/numa_balancing_scan_size_mb", SizeMb),
    sysctl!("vm", "admin_reserve_kbytes", ReadWrite, number(0, LONG), "kB", "3 % of free memory, at most 8192", OVERCOMMIT,
        "Memory kept for administrators when commitments are limited"),
    sysctl!("vm", "compact_memory", WriteOnly, number(1, 1), "", "", STEPS,
        "Writing it compacts all zones"),
    sysctl!("vm", "compact_unevictable_allowed", ReadWrite, FLAG, "", "1", engine(Knob::CompactUnevictableAllowed),
        "Whether compaction moves mlocked pages"),
    sysctl!("vm", "compaction_proactiveness", ReadWrite, number(0, 100), "", "20", engine(Knob::CompactionProactiveness),
        "How hard kcompactd works against fragmentation before anyone asks"),
    sysctl!("vm", "defrag_mode", ReadWrite, FLAG, "", "0", engine(Knob::DefragMode),
        "Whether requests reclaim and compact before they mix mobility types in a pageblock"),
    sysctl!("vm", "dirty_background_bytes", ReadWrite, number(1, LONG), "bytes", "0", engine(Knob::DirtyBackgroundBytes),
        "Dirty memory at which writeback begins; 0 is by dirty_background_ratio"),
    sysctl!("vm", "dirty_background_ratio", ReadWrite, number(0, 100), "% of available memory", "10", engine(Knob::DirtyBackgroundRatio),
        "Dirty memory at which writeback begins"),
    sysctl!("vm", "dirty_bytes", ReadWrite, Values::ZeroOr { min: 8192, max: LONG }, "bytes", "0", engine(Knob::DirtyBytes),
        "Dirty memory at which writers write back themselves; 0 is by dirty_ratio"),
    sysctl!("vm", "dirty_expire_centisecs", ReadWrite, number(0, INT_MAX), "1/100 s", "3000", engine(Knob::DirtyExpireCentisecs),
        "Age at which dirty data is written back"),
    sysctl!("vm", "dirty_ratio", ReadWrite, number(0, 100), "% of available memory", "20", engine(Knob::DirtyRatio),
        "Dirty memory at which writers write back themselves"),
    sysctl!("vm", "dirty_writeback_centisecs", ReadWrite, number(0, INT_MAX), "1/100 s", "500", engine(Knob::DirtyWritebackCentisecs),
        "How often the flusher looks for old dirty data; 0 is never"),
    sysctl!("vm", "drop_caches", WriteOnly, number(1, 4), "", "", engine(Knob::DropCaches),
        "Writing it frees clean page cache (1), slab that can be reclaimed (2), both (3); 4 silences the log"),
    sysctl!("vm", "extfrag_threshold", ReadWrite, number(0, 1000), "1/1000", "500", engine(Knob::ExtfragThreshold),
        "Fragmentation index up to which a failure is put down to lack of memory, and compaction skipped"),
    sysctl!("vm", "laptop_mode", ReadWrite, number(0, INT_MAX), "s", "0", LAPTOP,
        "How long after a read writeback may follow, to let disks sleep"),
    sysctl!("vm", "lowmem_reserve_ratio", ReadWrite, Values::Numbers(RATIOS), "", "256 256 32 0", engine(Knob::LowmemReserveRatio),
        "Per zone, lowest first: it keeps 1/N of the higher zones' size from requests they could serve; below 1 nothing"),
    sysctl!("vm", "max_map_count", ReadWrite, number(0, INT_MAX), "mappings", "65530", engine(Knob::MaxMapCount),
        "Mappings a process may have"),
    sysctl!("vm", "min_free_kbytes", ReadWrite, number(0, INT_MAX), "kB", "by the size of memory", engine(Knob::MinFreeKbytes),
        "The min watermarks of all zones together; written values count as they are, even below the computed one"),
    sysctl!("vm", "min_slab_ratio", ReadWrite, number(0, 100), "% of a node", "5", engine(Knob::MinSlabRatio),
        "Slab above which zone_reclaim_mode shrinks it"),
    sysctl!("vm", "min_unmapped_ratio", ReadWrite, number(0, 100), "% of a node", "1", engine(Knob::MinUnmappedRatio),
        "Unmapped page cache above which zone_reclaim_mode reclaims"),
    sysctl!("vm", "mmap_min_addr", ReadWrite, number(0, LONG), "address", "65536", Model::Missing("choice: it is 65536"),
        "Lowest address of a mapping"),
    sysctl!("vm", "nr_hugepages", ReadWrite, number(0, LONG), "huge pages", "0", hugetlb(HugetlbFile::Nr),
        "Size of the hugetlb pools; they are made as large as possible"),
    sysctl!("vm", "nr_hugepages_mempolicy", ReadWrite, number(0, LONG), "huge pages", "0", hugetlb(HugetlbFile::Nr),
        "The same, on the nodes that the writer may use"),
    sysctl!("vm", "nr_overcommit_hugepages", ReadWrite, number(0, LONG), "huge pages", "0", hugetlb(HugetlbFile::NrOvercommit),
        "How far the hugetlb pools may grow beyond their size on demand"),
    sysctl!("vm", "numa_stat", ReadWrite, FLAG, "", "1", Model::Missing("choice: they are counted"),
        "Whether the numa_ counters count"),
    sysctl!("vm", "numa_zonelist_order", ReadWrite, Values::Words(&["Node"]), "", "Node", Model::Missing("choice: it is Node"),
        "Order of zones of several nodes; since 4.14 always by node"),
    sysctl!("vm", "oom_dump_tasks", ReadWrite, FLAG, "", "1", OOM,
        "Whether the OOM killer lists all tasks in the log"),
    sysctl!("vm", "oom_kill_allocating_task", ReadWrite, FLAG, "", "0", OOM,
        "Whether the OOM killer takes the task that asked for memory"),
    sysctl!("vm", "overcommit_kbytes", ReadWrite, number(0, LONG), "kB", "0", OVERCOMMIT,
        "Memory that can be committed with overcommit_memory 2; 0 is by overcommit_ratio"),
    sysctl!("vm", "overcommit_memory", ReadWrite, number(0, 2), "", "0", OVERCOMMIT,
        "Whether more memory may be promised than there is: by a heuristic (0), always (1), never (2)"),
    sysctl!("vm", "overcommit_ratio", ReadWrite, number(0, INT_MAX), "% of memory", "50", OVERCOMMIT,
        "Memory that can be committed with overcommit_memory 2, besides swap"),
    sysctl!("vm", "page-cluster", ReadWrite, number(0, 31), "log2 of pages", "3", engine(Knob::PageCluster),
        "Pages read from swap at once; 0 is no readahead"),
    sysctl!("vm", "panic_on_oom", ReadWrite, number(0, 2), "", "0", OOM,
        "Whether the machine stops instead of killing a task"),
    sysctl!("vm", "percpu_pagelist_high_fraction", ReadWrite, Values::ZeroOr { min: 8, max: INT_MAX }, "", "0", engine(Knob::PercpuPagelistHighFraction),
        "The per-CPU lists of a zone hold 1/N of it together; 0 is its low watermark, or the length that tuning finds"),
    sysctl!("vm", "stat_interval", ReadWrite, number(0, INT_MAX), "s", "1", Model::Missing("delay: counters are exact"),
        "How often counters of CPUs are added up"),
    sysctl!("vm", "swappiness", ReadWrite, number(0, 200), "", "60", engine(Knob::Swappiness),
        "Weight of anonymous pages in scanning, of 200; the rest is that of pages of files"),
    sysctl!("vm", "user_reserve_kbytes", ReadWrite, number(0, LONG), "kB", "3 % of a process, at most 131072", OVERCOMMIT,
        "Memory kept for recovery by the user with overcommit_memory 2"),
    sysctl!("vm", "vfs_cache_pressure", ReadWrite, number(0, INT_MAX), "%", "100", engine(Knob::VfsCachePressure),
        "How readily dentries and inodes are reclaimed, compared with page cache"),
    sysctl!("vm", "watermark_boost_factor", ReadWrite, number(0, INT_MAX), "1/10000 of the high mark", "15000", engine(Knob::WatermarkBoostFactor),
        "How far fragmentation events may raise the watermarks of their zone; 0 is not at all"),
    sysctl!("vm", "watermark_scale_factor", ReadWrite, number(1, 3000), "1/10000 of a zone", "10", engine(Knob::WatermarkScaleFactor),
        "Distance between the watermarks of a zone, at least a quarter of its min mark"),
    sysctl!("vm", "zone_reclaim_mode", ReadWrite, number(0, INT_MAX), "bits", "0", engine(Knob::ZoneReclaimMode),
        "Whether a node is reclaimed before another is used (1), by writeback too (2), by unmapping too (4)"),
    numa_scan!(Debugfs, "numa_balancing/scan_delay_ms", "/sys/kernel/debug/sched/numa_balancing/scan_delay_ms", DelayMs),
    numa_scan!(Debugfs, "numa_balancing/scan_period_max_ms", "/sys/kernel/debug/sched/numa_balancing/scan_period_max_ms", PeriodMaxMs),
    numa_scan!(Debugfs, "numa_balancing/scan_period_min_ms", "/sys/kernel/debug/sched/numa_balancing/scan_period_min_ms", PeriodMinMs),
    numa_scan!(Debugfs, "numa_balancing/scan_size_mb", "/sys/kernel/debug/sched/numa_balancing/scan_size_mb", SizeMb),
    pool!("free_hugepages", ReadOnly, Free, "Pages of the hugetlb pools that no mapping uses"),
    pool!("nr_hugepages", ReadWrite, Nr, "Size of the hugetlb pools; they are made as large as possible"),
    pool!("nr_hugepages_mempolicy", ReadWrite, Nr, "The same, on the nodes that the writer may use"),
    pool!("nr_overcommit_hugepages", ReadWrite, NrOvercommit, "How far the hugetlb pools may grow beyond their size on demand"),
    pool!("resv_hugepages", ReadOnly, Resv, "Free pages of the hugetlb pools that are promised to mappings"),
    pool!("surplus_hugepages", ReadOnly, Surplus, "Pages beyond the size of the hugetlb pools, which go when they become free"),
    Setting {
        name: "mempolicy/weighted_interleave/auto",
        path: "/sys/kernel/mm/mempolicy/weighted_interleave/auto",
        meaning: "Whether the weights follow the bandwidth of nodes, where any is known; a weight that is written turns it off",
        unit: "",
        default: "true",
        values: Values::Words(&["true", "false"]),
        access: ReadWrite,
        model: engine(Knob::InterleaveAuto),
    },
    Setting {
        name: "mempolicy/weighted_interleave/node0",
        path: "/sys/kernel/mm/mempolicy/weighted_interleave/node0",
        meaning: "Pages in a row that go to node 0 under MPOL_WEIGHTED_INTERLEAVE, and so for every node; up to 6.15 0 is the default again",
        unit: "pages",
        default: "1",
        values: number(0, 255),
        access: ReadWrite,
        model: engine(Knob::InterleaveWeight),
    },
    thp!("defrag", ReadWrite, Values::Words(&HugeDefrag::WORDS), "", "madvise", engine(Knob::ThpDefrag),
        "Which faults reclaim and compact for a huge page"),
    thp!("enabled", ReadWrite, Values::Words(&HugeEnabled::WORDS), "", "always or madvise, by build", engine(Knob::ThpEnabled),
        "Which mappings get huge pages"),
    thp!("hpage_pmd_size", ReadOnly, number(2 << 20, 2 << 20), "bytes", "2097152", engine(Knob::ThpPmdSize),
        "Size of a huge page"),
];

/// Settings behind the files of huge pages by size, likewise.
#[rustfmt::skip]
const BEHIND_SIZES: &[Setting] = &[
    thp!("khugepaged/alloc_sleep_millisecs", ReadWrite, number(0, UINT_MAX), "ms", "60000", khugepaged(KhugepagedFile::AllocSleepMillisecs),
        "Pause of khugepaged after it found no huge page"),
    thp!("khugepaged/defrag", ReadWrite, FLAG, "", "1", khugepaged(KhugepagedFile::Defrag),
        "Whether khugepaged reclaims and compacts for a huge page"),
    thp!("khugepaged/full_scans", ReadOnly, number(0, UINT_MAX), "passes", "0", khugepaged(KhugepagedFile::FullScans),
        "Number of times that khugepaged has been through all mappings"),
    thp!("khugepaged/max_ptes_none", ReadWrite, number(0, 511), "pages", "511", khugepaged(KhugepagedFile::MaxPtesNone),
        "Unused pages that khugepaged takes into a huge page"),
    thp!("khugepaged/max_ptes_shared", ReadWrite, number(0, 511), "pages", "256", khugepaged(KhugepagedFile::MaxPtesShared),
        "Shared pages that khugepaged copies into a huge page"),
    thp!("khugepaged/max_ptes_swap", ReadWrite, number(0, 511), "pages", "64", khugepaged(KhugepagedFile::MaxPtesSwap),
        "Swapped pages that khugepaged reads back for a huge page"),
    thp!("khugepaged/pages_collapsed", ReadOnly, number(0, UINT_MAX), "huge pages", "0", khugepaged(KhugepagedFile::PagesCollapsed),
        "Huge pages that khugepaged has made"),
    thp!("khugepaged/pages_to_scan", ReadWrite, number(1, UINT_MAX), "pages", "4096", khugepaged(KhugepagedFile::PagesToScan),
        "Pages that khugepaged looks at before it sleeps"),
    thp!("khugepaged/scan_sleep_millisecs", ReadWrite, number(0, UINT_MAX), "ms", "10000", khugepaged(KhugepagedFile::ScanSleepMillisecs),
        "Pause of khugepaged between two scans"),
    thp!("madv_hugepage_force_local", ReadWrite, FLAG, "", "0", engine(Knob::ThpForceLocal),
        "Whether MADV_HUGEPAGE_FORCE_LOCAL, where the placement of huge pages knows it, needs no privilege"),
    thp!("shmem_enabled", ReadWrite, Values::Words(ShmemEnabled::WORDS), "", "never", engine(Knob::ThpShmemEnabled),
        "Which shared memory gets huge pages"),
    thp!("shrink_underused", ReadWrite, FLAG, "", "1", engine(Knob::ThpShrinkUnderused),
        "Whether huge pages that hold mostly zeros are split under memory pressure"),
    thp!("use_zero_page", ReadWrite, FLAG, "", "1", engine(Knob::ThpUseZeroPage),
        "Whether reads of untouched memory map one huge page of zeros"),
];
