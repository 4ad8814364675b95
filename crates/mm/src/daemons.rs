//! [`Daemons`]: what the daemons of each node are asked for, and who is to be woken.
//!
//! Steps of all layers ask here for kswapd and kcompactd; the daemons take their requests from here. The engine knows no tasks, so that
//! it notes whom the caller has to wake ([`Wakeups`]).

use alloc::vec;
use alloc::vec::Vec;

use order9_units::{Order, ZoneKind};

use crate::daemon_request::DaemonRequest;
use crate::policy::BalancedZones;
use crate::wakeups::Wakeups;

/// State of the daemons of all nodes between their runs.
#[derive(Clone)]
pub(crate) struct Daemons {
    /// By node.
    pub(crate) kswapd: Vec<KswapdNode>,
    /// By node.
    pub(crate) kcompactd: Vec<KcompactdNode>,
    /// By node.
    pub(crate) reclaimed: Vec<NodeReclaim>,
    /// Huge pages that requests took since kcompactd last worked ahead, by zone; counted where the policy has it do so.
    pub(crate) taken: Vec<u64>,
    /// Daemons that have something to do since the caller last asked.
    pub(crate) wakeups: Wakeups,
}

impl Daemons {
    /// All asleep, on a machine with so many nodes and zones.
    pub(crate) fn new(nodes: usize, zones: usize) -> Self {
        Self {
            kswapd: vec![KswapdNode::default(); nodes],
            kcompactd: vec![KcompactdNode::default(); nodes],
            reclaimed: vec![NodeReclaim::default(); nodes],
            taken: vec![0; zones],
            wakeups: Wakeups::default(),
        }
    }
}

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

/// State of the kcompactd of one node.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KcompactdNode {
    pub(crate) request: Option<DaemonRequest>,
    /// kcompactd sleeps.
    pub(crate) asleep: bool,
    /// kcompactd rests at the start, as on a running machine where proactive compaction has lately been in vain.
    pub(crate) rests: bool,
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

/// Reclaim of one node by tasks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeReclaim {
    /// A task reclaims the node before it goes on to another one.
    pub(crate) is_reclaimed: bool,
    /// Reclaimers that wait for pages of the node to be written.
    pub(crate) writeback_waiters: u64,
    /// Pages of the node written since the first of them began to wait.
    pub(crate) written_since: u64,
}
