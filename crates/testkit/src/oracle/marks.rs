//! Watermarks: their sizes and the check against them.

use order9_mm::policy::{PcpHigh, PcpLists, QuickTest, ReserveRights};
use order9_mm::{AllocFlags, Gfp, Mark, Request};
use order9_units::{Migratetype, NodeId, ZoneKind};

use super::{Oracle, size};

/// The default of `vm.lowmem_reserve_ratio`.
const LOWMEM_RATIO: [u64; ZoneKind::COUNT] = [256, 256, 32, 0];

impl Oracle {
    /// Computes every mark, reserve and cache size anew.
    pub(super) fn set_up_marks(&mut self) {
        for zone in &mut self.zones {
            zone.high = 0;
        }
        let formula = (16 * 4 * self.lowmem()).isqrt().clamp(128, self.policy.frames.watermark.min_free_kbytes_max);
        self.spread(formula);
        let zones = self.zones.iter().filter(|zone| zone.kind <= ZoneKind::Normal && zone.managed > 0).count() as u64;
        let huge = (512 * zones * 2 + 512 * zones * 9).min(self.lowmem() / 20);
        self.spread((huge * 4).max(self.min_free_kbytes));
    }

    /// Pages above the high marks of zones up to Normal.
    fn lowmem(&self) -> u64 {
        let zones = self.zones.iter().filter(|zone| zone.kind <= ZoneKind::Normal);
        zones.map(|zone| zone.managed.saturating_sub(zone.high)).sum()
    }

    pub(super) fn spread(&mut self, min_free_kbytes: u64) {
        self.min_free_kbytes = min_free_kbytes;
        let total: u64 = self.zones.iter().map(|zone| zone.managed).sum();
        for z in 0..self.zones.len() {
            let lowmem_reserve = self.lowmem_reserve(z);
            let zone = &mut self.zones[z];
            zone.min = min_free_kbytes / 4 * zone.managed / total;
            let quarter = zone.min / 4;
            let distance = match self.policy.frames.watermark.scale_factor {
                Some(factor) => quarter.max(zone.managed * u64::from(factor) / 10_000),
                None => quarter,
            };
            zone.low = zone.min + distance;
            zone.high = zone.min + 2 * distance;
            zone.boost = 0;
            zone.fair_left = distance as i64;
            zone.lowmem_reserve = lowmem_reserve;
            self.size_caches(z);
        }
    }

    fn lowmem_reserve(&self, z: usize) -> [u64; ZoneKind::COUNT] {
        let zone = &self.zones[z];
        ZoneKind::ALL.map(|class| {
            let between = |peer: &&super::Zone| peer.node == zone.node && peer.kind > zone.kind && peer.kind <= class;
            let above: u64 = self.zones.iter().filter(between).map(|peer| peer.managed).sum();
            above.checked_div(LOWMEM_RATIO[zone.kind.index()]).unwrap_or(0)
        })
    }

    fn size_caches(&mut self, z: usize) {
        let cpus = self.cpus.iter().filter(|&&node| node == self.zones[z].node).count().max(1) as u64;
        let zone = &mut self.zones[z];
        let quarter = ((zone.managed / 1024).min(self.policy.frames.pcp.batch_max) / 4).max(1);
        let batch = (1u64 << (quarter + quarter / 2).ilog2()) - 1;
        let shared_low = (zone.low / cpus).max(4 * batch);
        let (batch, high_min, high_max) = match (batch, self.policy.frames.pcp.high) {
            (0, _) => (1, 0, 0),
            (batch, PcpHigh::SixBatches) => (batch, 6 * batch, 6 * batch),
            (batch, PcpHigh::LowMark) => (batch, shared_low, shared_low),
            (batch, PcpHigh::AutoTuned) => (batch, shared_low, shared_low.max(zone.managed / 8 / cpus)),
        };
        for cache in &mut zone.caches {
            (cache.batch, cache.high, cache.high_min, cache.high_max) = (batch, high_min, high_min, high_max);
        }
    }

