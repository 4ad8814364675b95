//! Watermarks: how many pages must stay free, who may go below, and the boost that follows a fragmentation event.
//!
//! All arithmetic is in whole pages and floors, on managed pages, as Linux does it.

use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES, ZoneKind};

use crate::gfp::{AllocFlags, Mark, Reserve};
use crate::policy::{FramesPolicy, QuickTest, ReserveRights, WatermarkPolicy};
use crate::zone::Zone;

/// Marks of a zone in pages, without its boost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermarks {
    /// Only requests with special rights go below.
    pub min: u64,
    /// Below it kswapd is woken.
    pub low: u64,
    /// Above it kswapd sleeps.
    pub high: u64,
}

impl Watermarks {
    /// The mark as a number of pages.
    #[must_use]
    pub const fn of(&self, mark: Mark) -> u64 {
        match mark {
            Mark::Min => self.min,
            Mark::Low => self.low,
            Mark::High => self.high,
        }
    }

    /// Marks of a zone with `managed` of `total` managed pages, `pages_min` of which are kept free in all zones together.
    pub(crate) fn new(pages_min: u64, managed: u64, total: u64, scale_factor: Option<u32>) -> Self {
        let min = pages_min * managed / total.max(1);
        let scaled = scale_factor.map_or(0, |factor| managed * u64::from(factor) / 10_000);
        let distance = (min / 4).max(scaled);
        Self { min, low: min + distance, high: min + 2 * distance }
    }
}

/// `min_free_kbytes` before any setting by hand. `lowmem_kb` is memory above the high marks of zones up to Normal.
pub(crate) fn min_free_kbytes(lowmem_kb: u64, policy: &WatermarkPolicy) -> u64 {
    (lowmem_kb * 16).isqrt().clamp(128, policy.min_free_kbytes_max)
}

/// Pages that huge pages want kept free: two pageblocks per zone and three per pair of mobility types, at most a
/// twentieth of `lowmem` pages.
#[must_use]
pub fn recommended_min_free(zones: u64, lowmem: u64) -> u64 {
    let per_zone = 2 + (Migratetype::PCP.len() * Migratetype::PCP.len()) as u64;
    (PAGEBLOCK_PAGES.get() * zones * per_zone).min(lowmem / 20)
}

impl Zone {
    /// The mark with the boost on top, as every check uses it.
    #[must_use]
    pub const fn mark(&self, mark: Mark) -> u64 {
        self.watermarks.of(mark) + self.boost
    }

    /// Whether a request of `order` and zone class `class` leaves the zone above its mark and can find a block.
    #[must_use]
    #[inline]
    pub fn watermark_ok(&self, order: Order, class: ZoneKind, flags: &AllocFlags, policy: &FramesPolicy) -> bool {
        self.watermark_ok_at(order, self.mark(flags.mark), class, flags, policy)
    }

    /// Watermark check against a mark given in pages.
    #[must_use]
    #[inline]
    pub fn watermark_ok_at(
        &self,
        order: Order,
        mark: u64,
        class: ZoneKind,
        flags: &AllocFlags,
        policy: &FramesPolicy,
    ) -> bool {
        self.would_pass(self.free, order, mark, class, flags, policy)
    }

    /// Watermark check with `free` pages taken as free, as retries ask of what reclaim could free.
    #[must_use]
    #[inline]
    pub fn would_pass(
        &self,
        free: u64,
        order: Order,
        mark: u64,
        class: ZoneKind,
        flags: &AllocFlags,
        policy: &FramesPolicy,
    ) -> bool {
        let withheld = self.withheld(flags, policy) + order.pages().get() - 1;
        let need = reduced(mark, flags, policy.watermark.reserve_rights) + self.lowmem_reserve[class.index()];
        free > need + withheld && (order == Order::ZERO || self.has_block_for(order, flags))
    }

