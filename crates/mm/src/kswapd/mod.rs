//! kswapd: when a node is balanced, and how one balancing run goes.
//!
//! Key types: [`BalanceRun`] (one run: what the next pass may do, and when it is over), [`Pass`] (one pass over the node's
//! lists), [`RunEnd`] (what a run came to). A run that starts with boosted zones is *gentle* as long as the node is balanced
//! in spite of the boosts: it neither writes nor swaps, and takes as many pages as were boosted. Decisions are here; the
//! passes are reclaim's, and sleeping and waking is the daemon's.

mod balanced;
mod daemon;
mod state;

pub use crate::pages::wake::FAILURES_MAX;
use order9_units::{NodeId, Order, ZoneKind};

use crate::daemon_request::DaemonRequest;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::{CompactGap, Unreclaimable};
use crate::reclaim::DEF_PRIORITY;

/// A gentle run goes no further than this: below, scanning would stall others.
const GENTLE_PRIORITY: u8 = DEF_PRIORITY - 2;
/// The least that a pass aims at in each zone, in pages: `SWAP_CLUSTER_MAX`.
const GOAL_MIN: u64 = 32;

/// One balancing run over a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BalanceRun {
    // Whole run.
    node: NodeId,
    class: ZoneKind,
    /// Boost of each zone as it began.
    sampled: [u64; ZoneKind::COUNT],
    // Until the next pass.
    order: Order,
    priority: u8,
    /// A pass was made.
    begun: bool,
    /// Pages that are still to be taken gently; 0 in an ordinary run.
    target: u64,
    reclaimed: u64,
}

/// Rights of a pass over the node's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The node.
    pub node: NodeId,
    /// The highest zone whose pages are taken.
    pub class: ZoneKind,
    /// The order to make blocks of.
    pub order: Order,
    /// As in a run: 12 at its start.
    pub priority: u8,
    /// The run is gentle: no page is written or swapped out.
    pub gentle: bool,
}

/// Result of a balancing run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// The order it ended with: 0 once it had reclaimed enough for compaction to go on with.
    pub order: Order,
    /// Pages reclaimed.
    pub reclaimed: u64,
    /// The run began with boosted zones, whose pageblocks are now to be put in order: kcompactd is woken for order 9.
    pub was_boosted: bool,
    /// The run gave up without a single page.
    pub failed: bool,
}

/// Next step of a balancing run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// With this pass, to be answered by `PhysMem::balance_passed`.
    Pass(Pass),
    /// The run is over; `PhysMem::balance_end` ends it.
    Over,
}

impl BalanceRun {
    fn new(node: NodeId, request: DaemonRequest, sampled: [u64; ZoneKind::COUNT]) -> Self {
        let DaemonRequest { order, class } = request;
        let target = sampled.iter().sum();
        Self { node, class, sampled, order, priority: DEF_PRIORITY, begun: false, target, reclaimed: 0 }
    }

    const fn is_gentle(&self) -> bool {
        self.target > 0
    }

    /// Decides on the next pass, the node being balanced or not with boosts counted in.
    fn next(&mut self, balanced: bool) -> Balance {
        if !balanced && self.is_gentle() {
            // Now it matters: an ordinary run from the start. The boosts stay until its end.
            (self.target, self.priority) = (0, DEF_PRIORITY);
        }
        if balanced && !self.is_gentle() || self.priority == 0 {
            return Balance::Over;
        }
        let Self { node, class, order, priority, .. } = *self;
        Balance::Pass(Pass { node, class, order, priority, gentle: self.is_gentle() })
    }

    /// Takes in what a pass came to: whether it scanned as much as it aimed at, and pages reclaimed.
    fn passed(&mut self, pass: &Pass, scanned_enough: bool, reclaimed: u64, gap: CompactGap) {
        self.begun = true;
        self.reclaimed += reclaimed;
        if self.reclaimed >= gap.of(self.order) {
            // Enough to compact with; no more is taken for the sake of larger blocks.
            self.order = Order::ZERO;
        }
        self.target = self.target.saturating_sub(reclaimed);
        if self.is_gentle() && reclaimed == 0 {
            self.priority = 0;
            return;
        }
        let enough = scanned_enough && reclaimed > 0;
        let deep_enough = pass.gentle && self.priority == GENTLE_PRIORITY;
        if !(enough || deep_enough) {
            self.priority -= 1;
        }
    }
}

