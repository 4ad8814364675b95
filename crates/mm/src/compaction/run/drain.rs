//! Draining: frames that pages have left go to per-CPU lists and do not merge there, so a run drains the lists once it is
//! past those frames.

use order9_frames::ZoneId;
use order9_units::{Order, Pfn};

use crate::compaction::run::control::CompactControl;
use crate::phys::PhysMem;
use crate::policy::DrainMark;

impl PhysMem {
    /// Records where pages have moved away, after a round of isolation that began at `start`.
    pub(super) fn note_last_migrated(&self, run: &mut CompactControl, start: Pfn) {
        match self.policy.compaction.drain_mark {
            DrainMark::LowestIsolated => {} // The scan itself has noted it.
            DrainMark::IterationStart => run.last_migrated = Some(start),
            DrainMark::BlockStart => {
                let zone_start = self.frames.zone(run.zone).span().start;
                let before = Pfn::new(run.migrate_pfn.get().saturating_sub(1)).align_down(Order::PAGEBLOCK);
                run.last_migrated = Some(before.max(zone_start));
            }
        }
    }

    /// Drains the per-CPU list of the task's CPU once the run has left the range that pages have moved from.
    pub(super) fn drain_past_range(&mut self, run: &mut CompactControl) {
        let Some(from) = run.last_migrated else { return };
        if run.order.is_none() || from >= run.range_start(run.migrate_pfn) {
            return;
        }
        self.drain_local(run.zone, run.context.cpu);
        run.last_migrated = None;
    }

    fn drain_local(&mut self, zone: ZoneId, cpu: usize) {
        let is_filled = self.frames.pcp(zone, cpu).is_some_and(|pcp| pcp.count() > 0);
        if is_filled {
            self.frames.drain_pcp(zone, cpu, u64::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use order9_units::{NodeId, PAGEBLOCK_PAGES, Pages, PfnRange, ZoneKind};

    use super::*;
    use crate::compaction::run::control::Compactor;
    use crate::policy::Policy;
    use crate::{Layout, MmBuilder, NodeSpec, Request, ZoneSpec};
    use order9_frames::Gfp;

    #[test]
    fn the_pageblock_that_pages_came_from_is_marked_as_far_as_it_lies_in_the_zone() {
        let zone_start = Pfn::new((1 << 20) + 256);
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec {
                node: NodeId(0),
                kind: ZoneKind::Normal,
                span: PfnRange::of(zone_start, PAGEBLOCK_PAGES * 4),
            }],
            ..Layout::default()
        };
        let mut policy = Policy::default();
        policy.compaction.drain_mark = DrainMark::BlockStart;
        let mm = MmBuilder::new(&layout, policy).expect("the layout is sound").boot();
        let mark = |scanner: u64| {
            let by = Compactor::Request;
            let mut run = CompactControl::new(by, ZoneId(0), Some(Order::PAGEBLOCK), ZoneKind::Normal);
            run.migrate_pfn = zone_start + Pages::new(scanner);
            mm.phys.note_last_migrated(&mut run, zone_start);
            run.last_migrated.map(|pfn| (pfn - zone_start).get())
        };
        assert_eq!([10, 256, 257, 768, 769].map(mark), [0, 0, 256, 256, 768].map(Some));
    }

    #[test]
    fn a_drain_waits_for_the_next_mark() {
        let start = Pfn::new(1 << 20);
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec {
                node: NodeId(0),
                kind: ZoneKind::Normal,
                span: PfnRange::of(start, PAGEBLOCK_PAGES * 64),
            }],
            cpus: vec![NodeId(0)],
            ..Layout::default()
        };
        let mut mm = MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot();
        let mut run = CompactControl::new(Compactor::Request, ZoneId(0), Some(Order::PAGEBLOCK), ZoneKind::Normal);
        run.migrate_pfn = start + PAGEBLOCK_PAGES;
        let mut left = |mark: Option<Pfn>| {
            run.last_migrated = mark.or(run.last_migrated);
            let uncached = Request { cpu: 1, ..Request::new(Order::ZERO, Gfp::GFP_KERNEL) };
            let page = mm.alloc_fast(&uncached).expect("memory is free");
            mm.free(page, 0).expect("it is allocated");
            mm.phys.drain_past_range(&mut run);
            mm.phys.frames.pcp_pages(ZoneId(0))
        };
        let marks = [None, Some(start), None, None, Some(start)];
        assert_eq!(marks.map(&mut left), [1, 0, 1, 2, 0], "a page is cached each time");
    }
}
