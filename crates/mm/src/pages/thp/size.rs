//! `transparent_hugepage/hugepages-2048kB/`: who gets huge pages of this size, and what has become of them.
//!
//! Key types: [`SizeEnabled`], [`SizeShmemEnabled`] (the two files that can be written), [`SizeStat`] (the files of `stats/`).
//! Linux has such a folder for each size of page that memory can be mapped by; 2 MiB is the only one here. LKML: "mm: thp:
//! introduce multi-size THP sysfs interface" (2023), "mm: add per-order mTHP alloc and swpout counters" (2024); Linux'
//! Documentation/admin-guide/mm/transhuge.rst.

use order9_frames::Idx;
use order9_units::SizeEnabled;

use crate::page_cache::PageCache;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::shmem::ShmemHuge;
use crate::space::Owner;

/// `hugepages-2048kB/shmem_enabled`: which shared anonymous memory and memfds get huge pages of this size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeShmemEnabled {
    /// The value of `transparent_hugepage/shmem_enabled` holds.
    #[default]
    Inherit,
    /// Huge pages get what this option of a mount would give them.
    Own(ShmemHuge),
}

/// A statistic of pages of this size, as `hugepages-2048kB/stats` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeStat {
    /// `anon_fault_alloc`.
    AnonFaultAlloc,
    /// `anon_fault_fallback`.
    AnonFaultFallback,
    /// `nr_anon`.
    NrAnon,
    /// `nr_anon_partially_mapped`.
    NrAnonPartiallyMapped,
    /// `shmem_alloc`.
    ShmemAlloc,
    /// `shmem_fallback`.
    ShmemFallback,
    /// `split`.
    Split,
    /// `split_deferred`.
    SplitDeferred,
    /// `split_failed`.
    SplitFailed,
}

impl PhysMem {
    /// `hugepages-2048kB/enabled`.
    #[must_use]
    pub const fn thp_size_enabled(&self) -> SizeEnabled {
        self.settings.thp.size_enabled
    }

    /// Sets `hugepages-2048kB/enabled`, for faults from now on; else as `PhysMem::set_thp_enabled`.
    pub fn set_thp_size_enabled(&mut self, enabled: SizeEnabled) {
        self.change_enabled(|thp| thp.size_enabled = enabled);
    }
}

impl PageCache {
    /// `hugepages-2048kB/shmem_enabled`.
    #[must_use]
    pub fn shmem_size_enabled(&self) -> SizeShmemEnabled {
        self.mounts.size_enabled
    }

    /// Sets `hugepages-2048kB/shmem_enabled`, for pages to come.
    pub fn set_shmem_size_enabled(&mut self, enabled: SizeShmemEnabled) {
        self.mounts.size_enabled = enabled;
    }
}

impl UsedPages {
    /// A statistic of huge pages.
    #[must_use]
    pub(crate) fn thp_size_stat(&self, stat: SizeStat, phys: &PhysMem) -> u64 {
        let counters = &phys.counters;
        match stat {
            SizeStat::AnonFaultAlloc => counters.thp_fault_alloc,
            // Reads that did not get the page of zeros are faults that fell back, but not from a page of this size.
            SizeStat::AnonFaultFallback => counters.thp_fault_fallback - counters.thp_zero_page_alloc_failed,
            SizeStat::NrAnon => self.anon_huge_pages().count() as u64,
            SizeStat::NrAnonPartiallyMapped => {
                self.anon_huge_pages().filter(|&head| self.huge.is_partially_mapped(head)).count() as u64
            }
            SizeStat::ShmemAlloc => counters.thp_file_alloc,
            SizeStat::ShmemFallback => counters.thp_file_fallback,
            SizeStat::Split => counters.thp_split_page,
            SizeStat::SplitDeferred => counters.thp_deferred_split_page,
            SizeStat::SplitFailed => counters.thp_split_page_failed,
        }
    }

    /// The first frames of all anonymous huge pages, whoever maps them.
    fn anon_huge_pages(&self) -> impl Iterator<Item = Idx> {
        self.huge.heads().filter(|&head| self.rmap.owner(head) == Owner::Huge)
    }
}