    /// Whether a request leaves zone `z` above its mark and can find a block there.
    pub(super) fn watermark_ok(&self, z: usize, request: &Request, flags: &AllocFlags) -> bool {
        let (order, class) = (request.order.get(), request.gfp.highest_zone());
        let zone = &self.zones[z];
        let base = match flags.mark {
            Mark::Min => zone.min,
            Mark::Low => zone.low,
            Mark::High => zone.high,
        };
        let urgent = match self.policy.frames.watermark.reserve_rights {
            ReserveRights::Harder => Gfp::ATOMIC,
            ReserveRights::NonBlock => Gfp::HIGH,
        };
        let spared = order == 0 && self.policy.frames.watermark.atomic_ignores_boost && flags.mark == Mark::Min;
        self.passes(z, order, base + zone.boost, class, flags)
            || spared && request.gfp.has(urgent) && self.passes(z, order, base, class, flags)
    }

    /// Whether any zone of the node has more pages free than its high mark, boost included, as far as everybody may use
    /// them.
    pub(super) fn is_balanced(&self, node: NodeId, class: ZoneKind) -> bool {
        let mut zones = self.zones.iter().filter(|zone| zone.node == node && zone.kind <= class && zone.managed > 0);
        zones.any(|zone| {
            let highatomic = match self.policy.frames.highatomic.only_free_part_withheld {
                true => zone.free_of(Migratetype::HighAtomic),
                false => zone.reserved_highatomic,
            };
            let withheld = highatomic + zone.free_of(Migratetype::Cma) + zone.lowmem_reserve[class.index()];
            zone.free() > zone.high + zone.boost + withheld
        })
    }

    /// The check against a mark in pages.
    fn passes(&self, z: usize, order: u8, mark: u64, class: ZoneKind, flags: &AllocFlags) -> bool {
        let zone = &self.zones[z];
        let reserve = zone.lowmem_reserve[class.index()] as i64;
        let withheld_cma = if flags.cma { 0 } else { zone.free_of(Migratetype::Cma) as i64 };
        let highatomic = if self.policy.frames.highatomic.only_free_part_withheld {
            zone.free_of(Migratetype::HighAtomic) as i64
        } else {
            zone.reserved_highatomic as i64
        };
        let free = zone.free() as i64;
        if order == 0 {
            let quick = match self.policy.frames.watermark.quick_test {
                QuickTest::Absent => i64::MIN,
                QuickTest::IgnoresHighAtomic => free - withheld_cma,
                QuickTest::SubtractsHighAtomic => free - withheld_cma - highatomic,
            };
            if quick > mark as i64 + reserve {
                return true;
            }
        }
        let rights = flags.reserve;
        let any = rights.harder || rights.oom || rights.highatomic;
        let entitled = match self.policy.frames.watermark.reserve_rights {
            ReserveRights::Harder => any,
            ReserveRights::NonBlock => any || rights.min_reserve,
        };
        let withheld_highatomic = if entitled { 0 } else { highatomic };
        let usable = free - (size(order) as i64 - 1) - withheld_highatomic - withheld_cma;
        if usable <= self.needed(mark, flags) as i64 + reserve {
            return false;
        }
        let has = |mt: Migratetype| (order..=10).any(|order| !zone.lists[usize::from(order)][mt.index()].is_empty());
        order == 0
            || Migratetype::PCP.into_iter().any(has)
            || flags.cma && has(Migratetype::Cma)
            || (rights.highatomic || rights.oom) && has(Migratetype::HighAtomic)
    }

    fn needed(&self, mark: u64, flags: &AllocFlags) -> u64 {
        let rights = flags.reserve;
        let mut need = mark;
        match self.policy.frames.watermark.reserve_rights {
            ReserveRights::Harder => {
                if rights.min_reserve {
                    need -= need / 2;
                }
                if rights.oom {
                    need -= need / 2;
                } else if rights.harder {
                    need -= need / 4;
                }
            }
            ReserveRights::NonBlock => {
                if rights.min_reserve {
                    need -= need / 2;
                    if rights.harder {
                        need -= need / 4;
                    }
                }
                if rights.oom {
                    need -= need / 2;
                }
            }
        }
        need
    }

    /// Whether per-CPU lists hold huge pages and small blocks beside single pages.
    pub(super) fn caches_blocks(&self) -> bool {
        matches!(self.policy.frames.pcp.lists, PcpLists::UpToCostly { .. })
    }
}
