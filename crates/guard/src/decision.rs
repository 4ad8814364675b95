//! Decisions with their reasons, and what is learned from actions, in words.

use std::fmt;

use order9_units::{Nanos, NodeId, Pages};

use crate::config::Share;
use crate::words::time;

/// Answer to an observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Verdict on each node, with the reason.
    pub verdicts: Vec<(NodeId, Verdict)>,
    /// The action, if there is one. [`Controller::learn`](crate::Controller::learn) is to hear of it before the next observation.
    pub action: Option<Action>,
}

/// Step that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Compact a node.
    Compact {
        /// The node.
        node: NodeId,
        /// The CPU time that the step may take. [`Controller::watch`](crate::Controller::watch) says when it is to be broken off.
        at_most: Nanos,
    },
    /// Collapse ranges that programs have advised.
    Collapse {
        /// The most huge pages that they may take.
        pages: u64,
        /// Time after which no further range is begun; the search for ranges comes before.
        at_most: Nanos,
    },
}

/// Costs of an action and how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Took {
    /// Duration.
    pub elapsed: Nanos,
    /// CPU time.
    pub cpu: Nanos,
    /// Time during the action in which some task waited for memory.
    pub stalled: Nanos,
    /// Reason for which it was broken off; none where it came to its end by itself.
    pub broken_off: Option<Stop>,
    /// Huge pages that were collapsed.
    pub collapsed: u64,
}

/// Answer to a look at a step that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// The step goes on.
    GoesOn {
        /// Time after which to look again.
        look_in: Nanos,
    },
    /// The step is to be broken off.
    Stops(Stop),
}

/// Reason to break a step off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The goal is reached.
    Goal,
    /// The CPU budget is spent.
    Cpu,
    /// The stall budget is spent.
    Stall,
    /// The host is under pressure.
    Pressure,
    /// Fewer pages are free than the low marks.
    LowMemory,
    /// The step gains too little for what it costs.
    Vain,
    /// The step has lasted as long as any may.
    Long,
    /// The guard ends, or is to read its configuration.
    Signal,
}

/// Verdict on a node, with the figures that decided it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// The goal is reached: huge pages are free, and expected to be.
    Ready {
        /// Free huge pages.
        huge: u64,
        /// The fewest that are expected within the time that is looked ahead.
        expected: u64,
        /// The goal.
        goal: u64,
    },
    /// The node is compacted.
    Compact {
        /// Free huge pages.
        huge: u64,
        /// The fewest that are expected.
        expected: u64,
        /// The goal.
        goal: u64,
        /// The CPU time that the step may take.
        at_most: Nanos,
    },
    /// Another node is further from its goal, and comes first.
    Next,
    /// Compaction is not among the actions that are allowed.
    NotAllowed,
    /// The host is under pressure.
    Pressure {
        /// Share of the last ten seconds in which some task waited for memory.
        some: Share,
        /// Share in which all tasks did.
        full: Share,
    },
    /// Memory is short: fewer pages are free than the low marks.
    LowMemory {
        /// Free pages.
        free: Pages,
        /// Low marks of all zones.
        low: Pages,
    },
    /// Memory is used, not fragmented: free pages outside huge pages are too few to make any.
    NothingToGain {
        /// Huge pages that they could make.
        possible: u64,
    },
    /// The last action was in vain, and memory is still the same.
    BackOff {
        /// Time that is left.
        left: Nanos,
    },
    /// A budget of CPU time is spent.
    NoCpu {
        /// Time until there is enough.
        left: Nanos,
    },
    /// The budget of stall time is spent.
    NoStall {
        /// Time until there is enough.
        left: Nanos,
    },
}

/// Judgement on an action, and its consequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lesson {
    /// The action was worth its price.
    Worth {
        /// Huge pages that were gained.
        gain: u64,
    },
    /// The step was broken off before anyone could tell.
    Open {
        /// Huge pages that were gained.
        gain: u64,
    },
    /// The action gained too little for its price.
    InVain {
        /// Huge pages that were gained.
        gain: u64,
        /// Pause before the next.
        pause: Nanos,
    },
}

