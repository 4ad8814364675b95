//! Huge pages that are mapped in part, before pages that somebody uses: what a program has unmapped of one is lost to everybody
//! until the page is split, and free after it. Linux gets to them by a shrinker, in proportion to the lists that it scans before.
//!
//! Neighbours: the queue that they wait in (`thp::queue`), and the pass over a node that begins with them (`node`).

use order9_frames::ZoneId;
use order9_units::{NodeId, Order, PAGEBLOCK_PAGES as BLOCK};

use super::control::ReclaimId;
use crate::Mm;
use crate::env::Stall;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::NO_CPU;
use crate::trace::Tracer;

/// Splits huge pages of the node of `zone` that are mapped in part, by policy and for a huge page, until the pass has freed as
/// many pages as one takes. Says whether it has: then no page has to be taken from anybody.
///
/// Other runs leave them: where nobody compacts, a huge page comes of page cache that lies together and is dropped as a whole.
pub(super) async fn split_partially_mapped<E: Stall>(env: &E, id: ReclaimId, zone: ZoneId) -> bool {
    let node = env.with(|mm| mm.phys.frames.zone(zone).node());
    let mut left = BLOCK.get();
    while env.with(|mm| mm.may_split_first(id, node)) {
        let freed = env.with(|mm| mm.split_first(id, node));
        env.spend().await;
        left = left.saturating_sub(freed);
        if freed == 0 || left == 0 {
            break;
        }
    }
    left == 0
}

impl<T: Tracer> Mm<T> {
    fn may_split_first(&mut self, id: ReclaimId, node: NodeId) -> bool {
        let order = self.reclaim_mut(id).order;
        order == Order::PAGEBLOCK && self.pages.has_split_that_frees(node, &self.phys)
    }

    /// Splits for a run; pages that came free.
    fn split_first(&mut self, id: ReclaimId, node: NodeId) -> u64 {
        let freed = self.pages.split_partially_mapped(node, &mut self.phys);
        let run = self.reclaim_mut(id);
        run.nr_scanned += BLOCK.get();
        run.nr_reclaimed += freed;
        freed
    }
}

impl UsedPages {
    /// Whether a huge page of the node that is mapped in part is to be split before pages are taken from anybody.
    pub(crate) fn has_split_that_frees(&self, node: NodeId, phys: &PhysMem<impl Tracer>) -> bool {
        phys.policy.reclaim.partial_first && self.next_split_frees(node)
    }

    /// Splits the huge page of a node that has waited longest of those that are mapped in part; pages that came free, none if it
    /// is held. They go straight to the buddy lists, where they merge and count as free: per-CPU lists keep thousands.
    pub(crate) fn split_partially_mapped(&mut self, node: NodeId, phys: &mut PhysMem<impl Tracer>) -> u64 {
        let before = phys.frames.counters().pgfree;
        self.split_deferred(node, NO_CPU, phys);
        phys.frames.counters().pgfree - before
    }
}
