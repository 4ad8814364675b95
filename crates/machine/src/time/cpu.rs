//! CPUs: who runs where, for how long, and who is next.
//!
//! The law: a CPU without a task has an empty run queue, and no task that may run there waits in another's, but for one that was
//! preempted by a task that woke: it stays where it is until that has worked, or used its slice up.

use std::collections::BTreeMap;
use std::fmt;

use order9_units::{Nanos, NodeId};
use order9_workloads::streams;

use crate::time::share::Arrival;
use crate::time::stats::CpuStats;
use crate::time::task::{Kind, State, Task, TaskId};
use crate::time::timer::{NEVER, after};
use crate::time::world::{Event, World};

/// A CPU, numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuId(pub u16);

impl CpuId {
    /// The number as an index into per-CPU arrays.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A set of CPUs, like a `cpumask`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// Whether `cpu` is one of them.
    #[must_use]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.holds(cpu.index())
    }

    pub(crate) fn holds(&self, cpu: usize) -> bool {
        self.words.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The CPUs, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        (0..self.words.len() * 64).filter(|cpu| self.holds(*cpu)).map(|cpu| CpuId(cpu as u16))
    }
}

/// The machine has none of the CPUs to which a task is to be bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the machine has none of these CPUs")]
pub struct NoSuchCpu;

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> Self {
        let mut set = Self::default();
        for cpu in cpus {
            let word = cpu.index() / 64;
            if word >= set.words.len() {
                set.words.resize(word + 1, 0);
            }
            set.words[word] |= 1 << (cpu.index() % 64);
        }
        set
    }
}

#[derive(Debug)]
pub(crate) struct Cpu {
    // Whole run.
    pub(crate) node: NodeId,
    /// Busy time without that of the task that runs.
    busy: Nanos,
    context_switches: u64,
    /// The task it ran last, or runs.
    last: Option<TaskId>,
    /// Tasks that wait for it, in the order in which they came.
    pub(crate) queue: Vec<TaskId>,
    /// Virtual time that no task of the CPU has more to fall behind: it never goes back.
    pub(crate) min_vruntime: i128,
    /// Time at which it last took a task from a CPU that has as few.
    balanced: Nanos,

    // Until the next task.
    pub(crate) current: Option<TaskId>,
    busy_since: Nanos,
    /// Start of the task's slice.
    pub(crate) slice_start: Nanos,
    /// Time up to which the task's virtual time is known.
    pub(crate) charged: Nanos,
    /// Time at which the slice is found to be used up; meaningless while no task waits.
    pub(crate) slice_end: Nanos,
    /// Virtual time up to which no task that wakes preempts it, unless it is ahead: the end of the slice with which it came.
    /// EEVDF alone.
    pub(crate) protected: i128,
    /// Time from which the task has to make room for one that woke.
    pub(crate) resched: Option<Nanos>,
}

impl Cpu {
    pub(crate) fn new(node: NodeId) -> Self {
        Self {
            node,
            busy: Nanos::ZERO,
            context_switches: 0,
            last: None,
            queue: Vec::new(),
            min_vruntime: 0,
            balanced: Nanos::ZERO,
            current: None,
            busy_since: Nanos::ZERO,
            slice_start: Nanos::ZERO,
            charged: Nanos::ZERO,
            slice_end: Nanos::ZERO,
            protected: 0,
            resched: None,
        }
    }

    /// Tasks on it and waiting for it.
    fn load(&self) -> usize {
        self.queue.len() + usize::from(self.current.is_some())
    }

    pub(crate) fn stats(&self, now: Nanos) -> CpuStats {
        let running = if self.current.is_some() { now - self.busy_since } else { Nanos::ZERO };
        let busy = self.busy + running;
        CpuStats { busy, idle: now - busy, context_switches: self.context_switches }
    }
}

/// Whether a CPU with tasks of the weight `busy` has so much more to do than one with `other` that tasks move: by more than 17 %, as
/// `imbalance_pct` of Linux has it for CPUs that share a cache.
const fn is_imbalanced(busy: u64, other: u64) -> bool {
    busy * 100 > other * 117
}

impl World {
    /// Gives a task that waits for nothing any more a CPU, or a place in a run queue.
    pub(crate) fn make_runnable(&mut self, task: TaskId, arrival: Arrival) {
        let to = self.place(task);
        self.make_runnable_on(to, task, arrival);
    }

