//! Sizes of per-CPU lists: when they are full, how much they give back, and how much a refill takes.
//!
//! Up to 6.6 the size is fixed. From 6.7 on it follows the load between a least and a largest: refills raise it while the zone is above
//! its high mark, frees raise it to hold what is freed in a row, a zone short of memory lowers it, and time does ("mm: PCP high
//! auto-tuning", linux-mm, October 2023).

use order9_units::{Order, ZoneKind};

use super::Pcp;
use crate::Frames;
use crate::gfp::{AllocFlags, Mark};
use crate::policy::{FramesPolicy, PcpHigh, PcpLists};
use crate::request::Search;
use crate::storage::Storage;
use crate::watch::Watch;
use crate::zone::{Zone, ZoneId};

/// Doublings of `batch`, at most (`CONFIG_PCP_BATCH_SCALE_MAX`).
const SCALE_MAX: u8 = 5;

/// Batches that lists may hold while kswapd reclaims their zone.
const BATCHES_IN_RECLAIM: u64 = 4;

/// Share of the size that goes with each decay: an eighth.
const DECAY_SHIFT: u32 = 3;

/// Needs of a zone that lists of 5.14+ heed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    Nothing,
    /// A request has found the zone below its high mark. 6.7+.
    BelowHigh,
    /// kswapd reclaims the zone. 5.14+.
    Reclaim,
}

impl Pcp {
    /// Notes `pages` that were freed, after which the next refill takes less.
    #[inline]
    pub(super) fn note_freed(&mut self, pages: u64) {
        self.freed = (self.freed + pages).min(self.batch << SCALE_MAX);
        self.refill_factor >>= 1;
    }

    /// Pages that a full list gives back in 5.14 to 6.6, where it is full at `high`: twice as many each time.
    pub(super) fn doubled_surplus(&mut self, high: u64) -> u64 {
        let most = high.saturating_sub(self.batch).max(self.batch);
        let pages = (self.batch << self.free_factor).min(most);
        if pages < most {
            self.free_factor += 1;
        }
        pages
    }

    /// Pages that lists which follow the load give back after a free, if they are full.
    pub(super) fn tuned_surplus(&mut self, need: Need) -> Option<u64> {
        let full_at = self.tune(need);
        let most = full_at.saturating_sub(self.batch).max(self.batch);
        (self.count >= full_at).then(|| self.freed.clamp(self.batch, most))
    }

    /// Adapts the size to a free; the number of pages at which the lists are full for now.
    fn tune(&mut self, need: Need) -> u64 {
        let high = self.high;
        let is_fixed = self.high_min == self.high_max;
        match need {
            Need::Reclaim => {
                self.high = high.saturating_sub(self.freed).clamp(self.high_min, self.high_max);
                high.min(BATCHES_IN_RECLAIM * self.batch)
            }
            _ if is_fixed => high,
            Need::BelowHigh => {
                self.high = high.saturating_sub(self.freed.max(self.batch)).max(self.high_min);
                self.count.max(self.high_min)
            }
            Need::Nothing => {
                if self.count >= high {
                    self.high = high.max((self.freed + self.batch).min(self.high_max));
                }
                high
            }
        }
    }

    /// Blocks of `order` that a refill takes.
    pub(super) fn refill_blocks(&mut self, order: Order, is_tuned: bool, below_high: bool) -> u64 {
        let pages = match order {
            _ if self.batch == 1 => return 1, // Zones too small for per-CPU lists cache nothing.
            _ if !is_tuned => self.batch,
            Order::ZERO => self.batch << self.refill_factor,
            _ => self.batch,
        };
        if is_tuned && !below_high {
            self.high = (self.high + pages).clamp(self.high_min, self.high_max);
        }
        match order {
            Order::ZERO if is_tuned => self.pages_with_room(pages),
            Order::ZERO => pages,
            order => (pages >> order.get()).max(2),
        }
    }

    /// Single pages that a refill takes of `wanted`; the next takes twice as many where there is room.
    fn pages_with_room(&mut self, wanted: u64) -> u64 {
        let room = self.high.saturating_sub(self.count + self.batch).max(self.batch);
        if wanted <= room && self.refill_factor < SCALE_MAX {
            self.refill_factor += 1;
        }
        wanted.min(room)
    }

