//! Everything an executor holds but the futures: clock, agenda, CPUs, tasks, locks, queues.
//!
//! Plain data with synchronous methods; `cpu`, `lock` and `queue` add theirs. No code of a task ever runs in here.

use std::collections::BTreeMap;
use std::rc::Rc;

use order9_units::Nanos;
use order9_workloads::streams;

use crate::time::alarm::{Alarm, AlarmId};
use crate::time::config::Config;
use crate::time::cpu::{Cpu, CpuId};
use crate::time::lock::Lock;
use crate::time::queue::Queue;
use crate::time::share::Arrival;
use crate::time::stall::RunError;
use crate::time::switches::Switches;
use crate::time::task::{Blocked, Class, Exit, Kind, SpawnError, State, Task, TaskId, TaskSpec};
use crate::time::timer::{Agenda, Due, NEVER, after};

/// Number of events at one instant at which a run is taken to go in circles.
const EVENTS_PER_INSTANT: u32 = 10_000_000;

/// End to which a run is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The end of the last foreground task.
    ForegroundEnd,
    /// The time at which everything due by then has happened.
    Time(Nanos),
}

/// Subject of a note in the digest.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    Spawn = 1,
    Dispatch,
    Preempt,
    Block,
    Ready,
    Grant,
    End,
    Alarm,
}

/// Owner of the code that runs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A task, on this CPU.
    Task(TaskId, CpuId),
    /// An alarm, on no CPU.
    Alarm(AlarmId),
}

#[derive(Debug)]
pub(crate) struct World {
    // Whole run.
    pub(crate) config: Config,
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) locks: Vec<Lock>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) alarms: Vec<Alarm>,
    pub(crate) agenda: Agenda,
    /// Number of tasks of each name up to now.
    names: BTreeMap<Rc<str>, u64>,
    /// Foreground tasks that live.
    foreground: usize,
    /// Tasks in run queues.
    pub(crate) queued: usize,
    /// New tasks go to the node of the one that spawns them.
    pub(crate) packed: bool,
    pub(crate) digest: u64,
    /// Switches of CPUs; `None` where nobody asked for them.
    pub(crate) switches: Option<Switches>,
    /// The executor is gone: nothing will run any more.
    pub(crate) closed: bool,

    // Until the clock moves.
    pub(crate) now: Nanos,
    /// The last instant at which anything happened, with the number of events at it.
    events: (Nanos, u32),
    /// Time at which a foreground task was last seen on a CPU, or waiting for time alone.
    pub(crate) foreground_seen: Nanos,

    // Until the task that runs awaits.
    pub(crate) goal: Goal,
    /// The task whose code runs.
    pub(crate) current: Option<TaskId>,
    /// Whether it has started an operation that is not done.
    pub(crate) parked: bool,
}