    fn make_runnable_on(&mut self, to: usize, task: TaskId, arrival: Arrival) {
        self.task_mut(task).state = State::Ready;
        self.attach(to, task, arrival);
        if self.cpus[to].current.is_none() {
            self.dispatch(to, task);
            return;
        }
        self.enqueue(to, task);
        if arrival != Arrival::Moved && self.is_preempted_by(to, task) {
            self.cpus[to].resched = Some(self.now);
        }
        self.cut_short(to);
    }

    /// Lets a task wait for a CPU on which another one runs.
    fn enqueue(&mut self, to: usize, task: TaskId) {
        self.cpus[to].queue.push(task);
        self.queued += 1;
        self.task_mut(task).cpu = to;
        self.set_slice_end(to);
    }

    /// The least loaded CPU on which `task` may run; among equals its last one, else one of that node, else the lowest.
    fn place(&self, task: TaskId) -> usize {
        let task = self.task(task);
        if task.stats.dispatches == 0 {
            return self.place_new(task);
        }
        if self.cpus[task.cpu].current.is_none() && task.may_run_on(task.cpu) {
            return task.cpu;
        }
        let node = self.cpus[task.cpu].node;
        let allowed = (0..self.cpus.len()).filter(|cpu| task.may_run_on(*cpu));
        let best = allowed.min_by_key(|cpu| (self.cpus[*cpu].load(), *cpu != task.cpu, self.cpus[*cpu].node != node));
        best.expect("spawning checked that the task may run somewhere")
    }

    /// The CPU for a task that has made room at the end of its slice: one with fewer tasks. Or one of its node that has as few and
    /// has not balanced for an interval, so that three tasks share two CPUs evenly.
    fn place_balanced(&mut self, task: TaskId) -> usize {
        let (from, to) = (self.task(task).cpu, self.place(task));
        let Some(each) = self.config.balance_interval.filter(|_| to == from) else { return to };
        let (node, load) = (self.cpus[from].node, self.cpus[from].load());
        let of_node = |cpu: &Cpu| cpu.node == node;
        let interval = each.get() * self.cpus.iter().filter(|cpu| of_node(cpu)).count() as u64;
        let weight = self.average(from).weight + self.task(task).entity.weight;
        let is_due = |&to: &usize| {
            let cpu = &self.cpus[to];
            to != from
                && of_node(cpu)
                && self.task(task).may_run_on(to)
                && cpu.load() == load
                && is_imbalanced(weight, self.average(to).weight)
                && self.now >= after(cpu.balanced, Nanos::new(interval))
        };
        let Some(to) = (0..self.cpus.len()).filter(is_due).min_by_key(|&to| self.cpus[to].balanced) else {
            return from;
        };
        self.cpus[to].balanced = self.now;
        to
    }

    /// CPU for a task that has never run. Among equal CPUs one of the node with the fewest tasks comes first, so that
    /// children of one program spread over the machine; where children are packed, one of the parent's node. Chance may
    /// decide instead of the CPU's number.
    fn place_new(&self, task: &Task) -> usize {
        let mut tasks_of_node: BTreeMap<NodeId, usize> = BTreeMap::new();
        self.cpus.iter().for_each(|cpu| *tasks_of_node.entry(cpu.node).or_default() += cpu.load());
        let (parents, node) = (task.cpu, self.cpus[task.cpu].node);
        let allowed = (0..self.cpus.len()).filter(|cpu| task.may_run_on(*cpu));
        let best = allowed.min_by_key(|&at| {
            let cpu = &self.cpus[at];
            let of_node = if self.packed { usize::from(cpu.node != node) } else { tasks_of_node[&cpu.node] };
            (cpu.load(), of_node, at != parents, cpu.node != node, self.rank(task, at))
        });
        best.expect("spawning checked that the task may run somewhere")
    }

    /// Puts a ready task, which is in no run queue, on an idle CPU.
    fn dispatch(&mut self, to: usize, id: TaskId) {
        self.settle(id);
        let now = self.now;
        let switches = self.cpus[to].last != Some(id);
        let switch_left = if switches { self.config.context_switch } else { Nanos::ZERO };
        let start = after(now, switch_left);
        let cpu = &mut self.cpus[to];
        cpu.current = Some(id);
        cpu.last = Some(id);
        cpu.busy_since = now;
        cpu.context_switches += u64::from(switches);
        (cpu.slice_start, cpu.charged, cpu.resched) = (start, start, None);
        let task = self.task_mut(id);
        task.stats.dispatches += 1;
        task.stats.migrations += u64::from(task.cpu != to && task.stats.dispatches > 1);
        task.state = State::Running;
        task.cpu = to;
        task.switch_left = switch_left;
        self.begin_slice(to, id);
        self.note(Event::Dispatch, id);
        self.note_taken(to, id);
        self.go_on(to);
    }

