//! The controller: hears what a host is like, and answers with what is to be done.

use std::collections::{BTreeMap, VecDeque};

use order9_units::{Nanos, NodeId};

use crate::backoff::Backoff;
use crate::budget::{Balance, Bucket};
use crate::config::{Config, Share};
use crate::decision::{Action, Decision, Lesson, Stop, Took, Verdict, Watch};
use crate::node::{Node, host};
use crate::observation::{NodeSeen, Observation, Stalled};
use crate::step::Step;

/// Time over which pressure is measured, as avg10 of /proc/pressure/memory.
const SPAN: Nanos = Nanos::new(10_000_000_000);

/// Decides when which node is compacted. The same observations give the same decisions.
#[derive(Clone, Debug)]
pub struct Controller {
    config: Config,
    cpu: Bucket,
    stall: Bucket,
    last: Option<Nanos>,
    /// Stall times of the last ten seconds, and the one before.
    stalled: VecDeque<(Nanos, Stalled)>,
    nodes: BTreeMap<NodeId, Node>,
    /// The step under way, and its node.
    step: Option<(NodeId, Step)>,
    /// Pause of collapsing.
    collapse: Option<Backoff>,
    totals: Totals,
    pause: Nanos,
}

/// Sums over everything that was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Steps of compaction.
    pub compactions: u64,
    /// Steps of collapsing.
    pub collapses: u64,
    /// Huge pages that were collapsed.
    pub collapsed: u64,
    /// Steps that were broken off.
    pub broken_off: u64,
    /// Steps in vain.
    pub in_vain: u64,
    /// CPU time of all steps.
    pub cpu: Nanos,
    /// Time during steps in which some task waited for memory.
    pub stalled: Nanos,
}

/// State of a node, for people and metrics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NodeStatus {
    /// The node as it was seen last.
    pub seen: NodeSeen,
    /// Huge pages that are to be free.
    pub goal: u64,
    /// The fewest that are expected within the time that is looked ahead.
    pub expected: u64,
    /// Huge pages that actions have gained.
    pub gained: u64,
    /// The verdict on the node.
    pub verdict: Verdict,
}

