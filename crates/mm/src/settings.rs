//! Settings that watermarks and per-CPU lists follow from, and what changing one recomputes.

use order9_units::ZoneKind;

use crate::Mm;
use crate::numa_balancing::NumaBalancingSettings;
use crate::page_cache::DirtySettings;
use crate::policy::Policy;
use crate::space::MAX_MAP_COUNT;
use crate::thp::{HugeEnabled, ThpSettings};
use crate::trace::Tracer;
use crate::watermark::{Watermarks, min_free_kbytes, recommended_min_free};

/// Settings beside the [`crate::policy::Policy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// `vm.min_free_kbytes` the machine starts with instead of the computed one.
    pub(crate) min_free_by_hand: Option<u64>,
    /// `vm.min_free_kbytes` in force.
    pub(crate) min_free_kbytes: u64,
    /// `transparent_hugepage/*`.
    pub(crate) thp: ThpSettings,
    /// `vm.lowmem_reserve_ratio`, by zone; 0 keeps nothing back.
    pub(crate) lowmem_reserve_ratio: [u64; ZoneKind::COUNT],
    /// `vm.percpu_pagelist_high_fraction`; 0 leaves the size of per-CPU lists to the policy.
    pub(crate) pcp_high_fraction: u64,
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
    /// `vm.defrag_mode`: requests reclaim and compact before they mix types in a pageblock.
    pub(crate) defrag_mode: bool,
    /// Largest `vm.watermark_boost_factor` since boosts were last reset: what bounds the boosts there are.
    pub(crate) boost_factor_max: u32,
}