    /// The place of a CPU among those that are equal for a new task.
    fn rank(&self, task: &Task, cpu: usize) -> u64 {
        let by_chance = self.config.start_jitter.is_some();
        if by_chance { streams::mix(task.stream ^ cpu as u64) } else { cpu as u64 }
    }

    /// Enters the next segment of the task on a CPU: up to the end of what it does, or to where it has to make room. Or, where
    /// that is now, gives the CPU to whose turn it is.
    pub(crate) fn go_on(&mut self, on: usize) {
        let Some(task) = self.cpus[on].current.map(|task| self.task(task)) else { return };
        let end = after(after(self.now, task.switch_left), task.remaining);
        let resched = if task.is_preemptible() { self.resched_at(on, task.is_in_kernel()) } else { NEVER };
        if self.now < resched {
            self.agenda.add_segment(end.min(resched), on);
        } else {
            self.reschedule(on);
        }
    }

    /// Looks anew how long the task of a CPU may go on, for whom it is one among several now.
    fn cut_short(&mut self, on: usize) {
        let Some(task) = self.cpus[on].current else { return };
        if self.current != Some(task) && self.task(task).state == State::Running {
            self.settle(task);
            self.agenda.remove_segment(on);
            self.go_on(on);
        }
    }

    /// The segment of a CPU is over: its task, where that has done what it was about.
    pub(crate) fn end_segment(&mut self, cpu: usize) -> Option<TaskId> {
        let task = self.cpus[cpu].current?;
        self.settle(task);
        let done = self.task(task).switch_left == Nanos::ZERO && self.task(task).remaining == Nanos::ZERO;
        if !done {
            self.go_on(cpu);
        }
        done.then_some(task)
    }

    /// Gives a CPU to whose turn it is, which may be the task that has it.
    fn reschedule(&mut self, cpu: usize) {
        let Some(task) = self.cpus[cpu].current else { return };
        let next = self.turn(cpu);
        if next == task {
            self.cpus[cpu].slice_start = self.now;
            self.cpus[cpu].resched = None;
            self.set_slice_end(cpu);
            self.go_on(cpu);
            return;
        }
        let preempted = self.task_mut(task);
        preempted.stats.preemptions += 1;
        preempted.made_room = true;
        self.note(Event::Preempt, task);
        if self.cpus[cpu].resched.is_some() {
            // The one that woke works for a moment, for which nobody changes the CPU.
            self.leave(cpu);
            self.take_queued(cpu, next);
            self.task_mut(task).state = State::Ready;
            self.enqueue(cpu, task);
            self.cut_short(cpu);
        } else {
            self.leave(cpu);
            self.take_queued(cpu, next);
            let to = self.place_balanced(task);
            self.make_runnable_on(to, task, Arrival::Moved);
        }
    }

    /// Whether the running task is due to make room, or had to during its last `spend`.
    pub(crate) fn need_resched(&self) -> bool {
        self.current
            .map(|task| self.task(task))
            .is_some_and(|task| task.made_room || self.now >= self.resched_at(task.cpu, true))
    }

    /// Lets others run first, if any wait for this CPU.
    pub(crate) fn yield_now(&mut self) {
        let task = self.begin_sleeping();
        self.settle(task);
        self.parked = true;
        self.task_mut(task).made_room = false;
        let cpu = self.task(task).cpu;
        if self.cpus[cpu].queue.is_empty() {
            self.agenda.add_segment(self.now, cpu);
        } else {
            self.requeue(task, cpu);
        }
    }

    /// Binds the running task to those of `cpus` that there are; where it is on another one, it goes to the best of these.
    pub(crate) fn set_affinity(&mut self, cpus: &CpuSet) -> Result<(), NoSuchCpu> {
        let task = self.begin_sleeping();
        let there: CpuSet = cpus.iter().filter(|cpu| cpu.index() < self.cpus.len()).collect();
        if there.is_empty() {
            return Err(NoSuchCpu);
        }
        self.task_mut(task).cpus = Some(there);
        let cpu = self.task(task).cpu;
        if !self.task(task).may_run_on(cpu) {
            self.settle(task);
            self.parked = true;
            self.task_mut(task).made_room = false;
            self.requeue(task, cpu);
        }
        Ok(())
    }

