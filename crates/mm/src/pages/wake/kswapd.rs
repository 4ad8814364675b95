//! Balance of a node, and wake-ups of kswapd for it.

use order9_frames::{AllocFlags, Gfp, Mark, Zone};
use order9_units::{NodeId, Order, ZoneKind};

use crate::daemon_request::DaemonRequest;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::{BalancedZones, Unreclaimable};
use crate::suitable::Suitable;
use crate::trace::Event;

impl UsedPages {
    /// Whether kswapd may rest: zones of `node` up to `class`, as many as the policy asks for, have a block of `order` above
    /// their high marks, boosts included; also where there is no such zone.
    #[must_use]
    pub fn is_balanced(&self, node: NodeId, order: Order, class: ZoneKind, phys: &PhysMem) -> bool {
        let mut zones = phys.balanced_zones(node, class).peekable();
        match phys.policy.reclaim.kswapd_balances {
            // One that can never have a block is no help to anybody, unless none can.
            BalancedZones::Any => {
                zones.peek().is_none()
                    || zones.any(|zone| phys.can_serve(zone, order, class))
                    || phys.balanced_zones(node, class).all(|zone| phys.is_high(zone, order, class))
            }
            BalancedZones::Every => {
                let done =
                    |zone: &&Zone| self.is_unreclaimable(zone.id(), phys) || phys.is_high(zone, order, zone.kind());
                let managed = |zone: &Zone| zone.managed();
                let all: u64 = phys.balanced_zones(node, class).map(managed).sum();
                let balanced: u64 = zones.filter(done).map(managed).sum();
                balanced == all || order > Order::ZERO && balanced >= all / 4
            }
        }
    }

    /// Whether a run of kswapd would begin with a pass: unlike [`is_balanced`](Self::is_balanced), all zones count that the
    /// policy has balanced, even those beyond help.
    pub(crate) fn is_short(&self, node: NodeId, order: Order, class: ZoneKind, phys: &PhysMem) -> bool {
        match phys.policy.reclaim.kswapd_balances {
            BalancedZones::Any => !self.is_balanced(node, order, class, phys),
            BalancedZones::Every => {
                phys.balanced_zones(node, class).any(|zone| !phys.is_high(zone, order, zone.kind()))
            }
        }
    }

    /// Asks for kswapd of `node` on behalf of a request with flags `gfp`. It is woken if it sleeps and there is anything for it
    /// to do: it has not given up, and the node is short or has a boosted zone. Else kcompactd may be.
    pub(crate) fn wakeup_kswapd(&self, node: NodeId, request: DaemonRequest, gfp: Gfp, phys: &mut PhysMem) {
        let of = &mut phys.daemons.kswapd[node.index()];
        of.ask(request, phys.policy.reclaim.kswapd_balances);
        if !of.asleep {
            return;
        }
        let DaemonRequest { order, class } = request;
        let hopeless = of.failures >= FAILURES_MAX;
        if hopeless || !self.is_short(node, order, class, phys) && !phys.is_boosted(node, class) {
            if !gfp.has(Gfp::DIRECT_RECLAIM) && phys.policy.compaction.wake_when_balanced {
                // What is missing is a block, which the request cannot make itself.
                phys.wakeup_kcompactd(node, request);
            }
            return;
        }
        phys.daemons.kswapd[node.index()].asleep = false;
        phys.daemons.wakeups.kswapd |= 1 << node.0;
        phys.trace(|| Event::WakeupKswapd { node, class, order, gfp });
    }

    /// Whether kswapd of the node may sleep after a run for `request`: the node is balanced, or it has given up.
    pub(crate) fn may_sleep(
        &self,
        node: NodeId,
        DaemonRequest { order, class }: DaemonRequest,
        phys: &PhysMem,
    ) -> bool {
        self.kswapd_gave_up(node, phys) || self.is_balanced(node, order, class, phys)
    }

