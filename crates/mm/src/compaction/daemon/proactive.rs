//! Proactive compaction: kcompactd keeps the fragmentation score of its node down before anybody asks.

use order9_units::metrics::proactive_thresholds;
use order9_units::{Nanos, NodeId, ZoneKind};

use crate::compaction::run::compact_zone;
use crate::compaction::run::control::{CompactControl, Compactor};
use crate::env::Stall;
use crate::phys::PhysMem;
use crate::policy::ProactiveBackoff;
use crate::trace::Tracer;

/// Pause between two looks at the score: `HPAGE_FRAG_CHECK_INTERVAL_MSEC`.
pub const PROACTIVE_INTERVAL: Nanos = Nanos::new(500_000_000);
/// Looks that kcompactd lets pass after a run in vain, or the factor by which it lengthens the pause: `1 <<
/// COMPACT_MAX_DEFER_SHIFT`.
const BACKOFF: u64 = 64;

/// State of kcompactd between two looks at the score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::compaction) struct Proactive {
    /// Looks, or pauses, that the last run in vain has put off.
    deferred: u64,
    /// Length of the first pause, until it has begun.
    phase: Option<Nanos>,
}

impl Proactive {
    /// State before the first look, with a first pause of length `phase`.
    pub(in crate::compaction) fn new(phase: Option<Nanos>) -> Self {
        Self { phase, ..Self::default() }
    }

    /// Longest sleep before kcompactd looks at the score; `None` if it does not look.
    pub(in crate::compaction) fn pause<E: Stall>(&mut self, env: &E) -> Option<Nanos> {
        let (on, backoff, proactiveness) = env.with(|mm| {
            let policy = &mm.phys.policy.compaction;
            (policy.proactive, policy.proactive_backoff, mm.phys.settings.compaction_proactiveness)
        });
        let pause = match backoff {
            _ if !on => None,
            ProactiveBackoff::Count64 => Some(PROACTIVE_INTERVAL),
            ProactiveBackoff::Sleep64 if proactiveness == 0 => None,
            ProactiveBackoff::Sleep64 if self.deferred > 0 => Some(Nanos::new(PROACTIVE_INTERVAL.get() * BACKOFF)),
            ProactiveBackoff::Sleep64 => Some(PROACTIVE_INTERVAL),
        };
        let first = self.phase.take();
        pause.map(|pause| first.unwrap_or(pause))
    }

    /// Looks at the score of the node, and compacts it if that is high.
    pub(in crate::compaction) async fn check<E: Stall>(&mut self, env: &E, node: NodeId) {
        if !env.with(|mm| mm.phys.wants_proactive(node)) {
            return;
        }
        let counts = env.with(|mm| mm.phys.policy.compaction.proactive_backoff == ProactiveBackoff::Count64);
        if counts && self.deferred > 0 {
            self.deferred -= 1;
            env.with(|mm| mm.phys.counters.proactive_deferred += 1);
            return;
        }
        let before = env.with(|mm| mm.phys.node_score(node));
        for zone in env.with(|mm| mm.phys.zones_up_to(node, ZoneKind::Movable)) {
            let run = CompactControl::new(Compactor::Proactive, zone, None, ZoneKind::Movable);
            if let Ok(id) = env.with(|mm| mm.compact_begin(run)) {
                compact_zone(env, id).await;
            }
        }
        let after = env.with(|mm| {
            mm.phys.counters.proactive_runs += 1;
            mm.phys.node_score(node)
        });
        self.deferred = if after < before { 0 } else { BACKOFF };
    }
}

impl<T: Tracer> PhysMem<T> {
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
            for (node, of) in self.daemons.kcompactd.iter_mut().enumerate().filter(|(_, of)| of.asleep) {
                of.asleep = false;
                self.daemons.wakeups.kcompactd |= 1 << node;
            }
        }
    }

    /// Whether proactive compaction of the node has something to do: it is on, its score is high, and kswapd is not at work.
    fn wants_proactive(&self, node: NodeId) -> bool {
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
