//! Settings of the layers above the allocator.

pub(crate) mod dirty;
pub(crate) mod huge_prices;
pub(crate) mod map_limit;
pub(crate) mod numa_balancing;
pub(crate) mod thp;

use order9_units::HugeEnabled;

use crate::policy::Policy;
use crate::settings::dirty::DirtySettings;
use crate::settings::numa_balancing::NumaBalancingSettings;
use crate::settings::thp::ThpSettings;

/// Settings beside the [`crate::policy::Policy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `transparent_hugepage/*`.
    pub(crate) thp: ThpSettings,
    /// `vm.page-cluster`: log2 of the slots read from swap at once; 0 is no readahead.
    pub(crate) page_cluster: u64,
    /// `vm.swappiness`: share of 200 that scanning anonymous pages starts from.
    pub(crate) swappiness: u64,
    /// `vm.vfs_cache_pressure`, in percent.
    pub(crate) vfs_cache_pressure: u64,
    /// `kernel.numa_balancing`, and how it scans.
    pub(crate) numa_balancing: NumaBalancingSettings,
    /// `vm.zone_reclaim_mode`: bits.
    pub(crate) zone_reclaim_mode: u64,
    /// `vm.min_unmapped_ratio`, in percent of a node.
    pub(crate) min_unmapped_ratio: u64,
    /// `vm.min_slab_ratio`, in percent of a node.
    pub(crate) min_slab_ratio: u64,
    /// `vm.dirty_*`.
    pub(crate) dirty: DirtySettings,
    /// `vm.extfrag_threshold`, in thousandths.
    pub(crate) extfrag_threshold: u64,
    /// `vm.compaction_proactiveness`, from 0 to 100; 0 is off.
    pub(crate) compaction_proactiveness: u64,
    /// `vm.compact_unevictable_allowed`: compaction moves mlocked pages.
    pub(crate) compact_unevictable_allowed: bool,
}

impl Settings {
    /// Settings of a machine with memory to spare.
    pub(crate) fn at_boot(policy: &Policy) -> Self {
        Self {
            thp: ThpSettings::at_boot(&policy.thp, HugeEnabled::Always),
            page_cluster: 3,
            swappiness: 60,
            vfs_cache_pressure: 100,
            numa_balancing: NumaBalancingSettings::default(),
            zone_reclaim_mode: 0,
            min_unmapped_ratio: 1,
            min_slab_ratio: 5,
            dirty: DirtySettings::default(),
            extfrag_threshold: 500,
            compaction_proactiveness: 20,
            compact_unevictable_allowed: true,
        }
    }
}