impl PhysMem {
    /// Starts a balancing run for what was asked of kswapd.
    #[must_use]
    pub fn balance_begin(&mut self, node: NodeId, request: DaemonRequest) -> BalanceRun {
        let mut sampled = [0; ZoneKind::COUNT];
        self.balanced_zones(node, request.class).for_each(|zone| sampled[zone.kind().index()] = zone.boost());
        self.set_reclaim_active(node, request.class, true);
        let run = BalanceRun::new(node, request, sampled);
        self.counters.gentle_runs += u64::from(run.is_gentle());
        run
    }

    /// Takes in what a pass of the run came to: whether it scanned as much as it aimed at, and pages reclaimed.
    pub fn balance_passed(&mut self, run: &mut BalanceRun, pass: &Pass, scanned_enough: bool, reclaimed: u64) {
        run.passed(pass, scanned_enough, reclaimed, self.policy.compaction.gap);
        if pass.gentle {
            self.counters.gentle_reclaimed += reclaimed;
            self.counters.gentle_aborts += u64::from(reclaimed == 0);
        }
        if reclaimed > 0 {
            self.daemons.kswapd[run.node.index()].failures = 0;
        }
    }

    /// Ends a run: the boosts that it began with are worked off, and a run in vain is remembered.
    pub fn balance_end(&mut self, run: &BalanceRun) -> RunEnd {
        self.set_reclaim_active(run.node, run.class, false);
        self.frames.work_boosts_off(run.node, &run.sampled);
        let failed = run.reclaimed == 0 && run.priority == 0;
        if self.policy.reclaim.unreclaimable == Unreclaimable::KswapdFailures {
            self.daemons.kswapd[run.node.index()].failures += u32::from(failed);
        }
        let was_boosted = run.sampled.iter().any(|&boost| boost > 0);
        RunEnd { order: run.order, reclaimed: run.reclaimed, was_boosted, failed }
    }

    /// Tells the per-CPU lists of the zones up to `class` whether kswapd reclaims them.
    fn set_reclaim_active(&mut self, node: NodeId, class: ZoneKind, is_active: bool) {
        for zone in self.zones_up_to(node, class) {
            self.frames.set_reclaim_active(zone, is_active);
        }
    }
}

