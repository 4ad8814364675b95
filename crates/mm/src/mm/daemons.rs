//! Daemons, reclaim and compaction.

use order9_units::NodeId;

use crate::Mm;

impl Mm {
    /// Whether nothing more is to be hoped for from kswapd of `node`.
    #[must_use]
    pub fn kswapd_gave_up(&self, node: NodeId) -> bool {
        self.pages.kswapd_gave_up(node, &self.phys)
    }

    /// Says whether the queue of the disks that file pages are written to is full, as whoever runs them sees it.
    pub fn set_congested(&mut self, congested: bool) {
        self.reclaim.set_congested(congested);
    }
}
