//! Sizes that the administrator sets for free memory: watermarks, reserves, per-CPU lists.

use order9_frames::ZoneId;
use order9_units::{Pages, ZoneKind};

use crate::phys::PhysMem;

impl PhysMem {
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

    /// Raises the size of a CPU's lists of a zone to `high` pages, and to what they hold, as far as lists follow the load: on a running
    /// machine they have grown so. Nothing past the last CPU.
    pub fn inherit_pcp_high(&mut self, zone: ZoneId, cpu: usize, high: Pages) {
        self.frames.inherit_pcp_high(zone, cpu, high.get());
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
    pub fn deferred_pages(&self) -> Pages {
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