    /// Lowers the size with time; pages that are now too many.
    fn decay(&mut self) -> u64 {
        let slower = self.high - (self.high >> DECAY_SHIFT);
        let to_count = self.count.saturating_sub(self.batch << SCALE_MAX);
        self.high = slower.max(to_count).max(self.high_min).min(self.high);
        self.count.saturating_sub(self.high)
    }
}

impl Zone {
    /// Whether something keeps the per-CPU lists of the zone short.
    #[inline]
    pub(crate) fn keeps_lists_short(&self) -> bool {
        self.below_high || self.reclaim_active
    }

    /// Whether a request has to find out if the zone is below its high mark.
    #[inline]
    pub(crate) fn may_be_below_high(&self, policy: &FramesPolicy) -> bool {
        policy.pcp.high == PcpHigh::AutoTuned && !self.below_high
    }

    fn need_of_lists(&self) -> Need {
        match () {
            () if self.reclaim_active => Need::Reclaim,
            () if self.below_high => Need::BelowHigh,
            () => Need::Nothing,
        }
    }
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Returns pages to the zone where a free to list `freed` has made the CPU's lists too long.
    #[cold]
    pub(crate) fn trim_pcp(&mut self, zone: ZoneId, cpu: usize, freed: usize) {
        let at = self.pcp_at(zone, cpu);
        let need = self.zones[zone.index()].need_of_lists();
        let pcp = &mut self.pcps[at];
        let surplus = match self.policy.pcp.high {
            PcpHigh::AutoTuned => pcp.tuned_surplus(need),
            PcpHigh::SixBatches | PcpHigh::LowMark => {
                let least = BATCHES_IN_RECLAIM * pcp.batch;
                let full_at = if need == Need::Reclaim { pcp.high.min(least) } else { pcp.high };
                let is_full = pcp.count >= full_at;
                is_full.then(|| match self.policy.pcp.lists {
                    PcpLists::BasePages => pcp.batch,
                    PcpLists::UpToCostly { .. } => pcp.doubled_surplus(full_at),
                })
            }
        };
        let Some(pages) = surplus else { return };
        // Large blocks come faster than batches go.
        let excess = pcp.count.saturating_sub(pcp.high);
        self.drain_pcp_from(zone, cpu, pages.max(excess), freed);
        let zone = &mut self.zones[zone.index()];
        zone.below_high &= zone.free <= zone.mark(Mark::High) + zone.lowmem_reserve[ZoneKind::Movable.index()];
    }

    /// Notes that a request has found the zone below its high mark, for lists that follow the load.
    #[inline]
    pub(crate) fn note_below_high(&mut self, search: &Search, id: ZoneId, flags: &AllocFlags) {
        if self.zones[id.index()].may_be_below_high(&self.policy) {
            self.find_below_high(search, id, flags);
        }
    }

    #[inline(never)]
    fn find_below_high(&mut self, search: &Search, id: ZoneId, flags: &AllocFlags) {
        let zone = &self.zones[id.index()];
        let (order, flags) = (search.request.order, AllocFlags { mark: Mark::High, ..*flags });
        let is_above = order == Order::ZERO && zone.quick_test(search.class, &flags, &self.policy)
            || zone.watermark_ok(order, search.class, &flags, &self.policy);
        self.zones[id.index()].below_high = !is_above;
    }

    /// Notes whether kswapd reclaims the zone, for lists of 5.14+.
    pub fn set_reclaim_active(&mut self, zone: ZoneId, is_active: bool) {
        self.zones[zone.index()].reclaim_active = is_active && self.policy.pcp.high != PcpHigh::SixBatches;
    }

    /// Lowers the sizes of a CPU's lists and returns what they hold beyond; to be called once a second (`vm.stat_interval`) where
    /// lists [decay](crate::policy::PcpPolicy::decay).
    pub fn decay_pcps(&mut self, cpu: usize) {
        for zone in (0..self.zones.len()).map(|zone| ZoneId(zone as u8)) {
            let at = self.pcp_at(zone, cpu);
            let surplus = self.pcps[at].decay();
            if surplus > 0 {
                self.drain_pcp(zone, cpu, surplus);
            }
        }
    }
}
