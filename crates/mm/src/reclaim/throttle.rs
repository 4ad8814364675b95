//! Reclaimers that would only get in each other's way, or overtake the disks, sleep.

use order9_frames::Mark;
use order9_units::{NodeId, ZoneKind};

use crate::lru_list::LruList;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::reclaim::decide::throttles_direct_reclaim;

impl UsedPages {
    /// Whether the reserves of a node are so low that tasks have to leave reclaim to kswapd, which is woken for it.
    pub(crate) fn throttles_direct_reclaim(&self, node: NodeId, phys: &mut PhysMem) -> bool {
        let (mut free, mut min) = (0, 0);
        for zone in phys.frames.zones().iter().filter(|zone| zone.node() == node && zone.kind() <= ZoneKind::Normal) {
            if self.reclaimable_pages(zone.id(), phys) > 0 {
                free += zone.free();
                min += zone.mark(Mark::Min);
            }
        }
        let throttles = throttles_direct_reclaim(free, min) && !self.kswapd_gave_up(node, phys);
        let of = &mut phys.daemons.kswapd[node.index()];
        if throttles && of.asleep {
            of.ask_for_reserves();
            of.asleep = false;
            phys.daemons.wakeups.kswapd |= 1 << node.0;
        }
        throttles
    }

    /// Inactive pages of a node that reclaim could still take.
    pub(crate) fn inactive_pages(&self, zone: crate::ZoneId, phys: &PhysMem) -> u64 {
        let sizes = self.lru.lru_sizes(phys.lru_set(zone), phys);
        let anon = if self.swap.swap_free().get() > 0 { sizes[LruList::InactiveAnon.index()] } else { 0 };
        sizes[LruList::InactiveFile.index()] + anon
    }
}

#[cfg(test)]
mod tests {
    use crate::env::Until;
    use crate::tasks::reclaim::throttle::NOFS_WAIT;
    use crate::tasks::reclaim::throttle::throttle_direct;
    use alloc::vec;
    use order9_frames::Gfp;
    use order9_frames::Request;

    use order9_units::{Order, Pages, Pfn, PfnRange};

    use super::*;
    use crate::Mm;
    use crate::daemon_request::DaemonRequest;
    use crate::env::Task;
    use crate::env::{Alone, run};
    use crate::policy::Policy;
    use crate::space::NO_CPU;
    use crate::{Layout, MmBuilder, NodeSpec, ZoneSpec};

    const NODE: NodeId = NodeId(0);
    const TASK: Task = Task { rt: false, kthread: false, memalloc: false, oom_victim: false };

    /// One zone whose reserves are used up, with pages of files to reclaim, and a kswapd that sleeps.
    fn exhausted() -> Mm {
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec {
                node: NODE,
                kind: ZoneKind::Normal,
                span: PfnRange::of(Pfn::new(4096), Pages::new(4096)),
            }],
            ..Layout::default()
        };
        let mut mm = MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot();
        mm.pages.lru.zones[0].sizes[LruList::InactiveFile.index()] = 100;
        let free = mm.phys.frames.zones()[0].free();
        mm.phys.frames.edit_zone(0, |zone| zone.watermarks.min = 2 * free);
        mm.phys.daemons.kswapd[0].asleep = true;
        mm
    }

    #[test]
    fn a_sleeping_kswapd_is_woken_for_the_reserves_with_a_request_that_it_can_take() {
        let order = |n| Order::new(n).expect("a small order");
        let asked = |order, class| Some(DaemonRequest { order, class });
        for (before, after) in [
            (None, asked(Order::ZERO, ZoneKind::Normal)),
            (asked(order(3), ZoneKind::Movable), asked(order(3), ZoneKind::Normal)),
            (asked(order(3), ZoneKind::Dma32), asked(order(3), ZoneKind::Dma32)),
        ] {
            let mut mm = exhausted();
            mm.phys.daemons.kswapd[0].request = before;
            assert!(mm.pages.throttles_direct_reclaim(NODE, &mut mm.phys));
            assert_eq!((mm.phys.daemons.kswapd[0].request, mm.phys.daemons.kswapd[0].asleep), (after, false));
            assert_eq!(mm.take_wakeups().kswapd, 1);
        }
    }

    #[test]
    fn a_kswapd_that_is_awake_or_not_needed_is_asked_for_nothing() {
        let mut mm = exhausted();
        mm.phys.daemons.kswapd[0].asleep = false;
        assert!(mm.pages.throttles_direct_reclaim(NODE, &mut mm.phys));
        assert_eq!((mm.phys.daemons.kswapd[0].request, mm.take_wakeups().kswapd), (None, 0));
        mm.phys.frames.edit_zone(0, |zone| zone.watermarks.min -= 2);
        mm.phys.daemons.kswapd[0].asleep = true;
        assert!(!mm.pages.throttles_direct_reclaim(NODE, &mut mm.phys));
        assert_eq!((mm.phys.daemons.kswapd[0].request, mm.take_wakeups().kswapd), (None, 0));
    }

    #[test]
    fn a_task_that_would_use_up_the_reserves_is_counted_and_waits_for_kswapd() {
        for (gfp, timeout) in [(Gfp::GFP_KERNEL, None), (Gfp::GFP_NOFS, Some(NOFS_WAIT))] {
            let world = Alone::new(exhausted(), NO_CPU);
            run(throttle_direct(&world, &Request::new(Order::ZERO, gfp)));
            assert_eq!(world.last_wait(), Some((Until::ReservesFilled(NODE), timeout)));
            assert_eq!(world.mm.borrow().counters().pgscan_direct_throttle, 1);
        }
    }

    #[test]
    fn daemons_and_victims_take_from_the_reserves_without_a_wait() {
        let (daemon, victim) = (Task { kthread: true, ..TASK }, Task { oom_victim: true, ..TASK });
        for task in [daemon, victim] {
            let mut world = Alone::new(exhausted(), NO_CPU);
            world.task = task;
            run(throttle_direct(&world, &Request::new(Order::ZERO, Gfp::GFP_KERNEL)));
            assert!(world.last_wait().is_none(), "{task:?}");
            assert_eq!(world.mm.borrow().counters().pgscan_direct_throttle, 0);
        }
    }

    #[test]
    fn anonymous_pages_can_be_reclaimed_only_while_there_is_swap() {
        let mut mm = exhausted();
        mm.pages.lru.zones[0].sizes[LruList::InactiveAnon.index()] = 50;
        mm.pages.lru.zones[0].sizes[LruList::ActiveAnon.index()] = 7;
        let zone = mm.phys.frames.zones()[0].id();
        assert_eq!((mm.pages.reclaimable_pages(zone, &mm.phys), mm.pages.inactive_pages(zone, &mm.phys)), (100, 100));
        mm.pages.swap.swapon(Pages::new(10));
        assert_eq!((mm.pages.reclaimable_pages(zone, &mm.phys), mm.pages.inactive_pages(zone, &mm.phys)), (157, 150));
    }
}
