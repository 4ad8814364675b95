//! Per-node state of kswapd between its runs.

use order9_units::NodeId;

use crate::daemon_request::DaemonRequest;
use crate::phys::PhysMem;

impl PhysMem {
    /// The request that the kswapd of `node` has not taken yet.
    #[must_use]
    pub fn kswapd_request(&self, node: NodeId) -> Option<DaemonRequest> {
        self.daemons.kswapd[node.index()].request
    }

    /// Balancing runs in vain since a page of `node` was last reclaimed; after 16 kswapd gives up.
    #[must_use]
    pub fn kswapd_failures(&self, node: NodeId) -> u32 {
        self.daemons.kswapd[node.index()].failures
    }
}
