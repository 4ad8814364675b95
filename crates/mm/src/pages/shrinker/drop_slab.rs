//! Dropping all slab that can be dropped: what writing 2 to `vm.drop_caches` does, in steps.

use order9_frames::Gfp;
use order9_units::NodeId;

use super::{LruScan, ShrinkControl, ShrinkSlab, ShrinkStep, Shrunk};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::reclaimer::Reclaimer;

/// A round that frees no more objects than this is the last one of its node.
const FEW: u64 = 10;

/// Shrinks every node with the most effort, again and again until hardly anything comes free.
#[derive(Clone, Debug)]
pub struct DropSlab {
    cpu: usize,
    round: Round,
    total: Shrunk,
}

#[derive(Clone, Debug)]
pub(crate) struct Round {
    node: NodeId,
    few: u64,
    run: ShrinkSlab,
}

impl Round {
    fn new(node: NodeId, few: u64, cpu: usize) -> Self {
        let lru = LruScan { scanned: 1000, eligible: 1000 }; // All there is, whatever the policy goes by.
        let (gfp, by) = (Gfp::GFP_KERNEL, Reclaimer::Direct);
        Self { node, few, run: ShrinkSlab::new(ShrinkControl { node, gfp, priority: 0, lru, by, cpu }) }
    }
}

impl DropSlab {
    /// Begins, on behalf of `cpu`; counts as `drop_slab`.
    pub fn new(cpu: usize, phys: &mut PhysMem) -> Self {
        phys.counters.drop_slab += 1;
        Self { cpu, round: Round::new(NodeId(0), FEW, cpu), total: Shrunk::default() }
    }

    /// Advances by at most one batch.
    pub fn step(&mut self, pages: &mut UsedPages, phys: &mut PhysMem) -> ShrinkStep {
        let Shrunk { objects, pages } = match self.round.run.step(pages, phys) {
            ShrinkStep::Done(shrunk) => shrunk,
            step => return step,
        };
        self.total.objects += objects;
        self.total.pages += pages;
        let Round { node, few, .. } = self.round;
        let again = if phys.policy.reclaim.drop_slab_doubles { few.saturating_mul(2) } else { few };
        let (node, few) = if objects > few { (node, again) } else { (NodeId(node.0 + 1), FEW) };
        if node.index() >= phys.frames.nodes().len() {
            return ShrinkStep::Done(self.total);
        }
        self.round = Round::new(node, few, self.cpu);
        ShrinkStep::Progress
    }
}
