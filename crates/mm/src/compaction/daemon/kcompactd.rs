//! kcompactd: the daemon of a node that compacts in the background, on request and, in some releases, of its own accord.

use order9_units::NodeId;

use crate::compaction::run::control::CompactTotals;
use crate::daemon_request::DaemonRequest;
use crate::phys::PhysMem;

impl PhysMem {
    /// The request that the kcompactd of `node` has not taken yet.
    #[must_use]
    pub fn kcompactd_request(&self, node: NodeId) -> Option<DaemonRequest> {
        self.daemons.kcompactd[node.index()].request
    }

    /// Adds the frames that a run of a daemon looked at to the daemon's counters.
    pub(crate) fn count_daemon_scans(&mut self, totals: CompactTotals) {
        self.counters.compact_daemon_migrate_scanned += totals.migrate_scanned;
        self.counters.compact_daemon_free_scanned += totals.free_scanned;
    }
}
