//! Proactive compaction: kcompactd keeps the fragmentation score of its node down before anybody asks.

use order9_units::metrics::proactive_thresholds;
use order9_units::{Nanos, NodeId};

use crate::phys::PhysMem;
use crate::policy::ProactiveBackoff;

/// Pause between two looks at the score: `HPAGE_FRAG_CHECK_INTERVAL_MSEC`.
pub const PROACTIVE_INTERVAL: Nanos = Nanos::new(500_000_000);

/// Looks that kcompactd lets pass after a run in vain, or the factor by which it lengthens the pause: `1 <<
/// COMPACT_MAX_DEFER_SHIFT`.
pub(crate) const PROACTIVE_BACKOFF: u64 = 64;

impl PhysMem {
    /// `vm.compaction_proactiveness` in force.
    #[must_use]
    pub const fn compaction_proactiveness(&self) -> u64 {
        self.settings.compaction_proactiveness
    }

    /// Sets `vm.compaction_proactiveness`, 0 to 100. In releases in which the pause of the daemons follows from it, every
    /// daemon looks at its node at once.
    pub fn set_compaction_proactiveness(&mut self, proactiveness: u64) {
        self.settings.compaction_proactiveness = proactiveness;
        let looks = self.policy.compaction.proactive_backoff == ProactiveBackoff::Sleep64 && proactiveness > 0;
        if looks {
            self.daemons.kcompactd.iter_mut().for_each(|of| of.rests = false);
            for (node, of) in self.daemons.kcompactd.iter_mut().enumerate().filter(|(_, of)| of.asleep) {
                of.asleep = false;
                self.daemons.wakeups.kcompactd |= 1 << node;
            }
        }
    }

    /// Has kcompactd of the node begin with the rest after a run in vain, as on a running machine.
    pub fn let_kcompactd_rest(&mut self, node: NodeId) {
        self.daemons.kcompactd[node.index()].rests = true;
    }

    /// Longest time from the start of kcompactd until it looks at the score of its node.
    #[must_use]
    pub fn first_proactive_look_within(&self, node: NodeId) -> Nanos {
        let looks = if self.daemons.kcompactd[node.index()].rests { PROACTIVE_BACKOFF } else { 1 };
        PROACTIVE_INTERVAL * looks
    }

    /// Whether proactive compaction of the node has something to do: it is on, its score is high, and kswapd is not at work.
    #[must_use]
    pub fn wants_proactive(&self, node: NodeId) -> bool {
        let proactiveness = self.settings.compaction_proactiveness;
        let (_, high) = proactive_thresholds(proactiveness);
        self.policy.compaction.proactive
            && proactiveness > 0
            && self.daemons.kswapd[node.index()].asleep
            && self.node_score(node) > high
    }

    /// Fragmentation score of a node for huge pages, 0 to 100: the scores of its zones, weighted by their size.
    #[must_use]
    pub fn node_score(&self, node: NodeId) -> u64 {
        let zones = self.frames.zones().iter().filter(|zone| zone.node() == node && zone.managed() > 0);
        zones.map(|zone| self.zone_score(zone.id(), true)).sum()
    }
}
