//! Direct reclaim: a task that finds no page frees some itself (`try_to_free_pages`).

use order9_frames::{Mark, Request, Search, Zone, ZoneId};
use order9_units::Order;

use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::Unreclaimable;
use crate::reclaim::DEF_PRIORITY;
use crate::reclaim::node::NodePass;
use crate::suitable::Suitable;

impl UsedPages {
    /// The lists to go over for a request, nearest first, and whether compaction could start in one of its zones, which is
    /// spared then.
    pub(crate) fn direct_passes(
        &self,
        search: &Search,
        priority: u8,
        phys: &PhysMem,
    ) -> (alloc::vec::Vec<NodePass>, bool) {
        let (mut passes, mut ready): (alloc::vec::Vec<NodePass>, _) = (alloc::vec::Vec::new(), false);
        let mut at = search.first;
        while let Some((position, entry)) = phys.frames.eligible_from(search, at) {
            at = position + 1;
            if phys.compaction_ready(entry.zone, search) {
                ready = true;
                continue;
            }
            if !self.helps(phys.frames.zone(entry.zone), priority, phys) {
                continue;
            }
            if passes.iter().any(|pass| phys.lru_set(pass.zone) == phys.lru_set(entry.zone)) {
                continue;
            }
            // Slab belongs to nodes: where zones are reclaimed, the first of a node takes it along.
            let slab = passes.iter().all(|pass| phys.frames.zone(pass.zone).node() != entry.node);
            passes.push(NodePass { zone: entry.zone, slab });
        }
        (passes, ready)
    }

    /// Whether a pass at `priority` over the lists of `zone` is worth a try.
    pub(crate) fn helps(&self, zone: &Zone, priority: u8, phys: &PhysMem) -> bool {
        priority == DEF_PRIORITY || !self.is_unreclaimable(zone.id(), phys)
    }

    /// Whether a request that got nothing goes on, since lists that may serve it are not scanned often enough to give them up.
    pub(crate) fn has_hope(&self, search: &Search, phys: &PhysMem) -> bool {
        if phys.policy.reclaim.unreclaimable == Unreclaimable::KswapdFailures {
            return false;
        }
        let mut at = search.first;
        while let Some((position, entry)) = phys.frames.eligible_from(search, at) {
            if !self.is_unreclaimable(entry.zone, phys) {
                return true;
            }
            at = position + 1;
        }
        false
    }
}

