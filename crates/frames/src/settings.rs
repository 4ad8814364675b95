//! Settings that watermarks and per-CPU lists follow from, and what changing one recomputes.

use order9_units::{NodeId, ZoneKind};

use crate::Frames;
use crate::policy::FramesPolicy;
use crate::storage::Storage;
use crate::watch::Watch;
use crate::watermark::{Watermarks, min_free_kbytes, recommended_min_free};
use crate::zone::ZoneId;

/// Settings beside the [`FramesPolicy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameSettings {
    /// `vm.min_free_kbytes` the machine starts with instead of the computed one.
    pub(crate) min_free_by_hand: Option<u64>,
    /// `vm.min_free_kbytes` in force.
    pub min_free_kbytes: u64,
    /// `vm.watermark_scale_factor` in 1/10000 of a zone; `None` where there is no such setting.
    pub scale_factor: Option<u32>,
    /// `vm.watermark_boost_factor` in 1/10000 of the high mark, 0 is off; `None` where there is no such setting.
    pub boost_factor: Option<u32>,
    /// `vm.lowmem_reserve_ratio`, by zone; 0 keeps nothing back.
    pub lowmem_reserve_ratio: [u64; ZoneKind::COUNT],
    /// `vm.percpu_pagelist_high_fraction`; 0 leaves the size of per-CPU lists to the policy.
    pub pcp_high_fraction: u64,
    /// `vm.defrag_mode`: requests reclaim and compact before they mix types in a pageblock.
    pub defrag_mode: bool,
    /// Largest `vm.watermark_boost_factor` since boosts were last reset: what bounds the boosts there are.
    pub(crate) boost_factor_max: u32,
}

impl FrameSettings {
    /// Settings that a machine starts with.
    pub(crate) const fn at_boot(policy: &FramesPolicy) -> Self {
        Self {
            min_free_by_hand: None,
            min_free_kbytes: 0,
            scale_factor: policy.watermark.scale_factor,
            boost_factor: policy.watermark.boost_factor,
            lowmem_reserve_ratio: [256, 256, 32, 0],
            pcp_high_fraction: 0,
            defrag_mode: false,
            boost_factor_max: 0,
        }
    }
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Sets the `vm.min_free_kbytes` that [`setup_watermarks`](Self::setup_watermarks) takes from now on, in kB.
    pub const fn set_min_free_by_hand(&mut self, kbytes: u64) {
        self.settings.min_free_by_hand = Some(kbytes);
    }

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
        self.settings.scale_factor = Some(factor);
        self.set_marks(self.settings.min_free_kbytes);
    }

    /// Sets `vm.watermark_boost_factor`, in 1/10000 of the high mark; 0 is off. Boosts already there stay.
    pub fn set_watermark_boost_factor(&mut self, factor: u32) {
        self.settings.boost_factor = Some(factor);
        self.settings.boost_factor_max = self.settings.boost_factor_max.max(factor);
    }

    /// Takes boosts of a node off the watermarks: of each kind of zone at most so many pages, which were worked for.
    pub fn work_boosts_off(&mut self, node: NodeId, pages: &[u64; ZoneKind::COUNT]) {
        for zone in self.zones.iter_mut().filter(|zone| zone.node == node) {
            zone.boost = zone.boost.saturating_sub(pages[zone.kind.index()]);
        }
    }

    /// Sets `vm.defrag_mode`.
    pub const fn set_defrag_mode(&mut self, on: bool) {
        self.settings.defrag_mode = on;
    }

    /// Sets `vm.lowmem_reserve_ratio`, by zone: the share of a higher zone's size that is kept back is its inverse; 0 is none.
    pub fn set_lowmem_reserve_ratio(&mut self, ratio: [u64; ZoneKind::COUNT]) {
        self.settings.lowmem_reserve_ratio = ratio;
        for at in 0..self.zones.len() {
            self.zones[at].lowmem_reserve = self.lowmem_reserve_of(at);
        }
    }

    /// Sets `vm.percpu_pagelist_high_fraction`: the per-CPU lists of a zone hold 1/`fraction` of it together, 0 as many as the
    /// policy says. No effect where the policy sizes them by their batch.
    pub fn set_percpu_pagelist_high_fraction(&mut self, fraction: u64) {
        self.settings.pcp_high_fraction = fraction;
        for at in 0..self.zones.len() {
            self.resize_pcps(at);
        }
    }

    /// Computes `min_free_kbytes`, unless it was given, and the marks that follow from it; says whether it was computed.
    pub fn setup_watermarks(&mut self) -> bool {
        if let Some(kbytes) = self.settings.min_free_by_hand {
            self.set_marks(kbytes);
            return false;
        }
        self.zones.iter_mut().for_each(|zone| zone.watermarks = Watermarks::default());
        self.set_marks(min_free_kbytes(4 * self.lowmem(), &self.policy.watermark));
        true
    }

    /// Keeps as much free as whole pageblocks take to stay free, in zones up to `most`, unless more is kept free already.
    pub fn raise_min_free_for_huge_pages(&mut self, most: ZoneKind) {
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
        self.settings.boost_factor_max = self.settings.boost_factor.unwrap_or(0);
        let total: u64 = self.zones.iter().map(|zone| zone.managed).sum();
        for at in 0..self.zones.len() {
            let reserve = self.lowmem_reserve_of(at);
            let scale_factor = self.settings.scale_factor;
            let zone = &mut self.zones[at];
            zone.watermarks = Watermarks::new(min_free_kbytes / 4, zone.managed, total, scale_factor);
            zone.boost = 0;
            zone.lowmem_reserve = reserve;
            zone.fair_batch = (zone.watermarks.high - zone.watermarks.low) as i64;
            self.resize_pcps(at);
        }
    }

    fn resize_pcps(&mut self, at: usize) {
        let zone = &self.zones[at];
        let cpus = self.cpus.iter().filter(|&&node| node == zone.node).count() as u64;
        let (managed, low) = (zone.managed, zone.watermarks.low);
        for pcp in self.pcps.iter_mut().skip(at).step_by(self.zones.len()) {
            pcp.resize(managed, low, cpus, self.settings.pcp_high_fraction, &self.policy.pcp);
        }
    }

    /// Raises the size of a CPU's lists of a zone to `high` pages, and to what they hold, as far as lists follow the load: on a running
    /// machine they have grown so. Nothing past the last CPU.
    pub fn inherit_pcp_high(&mut self, zone: ZoneId, cpu: usize, high: u64) {
        let at = self.pcp_at(zone, cpu);
        if let Some(pcp) = self.pcps.get_mut(at) {
            pcp.inherit_high(high);
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
