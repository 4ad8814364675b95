//! State of one node between two looks.

use order9_units::{Nanos, Pages};

use crate::backoff::Backoff;
use crate::config::Config;
use crate::decision::{Lesson, Took, Verdict};
use crate::forecast::Holt;
use crate::observation::{NodeSeen, Observation};

/// Weight of the latest action in the mean stall time of actions.
const LATEST: f64 = 0.3;

/// Part of a step, as a divisor, that is worth making alone.
const LEAST_PART: u64 = 4;

/// Time of a step as a multiple of what it needs to pass the work of earlier ones, from which on it is worth making.
const LEAST_PASSES: u64 = 2;

/// State of one node.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) seen: NodeSeen,
    pub(crate) goal: u64,
    pub(crate) expected: u64,
    pub(crate) verdict: Verdict,
    pub(crate) backoff: Option<Backoff>,
    pub(crate) step: Nanos,
    /// Huge pages that actions have gained.
    pub(crate) gained: u64,
    /// Forecast of free huge pages without those that the guard made: its own work is no trend.
    need: Holt,
    /// Stall time in a nanosecond of an action.
    stalls: f64,
    /// The least CPU time of a huge page gained so far, in ns: that of a step which had nothing to pass.
    cheapest: f64,
    /// CPU time in which the last step passed what earlier ones had done.
    passing: Nanos,
}

impl Node {
    /// A node that is seen first.
    pub(crate) fn new(seen: NodeSeen, config: &Config) -> Self {
        Self {
            seen,
            goal: 0,
            expected: seen.huge,
            verdict: Verdict::Next,
            backoff: None,
            step: config.step,
            gained: 0,
            need: Holt::new(),
            stalls: 0.0,
            cheapest: f64::INFINITY,
            passing: Nanos::ZERO,
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
    pub(crate) fn waits(&self, now: Nanos, config: &Config) -> Option<Verdict> {
        let Self { seen, goal, expected, .. } = *self;
        let left = self.backoff.map_or(Nanos::ZERO, |backoff| backoff.left(now));
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

    /// The shortest step that is worth making where one of this length is planned: each begins at the ends of the zones, and passes what
    /// earlier ones have done.
    pub(crate) fn least_step(&self, step: Nanos) -> Nanos {
        Nanos::new(step.get() / LEAST_PART).max(self.passing * LEAST_PASSES).min(step)
    }

    /// Learns how much of a step that gained so many huge pages went by in passing.
    fn learn_passing(&mut self, gain: u64, cpu: Nanos) {
        if gain > 0 {
            self.cheapest = self.cheapest.min(cpu.get() as f64 / gain as f64);
        }
        let working = if gain > 0 { self.cheapest * gain as f64 } else { 0.0 };
        self.passing = cpu.saturating_sub(Nanos::new(working as u64));
    }

    /// Learns from a step that left the host so.
    pub(crate) fn learn(&mut self, took: &Took, after: &Observation, config: &Config) -> Lesson {
        let Some(now) = after.nodes.iter().find(|node| node.node == self.seen.node).copied() else {
            return Lesson::InVain { gain: 0, pause: Nanos::ZERO };
        };
        let gain = now.huge.saturating_sub(self.seen.huge);
        let is_worth = gain >= config.gain.min(self.short()) && took.cpu <= config.cost * gain;
        let still_short = gain < self.short();
        self.gained += gain;
        self.learn_passing(gain, took.cpu);
        let stalls = took.stalled.get() as f64 / took.elapsed.get().max(1) as f64;
        self.stalls += LATEST * (stalls - self.stalls);
        let pause_after = |before| Backoff::after(before, config.back_off, config.back_off_max, &now, after);
        if is_worth {
            self.backoff = Some(pause_after(None)).filter(|_| took.completed && still_short);
            return Lesson::Worth { gain, rest: self.backoff.map(|backoff| backoff.left(after.at)) };
        }
        if !took.completed && self.step < config.step_max {
            self.step = (self.step * 2).min(config.step_max);
            return Lesson::Longer { gain, step: self.step };
        }
        let backoff = pause_after(self.backoff);
        self.backoff = Some(backoff);
        self.step = config.step;
        Lesson::InVain { gain, pause: backoff.left(after.at) }
    }
}

/// All nodes as one, for actions that choose none.
pub(crate) fn host(all: &Observation) -> Option<NodeSeen> {
    let first = *all.nodes.first()?;
    let sum = |of: fn(&NodeSeen) -> Pages| all.nodes.iter().map(of).sum();
    let huge = all.nodes.iter().map(|node| node.huge).sum();
    Some(NodeSeen { memory: sum(|n| n.memory), free: sum(|n| n.free), low: sum(|n| n.low), huge, ..first })
}
