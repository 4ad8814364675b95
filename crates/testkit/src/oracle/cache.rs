//! Per-CPU lists.

use order9_mm::FrameEvent;
use order9_mm::policy::{PcpHigh, PcpLists};
use order9_mm::trace::Event;
use order9_units::{Migratetype, Pfn};

use super::fallback::Wanted;
use super::{Cache, Frame, Oracle, as_order, size};

impl Oracle {
    /// Lists per zone and CPU.
    pub(super) fn cache_lists(&self) -> usize {
        match self.policy.frames.pcp.lists {
            PcpLists::BasePages => 3,
            PcpLists::UpToCostly { huge_lists } => 12 + usize::from(huge_lists),
        }
    }

    /// The per-CPU list for blocks of `order` and `mt`, if the CPU has one.
    pub(super) fn cache_list(&self, z: usize, cpu: usize, order: u8, mt: Migratetype) -> Option<usize> {
        if cpu >= self.zones[z].caches.len() {
            return None;
        }
        match (self.policy.frames.pcp.lists, order) {
            (PcpLists::BasePages, 0) => Some(mt.index()),
            (PcpLists::UpToCostly { .. }, 0..=3) => Some(usize::from(order) * 3 + mt.index()),
            (PcpLists::UpToCostly { huge_lists: 1 }, 9) => Some(12),
            (PcpLists::UpToCostly { huge_lists: 2 }, 9) => Some(12 + usize::from(mt != Migratetype::Movable)),
            (PcpLists::UpToCostly { .. }, 9) => Some(12 + mt.index()),
            _ => None,
        }
    }

    /// Pages a cache holds.
    pub(crate) fn cached(&self, z: usize, cpu: usize) -> u64 {
        let blocks = self.zones[z].caches[cpu].lists.iter().flatten();
        blocks.map(|&pfn| size(self.cached_order(pfn))).sum()
    }

    fn cached_order(&self, pfn: u64) -> u8 {
        let Frame::Cached { order, .. } = self.frame(pfn) else { panic!("{pfn:#x} is not cached") };
        order
    }

    /// Takes the head of a per-CPU list, refilled if need be.
    pub(super) fn take_cached(&mut self, wanted: Wanted<'_>, cpu: usize, list: usize) -> Option<u64> {
        if self.zones[wanted.z].caches[cpu].lists[list].is_empty() {
            self.refill(wanted, cpu, list);
        }
        let cache = &mut self.zones[wanted.z].caches[cpu];
        let pfn = cache.lists[list].pop_front()?;
        cache.free_factor /= 2;
        Some(pfn)
    }

    fn refill(&mut self, wanted: Wanted<'_>, cpu: usize, list: usize) {
        let batch = self.zones[wanted.z].caches[cpu].batch;
        let blocks = match (wanted.order, batch) {
            (_, 1) => 1,
            (0, batch) => batch,
            (order, batch) => (batch >> order).max(2),
        };
        let mut claim_failed = false;
        for _ in 0..blocks {
            let Some((first, cached)) = self.take(wanted, true, &mut claim_failed) else { break };
            let immovable = wanted.mt != Migratetype::Movable;
            self.own(first, wanted.order, Frame::Cached { first, order: wanted.order, cached, immovable });
            self.zones[wanted.z].caches[cpu].lists[list].push_back(first);
        }
        if self.policy.frames.pcp.high == PcpHigh::AutoTuned {
            let zone = &mut self.zones[wanted.z];
            let ample = zone.free() > zone.high + zone.boost;
            let Cache { high, high_min, high_max, batch, .. } = &mut zone.caches[cpu];
            let tuned = if ample { *high + *batch } else { high.saturating_sub(*batch) };
            *high = tuned.clamp(*high_min, *high_max);
        }
    }

    /// Puts a freed block on a per-CPU list, which gives some back when it is full.
    pub(super) fn cache(&mut self, z: usize, cpu: usize, list: usize, pfn: u64) {
        self.zones[z].caches[cpu].lists[list].push_front(pfn);
        let count = self.cached(z, cpu);
        let cache = &self.zones[z].caches[cpu];
        if count >= cache.high {
            let excess = count - cache.high;
            let pages = self.pages_to_return(z, cpu);
            self.drain(z, cpu, pages.max(excess));
        }
    }

    fn pages_to_return(&mut self, z: usize, cpu: usize) -> u64 {
        let grows = self.caches_blocks();
        let Cache { batch, high, free_factor, .. } = &mut self.zones[z].caches[cpu];
        if !grows || *high == 0 {
            return *batch;
        }
        let most = (*high - *batch).max(*batch);
        let pages = *batch << *free_factor;
        if pages < most {
            *free_factor += 1;
        }
        pages.min(most)
    }

    /// Returns blocks from the tails of the lists in turn until at least `pages` are back.
    fn drain(&mut self, z: usize, cpu: usize, pages: u64) {
        let mut returned = 0;
        while self.zones[z].caches[cpu].lists.iter().any(|list| !list.is_empty()) {
            for list in 0..self.cache_lists() {
                if returned >= pages {
                    return;
                }
                if let Some(pfn) = self.zones[z].caches[cpu].lists[list].pop_back() {
                    returned += self.uncache(z, pfn);
                }
            }
        }
    }

    fn uncache(&mut self, z: usize, pfn: u64) -> u64 {
        let Frame::Cached { order, cached, .. } = self.frame(pfn) else { panic!("{pfn:#x} is not cached") };
        let isolating = self.types_of(z).any(|mt| mt == Migratetype::Isolate);
        let mt = if self.policy.frames.pcp.keeps_cached_type && !isolating { cached } else { self.type_of(pfn) };
        self.events.push(Event::Frame(FrameEvent::PagePcpuDrain {
            pfn: Pfn::new(pfn),
            order: as_order(order),
            migratetype: mt,
        }));
        self.release(pfn, order, mt, None);
        size(order)
    }

    /// Types of the zone's pageblocks.
    pub(super) fn types_of(&self, z: usize) -> impl Iterator<Item = Migratetype> {
        let zone = &self.zones[z];
        (zone.start / 512..zone.end.div_ceil(512)).map(|block| self.type_of(block * 512))
    }

    /// Returns everything on every CPU.
    pub fn drain_all(&mut self) {
        for z in 0..self.zones.len() {
            for cpu in 0..self.cpus.len() {
                self.drain(z, cpu, u64::MAX);
            }
        }
    }
}
