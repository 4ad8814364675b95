//! Settings that take effect wherever the engine looks at them next: nothing is computed from them ahead.
//!
//! Key type: [`Tunables`] (all of them). Settings that something follows from at once have methods of their own:
//! [`Mm::set_min_free_kbytes`], [`Mm::set_lowmem_reserve_ratio`], [`Mm::set_thp_enabled`], [`Mm::set_nr_hugepages`] and so on.

use crate::numa_balancing::NumaScanSettings;
use crate::page_cache::DirtySettings;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::thp::KhugepagedSettings;

/// Settings that take effect wherever the engine looks at them next, by their names in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tunables {
    /// `vm.compact_unevictable_allowed`: compaction moves mlocked pages.
    pub compact_unevictable_allowed: bool,
    /// `vm.defrag_mode`: requests reclaim and compact before they mix types in a pageblock.
    pub defrag_mode: bool,
    /// `vm.dirty_*`.
    pub dirty: DirtySettings,
    /// `vm.extfrag_threshold`, in thousandths, at most 1000.
    pub extfrag_threshold: u64,
    /// `vm.max_map_count`: mappings that a space may have; one that has more keeps them.
    pub max_map_count: usize,
    /// `vm.min_slab_ratio`, in percent of a node, at most 100.
    pub min_slab_ratio: u64,
    /// `vm.min_unmapped_ratio`, in percent of a node, at most 100.
    pub min_unmapped_ratio: u64,
    /// `vm.nr_overcommit_hugepages`: huge pages by which the pools may grow beyond their size.
    pub nr_overcommit_hugepages: u64,
    /// `kernel.numa_balancing_scan_*`.
    pub numa_scan: NumaScanSettings,
    /// `vm.page-cluster`: log2 of the slots read from swap at once, at most 31; 0 is no readahead.
    pub page_cluster: u64,
    /// `vm.swappiness`: share of 200 that scanning anonymous pages starts from, at most 200.
    pub swappiness: u64,
    /// `vm.vfs_cache_pressure`, in percent.
    pub vfs_cache_pressure: u64,
    /// `vm.zone_reclaim_mode`: bits.
    pub zone_reclaim_mode: u64,
    /// `transparent_hugepage/khugepaged/*`. khugepaged ends a pause early only by `PhysMem::wake_khugepaged`.
    pub khugepaged: KhugepagedSettings,
    /// `transparent_hugepage/madv_hugepage_force_local`: everybody may say `MADV_HUGEPAGE_FORCE_LOCAL`.
    pub thp_force_local: bool,
    /// `transparent_hugepage/shrink_underused`: huge pages that are new from now on may be split for their zeros.
    pub thp_shrink_underused: bool,
    /// `transparent_hugepage/use_zero_page`: reads of untouched memory map the huge page of zeros.
    pub thp_use_zero_page: bool,
}

impl Tunables {
    fn assert_ranges(&self) {
        assert!(self.extfrag_threshold <= 1000, "extfrag_threshold is in thousandths");
        assert!(self.dirty.ratio <= 100 && self.dirty.background_ratio <= 100, "ratios of dirty memory are in percent");
        assert!(self.min_slab_ratio <= 100 && self.min_unmapped_ratio <= 100, "ratios of a node are in percent");
        assert!(self.numa_scan.size_mb > 0, "a scan of nothing would never get through");
        assert!(self.page_cluster <= 31, "slots read at once are a power of two of 32 bits");
        assert!(self.swappiness <= 200, "swappiness is a share of 200");
        assert!(self.khugepaged.pages_to_scan > 0, "a pass of khugepaged looks at some page");
    }
}

impl UsedPages {
    /// The tunables in force.
    #[must_use]
    pub(crate) fn tunables(&self, phys: &PhysMem) -> Tunables {
        let settings = &phys.settings;
        Tunables {
            compact_unevictable_allowed: settings.compact_unevictable_allowed,
            defrag_mode: phys.frames.settings().defrag_mode,
            dirty: settings.dirty,
            extfrag_threshold: settings.extfrag_threshold,
            max_map_count: self.spaces.map_limit.now,
            min_slab_ratio: settings.min_slab_ratio,
            min_unmapped_ratio: settings.min_unmapped_ratio,
            nr_overcommit_hugepages: self.hugetlb.overcommit,
            numa_scan: settings.numa_balancing.scan,
            page_cluster: settings.page_cluster,
            swappiness: settings.swappiness,
            vfs_cache_pressure: settings.vfs_cache_pressure,
            zone_reclaim_mode: settings.zone_reclaim_mode,
            khugepaged: settings.thp.khugepaged,
            thp_force_local: settings.thp.force_local,
            thp_shrink_underused: settings.thp.shrink_underused,
            thp_use_zero_page: settings.thp.use_zero_page,
        }
    }