impl World {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            cpus: config.cpus.iter().map(|node| Cpu::new(*node)).collect(),
            digest: config.seed,
            switches: Switches::new(config.switches_max),
            config,
            tasks: Vec::new(),
            locks: Vec::new(),
            queues: Vec::new(),
            alarms: Vec::new(),
            agenda: Agenda::default(),
            names: BTreeMap::new(),
            foreground: 0,
            queued: 0,
            packed: false,
            closed: false,
            now: Nanos::ZERO,
            events: (Nanos::ZERO, 0),
            foreground_seen: Nanos::ZERO,
            goal: Goal::Time(Nanos::ZERO),
            current: None,
            parked: false,
        }
    }

    pub(crate) fn task(&self, task: TaskId) -> &Task {
        &self.tasks[task.index()]
    }

    pub(crate) fn task_mut(&mut self, task: TaskId) -> &mut Task {
        &mut self.tasks[task.index()]
    }

    /// Folds a change of state into the digest.
    pub(crate) fn note(&mut self, event: Event, task: TaskId) {
        self.note_index(event, task.index());
    }

    pub(crate) fn note_index(&mut self, event: Event, index: usize) {
        let what = self.now.get() ^ (event as u64) << 60 ^ (index as u64) << 32;
        self.digest = streams::mix(self.digest ^ what);
    }

    /// Goes on to the next instant at which code runs: whose, or `None` where the goal is reached.
    pub(crate) fn advance(&mut self) -> Result<Option<Next>, RunError> {
        if let Some(task) = self.current.take() {
            assert!(self.parked, "task {} awaits something that is not of this executor", self.task(task).name);
        }
        loop {
            if self.is_over() {
                return Ok(None);
            }
            let Some((time, due)) = self.agenda.peek() else {
                return if self.foreground == 0 { Ok(None) } else { Err(RunError::Stall(self.stall())) };
            };
            if time > self.limit() {
                return Ok(None);
            }
            self.check_progress(time, due)?;
            self.agenda.remove_first(due);
            self.now = time;
            match due {
                Due::Timer(task) => self.time_out(task),
                Due::Alarm(alarm) => {
                    self.go_off(alarm);
                    return Ok(Some(Next::Alarm(alarm)));
                }
                Due::Segment(cpu) => {
                    if let Some(task) = self.end_segment(cpu) {
                        self.parked = false;
                        self.current = Some(task);
                        self.task_mut(task).granted = None;
                        return Ok(Some(Next::Task(task, CpuId(cpu as u16))));
                    }
                }
            }
        }
    }

    /// Whether the run has nobody left for whose sake it goes on.
    fn is_over(&self) -> bool {
        self.goal == Goal::ForegroundEnd && self.foreground == 0
    }

    /// Up to when the run may go.
    fn limit(&self) -> Nanos {
        match self.goal {
            Goal::ForegroundEnd => NEVER,
            Goal::Time(time) => time,
        }
    }

    /// Finds runs that go in circles at one instant, and those in which only daemons still get anything done.
    fn check_progress(&mut self, time: Nanos, due: Due) -> Result<(), RunError> {
        if self.count_event(time) > EVENTS_PER_INSTANT {
            let task = match due {
                Due::Timer(task) => Some(&self.task(task).name),
                Due::Segment(cpu) => self.cpus[cpu].current.map(|task| &self.task(task).name),
                Due::Alarm(alarm) => Some(&self.alarms[alarm.index()].name),
            };
            let task = task.map_or_else(String::new, ToString::to_string);
            return Err(RunError::NoProgress { time, task });
        }
        if time > after(self.foreground_seen, self.config.hung_task) {
            let mut foreground = self.tasks.iter().filter(|task| task.kind == Kind::Foreground && !task.has_ended());
            if self.foreground > 0 && foreground.all(Task::waits_for_others) {
                return Err(RunError::Stall(self.stall()));
            }
            self.foreground_seen = time;
        }
        Ok(())
    }

    /// Counts one more thing that happens at `time`, and says how many did.
    fn count_event(&mut self, time: Nanos) -> u32 {
        let earlier = if self.events.0 == time { self.events.1 } else { 0 };
        self.events = (time, earlier.saturating_add(1));
        self.events.1
    }

    /// The earliest time at which anything but the running task could act.
    pub(crate) fn horizon(&self) -> Nanos {
        let Some(task) = self.current.filter(|_| !self.is_over()) else { return Nanos::ZERO };
        let task = self.task(task);
        let limits = after(self.limit(), Nanos::new(1)).min(after(self.foreground_seen, self.config.hung_task));
        let horizon = self.agenda.next_time().min(limits);
        if task.is_preemptible() { horizon.min(self.asked_at(task.cpu)) } else { horizon }
    }

    pub(crate) fn spawn(&mut self, spec: TaskSpec) -> Result<TaskId, SpawnError> {
        let last = CpuId((self.cpus.len() - 1) as u16);
        if let Some(cpus) = &spec.cpus {
            if cpus.is_empty() {
                return Err(SpawnError::NoCpu { task: spec.name });
            }
            if let Some(cpu) = cpus.iter().find(|cpu| *cpu > last) {
                return Err(SpawnError::UnknownCpu { task: spec.name, cpu, last });
            }
        }
        let nth = self.names.entry(spec.name.as_str().into()).or_insert(0);
        let stream = streams::task_key(self.config.seed, &spec.name, *nth);
        *nth += 1;
        let id = TaskId::from_index(self.tasks.len());
        let parent_cpu = self.current.map_or(0, |task| self.task(task).cpu);
        let is_foreground = spec.kind == Kind::Foreground;
        self.foreground += usize::from(is_foreground);
        self.tasks.push(Task::new(spec, stream, parent_cpu, self.now));
        self.note(Event::Spawn, id);
        match self.config.start_jitter.filter(|_| is_foreground) {
            Some(jitter) => {
                self.task_mut(id).state = State::Blocked(Blocked::Sleep);
                let delay = streams::drawn(stream, "start", jitter.get().max(1));
                self.set_timer(id, after(self.now, Nanos::new(delay)));
            }
            None => self.make_runnable(id, Arrival::New),
        }
        Ok(id)
    }

    /// The running task, which starts an operation.
    pub(crate) fn begin(&self) -> TaskId {
        let task = self.current.expect("only a task of this executor can await its operations");
        assert!(!self.parked, "task {} awaits two operations at once", self.task(task).name);
        task
    }

    /// [`begin`](Self::begin) of an operation that may leave the CPU.
    pub(crate) fn begin_sleeping(&self) -> TaskId {
        let task = self.begin();
        let sleeper = self.task(task);
        assert!(sleeper.is_preemptible(), "task {} would sleep while it holds a spinning lock", sleeper.name);
        task
    }

    pub(crate) fn spend(&mut self, class: Class, time: Nanos) {
        let id = self.begin();
        if time == Nanos::ZERO && self.now < self.horizon() && self.count_event(self.now) <= EVENTS_PER_INSTANT {
            return;
        }
        self.settle(id);
        let task = self.task_mut(id);
        task.class = class;
        task.remaining = time;
        task.made_room = false;
        let cpu = task.cpu;
        self.parked = true;
        self.go_on(cpu);
    }

    pub(crate) fn sleep_until(&mut self, time: Nanos) {
        let task = self.begin_sleeping();
        self.set_timer(task, time.max(self.now));
        self.block(task, Blocked::Sleep);
    }

    pub(crate) fn join(&mut self, other: TaskId) {
        let task = self.begin_sleeping();
        if !self.task(other).has_ended() {
            self.task_mut(other).joiners.push(task);
            self.block(task, Blocked::Join(other));
        }
    }

    pub(crate) fn set_timer(&mut self, task: TaskId, time: Nanos) {
        let key = self.agenda.add_timer(time, Due::Timer(task));
        self.task_mut(task).timer = Some(key);
    }

    fn time_out(&mut self, task: TaskId) {
        self.task_mut(task).timer = None;
        if let State::Blocked(Blocked::Queue(queue)) = self.task(task).state {
            self.leave_queue(task, queue);
        }
        self.unblock(task);
    }

    /// Takes the running task off its CPU until [`unblock`](Self::unblock).
    pub(crate) fn block(&mut self, id: TaskId, blocked: Blocked) {
        self.settle(id);
        let task = self.task_mut(id);
        task.state = State::Blocked(blocked);
        task.made_room = false;
        let cpu = task.cpu;
        self.parked = true;
        self.note(Event::Block, id);
        self.leave(cpu);
        self.fill(cpu);
    }

    /// Makes a blocked task ready: what it waited for has come.
    pub(crate) fn unblock(&mut self, task: TaskId) {
        self.settle(task);
        if let Some(key) = self.task_mut(task).timer.take() {
            self.agenda.remove_timer(key);
        }
        self.task_mut(task).remaining = Nanos::ZERO;
        self.note(Event::Ready, task);
        let is_new = self.task(task).stats.dispatches == 0;
        self.make_runnable(task, if is_new { Arrival::New } else { Arrival::Woken });
    }

    /// Ends a task wherever it is. Its future, and so every guard it held, is gone already.
    pub(crate) fn finish(&mut self, id: TaskId, exit: Exit) {
        if self.task(id).has_ended() {
            return;
        }
        self.settle(id);
        let task = self.task_mut(id);
        let (state, cpu, timer, granted) = (task.state, task.cpu, task.timer.take(), task.granted.take());
        task.state = State::Ended(exit);
        task.stats.ended = Some(task.since);
        self.foreground -= usize::from(task.kind == Kind::Foreground);
        self.note(Event::End, id);
        if let Some(key) = timer {
            self.agenda.remove_timer(key);
        }
        match state {
            State::Ready => self.leave_run_queue(id),
            State::Running => self.vacate(cpu),
            State::Spinning(lock) => {
                self.vacate(cpu);
                self.leave_lock_queue(id, lock);
            }
            State::Blocked(Blocked::Lock(lock)) => self.leave_lock_queue(id, lock),
            State::Blocked(Blocked::Queue(queue)) => self.leave_queue(id, queue),
            State::Blocked(Blocked::Join(other)) => self.task_mut(other).joiners.retain(|joiner| *joiner != id),
            State::Blocked(Blocked::Sleep) | State::Ended(_) => {}
        }
        if let Some(lock) = granted {
            self.unlock(lock, id);
        }
        // Only now: a task that waited for its own end has just left.
        for joiner in std::mem::take(&mut self.task_mut(id).joiners) {
            self.unblock(joiner);
        }
    }

    /// Gives up the CPU of a task that has ended.
    fn vacate(&mut self, cpu: usize) {
        self.agenda.remove_segment(cpu);
        self.leave(cpu);
        self.fill(cpu);
    }

    /// Accounts for a task's time up to now.
    pub(crate) fn settle(&mut self, id: TaskId) {
        let now = self.now;
        let task = self.task_mut(id);
        let elapsed = now.saturating_sub(task.since);
        task.since = now;
        match task.state {
            State::Ready => task.stats.run_queue += elapsed,
            State::Running => {
                let switch = elapsed.min(task.switch_left);
                task.switch_left -= switch;
                task.stats.switching += switch;
                let spent = (elapsed - switch).min(task.remaining);
                task.remaining -= spent;
                let class = task.class;
                self.account(id, class, spent);
            }
            State::Spinning(_) => task.stats.spin += elapsed,
            State::Blocked(Blocked::Lock(_)) => task.stats.lock += elapsed,
            State::Blocked(Blocked::Sleep) => task.stats.sleep += elapsed,
            State::Blocked(Blocked::Queue(_) | Blocked::Join(_)) => task.stats.wait += elapsed,
            State::Ended(_) => {}
        }
    }

    /// Accounts for what the running task spent without going through the agenda.
    pub(crate) fn account_ahead(&mut self, task: TaskId, class: Class, spent: Nanos) {
        if spent > Nanos::ZERO {
            self.account(task, class, spent);
            self.task_mut(task).made_room = false;
        }
    }

    pub(crate) fn account(&mut self, task: TaskId, class: Class, spent: Nanos) {
        let stats = &mut self.task_mut(task).stats;
        match class {
            Class::User => stats.user += spent,
            Class::System => stats.system += spent,
        }
    }
}
