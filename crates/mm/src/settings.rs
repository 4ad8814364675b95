//! Settings of the layers above the allocator.

use order9_units::ZoneKind;

use crate::numa_balancing::NumaBalancingSettings;
use crate::page_cache::DirtySettings;
use crate::phys::PhysMem;
use crate::policy::Policy;
use crate::space::MAX_MAP_COUNT;
use crate::thp::{HugeEnabled, ThpSettings};
use crate::trace::Tracer;

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
    /// Those of a machine with memory to spare.
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

/// `vm.max_map_count`: how many mappings a space may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapLimit {
    pub(crate) now: usize,
    /// The highest it has been: a space keeps the mappings it had when the limit sank.
    pub(crate) highest: usize,
}

impl Default for MapLimit {
    fn default() -> Self {
        Self { now: MAX_MAP_COUNT, highest: MAX_MAP_COUNT }
    }
}

impl MapLimit {
    pub(crate) fn set(&mut self, mappings: usize) {
        *self = Self { now: mappings, highest: self.highest.max(mappings) };
    }
}

impl<T: Tracer> PhysMem<T> {
    /// `vm.min_free_kbytes` in force, in kB.
    #[must_use]
    pub const fn min_free_kbytes(&self) -> u64 {
        self.frames.min_free_kbytes()
    }

    /// Sets `vm.min_free_kbytes`, to any value: even one below what the machine needs is obeyed. Ends every boost.
    pub fn set_min_free_kbytes(&mut self, kbytes: u64) {
        self.frames.set_min_free_kbytes(kbytes);
    }

    /// Sets `vm.watermark_scale_factor`, in 1/10000 of a zone. Ends every boost.
    pub fn set_watermark_scale_factor(&mut self, factor: u32) {
        self.frames.set_watermark_scale_factor(factor);
    }

    /// Sets `vm.watermark_boost_factor`, in 1/10000 of the high mark; 0 is off. Boosts already there stay.
    pub fn set_watermark_boost_factor(&mut self, factor: u32) {
        self.frames.set_watermark_boost_factor(factor);
    }

    /// `vm.lowmem_reserve_ratio` in force, by zone.
    #[must_use]
    pub const fn lowmem_reserve_ratio(&self) -> [u64; ZoneKind::COUNT] {
        self.frames.settings().lowmem_reserve_ratio
    }

    /// Sets `vm.lowmem_reserve_ratio`, by zone: the share of a higher zone's size that is kept back is its inverse; 0 is none.
    pub fn set_lowmem_reserve_ratio(&mut self, ratio: [u64; ZoneKind::COUNT]) {
        self.frames.set_lowmem_reserve_ratio(ratio);
    }

    /// `vm.percpu_pagelist_high_fraction` in force.
    #[must_use]
    pub const fn percpu_pagelist_high_fraction(&self) -> u64 {
        self.frames.settings().pcp_high_fraction
    }

    /// Sets `vm.percpu_pagelist_high_fraction`: the per-CPU lists of a zone hold 1/`fraction` of it together, 0 as many as the
    /// policy says. No effect where the policy sizes them by their batch.
    pub fn set_percpu_pagelist_high_fraction(&mut self, fraction: u64) {
        self.frames.set_percpu_pagelist_high_fraction(fraction);
    }

    /// Frames of all zones that have not been given to the allocator yet; they count as free memory.
    #[must_use]
    pub fn deferred_pages(&self) -> order9_units::Pages {
        self.frames.deferred_pages()
    }

    /// Computes `min_free_kbytes`, unless it was given, and what follows from it.
    pub(crate) fn setup_watermarks(&mut self) {
        if self.frames.setup_watermarks() && !self.settings.thp.is_off() {
            self.raise_min_free_for_huge_pages();
        }
    }

    /// Keeps as much free as whole pageblocks take to stay free, unless more is kept free already.
    pub(crate) fn raise_min_free_for_huge_pages(&mut self) {
        let most = if self.policy.thp.min_free_all_zones { ZoneKind::Movable } else { ZoneKind::Normal };
        self.frames.raise_min_free_for_huge_pages(most);
    }
}