impl Verdict {
    /// All words, in the order of the verdicts.
    pub const WORDS: [&'static str; 10] = [
        "ready",
        "compact",
        "next",
        "not-allowed",
        "pressure",
        "low-memory",
        "nothing-to-gain",
        "back-off",
        "no-cpu",
        "no-stall",
    ];

    /// Word for metrics.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        Self::WORDS[match self {
            Self::Ready { .. } => 0,
            Self::Compact { .. } => 1,
            Self::Next => 2,
            Self::NotAllowed => 3,
            Self::Pressure { .. } => 4,
            Self::LowMemory { .. } => 5,
            Self::NothingToGain { .. } => 6,
            Self::BackOff { .. } => 7,
            Self::NoCpu { .. } => 8,
            Self::NoStall { .. } => 9,
        }]
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ahead = |f: &mut fmt::Formatter<'_>, huge: u64, expected: u64, goal: u64| match expected < huge {
            true => write!(f, "{huge} huge pages are free, {expected} are expected, the goal is {goal}"),
            false => write!(f, "{huge} huge pages are free, the goal is {goal}"),
        };
        match *self {
            Self::Ready { huge, expected, goal } => {
                f.write_str("waits, ready: ")?;
                ahead(f, huge, expected, goal)
            }
            Self::Compact { huge, expected, goal, at_most } => {
                write!(f, "compacts for {} of CPU at most: ", time(at_most))?;
                ahead(f, huge, expected, goal)
            }
            Self::Next => f.write_str("waits: another node is further from its goal"),
            Self::NotAllowed => f.write_str("waits: the goal is not reached, and actions does not list compact"),
            Self::Pressure { some, full } => {
                let [some, full] = [some, full].map(|share| 100.0 * share.fraction());
                write!(f, "waits: the host is under pressure: some {some:.1}%, full {full:.1}% of the last 10s")
            }
            Self::LowMemory { free, low } => {
                write!(f, "waits: memory is short: {} pages are free, the low marks are {}", free.get(), low.get())
            }
            Self::NothingToGain { possible } => write!(
                f,
                "waits: memory is used, not fragmented: free pages outside huge pages would make {possible} huge pages"
            ),
            Self::BackOff { left } => write!(f, "waits: backs off for {}", time(left)),
            Self::NoCpu { left } => write!(f, "waits: the CPU budget is spent, enough in {}", time(left)),
            Self::NoStall { left } => write!(f, "waits: the stall budget is spent, enough in {}", time(left)),
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compact { node, .. } => write!(f, "node {node}"),
            Self::Collapse { pages, at_most } => {
                write!(f, "collapses up to {pages} huge pages for {} at most", time(*at_most))
            }
        }
    }
}

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} of CPU", time(self.elapsed), time(self.cpu))?;
        if self.stalled > Nanos::ZERO {
            write!(f, ", tasks waited for {}", time(self.stalled))?;
        }
        match self.broken_off {
            Some(stop) => write!(f, ", broken off: {stop})"),
            None => f.write_str(")"),
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Goal => "the goal is reached",
            Self::Cpu => "the CPU budget is spent",
            Self::Stall => "the stall budget is spent",
            Self::Pressure => "the host is under pressure",
            Self::LowMemory => "memory is short",
            Self::Vain => "it gained too little",
            Self::Long => "it took as long as a step may",
            Self::Signal => "a signal came",
        })
    }
}

impl Lesson {
    /// Huge pages that were gained.
    #[must_use]
    pub const fn gain(&self) -> u64 {
        match *self {
            Self::Worth { gain } | Self::Open { gain } | Self::InVain { gain, .. } => gain,
        }
    }
}

impl fmt::Display for Lesson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Worth { gain } | Self::Open { gain } => write!(f, "{gain} huge pages gained"),
            Self::InVain { gain, pause } => {
                write!(f, "in vain, {gain} huge pages gained: backs off for {}", time(*pause))
            }
        }
    }
}
