//! `transparent_hugepage/hugepages-*kB/`: who gets huge pages of a size, and what has become of them.
//!
//! Key types: [`SizeEnabled`], [`SizeShmemEnabled`] (the two files that can be written), [`SizeStat`] (the files of `stats/`).
//! Shared memory has pages of 2 MiB alone here. LKML: "mm: thp: introduce multi-size THP sysfs interface" (2023), "mm: add per-order mTHP alloc and swpout counters" (2024); Linux'
//! Documentation/admin-guide/mm/transhuge.rst.

use order9_frames::Idx;
use order9_units::{HugeSize, SizeEnabled};

use crate::page_cache::PageCache;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::shmem::ShmemHuge;
use crate::space::Owner;
use crate::thp::HugeMemory;

/// `hugepages-2048kB/shmem_enabled`: which shared anonymous memory and memfds get huge pages of this size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SizeShmemEnabled {
    /// The value of `transparent_hugepage/shmem_enabled` holds.
    #[default]
    Inherit,
    /// Huge pages get what this option of a mount would give them.
    Own(ShmemHuge),
}

/// Events of the pages of a size below 2 MiB. Those of 2 MiB are among the counters of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SizeEvents {
    /// Faults that got one.
    pub(crate) fault_alloc: u64,
    /// Faults that asked for one in vain.
    pub(crate) fault_fallback: u64,
    /// Pages split into base pages.
    pub(crate) split: u64,
    /// Splits that a holder refused.
    pub(crate) split_failed: u64,
    /// Pages that began to wait for their split.
    pub(crate) split_deferred: u64,
    /// Pages written to swap in one piece.
    pub(crate) swpout: u64,
    /// Pages split since swap had no row of slots.
    pub(crate) swpout_fallback: u64,
}

/// A statistic of pages of a size, as `hugepages-*kB/stats` has them.
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
    /// `swpout`.
    Swpout,
    /// `swpout_fallback`.
    SwpoutFallback,
}

impl PhysMem {
    /// `hugepages-*kB/enabled`.
    #[must_use]
    pub const fn thp_size_enabled(&self, size: HugeSize) -> SizeEnabled {
        self.settings.thp.sizes.get(size)
    }

    /// Sets `hugepages-*kB/enabled`, for faults from now on; that of 2 MiB else as `PhysMem::set_thp_enabled`.
    pub fn set_thp_size_enabled(&mut self, size: HugeSize, enabled: SizeEnabled) {
        self.change_enabled(|thp| thp.sizes.set(size, enabled));
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
    /// A statistic of huge pages of a size.
    #[must_use]
    pub(crate) fn thp_size_stat(&self, size: HugeSize, stat: SizeStat, phys: &PhysMem) -> u64 {
        let counters = &phys.counters;
        if let Some(events) = self.huge.small_events.get(size.index()) {
            match stat {
                SizeStat::AnonFaultAlloc => return events.fault_alloc,
                SizeStat::AnonFaultFallback => return events.fault_fallback,
                SizeStat::Split => return events.split,
                SizeStat::SplitDeferred => return events.split_deferred,
                SizeStat::SplitFailed => return events.split_failed,
                SizeStat::Swpout => return events.swpout,
                SizeStat::SwpoutFallback => return events.swpout_fallback,
                SizeStat::ShmemAlloc | SizeStat::ShmemFallback => return 0,
                SizeStat::NrAnon | SizeStat::NrAnonPartiallyMapped => {}
            }
        }
        match stat {
            SizeStat::AnonFaultAlloc => counters.thp_fault_alloc,
            // Reads that did not get the page of zeros are faults that fell back, but not from a page of this size.
            SizeStat::AnonFaultFallback => counters.thp_fault_fallback - counters.thp_zero_page_alloc_failed,
            SizeStat::NrAnon => self.anon_huge_pages(size, phys).count() as u64,
            SizeStat::NrAnonPartiallyMapped => {
                self.anon_huge_pages(size, phys).filter(|&head| self.huge.is_partially_mapped(head)).count() as u64
            }
            SizeStat::ShmemAlloc => counters.thp_file_alloc,
            SizeStat::ShmemFallback => counters.thp_file_fallback,
            SizeStat::Split => counters.thp_split_page,
            SizeStat::SplitDeferred => counters.thp_deferred_split_page,
            SizeStat::SplitFailed => counters.thp_split_page_failed,
            SizeStat::Swpout => counters.thp_swpout,
            SizeStat::SwpoutFallback => counters.thp_swpout_fallback,
        }
    }

    /// The first frames of all anonymous huge pages of a size, whoever maps them.
    fn anon_huge_pages(&self, size: HugeSize, phys: &PhysMem) -> impl Iterator<Item = Idx> {
        let has_size = move |head: Idx| phys.frames.word(head).order() == size.order();
        self.huge.heads().filter(move |&head| self.rmap.owner(head) == Owner::Huge && has_size(head))
    }
}

impl HugeMemory {
    /// Events of pages of the size of that which starts at `head`; `None` for those of 2 MiB, and what is no huge page.
    pub(crate) fn small_events_of(&mut self, head: Idx, phys: &PhysMem) -> Option<&mut SizeEvents> {
        self.small_events(HugeSize::new(phys.frames.word(head).order())?)
    }

    /// Counts the split of a page, or one that a holder refused. Folios of two pages are of no size that is counted.
    pub(crate) fn count_split(&mut self, head: Idx, done: bool, phys: &mut PhysMem) {
        let Some(size) = HugeSize::new(phys.frames.word(head).order()) else { return };
        let counters = &mut phys.counters;
        let (split, failed) = match self.small_events(size) {
            Some(events) => (&mut events.split, &mut events.split_failed),
            None => (&mut counters.thp_split_page, &mut counters.thp_split_page_failed),
        };
        *(if done { split } else { failed }) += 1;
    }

    /// Events of pages of a size; `None` for 2 MiB.
    pub(super) fn small_events(&mut self, size: HugeSize) -> Option<&mut SizeEvents> {
        self.small_events.get_mut(size.index())
    }
}