    /// Moves the running task to the first idle CPU of `node`, if there is one that it may run on and it is elsewhere; says
    /// whether it has moved.
    pub(crate) fn move_to_idle(&mut self, node: NodeId) -> bool {
        let Some(id) = self.current else { return false };
        let (task, from) = (self.task(id), self.task(id).cpu);
        if self.cpus[from].node == node {
            return false;
        }
        let is_idle = |&cpu: &usize| self.cpus[cpu].node == node && self.cpus[cpu].current.is_none();
        let Some(to) = (0..self.cpus.len()).filter(is_idle).find(|&cpu| task.may_run_on(cpu)) else { return false };
        let id = self.begin_sleeping();
        self.settle(id);
        self.parked = true;
        self.task_mut(id).made_room = false;
        self.leave(from);
        self.task_mut(id).state = State::Ready;
        self.attach(to, id, Arrival::Moved);
        self.dispatch(to, id);
        self.fill(from);
        true
    }

    /// Gives the CPU to a task that waits for it or for another one, and says whether there is one.
    pub(crate) fn make_way(&mut self) -> bool {
        let Some(cpu) = self.current.map(|task| self.task(task).cpu) else { return false };
        let may_run_here = |task: &TaskId| self.task(*task).may_run_on(cpu);
        let wanted = self.queued > 0 && self.cpus.iter().any(|of| of.queue.iter().any(may_run_here));
        if wanted {
            let task = self.begin_sleeping();
            self.settle(task);
            self.parked = true;
            self.task_mut(task).made_room = false;
            self.requeue(task, cpu);
        }
        wanted
    }

    /// Takes the task of a CPU to a run queue, for the one whose turn it is.
    fn requeue(&mut self, task: TaskId, cpu: usize) {
        self.leave(cpu);
        self.fill(cpu);
        self.make_runnable(task, Arrival::Moved);
    }

    /// Takes the task of a CPU off it.
    pub(crate) fn leave(&mut self, on: usize) {
        let now = self.now;
        self.charge(on);
        if let Some(task) = self.cpus[on].current {
            self.detach(on, task);
        }
        let cpu = &mut self.cpus[on];
        if let Some(task) = cpu.current.take() {
            cpu.busy += now - cpu.busy_since;
            if self.task(task).kind == Kind::Foreground {
                self.foreground_seen = now;
            }
            self.note_left(on, task);
        }
    }

    /// Gives an idle CPU the next task of its own queue, else of the longest one.
    pub(crate) fn fill(&mut self, cpu: usize) {
        if self.queued == 0 {
            return;
        }
        if let Some(next) = self.first(cpu) {
            self.take_queued(cpu, next);
        } else if let Some(task) = self.steal(cpu) {
            self.queued -= 1;
            self.attach(cpu, task, Arrival::Moved);
            self.dispatch(cpu, task);
        }
    }

    /// Gives an idle CPU a task of its own queue.
    fn take_queued(&mut self, cpu: usize, task: TaskId) {
        self.cpus[cpu].queue.retain(|queued| *queued != task);
        self.queued -= 1;
        self.dispatch(cpu, task);
    }

    /// Takes the first task that may run on `to` from the longest queue that has one; among equals from the node of
    /// `to`, else from the lowest CPU.
    fn steal(&mut self, to: usize) -> Option<TaskId> {
        let node = self.cpus[to].node;
        let first = |cpu: usize| self.cpus[cpu].queue.iter().position(|task| self.task(*task).may_run_on(to));
        let from = (0..self.cpus.len()).filter_map(|cpu| first(cpu).map(|position| (cpu, position)));
        let (cpu, position) = from.min_by_key(|(cpu, _)| {
            let cpu = &self.cpus[*cpu];
            (usize::MAX - cpu.queue.len(), cpu.node != node)
        })?;
        let task = self.cpus[cpu].queue[position];
        self.leave_queue_of(cpu, task);
        Some(task)
    }

    /// Takes a task off the queue of a CPU on which another one runs.
    fn leave_queue_of(&mut self, cpu: usize, task: TaskId) {
        self.charge(cpu);
        self.detach(cpu, task);
        let at = &mut self.cpus[cpu];
        at.queue.retain(|queued| *queued != task);
        if at.queue.is_empty() {
            at.resched = None;
        }
        self.set_slice_end(cpu);
    }

    /// Takes a task that has ended off its run queue.
    pub(crate) fn leave_run_queue(&mut self, task: TaskId) {
        let cpu = self.task(task).cpu;
        self.leave_queue_of(cpu, task);
        self.queued -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_cpus_knows_its_members() {
        let set: CpuSet = [CpuId(70), CpuId(3)].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [CpuId(3), CpuId(70)]);
        assert!(set.contains(CpuId(70)));
        assert!(!set.contains(CpuId(600)));
        assert!(CpuSet::default().is_empty());
    }
}
