//! Proactive compaction: kcompactd looks at the score of its node from time to time.

use order9_units::{Nanos, NodeId, ZoneKind};

use crate::compaction::daemon::proactive::{PROACTIVE_BACKOFF, PROACTIVE_INTERVAL};
use crate::compaction::run::control::{CompactControl, Compactor};
use crate::env::Stall;
use crate::policy::ProactiveBackoff;
use crate::tasks::compaction::run::compact_zone;

/// State of kcompactd between two looks at the score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Proactive {
    /// Looks, or pauses, that the last run in vain has put off.
    deferred: u64,
    /// Length of the first pause, until it has begun.
    phase: Option<Nanos>,
}

impl Proactive {
    /// State before the first look, with a first pause of length `phase`.
    pub(crate) fn new(phase: Nanos) -> Self {
        Self { phase: Some(phase), ..Self::default() }
    }

    /// Longest sleep before kcompactd looks at the score; `None` if it does not look.
    pub(crate) fn pause<E: Stall>(&mut self, env: &E) -> Option<Nanos> {
        let (on, backoff, proactiveness) = env.with(|mm| {
            let policy = &mm.phys.policy.compaction;
            (policy.proactive, policy.proactive_backoff, mm.phys.settings.compaction_proactiveness)
        });
        let pause = match backoff {
            _ if !on => None,
            ProactiveBackoff::Count64 => Some(PROACTIVE_INTERVAL),
            ProactiveBackoff::Sleep64 if proactiveness == 0 => None,
            ProactiveBackoff::Sleep64 if self.deferred > 0 => Some(PROACTIVE_INTERVAL * PROACTIVE_BACKOFF),
            ProactiveBackoff::Sleep64 => Some(PROACTIVE_INTERVAL),
        };
        let first = self.phase.take();
        pause.map(|pause| first.unwrap_or(pause))
    }

    /// Looks at the score of the node, and compacts it if that is high.
    pub(crate) async fn check<E: Stall>(&mut self, env: &E, node: NodeId) {
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
        self.deferred = if after < before { 0 } else { PROACTIVE_BACKOFF };
    }
}
