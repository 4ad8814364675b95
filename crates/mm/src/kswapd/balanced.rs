//! When a node is balanced, when kswapd is woken for it, and what each of its passes goes over.

use alloc::vec::Vec;

use order9_frames::{AllocFlags, Mark, Zone};
use order9_units::{Order, ZoneKind};

use crate::kswapd::{GOAL_MIN, Pass};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::{BalancedZones, SlabUnderBoost};
use crate::reclaim::NodePass;

/// Zones of one pass of kswapd.
#[derive(Debug, Default)]
pub(crate) struct Round {
    /// Lists to go over, lowest zone first, and how many pages to scan of each.
    pub(crate) passes: Vec<(NodePass, u64)>,
    /// A zone was left out since it has enough, which is no reason to try harder.
    pub(crate) spared: bool,
}

impl UsedPages {
    /// Zones of a pass of kswapd: all that it balances, or those that need it. Slab is shrunk with the last.
    pub(crate) fn kswapd_round(&self, pass: &Pass, phys: &PhysMem) -> Round {
        let slab = !pass.gentle || phys.policy.reclaim.slab_under_boost == SlabUnderBoost::Shrunk;
        let mut round = Round::default();
        let Some(highest) = self.highest_in_need(pass, phys) else { return round };
        for zone in phys.balanced_zones(pass.node, highest) {
            if !self.helps(zone, pass.priority, phys) {
                continue;
            }
            if phys.has_enough(zone, pass.order, highest) {
                round.spared = true;
                continue;
            }
            let goal = (zone.watermarks().high + zone.boost()).max(GOAL_MIN);
            match round.passes.last_mut().filter(|(last, _)| phys.lru_set(last.zone) == phys.lru_set(zone.id())) {
                Some((_, of_set)) => *of_set += goal,
                None => round.passes.push((NodePass { zone: zone.id(), slab: false }, goal)),
            }
        }
        if let Some((last, _)) = round.passes.last_mut() {
            last.slab = slab;
        }
        round
    }

    /// The highest zone of a pass; `None` where nothing is to be done.
    fn highest_in_need(&self, pass: &Pass, phys: &PhysMem) -> Option<ZoneKind> {
        let needs = |zone: &&Zone| match phys.policy.reclaim.kswapd_balances {
            BalancedZones::Any => true,
            BalancedZones::Every => {
                self.helps(zone, pass.priority, phys) && !phys.is_high(zone, pass.order, zone.kind())
            }
        };
        phys.balanced_zones(pass.node, pass.class).filter(needs).map(|zone| zone.kind()).max()
    }
}

impl PhysMem {
    /// Whether kswapd leaves a zone out while it balances higher ones: it passes its high mark with a gap.
    fn has_enough(&self, zone: &Zone, order: Order, class: ZoneKind) -> bool {
        let gap = zone.mark(Mark::Low).min(zone.managed().div_ceil(100));
        let mark = zone.mark(Mark::High) + gap;
        let flags = AllocFlags::plain(Mark::High);
        self.policy.reclaim.kswapd_balances == BalancedZones::Every
            && zone.watermark_ok_at(order, mark, class, &flags, &self.policy.frames)
    }
}
