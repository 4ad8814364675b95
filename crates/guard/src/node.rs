//! State of one node between two looks.

use order9_units::{Nanos, PAGEBLOCK_PAGES, Pages};

use crate::backoff::Backoff;
use crate::config::Config;
use crate::decision::{Lesson, Stop, Took, Verdict};
use crate::forecast::Holt;
use crate::observation::{NodeSeen, Observation};
use crate::step::Step;

/// Weight of the latest action in the mean stall time of actions.
const LATEST: f64 = 0.3;

/// CPU time in which a pageblock is passed that earlier steps have done, before anything is known of this host: 33 ms for 24 GiB were
/// measured.
const PASS_BLOCK: Nanos = Nanos::new(3000);

/// Time in which a step may gain nothing, as a multiple of what it needs to pass the work of earlier ones and of the price of the fewest huge
/// pages that count. It is also what a step has to have before it, so that most of it is work.
const PATIENCE: u64 = 4;

/// State of one node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) seen: NodeSeen,
    pub(crate) goal: u64,
    pub(crate) expected: u64,
    pub(crate) verdict: Verdict,
    pub(crate) backoff: Option<Backoff>,
    /// Huge pages that actions have gained.
    pub(crate) gained: u64,
    /// Forecast of free huge pages without those that the guard made: its own work is no trend.
    need: Holt,
    /// Stall time in a nanosecond of an action.
    stalls: f64,
    /// CPU time in which a step passes what earlier ones have done.
    passing: Nanos,
}

impl Node {
    /// A node that is seen first.
    pub(crate) fn new(seen: NodeSeen) -> Self {
        Self {
            seen,
            goal: 0,
            expected: seen.huge,
            verdict: Verdict::Next,
            backoff: None,
            gained: 0,
            need: Holt::new(),
            stalls: 0.0,
            passing: PASS_BLOCK * (seen.memory.get() / PAGEBLOCK_PAGES.get()),
        }
    }

    /// Looks at the node.
    pub(crate) fn look(&mut self, seen: NodeSeen, all: &Observation, config: &Config) {
        self.seen = seen;
        self.goal = config.goal_of(seen.node, seen.memory);
        self.need.look(all.at, seen.huge as f64 - self.gained as f64, config.period);
        let change = self.need.change(config.ahead).min(0.0);
        self.expected = (seen.huge as f64 + change).max(0.0).round() as u64;
        self.backoff = self.backoff.filter(|backoff| !backoff.has_changed(&seen, all));
    }

    /// Huge pages that are missing from the goal, or will be.
    pub(crate) fn short(&self) -> u64 {
        self.goal.saturating_sub(self.expected.min(self.seen.huge))
    }

    /// Reason of this node to wait, whatever the host and the budgets say.
    pub(crate) fn waits(&self, all: &Observation, config: &Config) -> Option<Verdict> {
        let Self { seen, goal, expected, .. } = *self;
        let left = self.backoff.map_or(Nanos::ZERO, |backoff| backoff.left(all.at));
        match () {
            () if self.short() == 0 => Some(Verdict::Ready { huge: seen.huge, expected, goal }),
            () if !config.may_compact => Some(Verdict::NotAllowed),
            () if seen.free < seen.low => Some(Verdict::LowMemory { free: seen.free, low: seen.low }),
            () if seen.possible() < config.gain.min(self.short()) => {
                Some(Verdict::NothingToGain { possible: seen.possible() })
            }
            () if left > Nanos::ZERO => Some(Verdict::BackOff { left }),
            () => None,
        }
    }

    /// Stall time that a step of this length is expected to bring.
    pub(crate) fn expected_stall(&self, step: Nanos) -> Nanos {
        Nanos::new((self.stalls * step.get() as f64) as u64)
    }

    /// CPU time in which a step may gain nothing before it is in vain, and which it has to have before it.
    pub(crate) fn patience(&self, config: &Config) -> Nanos {
        (config.cost * config.gain.max(1) + self.passing) * PATIENCE
    }

    /// Huge pages that a step on a node like this still has to gain.
    pub(crate) fn short_at(&self, now: &NodeSeen) -> u64 {
        // What is expected to be used up is gathered for twice as long as is looked ahead: each step has to pass the work of earlier ones, and the
        // next one is not due at once.
        let used_up = self.seen.huge.saturating_sub(self.expected);
        (self.goal + 2 * used_up).saturating_sub(now.huge)
    }

    /// Reason to break a step off that the node gives.
    pub(crate) fn stops(&self, step: &Step, now: &NodeSeen, config: &Config) -> Option<Stop> {
        match () {
            () if self.short_at(now) == 0 => Some(Stop::Goal),
            () if now.free < now.low => Some(Stop::LowMemory),
            () if step.is_in_vain(self.patience(config), config) => Some(Stop::Vain),
            () => None,
        }
    }

    /// Learns how much of a step goes by in passing.
    fn learn_passing(&mut self, step: &Step, took: &Took) {
        match took.broken_off {
            // Perhaps it had not come to the end of that.
            Some(Stop::Vain) if step.gain == 0 => self.passing = self.passing.max(Nanos::new(took.cpu.get() / 2)),
            _ if step.passed() > Nanos::ZERO => self.passing = step.passed(),
            _ => {}
        }
    }

    /// Learns from a step that left the host so.
    pub(crate) fn learn(&mut self, step: &Step, took: &Took, after: &Observation, config: &Config) -> Lesson {
        let Some(now) = after.nodes.iter().find(|node| node.node == self.seen.node).copied() else {
            return Lesson::InVain { gain: 0, pause: Nanos::ZERO };
        };
        let gain = now.huge.saturating_sub(self.seen.huge);
        let is_worth = gain >= config.gain.min(self.short()) && took.cpu <= config.cost * gain;
        self.gained += gain;
        self.learn_passing(step, took);
        let stalls = took.stalled.get() as f64 / took.elapsed.get().max(1) as f64;
        self.stalls += LATEST * (stalls - self.stalls);
        // A step begins with enough CPU time to tell, or all that can be saved up.
        let has_told = matches!(took.broken_off, None | Some(Stop::Vain | Stop::Cpu | Stop::Long));
        if has_told && !is_worth || took.broken_off == Some(Stop::Vain) {
            let backoff = Backoff::after(self.backoff.filter(|_| !is_worth), config, &now, after);
            self.backoff = Some(backoff);
            return Lesson::InVain { gain, pause: backoff.left(after.at) };
        }
        if is_worth {
            // Also where it came to its end: compaction ends early where a page finds no place, and gains much more the next time.
            self.backoff = None;
            return Lesson::Worth { gain };
        }
        Lesson::Open { gain }
    }
}

/// All nodes as one, for actions that choose none.
pub(crate) fn host(all: &Observation) -> Option<NodeSeen> {
    let first = *all.nodes.first()?;
    let sum = |of: fn(&NodeSeen) -> Pages| all.nodes.iter().map(of).sum();
    let huge = all.nodes.iter().map(|node| node.huge).sum();
    Some(NodeSeen { memory: sum(|n| n.memory), free: sum(|n| n.free), low: sum(|n| n.low), huge, ..first })
}
