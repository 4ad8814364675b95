//! Pauses after actions in vain: each twice as long as the one before, and over at once where memory has changed.
//!
//! Proactive compaction of Linux backs off for some 30 s after a run in vain, however often runs were in vain before, and whatever
//! memory has become meanwhile. A node full of pages that cannot move is asked twice a minute for ever that way, and one that
//! a program has left waits half a minute.

use order9_units::{Nanos, Pages};

use crate::config::Config;
use crate::observation::{NodeSeen, Observation};

/// Growth of the free pages outside huge pages, as a part of the node's memory, by which memory has changed.
const GROWTH: u64 = 50;

/// The pause of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Backoff {
    pause: Nanos,
    until: Nanos,
    loose: Pages,
    freed: Pages,
}

impl Backoff {
    /// The first pause, or one that follows another.
    pub(crate) fn after(before: Option<Self>, config: &Config, seen: &NodeSeen, all: &Observation) -> Self {
        let pause = before.map_or(config.back_off, |before| before.pause * 2).min(config.back_off_max);
        Self { pause, until: all.at + pause, loose: seen.loose(), freed: all.freed }
    }

    /// Time that is left of the pause.
    pub(crate) fn left(&self, now: Nanos) -> Nanos {
        self.until.saturating_sub(now)
    }

    /// Whether memory is no longer what the action in vain found: more free pages lie outside huge pages, or as many pages
    /// were freed as the host has.
    pub(crate) fn has_changed(&self, seen: &NodeSeen, all: &Observation) -> bool {
        seen.loose() >= self.loose + Pages::new(seen.memory.get() / GROWTH + 1)
            || all.freed.saturating_sub(self.freed) >= all.memory()
    }
}

#[cfg(test)]
mod tests {
    use order9_units::NodeId;

    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_end_with_a_change() {
        let pages = Pages::new;
        let seen = NodeSeen { node: NodeId(0), memory: pages(51_200), free: pages(2000), huge: 1, low: pages(10) };
        let all = Observation { at: Nanos::new(7), nodes: vec![seen], stalled: None, freed: pages(100) };
        let config = Config { back_off: Nanos::new(10), back_off_max: Nanos::new(35), ..Config::default() };
        let after = |before| Backoff::after(before, &config, &seen, &all);
        let first = after(None);
        let third = after(Some(after(Some(first))));
        assert_eq!((first.left(Nanos::new(12)), third.left(Nanos::new(7))), (Nanos::new(5), Nanos::new(35)));
        assert!(!first.has_changed(&seen, &all));
        assert!(first.has_changed(&NodeSeen { free: pages(2000 + 1025), ..seen }, &all), "much was freed");
        assert!(!first.has_changed(&NodeSeen { free: pages(2000 + 5 * 512), huge: 6, ..seen }, &all), "as huge pages");
        assert!(first.has_changed(&seen, &Observation { freed: pages(51_300), ..all.clone() }), "all was used anew");
    }
}
