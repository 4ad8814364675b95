//! Huge pages that are mapped in part: split before pages are taken from anybody, by policy.

use order9_units::NodeId;

use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::NO_CPU;
use crate::thp::HugeMemory;

impl HugeMemory {
    /// Whether a huge page of the node that is mapped in part is to be split before pages are taken from anybody.
    pub(crate) fn has_split_that_frees(&self, node: NodeId, phys: &PhysMem) -> bool {
        phys.policy.reclaim.partial_first && self.next_split_frees(node)
    }
}

impl UsedPages {
    /// Splits the huge page of a node that has waited longest of those that are mapped in part; pages that came free, none if it
    /// is held, and its pages. They go straight to the buddy lists, where they merge and count as free: per-CPU lists keep thousands.
    pub(crate) fn split_partially_mapped(&mut self, node: NodeId, phys: &mut PhysMem) -> (u64, u64) {
        let (before, head) = (phys.frames.counters().pgfree, self.huge.next_to_split(node));
        let pages = head.map_or(0, |head| phys.frames.word(head).frames());
        self.split_deferred(node, NO_CPU, phys);
        (phys.frames.counters().pgfree - before, pages)
    }
}