impl UsedPages {
    /// Next step of the run.
    pub fn balance_next(&self, run: &mut BalanceRun, phys: &mut PhysMem) -> Balance {
        let balanced = match run.begun {
            true => self.is_balanced(run.node, run.order, run.class, phys),
            false => !self.is_short(run.node, run.order, run.class, phys),
        };
        let was_gentle = run.is_gentle();
        let balance = run.next(balanced);
        phys.counters.gentle_switches += u64::from(was_gentle && !run.is_gentle());
        balance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mm;
    use crate::policy::{BalancedZones, Policy};
    use crate::{Layout, MmBuilder, NodeSpec, ZoneSpec};
    use order9_units::{Pages, Pfn, PfnRange};

    fn run(order: u8, boost: u64) -> BalanceRun {
        let order = Order::new(order).expect("a small order");
        let request = DaemonRequest { order, class: ZoneKind::Normal };
        let mut sampled = [0; ZoneKind::COUNT];
        sampled[ZoneKind::Normal.index()] = boost;
        BalanceRun::new(NodeId(0), request, sampled)
    }

    fn pass(run: &mut BalanceRun, balanced: bool) -> Option<Pass> {
        match run.next(balanced) {
            Balance::Pass(pass) => Some(pass),
            Balance::Over => None,
        }
    }

    /// Passes over a million clean file pages, all of which can be taken: what each scanned, how gently, at which priority.
    fn passes(run: &mut BalanceRun, mut balanced: impl FnMut(u64) -> bool) -> Vec<(u8, u64, bool)> {
        let mut seen = Vec::new();
        while let Some(pass) = pass(run, balanced(run.reclaimed)) {
            let scanned = 1_000_000 >> pass.priority;
            seen.push((pass.priority, scanned, pass.gentle));
            run.passed(&pass, false, scanned, CompactGap::TwiceTheBlock);
        }
        seen
    }

    use alloc::vec;
    use alloc::vec::Vec;

    #[test]
    fn a_boost_on_a_balanced_node_is_worked_off_gently() {
        let mut run = run(0, 512);
        assert_eq!(passes(&mut run, |_| true), [(12, 244, true), (11, 488, true)]);
        assert_eq!((run.reclaimed, run.target), (732, 0));
    }

    #[test]
    fn a_gentle_run_becomes_ordinary_when_the_node_is_not_balanced() {
        let mut run = run(0, 512);
        let seen = passes(&mut run, |reclaimed| reclaimed >= 1500);
        assert_eq!(seen, [(12, 244, false), (11, 488, false), (10, 976, false)]);
        assert_eq!(run.sampled.iter().sum::<u64>(), 512, "worked off at the end all the same");
    }

    #[test]
    fn a_gentle_run_stays_shallow_and_gives_up_when_nothing_comes() {
        let mut run = run(0, 5000);
        let mut priorities = vec![];
        for reclaimed in [1, 1, 1, 1, 0] {
            let pass = pass(&mut run, true).expect("the target is not met");
            priorities.push(pass.priority);
            run.passed(&pass, false, reclaimed, CompactGap::TwiceTheBlock);
        }
        assert_eq!((priorities, pass(&mut run, true)), (vec![12, 11, 10, 10, 10], None));
    }

    #[test]
    fn an_ordinary_run_ends_balanced_or_exhausted() {
        let mut balanced = run(0, 0);
        assert_eq!(pass(&mut balanced, true), None);
        let mut stuck = run(0, 0);
        let mut passes = 0;
        while let Some(pass) = pass(&mut stuck, false) {
            passes += 1;
            stuck.passed(&pass, false, 0, CompactGap::TwiceTheBlock);
        }
        assert_eq!((passes, stuck.priority, stuck.reclaimed), (12, 0, 0));
    }

    #[test]
    fn a_pass_that_met_its_goal_is_repeated_as_it_was() {
        let mut run = run(0, 0);
        let first = pass(&mut run, false).expect("not balanced");
        run.passed(&first, true, 10, CompactGap::TwiceTheBlock);
        assert_eq!(pass(&mut run, false), Some(first));
        run.passed(&first, true, 0, CompactGap::TwiceTheBlock);
        assert_eq!(pass(&mut run, false).map(|pass| pass.priority), Some(11));
    }

    #[test]
    fn large_blocks_are_chased_until_compaction_has_enough() {
        let mut run = run(9, 0);
        let first = pass(&mut run, false).expect("not balanced");
        run.passed(&first, true, 1023, CompactGap::TwiceTheBlock);
        assert_eq!(pass(&mut run, false).map(|pass| pass.order.get()), Some(9));
        run.passed(&first, true, 1, CompactGap::TwiceTheBlock);
        assert_eq!(pass(&mut run, false).map(|pass| pass.order.get()), Some(0));
    }

    #[test]
    fn a_small_gap_ends_the_chase_after_one_batch() {
        let mut run = run(9, 0);
        let first = pass(&mut run, false).expect("not balanced");
        run.passed(&first, true, 31, CompactGap::Cluster);
        assert_eq!(pass(&mut run, false).map(|pass| pass.order.get()), Some(9));
        run.passed(&first, true, 1, CompactGap::Cluster);
        assert_eq!(pass(&mut run, false).map(|pass| pass.order.get()), Some(0));
    }

    #[test]
    fn an_ordinary_run_that_was_gentle_starts_over() {
        let mut run = run(0, 5000);
        for _ in 0..2 {
            let pass = pass(&mut run, true).expect("the target is not met");
            run.passed(&pass, false, 1, CompactGap::TwiceTheBlock);
        }
        assert_eq!(pass(&mut run, true).map(|pass| (pass.priority, pass.gentle)), Some((10, true)));
        assert_eq!(pass(&mut run, false).map(|pass| (pass.priority, pass.gentle)), Some((12, false)));
    }

    #[test]
    fn runs_in_vain_are_counted_until_one_reclaims_a_page() {
        let mut mm = one_zone();
        let request = DaemonRequest { order: Order::ZERO, class: ZoneKind::Normal };
        let mut failures = |reclaimed: [u64; 12]| {
            let mut run = mm.phys.balance_begin(NodeId(0), request);
            for reclaimed in reclaimed {
                let pass = pass(&mut run, false).expect("the priority is above 0");
                mm.phys.balance_passed(&mut run, &pass, false, reclaimed);
            }
            (mm.phys.balance_end(&run).failed, mm.phys.daemons.kswapd[0].failures)
        };
        let (none, late) = ([0; 12], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert_eq!([failures(none), failures(none)], [(true, 1), (true, 2)]);
        assert_eq!([failures(late), failures(none)], [(false, 0), (true, 1)]);
    }

    #[test]
    fn a_run_begins_with_a_pass_where_a_zone_beyond_help_is_short() {
        let mut mm = one_zone();
        mm.phys.policy.reclaim.kswapd_balances = BalancedZones::Every;
        mm.phys.policy.reclaim.unreclaimable = Unreclaimable::PagesScanned;
        mm.phys.frames.edit_zone(0, |zone| zone.watermarks.high = 1 << 20);
        let set = mm.phys.lru_set(order9_frames::ZoneId(0));
        mm.phys.note_scanned(set, 1 << 20);
        let mut run = mm.phys.balance_begin(NodeId(0), DaemonRequest { order: Order::ZERO, class: ZoneKind::Normal });
        let Balance::Pass(pass) = mm.pages.balance_next(&mut run, &mut mm.phys) else { panic!("the zone is short") };
        mm.phys.balance_passed(&mut run, &pass, true, 1);
        assert_eq!(
            mm.pages.balance_next(&mut run, &mut mm.phys),
            Balance::Over,
            "what is beyond help counts as balanced"
        );
    }

    /// One node with one zone, empty.
    fn one_zone() -> Mm {
        let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(4096));
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            ..Layout::default()
        };
        MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot()
    }

