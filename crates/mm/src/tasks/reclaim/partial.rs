//! Huge pages that are mapped in part are split before pages are taken from anybody, by policy.

use order9_frames::ZoneId;
use order9_units::{NodeId, Order};

use order9_units::PAGEBLOCK_PAGES as BLOCK;

use crate::Mm;
use crate::env::Stall;
use crate::reclaim::control::ReclaimId;

/// Splits huge pages of the node of `zone` that are mapped in part, by policy and for a huge page, until the pass has freed as
/// many pages as one takes. Says whether it has: then no page has to be taken from anybody.
///
/// Other runs leave them: where nobody compacts, a huge page comes of page cache that lies together and is dropped as a whole.
pub(crate) async fn split_partially_mapped<E: Stall>(env: &E, id: ReclaimId, zone: ZoneId) -> bool {
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

impl Mm {
    fn may_split_first(&mut self, id: ReclaimId, node: NodeId) -> bool {
        let order = self.reclaim_mut(id).order;
        order == Order::PAGEBLOCK && self.pages.huge.has_split_that_frees(node, &self.phys)
    }

    /// Splits for a run; pages that came free.
    fn split_first(&mut self, id: ReclaimId, node: NodeId) -> u64 {
        let (freed, pages) = self.pages.split_partially_mapped(node, &mut self.phys);
        let run = self.reclaim_mut(id);
        run.nr_scanned += pages;
        run.nr_reclaimed += freed;
        freed
    }
}