    /// Whether nothing more is to be hoped for from kswapd of `node`.
    #[must_use]
    pub(crate) fn kswapd_gave_up(&self, node: NodeId, phys: &PhysMem) -> bool {
        match phys.policy.reclaim.unreclaimable {
            Unreclaimable::KswapdFailures => phys.daemons.kswapd[node.index()].failures >= FAILURES_MAX,
            Unreclaimable::PagesScanned => {
                phys.balanced_zones(node, ZoneKind::Movable).all(|zone| self.is_unreclaimable(zone.id(), phys))
            }
        }
    }
}

impl PhysMem {
    /// Whether any zone of `node` up to `class` is boosted.
    #[must_use]
    pub fn is_boosted(&self, node: NodeId, class: ZoneKind) -> bool {
        self.balanced_zones(node, class).any(|zone| zone.boost() > 0)
    }

    /// Whether a zone has a block of `order` above its high mark; or enough pages, where the index knows that a huge page takes
    /// compaction, or that nothing helps.
    pub(crate) fn is_high(&self, zone: &Zone, order: Order, class: ZoneKind) -> bool {
        let is_done = || self.has_pages_for(zone, order, class) && self.reclaim_is_done(zone, order, class);
        self.can_serve(zone, order, class) || !self.counts_blocks(order) && is_done()
    }

    /// Whether the zone itself can serve the request; that nothing helps a zone is no excuse here.
    fn can_serve(&self, zone: &Zone, order: Order, class: ZoneKind) -> bool {
        if self.counts_blocks(order) {
            return self.is_high_in_blocks(zone, order, class);
        }
        let suits = || matches!(self.suitable_for_any(zone, order, class), Suitable::Success | Suitable::Continue);
        self.is_above_high(zone, order, class) || self.has_pages_for(zone, order, class) && suits()
    }

    /// Whether what is free counts in whole pageblocks.
    const fn counts_blocks(&self, order: Order) -> bool {
        self.frames.settings().defrag_mode && order.get() > 0
    }

    /// Whether a zone has enough pages, where the index knows what more a block of `order` takes.
    fn has_pages_for(&self, zone: &Zone, order: Order, class: ZoneKind) -> bool {
        let by_index = order == Order::PAGEBLOCK && self.policy.compaction.uses_index();
        by_index && self.is_above_high(zone, Order::ZERO, class)
    }

    fn is_above_high(&self, zone: &Zone, order: Order, class: ZoneKind) -> bool {
        zone.watermark_ok(order, class, &AllocFlags::plain(Mark::High), &self.policy.frames)
    }

    /// Zones that kswapd looks after for requests up to `class`, lowest first.
    pub(crate) fn balanced_zones(&self, node: NodeId, class: ZoneKind) -> impl Iterator<Item = &Zone> {
        self.frames.zones().iter().filter(move |zone| zone.node() == node && zone.kind() <= class && zone.managed() > 0)
    }
}

/// Runs without a page reclaimed after which kswapd gives up until somebody else reclaims one: `MAX_RECLAIM_RETRIES`.
pub const FAILURES_MAX: u32 = 16;

#[cfg(test)]
mod tests {
    use crate::policy::reclaim::SlabUnderBoost;
    use alloc::vec;
    use alloc::vec::Vec;

    use order9_units::{Pages, Pfn, PfnRange};

    use super::*;
    use crate::Mm;
    use crate::kswapd::Pass;
    use crate::policy::{LruScope, Policy, SourceSearch, TargetSearch};
    use crate::{Contents, Layout, LruList, MmBuilder, NodeSpec, ZoneSpec};

    const NODE: NodeId = NodeId(0);
    const CLASS: ZoneKind = ZoneKind::Normal;