    #[test]
    fn gentle_runs_are_counted_by_how_they_end() {
        let mut mm = one_zone();
        let request = DaemonRequest { order: Order::ZERO, class: ZoneKind::Normal };
        let begin = |mm: &mut Mm, boost| {
            mm.phys.frames.edit_zone(0, |zone| zone.boost = 512);
            let mut run = mm.phys.balance_begin(NodeId(0), request);
            mm.phys.frames.edit_zone(0, |zone| zone.boost = boost);
            match mm.pages.balance_next(&mut run, &mut mm.phys) {
                Balance::Pass(pass) => (run, pass),
                Balance::Over => panic!("nothing was reclaimed yet"),
            }
        };
        let (mut run, pass) = begin(&mut mm, 512);
        mm.phys.balance_passed(&mut run, &pass, false, 40);
        mm.phys.balance_passed(&mut run, &pass, false, 0);
        begin(&mut mm, 1 << 20);
        let counters = mm.counters();
        let ends = (counters.gentle_aborts, counters.gentle_switches);
        assert_eq!((counters.gentle_runs, ends, counters.gentle_reclaimed), (2, (1, 1), 40));
    }

    #[test]
    fn a_run_works_off_the_boosts_that_it_began_with_on_its_own_node() {
        let zone = |node, start| {
            let span = PfnRange::of(Pfn::new(start), Pages::new(4096));
            ZoneSpec { node: NodeId(node), kind: ZoneKind::Normal, span }
        };
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10, 20] }, NodeSpec { distances: vec![20, 10] }],
            zones: vec![zone(0, 1 << 20), zone(1, 2 << 20)],
            ..Layout::default()
        };
        let mut mm = MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot();
        let boosts = |mm: &Mm| [0, 1].map(|zone| mm.phys.frames.zones()[zone].boost());
        mm.phys.frames.edit_zone(0, |zone| zone.boost = 512);
        mm.phys.frames.edit_zone(1, |zone| zone.boost = 700);
        let run = mm.phys.balance_begin(NodeId(0), DaemonRequest { order: Order::ZERO, class: ZoneKind::Normal });
        mm.phys.frames.edit_zone(0, |zone| zone.boost += 100);
        assert!(mm.phys.balance_end(&run).was_boosted);
        assert_eq!(boosts(&mm), [100, 700], "what came meanwhile stays, and so does the other node's");
        let run = mm.phys.balance_begin(NodeId(1), DaemonRequest { order: Order::ZERO, class: ZoneKind::Dma32 });
        assert!(!mm.phys.balance_end(&run).was_boosted, "no zone up to the class is");
        assert_eq!(boosts(&mm), [100, 700]);
    }
}
