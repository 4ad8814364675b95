//! A simulator of the same machine that takes no short cut: every `spend` is an event, events are an unordered list that
//! is searched for the next, and time is accounted by looking at everybody whenever the clock moves.

mod cpus;
mod locks;
mod shares;

use order9_machine::time::{Class, CpuStats, Exit, LockStats, Mode, TaskStats, WaitsFor};
use order9_units::Nanos;

use shares::{Arrival, Share};

use crate::program::{Code, Entry, Op, Outcome, Program, answer_of_exit, task_name};

#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Ready,
    OnCpu,
    Spinning(usize),
    Sleeping,
    InQueue(usize),
    InLock(usize),
    Joining(usize),
    Ended(Exit),
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Segment(usize),
    Timer(usize),
}

struct Task {
    code: Code,
    /// Operations that are finished.
    done: usize,
    /// The answer of the operation under way, once it can be finished.
    answer: Option<u64>,
    state: State,
    cpu: usize,
    share: Share,
    class: Class,
    switch_until: u64,
    /// On a CPU: when the operation ends. Ready: what is left of it.
    end: u64,
    left: u64,
    /// Locks whose guards it has, in the order of taking; `None` where `try_lock` failed.
    guards: Vec<Option<usize>>,
    /// A lock it was given without having seen the guard yet.
    granted: Option<usize>,
    /// Who waits for its end, in the order in which they began.
    joiners: Vec<usize>,
    stats: TaskStats,
}

#[derive(Default)]
struct Cpu {
    current: Option<usize>,
    last: Option<usize>,
    queue: Vec<usize>,
    /// When its slice began, and when nobody began to wait any more.
    slice_start: u64,
    alone_since: u64,
    /// When it is seen to be used up, once somebody waits; and when a task that woke wanted it to make room.
    slice_end: u64,
    resched: Option<u64>,
    /// The end, in virtual time, of the slice with which its task came.
    protected: i128,
    least_virtual: i128,
    /// When it last took a task from a CPU with as few.
    balanced: u64,
    stats: CpuStats,
}

#[derive(Default)]
struct Lock {
    holders: Vec<(usize, Mode, u64)>,
    waiters: Vec<(usize, Mode, u64)>,
    stats: LockStats,
}

struct Naive<'a> {
    program: &'a Program,
    now: u64,
    sequence: u64,
    events: Vec<(u64, u64, What)>,
    running: Option<usize>,
    tasks: Vec<Task>,
    cpus: Vec<Cpu>,
    locks: Vec<Lock>,
    queues: Vec<Vec<usize>>,
    log: Vec<Entry>,
}

pub(crate) fn simulate(program: &Program) -> Outcome {
    let mut naive = Naive {
        program,
        now: 0,
        sequence: 0,
        events: Vec::new(),
        running: None,
        tasks: Vec::new(),
        cpus: program.nodes.iter().map(|_| Cpu::default()).collect(),
        locks: program.locks.iter().map(|_| Lock::default()).collect(),
        queues: vec![Vec::new(); program.queues],
        log: Vec::new(),
    };
    for code in &program.tasks {
        naive.spawn(code);
    }
    let ended = naive.run();
    let stall = (!ended).then(|| naive.waiting());
    Outcome {
        stall,
        log: naive.log,
        end: naive.now,
        tasks: naive.tasks.into_iter().map(|task| task.stats).collect(),
        cpus: naive.cpus.into_iter().map(|cpu| cpu.stats).collect(),
        locks: naive.locks.into_iter().map(|lock| lock.stats).collect(),
    }
}

