//! Per-node state of kcompactd between its runs.

use order9_units::NodeId;

use crate::Mm;
use crate::daemon_request::DaemonRequest;
use crate::trace::Tracer;

/// State of the kcompactd of one node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KcompactdNode {
    pub(crate) request: Option<DaemonRequest>,
    /// kcompactd sleeps.
    pub(crate) asleep: bool,
}

impl KcompactdNode {
    /// Adds a request to what kcompactd is asked for: it goes as high as the largest order, and over the zones that serve
    /// every request.
    pub(crate) fn ask(&mut self, request: DaemonRequest) {
        let earlier = self.request.unwrap_or(request);
        self.request =
            Some(DaemonRequest { order: request.order.max(earlier.order), class: request.class.min(earlier.class) });
    }

    /// kcompactd has worked for `request`: what is left is what came in meanwhile for a larger order.
    pub(crate) fn done(&mut self, request: DaemonRequest) {
        self.request = self.request.filter(|asked| asked.order > request.order);
    }
}

impl<T: Tracer> Mm<T> {
    /// The request that the kcompactd of `node` has not taken yet.
    #[must_use]
    pub fn kcompactd_request(&self, node: NodeId) -> Option<DaemonRequest> {
        self.compaction.nodes[node.index()].request
    }
}