    /// DMA32 with 4096 pages and Normal with four times as many, all free, under the rules of 4.4.
    fn machine() -> Mm {
        let zone =
            |kind, start, pages| ZoneSpec { node: NODE, kind, span: PfnRange::of(Pfn::new(start), Pages::new(pages)) };
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![zone(ZoneKind::Dma32, 4096, 4096), zone(CLASS, 1 << 20, 16384)],
            ..Layout::default()
        };
        let mut policy = Policy::default();
        policy.reclaim.lru = LruScope::Zone;
        policy.reclaim.kswapd_balances = BalancedZones::Every;
        policy.reclaim.unreclaimable = Unreclaimable::PagesScanned;
        let mut mm = MmBuilder::new(&layout, policy).expect("the layout is sound").boot();
        // So many pages of files for the tests to have something to scan in vain.
        (0..2).for_each(|at| mm.pages.lru.zones[at].sizes[LruList::InactiveFile.index()] = 100);
        mm
    }

    fn pass(priority: u8) -> Pass {
        Pass { node: NODE, class: CLASS, order: Order::ZERO, priority, gentle: false }
    }

    /// Zones and goals of a pass, whether slab is shrunk with them, and whether a zone was spared.
    fn round(mm: &Mm, priority: u8) -> (Vec<(usize, u64, bool)>, bool) {
        let round = mm.pages.kswapd_round(&pass(priority), &mm.phys);
        (round.passes.iter().map(|&(pass, goal)| (pass.zone.index(), goal, pass.slab)).collect(), round.spared)
    }

    #[test]
    fn every_zone_is_balanced_or_zones_with_a_quarter_of_the_pages() {
        let mut mm = machine();
        let balanced =
            |mm: &Mm, order| mm.pages.is_balanced(NODE, Order::new(order).expect("a small order"), CLASS, &mm.phys);
        assert!(balanced(&mm, 0) && !mm.pages.is_short(NODE, Order::ZERO, CLASS, &mm.phys));
        mm.phys.frames.edit_zone(0, |zone| zone.watermarks.high = 5000);
        assert!(!balanced(&mm, 0) && balanced(&mm, 1), "Normal has four fifths");
        mm.phys.frames.edit_zone(0, |zone| zone.watermarks.high = 0);
        mm.phys.frames.edit_zone(1, |zone| zone.watermarks.high = 20_000);
        assert!(!balanced(&mm, 0) && !balanced(&mm, 1), "DMA32 has a fifth");
        mm.phys.policy.reclaim.kswapd_balances = BalancedZones::Any;
        assert!(balanced(&mm, 0));
    }

    #[test]
    fn lists_scanned_six_times_in_vain_are_left_alone_until_a_page_comes_free() {
        let mut mm = machine();
        mm.phys.frames.edit_zone(1, |zone| zone.watermarks.high = 20_000);
        let normal = mm.phys.frames.zones()[1].id();
        mm.phys.note_scanned(1, 599);
        assert!(
            !mm.pages.is_unreclaimable(normal, &mm.phys) && !mm.pages.is_balanced(NODE, Order::ZERO, CLASS, &mm.phys)
        );
        mm.phys.note_scanned(1, 1);
        assert!(
            mm.pages.is_unreclaimable(normal, &mm.phys) && mm.pages.is_balanced(NODE, Order::ZERO, CLASS, &mm.phys)
        );
        assert!(mm.pages.is_short(NODE, Order::ZERO, CLASS, &mm.phys), "a first pass is tried all the same");
        assert_eq!(round(&mm, 11), (vec![], false));
        assert!(!mm.kswapd_gave_up(NODE), "the other zone is left");
        let request = crate::Request::new(Order::ZERO, crate::Gfp::GFP_KERNEL);
        let page = mm.alloc_with(&request, AllocFlags { no_watermarks: true, ..AllocFlags::plain(Mark::Min) });
        mm.free(page.expect("all is free"), usize::MAX).expect("it was just allocated");
        assert!(!mm.pages.is_unreclaimable(normal, &mm.phys));
    }

    #[test]
    fn a_pass_goes_up_to_the_highest_zone_in_need_and_spares_those_with_a_gap() {
        let mut mm = machine();
        let high = mm.phys.frames.zones()[0].watermarks().high;
        mm.phys.frames.edit_zone(1, |zone| zone.watermarks.high = 20_000);
        assert_eq!(round(&mm, 12), (vec![(1, 20_000, true)], true));
        mm.phys.frames.edit_zone(0, |zone| zone.watermarks.high = 4090); // Passed, but without the gap.
        assert_eq!(round(&mm, 12), (vec![(0, 4090, false), (1, 20_000, true)], false));
        mm.phys.frames.edit_zone(0, |zone| zone.watermarks.high = 5000);
        mm.phys.frames.edit_zone(1, |zone| zone.watermarks.high = high);
        assert_eq!(round(&mm, 12), (vec![(0, 5000, true)], false), "higher zones are none of its business");
    }

    #[test]
    fn a_third_of_the_pages_is_enough_for_large_orders() {
        let mut mm = machine();
        mm.phys.frames.edit_zone(0, |zone| zone.managed = 8192);
        mm.phys.frames.edit_zone(1, |zone| zone.watermarks.high = 20_000);
        let order = Order::new(1).expect("an order");
        assert!(
            mm.pages.is_balanced(NODE, order, CLASS, &mm.phys)
                && !mm.pages.is_balanced(NODE, Order::ZERO, CLASS, &mm.phys)
        );
    }

    #[test]
    fn a_zone_is_spared_from_its_low_mark_or_a_hundredth_above_its_high_mark_on() {
        // 4096 pages: a hundredth is 41.
        for (low, gap) in [(30, 30), (1000, 41)] {
            let mut mm = machine();
            mm.phys.frames.edit_zone(1, |zone| zone.watermarks.high = 20_000);
            mm.phys.frames.edit_zone(0, |zone| zone.watermarks.low = low);
            let spare = mm.phys.frames.zones()[0].free() - mm.phys.frames.zones()[0].lowmem_reserve()[CLASS.index()];
            let spared = [gap + 1, gap].map(|left| {
                mm.phys.frames.edit_zone(0, |zone| zone.watermarks.high = spare - left);
                round(&mm, 12).1
            });
            assert_eq!(spared, [true, false], "a low mark of {low}");
        }
    }

    #[test]
    fn a_gentle_pass_shrinks_slab_from_5_3_on_and_any_other_does_always() {
        let slab = |under_boost, gentle| {
            let mut mm = machine();
            mm.phys.policy.reclaim.slab_under_boost = under_boost;
            mm.phys.policy.reclaim.kswapd_balances = BalancedZones::Any;
            let round = mm.pages.kswapd_round(&Pass { gentle, ..pass(12) }, &mm.phys);
            round.passes.last().expect("every zone is gone over").0.slab
        };
        assert_eq!([true, false].map(|gentle| slab(SlabUnderBoost::Exempt, gentle)), [false, true]);
        assert_eq!([true, false].map(|gentle| slab(SlabUnderBoost::Shrunk, gentle)), [true, true]);
    }

    #[test]
    fn the_goal_of_a_pass_is_the_high_marks_of_its_node_with_their_boosts() {
        let mut mm = machine();
        (mm.phys.policy.reclaim.kswapd_balances, mm.phys.policy.reclaim.lru) = (BalancedZones::Any, LruScope::Node);
        for (at, (high, boost)) in [(100, 7), (1000, 512)].into_iter().enumerate() {
            mm.phys.frames.edit_zone(at, |zone| (zone.watermarks.high, zone.boost) = (high, boost));
        }
        assert_eq!(round(&mm, 12), (vec![(0, 107 + 1512, true)], false));
        mm.phys.frames.edit_zone(0, |zone| (zone.watermarks.high, zone.boost) = (10, 0));
        assert_eq!(round(&mm, 12).0, [(0, 32 + 1512, true)], "at least 32 pages a zone");
        mm.phys.frames.edit_zone(1, |zone| zone.node = NodeId(1));
        assert_eq!(round(&mm, 12).0, [(0, 32, true)], "zones of other nodes are theirs");
        let low = mm.pages.kswapd_round(&Pass { class: ZoneKind::Dma32, ..pass(12) }, &mm.phys);
        assert_eq!(low.passes.len(), 1);
    }

    #[test]
    fn it_is_woken_for_short_nodes_and_boosts_until_it_gives_up() {
        let mut mm = machine();
        mm.phys.policy.reclaim.kswapd_balances = BalancedZones::Any;
        mm.phys.policy.reclaim.unreclaimable = Unreclaimable::KswapdFailures;
        let request = DaemonRequest { order: Order::ZERO, class: CLASS };
        let wakes = |mm: &mut Mm| {
            mm.phys.daemons.kswapd[0].asleep = true;
            mm.pages.wakeup_kswapd(NODE, request, Gfp::GFP_KERNEL, &mut mm.phys);
            mm.take_wakeups().kswapd != 0
        };
        assert!(!wakes(&mut mm), "it is balanced");
        mm.phys.frames.edit_zone(1, |zone| zone.boost = 512);
        assert!(wakes(&mut mm) && mm.pages.may_sleep(NODE, request, &mm.phys));
        (0..2).for_each(|at| mm.phys.frames.edit_zone(at, |zone| zone.watermarks.high = 1 << 20));
        mm.phys.daemons.kswapd[0].failures = FAILURES_MAX - 1;
        assert!(wakes(&mut mm) && !mm.pages.may_sleep(NODE, request, &mm.phys) && !mm.kswapd_gave_up(NODE));
        mm.phys.daemons.kswapd[0].failures = FAILURES_MAX;
        assert!(!wakes(&mut mm) && mm.pages.may_sleep(NODE, request, &mm.phys) && mm.kswapd_gave_up(NODE));
    }

    #[test]
    fn a_block_that_a_balanced_node_lacks_is_for_kcompactd_where_nobody_else_makes_it() {
        for (gfp, wake_when_balanced, asked) in [
            (Gfp::GFP_KERNEL, true, false),
            (Gfp::GFP_KERNEL.without(Gfp::DIRECT_RECLAIM), true, true),
            (Gfp::GFP_KERNEL.without(Gfp::DIRECT_RECLAIM), false, false),
        ] {
            let mut mm = machine();
            mm.phys.policy.reclaim.kswapd_balances = BalancedZones::Any;
            mm.phys.policy.compaction.wake_when_balanced = wake_when_balanced;
            mm.phys.daemons.kswapd[0].asleep = true;
            mm.pages.wakeup_kswapd(NODE, DaemonRequest { order: Order::PAGEBLOCK, class: CLASS }, gfp, &mut mm.phys);
            assert_eq!(mm.phys.daemons.kcompactd[0].request.is_some(), asked, "{gfp:?} {wake_when_balanced}");
        }
    }

    #[test]
    fn the_lowest_class_asked_for_is_what_every_zone_is_balanced_for() {
        let mut mm = machine();
        for class in [CLASS, ZoneKind::Dma32] {
            mm.phys.daemons.kswapd[0].ask(DaemonRequest { order: Order::ZERO, class }, BalancedZones::Every);
        }
        assert_eq!(mm.phys.daemons.kswapd[0].request.map(|asked| asked.class), Some(ZoneKind::Dma32));
    }

    #[test]
    fn a_zone_that_can_never_have_a_huge_page_balances_no_node() {
        let spans = [PfnRange::of(Pfn::new(4096), Pages::new(2048)), PfnRange::of(Pfn::new(1 << 20), Pages::new(2048))];
        let zone = |kind, span| ZoneSpec { node: NODE, kind, span };
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![zone(ZoneKind::Dma32, spans[0]), zone(CLASS, spans[1])],
            ..Layout::default()
        };
        let mut policy = Policy::default();
        policy.compaction.source_search = SourceSearch::Index;
        policy.compaction.target_search = TargetSearch::Index;
        let balanced = |every: u64| {
            let mut builder = MmBuilder::new(&layout, policy.clone()).expect("the layout is sound").min_free_kbytes(40);
            // In DMA32 every pageblock keeps a page of the kernel; of Normal some pages are free, of the rest all could move.
            for (pfn, contents, every) in spans[0]
                .iter()
                .map(|pfn| (pfn, Contents::Unmovable, 512))
                .chain(spans[1].iter().map(|pfn| (pfn, Contents::Movable, every)))
            {
                let used = (pfn.get() % every == 0) == (contents == Contents::Unmovable);
                let done =
                    if used { builder.allocate(pfn, Order::ZERO, contents) } else { builder.free(pfn, Order::ZERO) };
                done.expect("every frame is given once");
            }
            let mm = builder.finish();
            mm.pages.is_balanced(NODE, Order::PAGEBLOCK, CLASS, &mm.phys)
        };
        assert!(balanced(2), "half of Normal is free, and can be compacted");
        assert!(!balanced(40), "Normal lacks pages for a huge page");
    }
}
