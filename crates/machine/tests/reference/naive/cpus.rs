//! CPUs, run queues and slices.

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
        self.make_ready(task);
    }

    pub(super) fn make_ready(&mut self, task: usize) {
        self.tasks[task].state = State::Ready;
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
        let to = best.expect("every task may run somewhere");
        if self.cpus[to].current.is_none() {
            return self.dispatch(to, task);
        }
        if self.cpus[to].queue.is_empty() {
            self.cpus[to].waited_for_since = self.now;
        }
        self.cpus[to].queue.push(task);
        self.tasks[task].cpu = to;
    }

    pub(super) fn dispatch(&mut self, to: usize, task: usize) {
        let switches = self.cpus[to].last != Some(task);
        let start = self.now + if switches { self.program.switch } else { 0 };
        let cpu = &mut self.cpus[to];
        cpu.current = Some(task);
        cpu.last = Some(task);
        cpu.slice_start = start;
        cpu.stats.context_switches += u64::from(switches);
        let task = &mut self.tasks[task];
        task.stats.migrations += u64::from(task.stats.dispatches > 0 && task.cpu != to);
        task.stats.dispatches += 1;
        task.state = State::OnCpu;
        task.cpu = to;
        task.switch_until = start;
        task.end = start + task.left;
        self.go_on(to);
    }

    /// Until the end of the operation or of the slice, whichever is first.
    pub(super) fn go_on(&mut self, on: usize) {
        let Some(task) = self.cpus[on].current else { return };
        let end = self.tasks[task].end;
        let cpu = &self.cpus[on];
        let wanted = if cpu.queue.is_empty() { self.now + 1 } else { cpu.waited_for_since };
        let mut slice_end = cpu.slice_start + self.program.slice;
        while slice_end < wanted {
            slice_end += self.program.slice;
        }
        if self.is_atomic(task) {
            self.event(end, What::Segment(on));
        } else if slice_end > self.now {
            self.event(end.min(slice_end), What::Segment(on));
        } else {
            self.tasks[task].stats.preemptions += 1;
            self.requeue(on);
        }
    }

    pub(super) fn requeue(&mut self, cpu: usize) {
        let task = self.cpus[cpu].current.expect("only a busy CPU changes its task");
        self.tasks[task].left = self.tasks[task].end.saturating_sub(self.now);
        // So that it is nobody's while the CPU looks for the next.
        self.tasks[task].state = State::Ready;
        self.leave(cpu);
        self.make_ready(task);
    }

    /// Takes the task off a CPU, and puts the next one on: of its own queue, else of the longest.
    pub(super) fn leave(&mut self, cpu: usize) {
        self.cpus[cpu].current = None;
        let nodes = &self.program.nodes;
        let candidates = (0..self.cpus.len()).filter_map(|from| {
            let position = self.cpus[from].queue.iter().position(|task| self.may_run_on(*task, cpu))?;
            Some((from, position))
        });
        let best = candidates.min_by_key(|(from, _)| {
            let length = self.cpus[*from].queue.len();
            (*from != cpu, usize::MAX - length, nodes[*from] != nodes[cpu], *from)
        });
        if let Some((from, position)) = best {
            let task = self.cpus[from].queue.remove(position);
            self.dispatch(cpu, task);
        }
    }
}