impl PhysMem {
    /// Whether a costly request gains more from compaction of the zone than from further reclaim.
    fn compaction_ready(&self, zone: ZoneId, search: &Search) -> bool {
        let Request { order, .. } = search.request;
        if !order.is_costly() {
            return false;
        }
        let zone: &Zone = self.frames.zone(zone);
        if order == Order::PAGEBLOCK && self.policy.compaction.uses_index() {
            return self.reclaim_is_done(zone, order, search.class);
        }
        match self.suitable_for_any(zone, order, search.class) {
            Suitable::Success => true,
            Suitable::Continue => {
                let mark = zone.mark(Mark::High) + self.policy.compaction.gap.of(order);
                let flags = crate::AllocFlags::plain(Mark::High);
                zone.watermark_ok_at(Order::ZERO, mark, search.class, &flags, &self.policy.frames)
            }
            Suitable::Skipped | Suitable::NotSuitableZone => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::mm::Mm;
    use crate::reclaim::control::DEF_PRIORITY;
    use crate::tasks::reclaim::direct::direct_reclaim;
    use alloc::vec;
    use alloc::vec::Vec;

    use order9_units::{NodeId, PAGEBLOCK_PAGES, Pfn, PfnRange, ZoneKind};

    use super::*;
    use crate::env::{Alone, run};
    use crate::policy::{LruScope, Policy};
    use crate::reclaim::tests::{boot, mapped};
    use crate::space::{NO_CPU, Prot};
    use crate::{Contents, Gfp, Layout, LruList, MmBuilder, NodeSpec, ZoneSpec};

    fn request() -> Request {
        Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)
    }

    #[test]
    fn each_direct_reclaim_is_counted_as_a_stall() {
        let mut mm = boot();
        let before = mm.counters().allocstall.total();
        assert!(mm.begin_direct(&request()).is_some());
        assert_eq!(mm.counters().allocstall.total() - before, 1);
    }

    #[test]
    fn where_zones_are_reclaimed_the_slab_of_a_node_is_shrunk_with_its_first_zone() {
        let mut mm = boot();
        mm.phys.policy.reclaim.lru = LruScope::Zone;
        let search = mm.phys.frames.search_for(&request()).expect("the request is sound");
        let (passes, _) = mm.pages.direct_passes(&search, DEF_PRIORITY, &mm.phys);
        let slab: Vec<_> = passes.iter().map(|pass| (pass.zone, pass.slab)).collect();
        assert_eq!(slab, [(ZoneId(1), true), (ZoneId(0), false)]);
    }

    #[test]
    fn a_task_stops_once_it_has_freed_a_chunk() {
        let mut mm = boot();
        mapped(&mut mm, 1024, LruList::InactiveFile, Prot::READ);
        let world = Alone::new(mm, NO_CPU);
        // From priority 10 on passes take such shares of what is left: 1, 1, 3, 7, 15 and 31 pages; then 1, 3, 7, 14 and 29.
        assert_eq!([(); 2].map(|()| run(direct_reclaim(&world, &request()))), [58, 54]);
    }

    #[test]
    fn in_4_4_a_task_that_freed_nothing_goes_on_until_its_lists_were_scanned_often() {
        for (rule, progress) in [(Unreclaimable::PagesScanned, [1, 1, 1, 0]), (Unreclaimable::KswapdFailures, [0; 4])] {
            let mut mm = boot();
            mm.phys.policy.reclaim.unreclaimable = rule;
            // A run scans 1, 2, 4, 8 and 16 pages, and six times what there is is often.
            let pages = mapped(&mut mm, 16, LruList::InactiveFile, Prot::READ).pages;
            pages.iter().for_each(|&page| mm.pin(page).expect("it is allocated"));
            let world = Alone::new(mm, NO_CPU);
            assert_eq!([(); 4].map(|()| run(direct_reclaim(&world, &request()))), progress, "{rule:?}");
        }
    }

    #[test]
    fn compaction_may_start_with_room_for_it_above_the_high_mark() {
        let order = Order::PAGEBLOCK;
        let mut mm = scattered();
        let search = mm.phys.frames.search_for(&Request::new(order, Gfp::GFP_TRANSHUGE)).expect("the request is sound");
        let high = mm.phys.frames.zones()[0].free() - mm.phys.policy.compaction.gap.of(order);
        for (high, ready) in [(high - 1, true), (high, false), (high + 1, false)] {
            mm.phys.frames.edit_zone(0, |zone| zone.watermarks.high = high);
            assert_eq!(mm.phys.compaction_ready(ZoneId(0), &search), ready, "{high}");
        }
    }

    /// One zone of eight pageblocks in which every second page is free.
    fn scattered() -> Mm {
        let span = PfnRange::of(Pfn::new(1 << 20), PAGEBLOCK_PAGES * 8);
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            ..Layout::default()
        };
        let mut builder = MmBuilder::new(&layout, Policy::default()).expect("the layout is sound");
        for pfn in span.iter() {
            let done = match pfn.get() % 2 {
                0 => builder.free(pfn, Order::ZERO),
                _ => builder.allocate(pfn, Order::ZERO, Contents::Movable),
            };
            done.expect("every frame is given once");
        }
        builder.finish()
    }

    #[test]
    fn a_run_that_got_nothing_and_left_active_pages_alone_takes_them_where_the_policy_says_so() {
        for (policy, freed, skipped, forces) in
            [(true, 0, true, true), (true, 1, true, false), (true, 0, false, false), (false, 0, true, false)]
        {
            let mut mm = boot();
            mm.phys.policy.reclaim.force_deactivate = policy;
            let (id, _) = mm.begin_direct(&request()).expect("the request is sound");
            let run = mm.reclaim_mut(id);
            (run.nr_reclaimed, run.skipped_deactivate) = (freed, skipped);
            assert_eq!(mm.forces_deactivation(id), forces, "{policy} {freed} {skipped}");
            assert_eq!(mm.reclaim_mut(id).force_deactivate, forces);
        }
    }
}