    /// The test that most order-0 requests pass: free pages against mark and lowmem reserve, no rights considered.
    #[must_use]
    #[inline]
    pub(crate) fn quick_test(&self, class: ZoneKind, flags: &AllocFlags, policy: &FramesPolicy) -> bool {
        let highatomic = match policy.watermark.quick_test {
            QuickTest::Absent => return false,
            QuickTest::IgnoresHighAtomic => 0,
            QuickTest::SubtractsHighAtomic if flags.may_use_highatomic(policy) => 0,
            QuickTest::SubtractsHighAtomic => self.withheld_highatomic(policy),
        };
        let withheld = highatomic + self.withheld_cma(flags);
        self.free > self.mark(flags.mark) + self.lowmem_reserve[class.index()] + withheld
    }

    /// Free pages that the request may not count on.
    #[inline]
    fn withheld(&self, flags: &AllocFlags, policy: &FramesPolicy) -> u64 {
        let highatomic = if flags.may_use_highatomic(policy) { 0 } else { self.withheld_highatomic(policy) };
        highatomic + self.withheld_cma(flags)
    }

    /// Free pages of the highatomic reserve that requests without a right to it may not count on.
    #[must_use]
    #[inline]
    pub fn withheld_highatomic(&self, policy: &FramesPolicy) -> u64 {
        if policy.highatomic.only_free_part_withheld {
            self.free_of_type(Migratetype::HighAtomic)
        } else {
            self.reserved_highatomic
        }
    }

    #[inline]
    fn withheld_cma(&self, flags: &AllocFlags) -> u64 {
        if flags.cma { 0 } else { self.free_of_type(Migratetype::Cma) }
    }

    /// Whether some list the request may use holds a block of `order` or more.
    #[inline]
    fn has_block_for(&self, order: Order, flags: &AllocFlags) -> bool {
        Migratetype::PCP.into_iter().fold(0, |orders, mt| orders | self.occupied[mt.index()]) >> order.get() != 0
            || flags.cma && self.has_block(Migratetype::Cma, order)
            || (flags.reserve.highatomic || flags.reserve.oom) && self.has_block(Migratetype::HighAtomic, order)
    }

    /// Raises the boost after a fragmentation event, by at most a pageblock up to its cap. Returns the pages added, or
    /// `None` where this zone is not boosted at all.
    pub(crate) fn add_boost(&mut self, factor: Option<u32>, policy: &WatermarkPolicy) -> Option<u64> {
        let factor = factor.filter(|&factor| factor > 0)?;
        let pageblock = PAGEBLOCK_PAGES.get();
        if policy.boost_skips_tiny_zones && self.managed < 4 * pageblock {
            return None;
        }
        let cap = self.boost_cap(factor)?;
        let before = self.boost;
        self.boost = (before + pageblock).min(cap);
        Some(self.boost.saturating_sub(before))
    }

    /// Largest boost at this factor in pages; `None` before the marks are set up.
    #[must_use]
    pub fn boost_cap(&self, factor: u32) -> Option<u64> {
        let cap = self.watermarks.high * u64::from(factor) / 10_000;
        (cap > 0).then(|| cap.max(PAGEBLOCK_PAGES.get()))
    }
}

impl AllocFlags {
    /// Whether the highatomic reserve counts as usable for this request.
    #[inline]
    fn may_use_highatomic(&self, policy: &FramesPolicy) -> bool {
        let Reserve { min_reserve, harder, oom, highatomic } = self.reserve;
        match policy.watermark.reserve_rights {
            ReserveRights::Harder => harder || oom,
            ReserveRights::NonBlock => min_reserve || harder || oom || highatomic,
        }
    }
}

/// The part of `mark` that must stay free for a request with these rights.
#[inline]
fn reduced(mark: u64, flags: &AllocFlags, rights: ReserveRights) -> u64 {
    let mut need = mark;
    if flags.reserve.min_reserve {
        need -= need / 2;
    }
    match rights {
        ReserveRights::Harder if flags.reserve.oom => need -= need / 2,
        ReserveRights::Harder if flags.reserve.harder => need -= need / 4,
        ReserveRights::Harder => {}
        ReserveRights::NonBlock => {
            if flags.reserve.min_reserve && flags.reserve.harder {
                need -= need / 4;
            }
            if flags.reserve.oom {
                need -= need / 2;
            }
        }
    }
    need
}

#[cfg(test)]
mod tests;
