//! Setting the naive allocator up as Linux sets up memory at boot.

use order9_mm::policy::Policy;
use order9_mm::{Layout, NumaCounters, ZoneId};
use order9_units::{Migratetype, Order, PfnRange};

use super::{Cache, Frame, Oracle, PAGEBLOCK, Tally, Zone, size};

impl Oracle {
    /// All memory of `layout` free. `zones` are the names that events give to the layout's zones, in its order.
    #[must_use]
    pub fn boot(layout: &Layout, policy: Policy, zones: impl IntoIterator<Item = ZoneId>) -> Self {
        let start = layout.zones.iter().map(|zone| zone.span.start.align_down(Order::MAX)).min().expect("zones");
        let end = layout.zones.iter().map(|zone| zone.span.end.align_up(Order::MAX)).max().expect("zones");
        let frames = (end - start).get() as usize;
        let mut oracle = Self {
            policy,
            base: start.get(),
            frames: vec![Frame::Hole; frames],
            types: vec![Migratetype::Movable; frames / PAGEBLOCK as usize],
            zones: Vec::new(),
            distances: layout.nodes.iter().map(|node| node.distances.clone()).collect(),
            cpus: layout.cpus.clone(),
            grouping: true,
            min_free_kbytes: 0,
            kswapd: vec![None; layout.nodes.len()],
            kswapd_awake: vec![false; layout.nodes.len()],
            tally: Tally { numa: vec![NumaCounters::default(); layout.nodes.len()], ..Tally::default() },
            events: Vec::new(),
        };
        for area in &layout.cma {
            area.iter().for_each(|pfn| oracle.set_type(pfn.get(), Migratetype::Cma));
        }
        for (spec, id) in layout.zones.iter().zip(zones) {
            let cache = Cache { lists: vec![Default::default(); oracle.cache_lists()], ..Cache::default() };
            oracle.zones.push(Zone {
                id,
                node: spec.node,
                kind: spec.kind,
                start: spec.span.start.get(),
                end: spec.span.end.get(),
                managed: 0,
                lists: Default::default(),
                caches: vec![cache; layout.cpus.len()],
                min: 0,
                low: 0,
                high: 0,
                boost: 0,
                boosted: false,
                below_high: false,
                lowmem_reserve: Default::default(),
                reserved_highatomic: 0,
                fair_left: 0,
            });
        }
        for z in 0..oracle.zones.len() {
            oracle.boot_zone(z, layout);
        }
        oracle.grouping = oracle.zones.iter().map(|zone| zone.managed).sum::<u64>() >= PAGEBLOCK * 6;
        oracle.set_up_marks();
        oracle
    }

    /// Frees the zone's memory upward in the largest aligned blocks.
    fn boot_zone(&mut self, z: usize, layout: &Layout) {
        let inside =
            |ranges: &[PfnRange], pfn| ranges.iter().any(|range| (range.start.get()..range.end.get()).contains(&pfn));
        let (start, end) = (self.zones[z].start, self.zones[z].end);
        let is_memory =
            |pfn| (start..end).contains(&pfn) && !inside(&layout.holes, pfn) && !inside(&layout.reserved, pfn);
        let mut pfn = start;
        while pfn < end {
            if inside(&layout.reserved, pfn) && !inside(&layout.holes, pfn) {
                self.own(pfn, 0, Frame::Reserved);
            }
            if !is_memory(pfn) {
                pfn += 1;
                continue;
            }
            let fits = |order: &u8| {
                let mut block = pfn..pfn + size(*order);
                pfn.is_multiple_of(size(*order))
                    && block.all(|frame| is_memory(frame) && self.type_of(frame) == self.type_of(pfn))
            };
            let order = (0..=10).rev().find(fits).expect("one frame always fits");
            self.release(pfn, order, self.type_of(pfn), Some(self.policy.frames.moved_blocks));
            self.zones[z].managed += size(order);
            pfn += size(order);
        }
    }

    /// `vm.min_free_kbytes`.
    pub fn set_min_free_kbytes(&mut self, kbytes: u64) {
        self.spread(kbytes);
    }

    /// `vm.watermark_scale_factor`.
    pub fn set_watermark_scale_factor(&mut self, factor: u32) {
        self.policy.frames.watermark.scale_factor = Some(factor);
        self.spread(self.min_free_kbytes);
    }

    /// `vm.watermark_boost_factor`.
    pub const fn set_watermark_boost_factor(&mut self, factor: u32) {
        self.policy.frames.watermark.boost_factor = Some(factor);
    }
}
