//! A step under way: what it has gained so far, and whether it still gains.

use order9_units::Nanos;

use crate::config::Config;
use crate::observation::{NodeSeen, Observation, Stalled};

/// Time between two looks at a step.
const LOOK: Nanos = Nanos::new(20_000_000);

/// The least time between two: looks cost CPU time, too.
const LOOK_LEAST: Nanos = Nanos::new(2_000_000);

/// A step of compaction under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    begun: Nanos,
    stalled: Option<Stalled>,
    /// Huge pages that were free before.
    huge: u64,
    /// CPU time and gain at the last look.
    pub(crate) cpu: Nanos,
    pub(crate) gain: u64,
    /// CPU time and gain up to which the step was worth it.
    worth: (Nanos, u64),
    /// CPU time that went by before anything was gained, as far as looks can tell.
    fruitless: Nanos,
}

impl Step {
    /// A step that begins on a node.
    pub(crate) fn new(node: &NodeSeen, all: &Observation) -> Self {
        Self {
            begun: all.at,
            stalled: all.stalled,
            huge: node.huge,
            cpu: Nanos::ZERO,
            gain: 0,
            worth: (Nanos::ZERO, 0),
            fruitless: Nanos::ZERO,
        }
    }

    /// Looks at the node when the step has taken so much CPU time.
    pub(crate) fn look(&mut self, cpu: Nanos, node: &NodeSeen, config: &Config) {
        (self.cpu, self.gain) = (cpu, node.huge.saturating_sub(self.huge));
        let (cpu_then, gain_then) = self.worth;
        let gained = self.gain.saturating_sub(gain_then);
        if gained > 0 && cpu.saturating_sub(cpu_then) <= config.cost * gained {
            self.worth = (cpu, self.gain);
        }
        if self.gain == 0 {
            self.fruitless = cpu;
        }
    }

    /// Whether it has gained too little since it was last worth it: nothing that `patience` lets pass.
    pub(crate) fn is_in_vain(&self, patience: Nanos, config: &Config) -> bool {
        let (cpu_then, gain_then) = self.worth;
        let gained = self.gain.saturating_sub(gain_then);
        self.cpu.saturating_sub(cpu_then) > patience + config.cost * gained
    }

    /// CPU time that went by in passing what earlier steps had done.
    pub(crate) fn passed(&self) -> Nanos {
        self.fruitless
    }

    /// Duration so far.
    pub(crate) fn elapsed(&self, now: Nanos) -> Nanos {
        now.saturating_sub(self.begun)
    }

    /// Time so far in which some task waited for memory.
    pub(crate) fn stalled(&self, all: &Observation) -> Nanos {
        let [before, now] = [self.stalled, all.stalled].map(|stalled| stalled.unwrap_or_default().some);
        now.saturating_sub(before)
    }

    /// Time until the next look: earlier where so much more CPU time or so many more huge pages are enough, and while the step is young, as a
    /// little may be enough.
    pub(crate) fn look_in(&self, now: Nanos, cpu_left: Nanos, huge_left: u64) -> Nanos {
        let elapsed = self.elapsed(now);
        let rate = self.gain as f64 / elapsed.get().max(1) as f64;
        // A float that is too large becomes the largest number.
        let goal = Nanos::new((huge_left as f64 / rate).ceil() as u64);
        LOOK.min(elapsed).min(cpu_left).min(goal).max(LOOK_LEAST)
    }
}
