//! Goals and budgets of a guard, with their defaults.

use std::collections::BTreeMap;
use std::fmt;

use order9_units::{Nanos, NodeId, PAGEBLOCK_PAGES, Pages};

/// Part of a whole, kept in percent as it is written, so that what is printed is what was read.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Share {
    percent: f64,
}

/// Huge pages that a node is to keep free.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// A number of huge pages.
    Count(u64),
    /// A part of the memory of the node.
    Share(Share),
}

/// Everything that decides what a [`Controller`](crate::Controller) does.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Goal of a node that has none of its own.
    pub goal: Goal,
    /// Goals of single nodes.
    pub nodes: BTreeMap<NodeId, Goal>,
    /// Time between two looks; not zero.
    pub period: Nanos,
    /// Time that the estimate of the need looks ahead.
    pub ahead: Nanos,
    /// Whether nodes may be compacted.
    pub may_compact: bool,
    /// Whether ranges that programs have advised MADV_HUGEPAGE may be collapsed with huge pages beyond the goal.
    pub may_collapse: bool,
    /// CPU time of all actions, as a share of one core.
    pub cpu: Share,
    /// Stall time that may pass during actions, as a share of the time.
    pub stall: Share,
    /// Time whose share of a budget can be saved up.
    pub save: Nanos,
    /// Longest duration of a step, with all that it waits for; not zero.
    pub step_max: Nanos,
    /// Share of time in which some task waited for memory, from which on nothing is done.
    pub pressure_some: Share,
    /// Share of time in which all tasks waited for memory, from which on nothing is done.
    pub pressure_full: Share,
    /// Fewest huge pages that make an action worth it.
    pub gain: u64,
    /// Largest CPU time for each huge page that makes an action worth it.
    pub cost: Nanos,
    /// First pause after an action in vain; not zero.
    pub back_off: Nanos,
    /// Longest pause.
    pub back_off_max: Nanos,
}

/// Nanoseconds of a millisecond and of a second.
const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

impl Default for Config {
    fn default() -> Self {
        let nanos = Nanos::new;
        Self {
            goal: Goal::Share(Share::percent(5.0)),
            nodes: BTreeMap::new(),
            period: nanos(SECOND),
            ahead: nanos(10 * SECOND),
            may_compact: true,
            may_collapse: false,
            cpu: Share::percent(2.0),
            stall: Share::percent(1.0),
            save: nanos(60 * SECOND),
            step_max: nanos(10 * SECOND),
            pressure_some: Share::percent(10.0),
            pressure_full: Share::percent(2.0),
            gain: 4,
            cost: nanos(5 * MS),
            back_off: nanos(2 * SECOND),
            back_off_max: nanos(600 * SECOND),
        }
    }
}

impl Config {
    /// Huge pages that the node is to keep free, where it has so much memory.
    #[must_use]
    pub fn goal_of(&self, node: NodeId, memory: Pages) -> u64 {
        match self.nodes.get(&node).copied().unwrap_or(self.goal) {
            Goal::Count(count) => count,
            Goal::Share(share) => (share.fraction() * (memory.get() / PAGEBLOCK_PAGES.get()) as f64).ceil() as u64,
        }
    }
}

impl Share {
    /// A number of hundredths.
    #[must_use]
    pub const fn percent(percent: f64) -> Self {
        Self { percent }
    }

    /// The part as a number: 0.05 is 5 %.
    #[must_use]
    pub fn fraction(self) -> f64 {
        self.percent / 100.0
    }

    /// The share of a time.
    #[must_use]
    pub fn of(self, time: Nanos) -> Nanos {
        Nanos::new((self.fraction() * time.get() as f64) as u64)
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.percent)
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Share(share) => write!(f, "\"{share}\""),
        }
    }
}
