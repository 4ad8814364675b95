//! Per-node state of kcompactd between its runs.

use order9_units::NodeId;

use crate::daemon_request::DaemonRequest;
use crate::phys::PhysMem;
use crate::trace::Tracer;

impl<T: Tracer> PhysMem<T> {
    /// The request that the kcompactd of `node` has not taken yet.
    #[must_use]
    pub fn kcompactd_request(&self, node: NodeId) -> Option<DaemonRequest> {
        self.daemons.kcompactd[node.index()].request
    }
}