    /// Changes tunables.
    pub(crate) fn tune(&mut self, change: impl FnOnce(&mut Tunables), phys: &mut PhysMem) {
        let mut tunables = self.tunables(phys);
        change(&mut tunables);
        tunables.assert_ranges();
        // No `..`: a tunable that is not written back would be one that nobody can change.
        let Tunables {
            compact_unevictable_allowed,
            defrag_mode,
            dirty,
            extfrag_threshold,
            max_map_count,
            min_slab_ratio,
            min_unmapped_ratio,
            nr_overcommit_hugepages,
            numa_scan,
            page_cluster,
            swappiness,
            vfs_cache_pressure,
            zone_reclaim_mode,
            khugepaged,
            thp_force_local,
            thp_shrink_underused,
            thp_use_zero_page,
        } = tunables;
        let settings = &mut phys.settings;
        settings.compact_unevictable_allowed = compact_unevictable_allowed;
        phys.frames.set_defrag_mode(defrag_mode);
        settings.dirty = dirty;
        settings.extfrag_threshold = extfrag_threshold;
        self.spaces.map_limit.set(max_map_count);
        settings.min_slab_ratio = min_slab_ratio;
        settings.min_unmapped_ratio = min_unmapped_ratio;
        self.hugetlb.overcommit = nr_overcommit_hugepages;
        settings.numa_balancing.scan = numa_scan;
        settings.page_cluster = page_cluster;
        settings.swappiness = swappiness;
        settings.vfs_cache_pressure = vfs_cache_pressure;
        settings.zone_reclaim_mode = zone_reclaim_mode;
        settings.thp.khugepaged = khugepaged;
        settings.thp.force_local = thp_force_local;
        settings.thp.shrink_underused = thp_shrink_underused;
        settings.thp.use_zero_page = thp_use_zero_page;
    }
}

#[cfg(test)]
mod tests {
    use order9_units::{NodeId, Pages, Pfn, PfnRange, ZoneKind};

    use super::*;
    use crate::policy::Policy;
    use crate::{Layout, MmBuilder, NodeSpec, ZoneSpec};

    #[test]
    fn every_tunable_keeps_what_it_is_set_to() {
        let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(1 << 12));
        let layout = Layout {
            nodes: alloc::vec![NodeSpec { distances: alloc::vec![10] }],
            zones: alloc::vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            cpus: alloc::vec![NodeId(0)],
            ..Layout::default()
        };
        let mut mm = MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot();
        let before = mm.tunables();
        let other = Tunables {
            compact_unevictable_allowed: !before.compact_unevictable_allowed,
            defrag_mode: !before.defrag_mode,
            dirty: DirtySettings {
                ratio: 0,
                bytes: 1 << 20,
                background_ratio: 0,
                background_bytes: 1 << 19,
                ..before.dirty
            },
            extfrag_threshold: 1,
            max_map_count: 2,
            min_slab_ratio: 3,
            min_unmapped_ratio: 4,
            nr_overcommit_hugepages: 5,
            numa_scan: NumaScanSettings { delay_ms: 6, period_min_ms: 7, period_max_ms: 8, size_mb: 9 },
            page_cluster: 10,
            swappiness: 11,
            vfs_cache_pressure: 12,
            zone_reclaim_mode: 13,
            khugepaged: KhugepagedSettings { max_ptes_none: 14, ..before.khugepaged },
            thp_force_local: !before.thp_force_local,
            thp_shrink_underused: !before.thp_shrink_underused,
            thp_use_zero_page: !before.thp_use_zero_page,
        };
        mm.tune(|tunables| *tunables = other);
        assert_eq!(mm.tunables(), other);
        mm.tune(|_| ());
        assert_eq!(mm.tunables(), other, "and nothing else changes");
    }
}
