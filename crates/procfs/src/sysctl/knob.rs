//! Knobs: the parts of the engine that settings set.

use order9_mm::thp::{HugeSize, SizeStat};

/// A setting that has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// `vm.compact_unevictable_allowed`.
    CompactUnevictableAllowed,
    /// `vm.compaction_proactiveness`.
    CompactionProactiveness,
    /// `vm.defrag_mode`.
    DefragMode,
    /// `vm.dirty_background_bytes`.
    DirtyBackgroundBytes,
    /// `vm.dirty_background_ratio`.
    DirtyBackgroundRatio,
    /// `vm.dirty_bytes`.
    DirtyBytes,
    /// `vm.dirty_expire_centisecs`.
    DirtyExpireCentisecs,
    /// `vm.dirty_ratio`.
    DirtyRatio,
    /// `vm.dirty_writeback_centisecs`.
    DirtyWritebackCentisecs,
    /// `vm.drop_caches`.
    DropCaches,
    /// `vm.extfrag_threshold`.
    ExtfragThreshold,
    /// `vm.lowmem_reserve_ratio`.
    LowmemReserveRatio,
    /// `vm.nr_hugepages` and the files of /sys/kernel/mm/hugepages.
    Hugetlb(HugetlbFile),
    /// Whether weights of interleaving follow the bandwidth of nodes.
    InterleaveAuto,
    /// Weights of interleaving, read and written by node.
    InterleaveWeight,
    /// `vm.max_map_count`.
    MaxMapCount,
    /// `vm.min_free_kbytes`.
    MinFreeKbytes,
    /// `vm.min_slab_ratio`.
    MinSlabRatio,
    /// `vm.min_unmapped_ratio`.
    MinUnmappedRatio,
    /// `kernel.numa_balancing`.
    NumaBalancing,
    /// The files that pace the scans of NUMA balancing.
    NumaScan(NumaScanFile, NumaScanFolder),
    /// `vm.page-cluster`.
    PageCluster,
    /// `vm.percpu_pagelist_high_fraction`.
    PercpuPagelistHighFraction,
    /// `vm.swappiness`.
    Swappiness,
    /// `transparent_hugepage/defrag`.
    ThpDefrag,
    /// `transparent_hugepage/enabled`.
    ThpEnabled,
    /// `transparent_hugepage/hpage_pmd_size`.
    ThpPmdSize,
    /// `transparent_hugepage/shmem_enabled`.
    ThpShmemEnabled,
    /// `transparent_hugepage/madv_hugepage_force_local`. Proposed in 2018.
    ThpForceLocal,
    /// `transparent_hugepage/shrink_underused`.
    ThpShrinkUnderused,
    /// `transparent_hugepage/hugepages-*kB/enabled`.
    ThpSizeEnabled(HugeSize),
    /// `transparent_hugepage/hugepages-2048kB/shmem_enabled`.
    ThpSizeShmemEnabled,
    /// `transparent_hugepage/hugepages-*kB/stats/*`; `None` for those that stay 0: there are no memory cgroups that could
    /// refuse a page, and swap is read in base pages.
    ThpSizeStat(HugeSize, Option<SizeStat>),
    /// `transparent_hugepage/use_zero_page`.
    ThpUseZeroPage,
    /// `transparent_hugepage/khugepaged/*`.
    Khugepaged(KhugepagedFile),
    /// `vm.vfs_cache_pressure`.
    VfsCachePressure,
    /// `vm.watermark_boost_factor`.
    WatermarkBoostFactor,
    /// `vm.watermark_scale_factor`.
    WatermarkScaleFactor,
    /// `vm.zone_reclaim_mode`.
    ZoneReclaimMode,
}

/// A file in `hugepages/hugepages-2048kB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HugetlbFile {
    /// `nr_hugepages`, `nr_hugepages_mempolicy`.
    Nr,
    /// `nr_overcommit_hugepages`.
    NrOvercommit,
    /// `free_hugepages`.
    Free,
    /// `resv_hugepages`.
    Resv,
    /// `surplus_hugepages`.
    Surplus,
}

/// A file in `transparent_hugepage/khugepaged`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KhugepagedFile {
    /// `alloc_sleep_millisecs`.
    AllocSleepMillisecs,
    /// `defrag`.
    Defrag,
    /// `full_scans`.
    FullScans,
    /// `max_ptes_none`.
    MaxPtesNone,
    /// `max_ptes_shared`.
    MaxPtesShared,
    /// `max_ptes_swap`.
    MaxPtesSwap,
    /// `pages_collapsed`.
    PagesCollapsed,
    /// `pages_to_scan`.
    PagesToScan,
    /// `scan_sleep_millisecs`.
    ScanSleepMillisecs,
}

/// A setting of NUMA balancing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumaScanFile {
    /// `scan_delay_ms`.
    DelayMs,
    /// `scan_period_min_ms`.
    PeriodMinMs,
    /// `scan_period_max_ms`.
    PeriodMaxMs,
    /// `scan_size_mb`.
    SizeMb,
}

/// Folder that holds the settings of NUMA balancing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumaScanFolder {
    /// /proc/sys/kernel. Up to 5.12.
    Sysctl,
    /// /sys/kernel/debug/sched/numa_balancing: 5.13 and later.
    Debugfs,
}
