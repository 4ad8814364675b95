//! CPUs, run queues and slices.

use super::shares::Arrival;
use super::{Naive, State, What};

impl Naive<'_> {
    pub(super) fn may_run_on(&self, task: usize, cpu: usize) -> bool {
        self.tasks[task].code.cpus.as_ref().is_none_or(|cpus| cpus.contains(&(cpu as u16)))
    }

    pub(super) fn block(&mut self, task: usize, state: State, answer: u64) -> bool {
        self.tasks[task].state = state;
        self.tasks[task].answer = Some(answer);
        self.leave(self.tasks[task].cpu);
        false
    }

    pub(super) fn unblock(&mut self, task: usize, answer: u64) {
        self.events.retain(|(_, _, what)| *what != What::Timer(task));
        self.tasks[task].answer = Some(answer);
        self.tasks[task].left = 0;
        self.make_ready(task, Arrival::Woken);
    }

    pub(super) fn make_ready(&mut self, task: usize, arrival: Arrival) {
        self.tasks[task].state = State::Ready;
        let to = self.best_place(task);
        self.make_ready_on(to, task, arrival);
    }

    fn best_place(&self, task: usize) -> usize {
        let last = self.tasks[task].cpu;
        let nodes = &self.program.nodes;
        let allowed = (0..self.cpus.len()).filter(|cpu| self.may_run_on(task, *cpu));
        let load = |cpu: usize| self.cpus[cpu].queue.len() + usize::from(self.cpus[cpu].current.is_some());
        let is_new = self.tasks[task].stats.dispatches == 0;
        let crowd = |cpu: usize| (0..nodes.len()).filter(|other| nodes[*other] == nodes[cpu]).map(load).sum::<usize>();
        let best = allowed.min_by_key(|cpu| {
            let crowd = if is_new { crowd(*cpu) } else { 0 };
            (load(*cpu), crowd, *cpu != last, nodes[*cpu] != nodes[last], *cpu)
        });
        best.expect("every task may run somewhere")
    }

    fn make_ready_on(&mut self, to: usize, task: usize, arrival: Arrival) {
        self.place(task, to, arrival);
        if self.cpus[to].current.is_none() {
            return self.dispatch(to, task);
        }
        if arrival != Arrival::Moved && self.would_win(to, task) {
            self.cpus[to].resched = Some(self.now);
        }
        self.join_queue(to, task);
    }

    /// Whether a task that comes to a CPU preempts the one there.
    fn would_win(&mut self, to: usize, task: usize) -> bool {
        self.cpus[to].queue.push(task);
        let wins = self.wins(to, task);
        self.cpus[to].queue.pop();
        wins
    }

    /// Lets a task wait for a busy CPU, whose task sees that.
    fn join_queue(&mut self, to: usize, task: usize) {
        self.cpus[to].queue.push(task);
        self.tasks[task].cpu = to;
        self.set_slice_end(to);
        let running = self.cpus[to].current.expect("it is busy");
        if self.running != Some(running) && self.tasks[running].state == State::OnCpu {
            self.events.retain(|(_, _, what)| *what != What::Segment(to));
            self.go_on(to);
        }
    }

    pub(super) fn dispatch(&mut self, to: usize, task: usize) {
        let switches = self.cpus[to].last != Some(task);
        let start = self.now + if switches { self.program.switch } else { 0 };
        let cpu = &mut self.cpus[to];
        cpu.current = Some(task);
        cpu.last = Some(task);
        (cpu.slice_start, cpu.alone_since, cpu.resched) = (start, start, None);
        cpu.stats.context_switches += u64::from(switches);
        let it = &mut self.tasks[task];
        it.stats.migrations += u64::from(it.stats.dispatches > 0 && it.cpu != to);
        it.stats.dispatches += 1;
        it.state = State::OnCpu;
        it.cpu = to;
        it.switch_until = start;
        it.end = start + it.left;
        self.cpus[to].protected = self.tasks[task].share.deadline;
        self.set_slice_end(to);
        self.go_on(to);
    }

    /// Until the end of the operation, or to where the task has to make room, whichever is first.
    pub(super) fn go_on(&mut self, on: usize) {
        let Some(task) = self.cpus[on].current else { return };
        let end = self.tasks[task].end;
        let resched = if self.is_atomic(task) { u64::MAX } else { self.makes_room_at(on) };
        if resched > self.now {
            return self.event(end.min(resched), What::Segment(on));
        }
        let next = self.turn(on);
        if next == task {
            self.cpus[on].slice_start = self.now;
            self.cpus[on].resched = None;
            self.set_slice_end(on);
            return self.go_on(on);
        }
        self.tasks[task].stats.preemptions += 1;
        let woken_for = self.cpus[on].resched.is_some();
        self.put_aside(task);
        self.take_off(on);
        self.take_queued(on, next);
        if woken_for {
            return self.join_queue(on, task);
        }
        let best = self.best_place(task);
        let to = if best == on { self.balanced(task, on) } else { best };
        self.make_ready_on(to, task, Arrival::Moved);
    }

    /// The CPU that takes a task from one that has as many without it: of the same node, and the one that balanced the longest ago.
    fn balanced(&mut self, task: usize, from: usize) -> usize {
        let nodes = &self.program.nodes;
        let Some(each) = self.program.balance else { return from };
        let interval = each * nodes.iter().filter(|node| **node == nodes[from]).count() as u64;
        let length = |cpu: usize| self.members(cpu).len();
        let heavier = |cpu| (self.weight(from) + self.tasks[task].share.weight) * 100 > self.weight(cpu) * 117;
        let takes = |cpu: &usize| {
            *cpu != from
                && nodes[*cpu] == nodes[from]
                && self.may_run_on(task, *cpu)
                && length(*cpu) == length(from)
                && heavier(*cpu)
                && self.cpus[*cpu].balanced.saturating_add(interval) <= self.now
        };
        let mut takers: Vec<usize> = (0..self.cpus.len()).filter(takes).collect();
        takers.sort_by_key(|cpu| self.cpus[*cpu].balanced);
        let Some(&to) = takers.first() else { return from };
        self.cpus[to].balanced = self.now;
        to
    }

    pub(super) fn requeue(&mut self, cpu: usize) {
        let task = self.cpus[cpu].current.expect("only a busy CPU changes its task");
        self.put_aside(task);
        self.take_off(cpu);
        self.fill(cpu);
        self.make_ready(task, Arrival::Moved);
    }

    /// Notes what is left of the operation of a task, which is nobody's while its CPU looks for the next one.
    fn put_aside(&mut self, task: usize) {
        let it = &mut self.tasks[task];
        it.left = it.end.saturating_sub(self.now.max(it.switch_until));
        it.state = State::Ready;
    }

    /// Takes the task off a CPU, and puts the next one on: of its own queue, else of the longest.
    pub(super) fn leave(&mut self, cpu: usize) {
        self.take_off(cpu);
        self.fill(cpu);
    }

    fn take_off(&mut self, cpu: usize) {
        if let Some(task) = self.cpus[cpu].current {
            self.keep_least(cpu);
            self.note_lag(cpu, task);
            self.cpus[cpu].current = None;
        }
    }

    fn fill(&mut self, cpu: usize) {
        if let Some(next) = self.first(cpu) {
            return self.take_queued(cpu, next);
        }
        let nodes = &self.program.nodes;
        let candidates = (0..self.cpus.len()).filter_map(|from| {
            let position = self.cpus[from].queue.iter().position(|task| self.may_run_on(*task, cpu))?;
            Some((from, position))
        });
        let best = candidates.min_by_key(|(from, _)| {
            let length = self.cpus[*from].queue.len();
            (usize::MAX - length, nodes[*from] != nodes[cpu], *from)
        });
        if let Some((from, position)) = best {
            let task = self.cpus[from].queue[position];
            self.unqueue(from, task);
            self.place(task, cpu, Arrival::Moved);
            self.dispatch(cpu, task);
        }
    }

    fn take_queued(&mut self, cpu: usize, task: usize) {
        self.cpus[cpu].queue.retain(|queued| *queued != task);
        self.dispatch(cpu, task);
    }

    /// Takes a task off the queue of a busy CPU.
    pub(super) fn unqueue(&mut self, cpu: usize, task: usize) {
        self.keep_least(cpu);
        self.note_lag(cpu, task);
        self.cpus[cpu].queue.retain(|queued| *queued != task);
        if self.cpus[cpu].queue.is_empty() {
            self.cpus[cpu].resched = None;
            self.cpus[cpu].alone_since = self.cpus[cpu].alone_since.max(self.now);
        }
        self.set_slice_end(cpu);
    }
}
