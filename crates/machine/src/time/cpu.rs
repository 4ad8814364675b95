//! CPUs: who runs where, for how long, and who is next.
//!
//! The law: a CPU without a task has an empty run queue, and no task that may run there waits in another's.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use order9_units::{Nanos, NodeId};
use order9_workloads::streams;

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
    pub(crate) queue: VecDeque<TaskId>,

    // Until the next task.
    pub(crate) current: Option<TaskId>,
    busy_since: Nanos,
    /// The end of the task's first slice.
    first_slice_end: Nanos,
    /// Time at which the task has to make room: the first end of a slice after another task began to wait, as the tick sees
    /// it. Meaningless while no task waits.
    pub(crate) slice_end: Nanos,
    /// Time of the next look whether another task waits: an end of a slice, kept because finding the next one takes a
    /// division.
    next_look: Nanos,
}

impl Cpu {
    pub(crate) fn new(node: NodeId) -> Self {
        Self {
            node,
            busy: Nanos::ZERO,
            context_switches: 0,
            last: None,
            queue: VecDeque::new(),
            current: None,
            busy_since: Nanos::ZERO,
            first_slice_end: Nanos::ZERO,
            slice_end: Nanos::ZERO,
            next_look: Nanos::ZERO,
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

/// The whole periods that cover `time`.
fn periods(time: Nanos, period: Nanos) -> Nanos {
    time.get().checked_next_multiple_of(period.get()).map_or(NEVER, Nanos::new)
}

impl World {
    /// Gives a task that waits for nothing any more a CPU, or a place in a run queue.
    pub(crate) fn make_runnable(&mut self, task: TaskId) {
        self.task_mut(task).state = State::Ready;
        let to = self.place(task);
        if self.cpus[to].current.is_none() {
            self.dispatch(to, task);
            return;
        }
        let (now, slice) = (self.now, self.config.slice);
        if self.cpus[to].queue.is_empty() {
            let first = self.cpus[to].first_slice_end;
            self.cpus[to].slice_end = self.seen_at(after(first, periods(now.saturating_sub(first), slice)));
        }
        self.cpus[to].queue.push_back(task);
        self.queued += 1;
        self.task_mut(task).cpu = to;
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
        let first_slice_end = after(after(now, switch_left), self.slice_of(id));
        let slice_end = self.seen_at(first_slice_end);
        let cpu = &mut self.cpus[to];
        cpu.current = Some(id);
        cpu.last = Some(id);
        cpu.busy_since = now;
        cpu.context_switches += u64::from(switches);
        (cpu.first_slice_end, cpu.slice_end, cpu.next_look) = (first_slice_end, slice_end, first_slice_end);
        let task = self.task_mut(id);
        task.stats.dispatches += 1;
        task.stats.migrations += u64::from(task.cpu != to && task.stats.dispatches > 1);
        task.state = State::Running;
        task.cpu = to;
        task.switch_left = switch_left;
        self.note(Event::Dispatch, id);
        self.note_taken(to, id);
        self.go_on(to);
    }

    /// The place of a CPU among those that are equal for a new task.
    fn rank(&self, task: &Task, cpu: usize) -> u64 {
        let by_chance = self.config.start_jitter.is_some();
        if by_chance { streams::mix(task.stream ^ cpu as u64) } else { cpu as u64 }
    }

    /// Time at which the end of a slice is seen: the next tick, on a machine that has one.
    fn seen_at(&self, slice_end: Nanos) -> Nanos {
        self.config.tick.map_or(slice_end, |tick| periods(slice_end, tick))
    }

    /// Slice of a task that gets a CPU now.
    fn slice_of(&self, task: TaskId) -> Nanos {
        let (slice, task) = (self.config.slice, self.task(task));
        let is_new = self.config.start_jitter.is_some() && task.stats.dispatches == 0;
        if is_new { slice - Nanos::new(streams::drawn(task.stream, "first slice", slice.get())) } else { slice }
    }

    /// Enters the next segment of the task on a CPU: up to the end of what it does, or of its slice. Or, where that is
    /// up and somebody waits, makes it give way.
    pub(crate) fn go_on(&mut self, on: usize) {
        let Some(task) = self.cpus[on].current.map(|task| self.task(task)) else { return };
        let (now, slice) = (self.now, self.config.slice);
        let end = after(after(now, task.switch_left), task.remaining);
        let preemptible = task.is_preemptible();
        let cpu = &mut self.cpus[on];
        if !preemptible {
            self.agenda.add_segment(end, on);
        } else if cpu.queue.is_empty() {
            if cpu.next_look <= now {
                cpu.next_look = after(cpu.next_look, periods(after(now - cpu.next_look, Nanos::new(1)), slice));
            }
            self.agenda.add_segment(end.min(cpu.next_look), on);
        } else if now < cpu.slice_end {
            self.agenda.add_segment(end.min(cpu.slice_end), on);
        } else {
            self.preempt(on);
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

    fn preempt(&mut self, cpu: usize) {
        if let Some(task) = self.cpus[cpu].current {
            let preempted = self.task_mut(task);
            preempted.stats.preemptions += 1;
            preempted.made_room = true;
            self.note(Event::Preempt, task);
            self.requeue(task, cpu);
        }
    }

    /// Whether the running task is due to make room, or had to during its last `spend`.
    pub(crate) fn need_resched(&self) -> bool {
        self.current.map(|task| self.task(task)).is_some_and(|task| {
            let cpu = &self.cpus[task.cpu];
            task.made_room || !cpu.queue.is_empty() && self.now >= cpu.slice_end
        })
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

    /// Takes the task of a CPU to the end of a run queue.
    fn requeue(&mut self, task: TaskId, cpu: usize) {
        self.leave(cpu);
        self.fill(cpu);
        self.make_runnable(task);
    }

    /// Takes the task of a CPU off it.
    pub(crate) fn leave(&mut self, on: usize) {
        let now = self.now;
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
        let own = self.cpus[cpu].queue.pop_front();
        if let Some(task) = own.or_else(|| self.steal(cpu)) {
            self.queued -= 1;
            self.dispatch(cpu, task);
        }
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
        self.cpus[cpu].queue.remove(position)
    }

    /// Takes a task that has ended off its run queue.
    pub(crate) fn leave_run_queue(&mut self, task: TaskId) {
        let cpu = self.task(task).cpu;
        self.cpus[cpu].queue.retain(|queued| *queued != task);
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
