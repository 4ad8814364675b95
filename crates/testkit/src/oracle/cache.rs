//! Per-CPU lists.

use order9_mm::policy::{PcpHigh, PcpLists};
use order9_mm::trace::Event;
use order9_mm::{AllocFlags, FrameEvent, Mark, Request};
use order9_units::{Migratetype, Pfn, ZoneKind};

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
        cache.freed /= 2;
        Some(pfn)
    }

    fn refill(&mut self, wanted: Wanted<'_>, cpu: usize, list: usize) {
        let blocks = self.blocks_of_refill(wanted.z, cpu, wanted.order);
        let mut claim_failed = false;
        for _ in 0..blocks {
            let Some((first, cached)) = self.take(wanted, true, &mut claim_failed) else { break };
            let immovable = wanted.mt != Migratetype::Movable;
            self.own(first, wanted.order, Frame::Cached { first, order: wanted.order, cached, immovable });
            self.zones[wanted.z].caches[cpu].lists[list].push_back(first);
        }
    }

    fn follows_load(&self) -> bool {
        self.policy.frames.pcp.high == PcpHigh::AutoTuned
    }

    fn blocks_of_refill(&mut self, z: usize, cpu: usize, order: u8) -> u64 {
        let (count, tuned, short) = (self.cached(z, cpu), self.follows_load(), self.zones[z].below_high);
        let cache = &mut self.zones[z].caches[cpu];
        if cache.batch == 1 {
            return 1;
        }
        let mut pages = cache.batch;
        if tuned && order == 0 {
            pages *= 1 << cache.refill_factor;
        }
        if tuned && !short {
            cache.high = (cache.high + pages).min(cache.high_max).max(cache.high_min);
        }
        if order > 0 {
            return (pages >> order).max(2);
        }
        if !tuned {
            return pages;
        }
        let room = (cache.high as i64 - count as i64 - cache.batch as i64).max(cache.batch as i64) as u64;
        if pages <= room && cache.refill_factor < 5 {
            cache.refill_factor += 1;
        }
        pages.min(room)
    }

    /// Notes whether a request finds the zone below its high mark.
    pub(super) fn look_at_high_mark(&mut self, z: usize, request: &Request, flags: &AllocFlags) {
        if self.follows_load() && !self.watermark_ok(z, request, &AllocFlags { mark: Mark::High, ..*flags }) {
            self.zones[z].below_high = true;
        }
    }

    /// Puts a freed block on a per-CPU list, which gives some back when it is full.
    pub(super) fn cache(&mut self, z: usize, cpu: usize, list: usize, pfn: u64) {
        let order = self.cached_order(pfn);
        self.zones[z].caches[cpu].lists[list].push_front(pfn);
        let count = self.cached(z, cpu);
        let cache = &mut self.zones[z].caches[cpu];
        cache.freed = (cache.freed + size(order)).min(32 * cache.batch);
        cache.refill_factor /= 2;
        let pages =
            if self.follows_load() { self.tuned_return(z, cpu, count) } else { self.doubled_return(z, cpu, count) };
        if pages == 0 {
            return;
        }
        let excess = count.saturating_sub(self.zones[z].caches[cpu].high);
        self.drain(z, cpu, pages.max(excess), list);
        let zone = &mut self.zones[z];
        if zone.free() > zone.high + zone.boost + zone.lowmem_reserve[ZoneKind::Movable.index()] {
            zone.below_high = false;
        }
    }

    /// Pages that a cache of `count` pages gives back where its size follows the load: 0 if it is not full.
    fn tuned_return(&mut self, z: usize, cpu: usize, count: u64) -> u64 {
        let short = self.zones[z].below_high;
        let Cache { batch, high, high_min, high_max, freed, .. } = &mut self.zones[z].caches[cpu];
        let mut limit = *high;
        if *high_min != *high_max && short {
            *high = (*high as i64 - (*freed).max(*batch) as i64).max(*high_min as i64) as u64;
            limit = count.max(*high_min);
        } else if *high_min != *high_max && count >= *high && *high < *freed + *batch {
            *high = (*freed + *batch).min(*high_max).max(*high);
        }
        let most = (limit as i64 - *batch as i64).max(*batch as i64) as u64;
        if count < limit { 0 } else { (*freed).max(*batch).min(most) }
    }

    /// Pages that a full cache of 5.14 to 6.6 gives back: twice as many each time.
    fn doubled_return(&mut self, z: usize, cpu: usize, count: u64) -> u64 {
        let grows = self.caches_blocks();
        let Cache { batch, high, free_factor, .. } = &mut self.zones[z].caches[cpu];
        if count < *high {
            return 0;
        }
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

    /// Returns blocks from the tails of the lists until at least `pages` are back: of the lists in turn, or of each list as long as it
    /// lasts, from list `first` on.
    fn drain(&mut self, z: usize, cpu: usize, pages: u64, first: usize) {
        let mut returned = 0;
        if self.policy.frames.pcp.freed_list_first {
            let lists = self.cache_lists();
            for list in (first..lists).chain(0..first) {
                while returned < pages
                    && let Some(pfn) = self.zones[z].caches[cpu].lists[list].pop_back()
                {
                    returned += self.uncache(z, pfn);
                }
            }
            return;
        }
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
                self.drain(z, cpu, u64::MAX, 0);
            }
        }
    }
}