impl Controller {
    /// A controller that has seen nothing, and whose budgets are full: nothing was spent before.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            cpu: Bucket::new(config.cpu, config.save),
            stall: Bucket::new(config.stall, config.save),
            last: None,
            stalled: VecDeque::new(),
            nodes: BTreeMap::new(),
            step: None,
            collapse: None,
            totals: Totals::default(),
            pause: config.period,
            config,
        }
    }

    /// The controller with the budgets of another one, so long after it had them.
    #[must_use]
    pub fn with_balance(mut self, balance: Balance, passed: Nanos) -> Self {
        self.cpu = self.cpu.holding(balance.cpu);
        self.stall = self.stall.holding(balance.stall);
        self.cpu.fill(passed);
        self.stall.fill(passed);
        self
    }

    /// Balance of the budgets.
    #[must_use]
    pub fn balance(&self) -> Balance {
        Balance { cpu: self.cpu.holds(), stall: self.stall.holds() }
    }

    /// Takes another configuration. What was learned stays, and pauses end: the new one may see them otherwise.
    pub fn reconfigure(&mut self, config: Config) {
        self.cpu.limit(config.cpu, config.save);
        self.stall.limit(config.stall, config.save);
        self.collapse = None;
        for node in self.nodes.values_mut() {
            node.backoff = None;
        }
        self.config = config;
    }

    /// Decides what is to be done now.
    pub fn decide(&mut self, seen: &Observation) -> Decision {
        self.pass(seen.at);
        self.pause = self.config.period;
        let pressure = self.pressure(seen);
        self.nodes.retain(|id, _| seen.nodes.iter().any(|node| node.node == *id));
        for &of in &seen.nodes {
            let node = self.nodes.entry(of.node).or_insert_with(|| Node::new(of));
            node.look(of, seen, &self.config);
            let waits = node.waits(seen, &self.config);
            let is_ready = matches!(waits, Some(Verdict::Ready { .. }));
            node.verdict = pressure.filter(|_| !is_ready).or(waits).unwrap_or(Verdict::Next);
        }
        let action = match self.neediest() {
            Some(id) => self.compact(id, seen),
            None if pressure.is_none() => self.collapse(seen),
            None => None,
        };
        Decision { verdicts: self.nodes.iter().map(|(&id, node)| (id, node.verdict)).collect(), action }
    }

    /// Time passes for the budgets.
    fn pass(&mut self, now: Nanos) {
        let passed = self.last.map_or(Nanos::ZERO, |last| now.saturating_sub(last));
        self.last = Some(now);
        self.cpu.fill(passed);
        self.stall.fill(passed);
    }

    /// The node with the smallest part of its goal, among those that nothing keeps from being compacted.
    fn neediest(&self) -> Option<NodeId> {
        let part = |node: &Node| node.short() as f64 / node.goal as f64;
        let may = self.nodes.iter().filter(|(_, node)| node.verdict == Verdict::Next);
        // Of equals the first.
        may.rev().max_by(|(_, one), (_, other)| part(one).total_cmp(&part(other))).map(|(&id, _)| id)
    }

    /// Compacts a node as far as the budgets go, once they have enough for a step that is worth it.
    fn compact(&mut self, id: NodeId, seen: &Observation) -> Option<Action> {
        let node = self.nodes.get_mut(&id).expect("it was just found");
        let least = node.patience(&self.config);
        let cpu = if self.cpu.most() == Nanos::ZERO { SPAN } else { self.cpu.wait_for(least) };
        let stall = self.stall.wait_for(node.expected_stall(least));
        let at_most = self.cpu.has();
        self.step = Some((id, Step::new(&node.seen, seen)));
        let Node { seen: NodeSeen { huge, .. }, goal, expected, .. } = *node;
        node.verdict = match (cpu, stall) {
            (Nanos::ZERO, Nanos::ZERO) => Verdict::Compact { huge, expected, goal, at_most },
            (Nanos::ZERO, left) => Verdict::NoStall { left },
            (left, _) => Verdict::NoCpu { left },
        };
        matches!(node.verdict, Verdict::Compact { .. }).then_some(Action::Compact { node: id, at_most })
    }

    /// Collapses with huge pages that no goal needs, where every goal is reached.
    fn collapse(&mut self, seen: &Observation) -> Option<Action> {
        let spare = |node: &Node| node.seen.huge.min(node.expected).saturating_sub(node.goal);
        let pages: u64 = self.nodes.values().map(spare).sum();
        let is_ready = |node: &Node| matches!(node.verdict, Verdict::Ready { .. });
        let host = host(seen)?;
        self.collapse = self.collapse.filter(|backoff| !backoff.has_changed(&host, seen));
        let rests = self.collapse.is_some_and(|backoff| backoff.left(seen.at) > Nanos::ZERO);
        let at_most = self.config.step_max.min(self.cpu.has());
        let may = self.config.may_collapse && self.nodes.values().all(is_ready) && !rests;
        let least = self.config.cost * self.config.gain.max(1);
        let can = pages >= self.config.gain.max(1) && at_most >= least.min(self.cpu.most());
        (may && can && at_most > Nanos::ZERO).then_some(Action::Collapse { pages, at_most })
    }

    /// Looks at the compaction that was decided on and is under way, once it has taken so much CPU time.
    ///
    /// # Panics
    /// Where none was decided on.
    pub fn watch(&mut self, cpu: Nanos, seen: &Observation) -> Watch {
        self.pass(seen.at);
        let pressure = self.pressure(seen);
        let (id, step) = self.step.as_mut().expect("a step is under way");
        // A node without memory is gone.
        let Some(now) = seen.nodes.iter().find(|node| node.node == *id) else { return Watch::Stops(Stop::LowMemory) };
        let node = self.nodes.get(id).expect("it was decided on");
        step.look(cpu, now, &self.config);
        let stop = match node.stops(step, now, &self.config) {
            Some(stop) => Some(stop),
            None if pressure.is_some() => Some(Stop::Pressure),
            None if cpu >= self.cpu.has() => Some(Stop::Cpu),
            None if step.stalled(seen) > self.stall.has() => Some(Stop::Stall),
            None if step.elapsed(seen.at) >= self.config.step_max => Some(Stop::Long),
            None => None,
        };
        let cpu_left = self.cpu.has().saturating_sub(cpu);
        let look_in = step.look_in(seen.at, cpu_left, node.short_at(now));
        stop.map_or(Watch::GoesOn { look_in }, Watch::Stops)
    }

    /// Learns what an action took, and what the host is like after it.
    pub fn learn(&mut self, action: Action, took: &Took, after: &Observation) -> Lesson {
        let Took { cpu, stalled, broken_off, collapsed, elapsed } = *took;
        self.cpu.spend(cpu);
        self.stall.spend(stalled);
        self.totals.cpu += cpu;
        self.totals.stalled += stalled;
        self.totals.broken_off += u64::from(broken_off.is_some());
        // A step is followed by a rest of its length: no CPU is taken for longer.
        self.pause = elapsed.min(self.config.period);
        let lesson = match action {
            Action::Compact { node, .. } => {
                self.totals.compactions += 1;
                let (_, step) = self.step.take().expect("it was decided on");
                let node = self.nodes.get_mut(&node).expect("it was decided on");
                node.learn(&step, took, after, &self.config)
            }
            Action::Collapse { .. } => {
                self.totals.collapses += 1;
                self.totals.collapsed += collapsed;
                self.learn_collapse(took, after)
            }
        };
        self.totals.in_vain += u64::from(matches!(lesson, Lesson::InVain { .. }));
        lesson
    }

    fn learn_collapse(&mut self, took: &Took, after: &Observation) -> Lesson {
        let Config { cost, gain, .. } = self.config;
        let collapsed = took.collapsed;
        let is_worth = collapsed >= gain.max(1) && took.cpu <= cost * collapsed;
        let before = self.collapse.filter(|_| !is_worth);
        self.collapse = host(after).map(|host| Backoff::after(before, &self.config, &host, after));
        let pause = self.collapse.map_or(Nanos::ZERO, |backoff| backoff.left(after.at));
        match is_worth {
            true => Lesson::Worth { gain: collapsed },
            false => Lesson::InVain { gain: collapsed, pause },
        }
    }

    /// Time until the next look.
    #[must_use]
    pub fn pause(&self) -> Nanos {
        self.pause
    }

    /// Sums over everything that was done.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Time that the budgets of CPU and of stalls have left.
    #[must_use]
    pub fn budgets(&self) -> [Nanos; 2] {
        [self.cpu.has(), self.stall.has()]
    }

    /// State of every node.
    pub fn nodes(&self) -> impl Iterator<Item = NodeStatus> {
        self.nodes.values().map(|node| NodeStatus {
            seen: node.seen,
            goal: node.goal,
            expected: node.expected,
            gained: node.gained,
            verdict: node.verdict,
        })
    }

    /// Reason for every node to wait, where the host is under pressure.
    fn pressure(&mut self, seen: &Observation) -> Option<Verdict> {
        let now = seen.stalled?;
        while self.stalled.len() > 1 && seen.at.saturating_sub(self.stalled[1].0) >= SPAN {
            self.stalled.pop_front();
        }
        self.stalled.push_back((seen.at, now));
        let &(at, before) = self.stalled.front().expect("the present one is there");
        // A kernel counts what has just begun late: over less than the whole span shares are of the whole.
        let passed = seen.at.saturating_sub(at).max(SPAN).get() as f64;
        let share =
            |now: Nanos, before: Nanos| Share::percent(100.0 * now.saturating_sub(before).get() as f64 / passed);
        let (some, full) = (share(now.some, before.some), share(now.full, before.full));
        let is_much = some >= self.config.pressure_some || full >= self.config.pressure_full;
        is_much.then_some(Verdict::Pressure { some, full })
    }
}
