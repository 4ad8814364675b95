//! Per-node state of kswapd between its runs.

use order9_units::{NodeId, Order, ZoneKind};

use crate::Mm;
use crate::daemon_request::DaemonRequest;
use crate::policy::BalancedZones;
use crate::trace::Tracer;

/// State of the kswapd of one node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KswapdNode {
    pub(crate) request: Option<DaemonRequest>,
    /// kswapd sleeps, or naps before it does.
    pub(crate) asleep: bool,
    /// Balancing runs in vain since a page of the node was last reclaimed.
    pub(crate) failures: u32,
}

impl Default for KswapdNode {
    fn default() -> Self {
        Self { request: None, asleep: true, failures: 0 }
    }
}

impl KswapdNode {
    /// Adds a request to what kswapd is asked for. Where it balances every zone, lower ones than the lowest class asked for
    /// are all that everybody can use.
    pub(crate) fn ask(&mut self, request: DaemonRequest, balances: BalancedZones) {
        let joined = request.joined(self.request);
        let earlier = self.request.unwrap_or(request);
        self.request = Some(match balances {
            BalancedZones::Any => joined,
            BalancedZones::Every => DaemonRequest { class: request.class.min(earlier.class), ..joined },
        });
    }

    /// Asks kswapd for the reserves of the zones up to Normal, for tasks that are held back until they are filled. A lower
    /// class that somebody asked for stays, as on Linux.
    pub(crate) fn ask_for_reserves(&mut self) {
        let plain = DaemonRequest { order: Order::ZERO, class: ZoneKind::Normal };
        let asked = self.request.unwrap_or(plain);
        self.request = Some(DaemonRequest { class: asked.class.min(ZoneKind::Normal), ..asked });
    }
}

impl<T: Tracer> Mm<T> {
    /// The request that the kswapd of `node` has not taken yet.
    #[must_use]
    pub fn kswapd_request(&self, node: NodeId) -> Option<DaemonRequest> {
        self.kswapd[node.index()].request
    }

    /// Balancing runs in vain since a page of `node` was last reclaimed; after 16 kswapd gives up.
    #[must_use]
    pub fn kswapd_failures(&self, node: NodeId) -> u32 {
        self.kswapd[node.index()].failures
    }
}