impl Settings {
    /// Those of a machine with memory to spare.
    pub(crate) fn at_boot(policy: &Policy) -> Self {
        Self {
            min_free_by_hand: None,
            min_free_kbytes: 0,
            thp: ThpSettings::at_boot(&policy.thp, HugeEnabled::Always),
            lowmem_reserve_ratio: [256, 256, 32, 0],
            pcp_high_fraction: 0,
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
            defrag_mode: false,
            boost_factor_max: 0,
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

impl<T: Tracer> Mm<T> {
    /// `vm.min_free_kbytes` in force, in kB.
    #[must_use]
    pub const fn min_free_kbytes(&self) -> u64 {
        self.settings.min_free_kbytes
    }

    /// Sets `vm.min_free_kbytes`, to any value: even one below what the machine needs is obeyed. Ends every boost.
    pub fn set_min_free_kbytes(&mut self, kbytes: u64) {
        self.set_marks(kbytes);
    }

    /// Sets `vm.watermark_scale_factor`, in 1/10000 of a zone. Ends every boost.
    pub fn set_watermark_scale_factor(&mut self, factor: u32) {
        self.policy.watermark.scale_factor = Some(factor);
        self.set_marks(self.settings.min_free_kbytes);
    }

    /// Sets `vm.watermark_boost_factor`, in 1/10000 of the high mark; 0 is off. Boosts already there stay.
    pub fn set_watermark_boost_factor(&mut self, factor: u32) {
        self.policy.watermark.boost_factor = Some(factor);
        self.settings.boost_factor_max = self.settings.boost_factor_max.max(factor);
    }

    /// `vm.lowmem_reserve_ratio` in force, by zone.
    #[must_use]
    pub const fn lowmem_reserve_ratio(&self) -> [u64; ZoneKind::COUNT] {
        self.settings.lowmem_reserve_ratio
    }

    /// Sets `vm.lowmem_reserve_ratio`, by zone: the share of a higher zone's size that is kept back is its inverse; 0 is none.
    pub fn set_lowmem_reserve_ratio(&mut self, ratio: [u64; ZoneKind::COUNT]) {
        self.settings.lowmem_reserve_ratio = ratio;
        for at in 0..self.zones.len() {
            self.zones[at].lowmem_reserve = self.lowmem_reserve_of(at);
        }
    }

    /// `vm.percpu_pagelist_high_fraction` in force.
    #[must_use]
    pub const fn percpu_pagelist_high_fraction(&self) -> u64 {
        self.settings.pcp_high_fraction
    }

    /// Sets `vm.percpu_pagelist_high_fraction`: the per-CPU lists of a zone hold 1/`fraction` of it together, 0 as many as the
    /// policy says. No effect where the policy sizes them by their batch.
    pub fn set_percpu_pagelist_high_fraction(&mut self, fraction: u64) {
        self.settings.pcp_high_fraction = fraction;
        for at in 0..self.zones.len() {
            self.resize_pcps(at);
        }
    }

    /// Computes `min_free_kbytes`, unless it was given, and what follows from it.
    pub(crate) fn setup_watermarks(&mut self) {
        if let Some(kbytes) = self.settings.min_free_by_hand {
            return self.set_marks(kbytes);
        }
        self.zones.iter_mut().for_each(|zone| zone.watermarks = Watermarks::default());
        let formula = min_free_kbytes(4 * self.lowmem(), &self.policy.watermark);
        self.set_marks(formula);
        if !self.settings.thp.is_off() {
            self.raise_min_free_for_huge_pages();
        }
    }

    /// Keeps as much free as whole pageblocks take to stay free, unless more is kept free already.
    pub(crate) fn raise_min_free_for_huge_pages(&mut self) {
        let most = if self.policy.thp.min_free_all_zones { ZoneKind::Movable } else { ZoneKind::Normal };
        let zones = self.zones.iter().filter(|zone| zone.kind <= most && zone.managed > 0).count();
        let wanted = 4 * recommended_min_free(zones as u64, self.lowmem());
        if wanted > self.settings.min_free_kbytes {
            self.set_marks(wanted);
        }
    }

    /// Pages above the high marks of all zones but Movable.
    fn lowmem(&self) -> u64 {
        let low = self.zones.iter().filter(|zone| zone.kind <= ZoneKind::Normal);
        low.map(|zone| zone.managed.saturating_sub(zone.watermarks.high)).sum()
    }

    /// Computes marks, lowmem reserves and the sizes of per-CPU lists; ends every boost.
    pub(crate) fn set_marks(&mut self, min_free_kbytes: u64) {
        self.settings.min_free_kbytes = min_free_kbytes;
        self.settings.boost_factor_max = self.policy.watermark.boost_factor.unwrap_or(0);
        let total: u64 = self.zones.iter().map(|zone| zone.managed).sum();
        for at in 0..self.zones.len() {
            let reserve = self.lowmem_reserve_of(at);
            let scale_factor = self.policy.watermark.scale_factor;
            let zone = &mut self.zones[at];
            zone.watermarks = Watermarks::new(min_free_kbytes / 4, zone.managed, total, scale_factor);
            zone.boost = 0;
            zone.lowmem_reserve = reserve;
            zone.fair_batch = (zone.watermarks.high - zone.watermarks.low) as i64;
            self.resize_pcps(at);
        }
    }

    fn resize_pcps(&mut self, at: usize) {
        let zone = &mut self.zones[at];
        let cpus = self.cpus.iter().filter(|&&node| node == zone.node).count() as u64;
        let (managed, low) = (zone.managed, zone.watermarks.low);
        for pcp in &mut zone.pcps {
            pcp.resize(managed, low, cpus, self.settings.pcp_high_fraction, &self.policy.pcp);
        }
    }

    /// Pages a zone keeps back from requests that higher zones of its node could serve.
    fn lowmem_reserve_of(&self, at: usize) -> [u64; ZoneKind::COUNT] {
        let zone = &self.zones[at];
        let ratio = self.settings.lowmem_reserve_ratio[zone.kind.index()];
        let mut reserve = [0; ZoneKind::COUNT];
        if ratio == 0 {
            return reserve;
        }
        let mut above = 0;
        for kind in ZoneKind::ALL.into_iter().filter(|&kind| kind > zone.kind) {
            let peers = self.zones.iter().filter(|peer| peer.node == zone.node && peer.kind == kind);
            above += peers.map(|peer| peer.managed).sum::<u64>();
            reserve[kind.index()] = above / ratio;
        }
        reserve
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_the_reference_machine() {
        let total = 3_840 + 779_264 + 3_358_720;
        assert_eq!(recommended_min_free(3, total), 16_896);
        let normal = Watermarks::new(16_896, 3_358_720, total, Some(10));
        assert_eq!(normal, Watermarks { min: 13_701, low: 17_126, high: 20_551 });
        let dma = Watermarks::new(16_896, 3_840, total, Some(10));
        assert_eq!(dma, Watermarks { min: 15, low: 18, high: 21 });
    }
}