impl Naive<'_> {
    /// Whether all foreground tasks came to an end.
    fn run(&mut self) -> bool {
        while self.tasks.iter().any(|task| !task.code.daemon && !matches!(task.state, State::Ended(_))) {
            let next = self.events.iter().enumerate().min_by_key(|(_, (time, sequence, _))| (*time, *sequence));
            let Some((position, &(time, _, what))) = next else { return false };
            self.events.remove(position);
            self.move_clock(time);
            match what {
                What::Timer(task) => self.time_out(task),
                What::Segment(cpu) => {
                    let task = self.cpus[cpu].current.expect("a segment belongs to a task");
                    if self.tasks[task].end == self.now { self.run_code(task) } else { self.go_on(cpu) }
                }
            }
        }
        true
    }

    fn move_clock(&mut self, to: u64) {
        let passed = Nanos::new(to - self.now);
        for task in &mut self.tasks {
            let stats = &mut task.stats;
            match task.state {
                State::Ready => stats.run_queue += passed,
                State::OnCpu => {
                    let switching = Nanos::new(task.switch_until.clamp(self.now, to) - self.now);
                    stats.switching += switching;
                    match task.class {
                        Class::User => stats.user += passed - switching,
                        Class::System => stats.system += passed - switching,
                    }
                }
                State::Spinning(_) => stats.spin += passed,
                State::Sleeping => stats.sleep += passed,
                State::InLock(_) => stats.lock += passed,
                State::InQueue(_) | State::Joining(_) => stats.wait += passed,
                State::Ended(_) => {}
            }
        }
        self.move_virtual(to);
        for cpu in &mut self.cpus {
            *(if cpu.current.is_some() { &mut cpu.stats.busy } else { &mut cpu.stats.idle }) += passed;
        }
        self.now = to;
        (0..self.cpus.len()).for_each(|cpu| self.renew(cpu));
    }

    fn event(&mut self, time: u64, what: What) {
        self.sequence += 1;
        self.events.push((time, self.sequence, what));
    }

    fn spawn(&mut self, code: &Code) {
        let spawned = Nanos::new(self.now);
        self.tasks.push(Task {
            code: code.clone(),
            done: 0,
            answer: None,
            state: State::Ready,
            cpu: self.running.map_or(0, |parent| self.tasks[parent].cpu),
            share: Share::new(code.nice),
            class: Class::User,
            switch_until: 0,
            end: 0,
            left: 0,
            guards: Vec::new(),
            granted: None,
            joiners: Vec::new(),
            stats: TaskStats { spawned, ..TaskStats::default() },
        });
        self.make_ready(self.tasks.len() - 1, Arrival::New);
    }

    fn run_code(&mut self, task: usize) {
        self.running = Some(task);
        if let Some(lock) = self.tasks[task].granted.take() {
            self.tasks[task].guards.push(Some(lock));
        }
        loop {
            if let Some(answer) = self.tasks[task].answer.take() {
                let cpu = self.tasks[task].cpu as u16;
                let done = self.tasks[task].done;
                self.log.push((self.now, task, cpu, done, answer));
                self.tasks[task].done += 1;
            }
            let Some(op) = self.tasks[task].code.ops.get(self.tasks[task].done).copied() else { break };
            if !self.perform(task, op) {
                self.running = None;
                return;
            }
        }
        while let Some(lock) = self.tasks[task].guards.pop() {
            self.unlock(task, lock);
        }
        self.running = None;
        self.finish(task, Exit::Finished);
    }

    /// Whether the operation is finished at once; else its answer is there when the code runs again.
    fn perform(&mut self, task: usize, op: Op) -> bool {
        let answer = match op {
            Op::Spend(class, time) => {
                self.tasks[task].class = class;
                self.tasks[task].end = self.now + time;
                self.tasks[task].answer = Some(0);
                self.go_on(self.tasks[task].cpu);
                return false;
            }
            Op::Sleep(time) => {
                self.event(self.now + time, What::Timer(task));
                return self.block(task, State::Sleeping, 0);
            }
            Op::Yield => {
                self.tasks[task].answer = Some(0);
                let cpu = self.tasks[task].cpu;
                if self.cpus[cpu].queue.is_empty() {
                    self.event(self.now, What::Segment(cpu));
                } else {
                    self.requeue(cpu);
                }
                return false;
            }
            Op::Bind(cpus) => {
                let count = self.cpus.len();
                let there: Vec<u16> = (0..count as u16).filter(|cpu| cpus >> cpu & 1 == 1).collect();
                if there.is_empty() {
                    1
                } else {
                    self.tasks[task].code.cpus = Some(there);
                    if !self.may_run_on(task, self.tasks[task].cpu) {
                        self.tasks[task].answer = Some(0);
                        self.requeue(self.tasks[task].cpu);
                        return false;
                    }
                    0
                }
            }
            Op::Lock(lock, mode) => return self.lock(task, lock, mode),
            Op::TryLock(lock, mode) => {
                let free = self.is_free(lock, mode);
                if free {
                    self.take(task, lock, mode);
                }
                self.tasks[task].guards.push(free.then_some(lock));
                u64::from(free)
            }
            Op::Unlock => {
                let lock = self.tasks[task].guards.pop().flatten();
                self.unlock(task, lock);
                0
            }
            Op::Wait(queue, timeout) => {
                self.queues[queue].push(task);
                if let Some(timeout) = timeout {
                    self.event(self.now + timeout, What::Timer(task));
                }
                return self.block(task, State::InQueue(queue), 0);
            }
            Op::WakeOne(queue) => self.wake(queue, 1),
            Op::WakeAll(queue) => self.wake(queue, usize::MAX),
            Op::Join(nth) => {
                let other = nth % self.tasks.len();
                if let State::Ended(exit) = self.tasks[other].state {
                    answer_of_exit(exit)
                } else {
                    self.tasks[other].joiners.push(task);
                    return self.block(task, State::Joining(other), 0);
                }
            }
            Op::Cancel(nth) => self.cancel(task, nth % self.tasks.len()),
            Op::Spawn(child) => {
                self.spawn(&self.program.children[child]);
                0
            }
        };
        self.tasks[task].answer = Some(answer);
        true
    }

    fn wake(&mut self, queue: usize, most: usize) -> u64 {
        let count = most.min(self.queues[queue].len());
        for _ in 0..count {
            let task = self.queues[queue].remove(0);
            self.unblock(task, 0);
        }
        count as u64
    }

    fn time_out(&mut self, task: usize) {
        let timed_out = if let State::InQueue(queue) = self.tasks[task].state {
            self.queues[queue].retain(|waiter| *waiter != task);
            true
        } else {
            false
        };
        self.unblock(task, u64::from(timed_out));
    }

    fn cancel(&mut self, by: usize, task: usize) -> u64 {
        if by == task || matches!(self.tasks[task].state, State::Ended(_)) {
            return 0;
        }
        for lock in std::mem::take(&mut self.tasks[task].guards) {
            // The one it was just given has no guard yet.
            self.unlock(task, lock);
        }
        self.finish(task, Exit::Cancelled);
        1
    }

    fn finish(&mut self, task: usize, exit: Exit) {
        let (state, cpu) = (self.tasks[task].state, self.tasks[task].cpu);
        self.tasks[task].state = State::Ended(exit);
        self.tasks[task].stats.ended = Some(Nanos::new(self.now));
        self.events.retain(|(_, _, what)| *what != What::Timer(task));
        match state {
            State::Ready => self.unqueue(cpu, task),
            State::OnCpu | State::Spinning(_) => {
                self.events.retain(|(_, _, what)| *what != What::Segment(cpu));
                self.leave(cpu);
            }
            State::InQueue(queue) => self.queues[queue].retain(|waiter| *waiter != task),
            State::Joining(other) => self.tasks[other].joiners.retain(|joiner| *joiner != task),
            State::Sleeping | State::InLock(_) | State::Ended(_) => {}
        }
        if let State::Spinning(lock) | State::InLock(lock) = state {
            self.locks[lock].waiters.retain(|waiter| waiter.0 != task);
            self.hand_over(lock);
        }
        let granted = self.tasks[task].granted.take();
        self.unlock(task, granted);
        for joiner in std::mem::take(&mut self.tasks[task].joiners) {
            self.unblock(joiner, answer_of_exit(exit));
        }
    }

    fn waiting(&self) -> Vec<(usize, WaitsFor)> {
        let waits_for = |task: usize| match self.tasks[task].state {
            State::Spinning(lock) | State::InLock(lock) => {
                let waiter = self.locks[lock].waiters.iter().find(|waiter| waiter.0 == task)?;
                let holders = self.locks[lock].holders.iter().map(|holder| task_name(holder.0)).collect();
                Some(WaitsFor::Lock { name: format!("l{lock}"), mode: waiter.1, holders })
            }
            State::InQueue(queue) => Some(WaitsFor::Queue { name: format!("q{queue}") }),
            State::Joining(other) => Some(WaitsFor::End { of: task_name(other) }),
            _ => None,
        };
        (0..self.tasks.len()).filter_map(|task| Some((task, waits_for(task)?))).collect()
    }
}
