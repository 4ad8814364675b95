//! Virtual time of every task, moved on whenever the clock is, and the rules that go by it.

use order9_machine::time::Class;
use order9_mm::policy::{Preempt, Scheduler};

use super::Naive;

/// Virtual time in a nanosecond of a task with the weight 1.
const UNIT: i128 = 1 << 30;

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Arrival {
    New,
    Woken,
    Moved,
}

#[derive(Clone, Copy)]
pub(super) struct Share {
    pub(super) weight: i128,
    at: i128,
    pub(super) deadline: i128,
    lag: i128,
}

impl Share {
    pub(super) fn new(nice: i8) -> Self {
        let weight = (1024.0 / 1.25_f64.powi(nice.into())).round() as i128;
        Self { weight, at: 0, deadline: 0, lag: 0 }
    }

    fn speed(&self) -> i128 {
        UNIT / self.weight
    }
}

impl Naive<'_> {
    fn is_cfs(&self) -> bool {
        self.program.scheduler == Scheduler::Cfs
    }

    fn seen(&self, time: u64) -> u64 {
        self.program.tick.map_or(time, |tick| time.next_multiple_of(tick))
    }

    pub(super) fn members(&self, cpu: usize) -> Vec<usize> {
        self.cpus[cpu].queue.iter().copied().chain(self.cpus[cpu].current).collect()
    }

    /// Virtual times of who runs grow.
    pub(super) fn move_virtual(&mut self, to: u64) {
        for cpu in 0..self.cpus.len() {
            self.keep_least(cpu);
            if let Some(task) = self.cpus[cpu].current {
                let from = self.now.max(self.tasks[task].switch_until);
                let share = &mut self.tasks[task].share;
                share.at += i128::from(to.saturating_sub(from)) * share.speed();
                self.keep_least(cpu);
            }
        }
    }

    pub(super) fn keep_least(&mut self, cpu: usize) {
        let least = self.members(cpu).iter().map(|task| self.tasks[*task].share.at).min();
        if self.cpus[cpu].current.is_some() {
            self.cpus[cpu].least_virtual = self.cpus[cpu].least_virtual.max(least.unwrap_or(i128::MIN));
        }
    }

    /// When the running task's virtual time was, or will be, `at`.
    fn time_of(&self, task: usize, at: i128) -> u64 {
        let now = self.now.max(self.tasks[task].switch_until);
        let share = &self.tasks[task].share;
        let speed = share.speed();
        (i128::from(now) + (at - share.at).div_euclid(speed) + i128::from((at - share.at).rem_euclid(speed) > 0)).max(0)
            as u64
    }

    /// A slice that was used up while nobody waited begins anew.
    pub(super) fn renew(&mut self, cpu: usize) {
        let Some(task) = self.cpus[cpu].current else { return };
        while !self.is_cfs() && self.cpus[cpu].queue.is_empty() {
            let share = self.tasks[task].share;
            let reached = self.time_of(task, share.deadline).max(self.cpus[cpu].alone_since);
            let seen = self.seen(reached);
            if seen > self.now {
                return;
            }
            let back = i128::from(self.now - seen) * share.speed();
            self.tasks[task].share.deadline = share.at - back + i128::from(self.program.slice) * share.speed();
        }
    }

    pub(super) fn weight(&self, cpu: usize) -> i128 {
        self.members(cpu).iter().map(|task| self.tasks[*task].share.weight).sum()
    }

    fn average(&self, cpu: usize) -> i128 {
        let weight = self.weight(cpu);
        let of = |task: &usize| self.tasks[*task].share.at * self.tasks[*task].share.weight;
        let sum: i128 = self.members(cpu).iter().map(of).sum();
        if weight == 0 { self.cpus[cpu].least_virtual } else { sum.div_euclid(weight) }
    }

    fn is_eligible(&self, cpu: usize, task: usize) -> bool {
        self.tasks[task].share.at <= self.average(cpu)
    }

    pub(super) fn note_lag(&mut self, cpu: usize, task: usize) {
        let share = self.tasks[task].share;
        let most = i128::from((2 * self.program.slice).max(self.program.tick.unwrap_or(0))) * share.speed();
        self.tasks[task].share.lag = (self.average(cpu) - share.at).clamp(-most, most);
    }

    /// A task comes to a CPU.
    pub(super) fn place(&mut self, task: usize, cpu: usize, arrival: Arrival) {
        let arrival = match arrival {
            Arrival::Woken if self.tasks[task].stats.dispatches == 0 => Arrival::New,
            arrival => arrival,
        };
        let from = self.tasks[task].cpu;
        for cpu in [from, cpu] {
            self.renew(cpu);
            self.keep_least(cpu);
        }
        if let Some(running) = self.cpus[cpu].current.filter(|_| self.cpus[cpu].queue.is_empty()) {
            self.begin_anew(running);
        }
        if arrival == Arrival::Moved && from == cpu {
            return;
        }
        let (share, slice) = (self.tasks[task].share, i128::from(self.program.slice));
        let least = self.cpus[cpu].least_virtual;
        if self.is_cfs() {
            let moved = share.at - self.cpus[from].least_virtual + least;
            self.tasks[task].share.at = match arrival {
                Arrival::Moved => moved,
                Arrival::Woken => moved.max(least - 4 * slice * (UNIT >> 10)),
                Arrival::New => {
                    let count = self.members(cpu).len() as i128 + 1;
                    let debt = (slice * count.max(8) * share.weight / (self.weight(cpu) + share.weight)).max(1);
                    let parent = self.cpus[cpu].current.map_or(least, |task| self.tasks[task].share.at);
                    parent.max(least + debt * share.speed())
                }
            };
            return;
        }
        let delayed = self.program.scheduler == Scheduler::EevdfDelayed;
        let lag = match arrival {
            Arrival::New => 0,
            Arrival::Woken if delayed && share.lag < 0 => (self.average(from) - share.at).clamp(share.lag, 0),
            _ => share.lag,
        };
        let others = self.weight(cpu);
        let lag = if others == 0 { 0 } else { (lag * (others + share.weight)).div_euclid(others) };
        let at = self.average(cpu) - lag;
        let request = slice * share.speed() / if arrival == Arrival::New { 2 } else { 1 };
        self.tasks[task].share = Share { at, deadline: at + request, ..share };
    }

    pub(super) fn set_slice_end(&mut self, cpu: usize) {
        let Some(task) = self.cpus[cpu].current else { return };
        if self.cpus[cpu].queue.is_empty() {
            return;
        }
        let share = self.tasks[task].share;
        let slice = self.program.slice;
        let used_up = if self.is_cfs() {
            let count = self.cpus[cpu].queue.len() as i128 + 1;
            let part = (i128::from(slice) * count.max(8) * share.weight / self.weight(cpu)).max(1);
            let first = self.cpus[cpu].queue.iter().map(|task| self.tasks[*task].share.at).min().expect("one waits");
            let start = self.cpus[cpu].slice_start;
            let ahead =
                self.time_of(task, first + part * (UNIT >> 10)).max(self.now.max(self.tasks[task].switch_until));
            (start + part as u64).min(ahead.max(start + slice))
        } else {
            self.time_of(task, share.deadline).max(self.now.max(self.tasks[task].switch_until))
        };
        self.cpus[cpu].slice_end = self.seen(used_up.max(self.now));
    }

    /// Whether `woken` preempts the task of a CPU.
    pub(super) fn wins(&self, cpu: usize, woken: usize) -> bool {
        let task = self.cpus[cpu].current.expect("it is busy");
        let (running, waking) = (self.tasks[task].share, self.tasks[woken].share);
        if self.is_cfs() {
            return running.at - waking.at > i128::from(self.program.slice) * waking.speed() * 4 / 3;
        }
        let used_up = running.at >= running.deadline;
        let protected = running.at < self.cpus[cpu].protected && self.is_eligible(cpu, task);
        used_up || !protected && self.best(cpu, &self.members(cpu)) == Some(woken)
    }

    /// The task whose turn it is, the one that runs among them.
    pub(super) fn turn(&mut self, cpu: usize) -> usize {
        let task = self.cpus[cpu].current.expect("it is busy");
        self.begin_anew(task);
        self.best(cpu, &self.members(cpu)).expect("it is busy")
    }

    fn begin_anew(&mut self, task: usize) {
        let slice = i128::from(self.program.slice);
        let share = &mut self.tasks[task].share;
        if share.at >= share.deadline {
            share.deadline = share.at + slice * share.speed();
        }
    }

    pub(super) fn first(&self, cpu: usize) -> Option<usize> {
        self.best(cpu, &self.cpus[cpu].queue)
    }

    fn best(&self, cpu: usize, among: &[usize]) -> Option<usize> {
        let eligible = among.iter().copied().filter(|task| self.is_cfs() || self.is_eligible(cpu, *task));
        let key = |task: usize| if self.is_cfs() { self.tasks[task].share.at } else { self.tasks[task].share.deadline };
        eligible.min_by_key(|task| key(*task)).or_else(|| among.iter().copied().min_by_key(|task| key(*task)))
    }

    /// When the task of a CPU makes room, as things stand.
    pub(super) fn makes_room_at(&self, cpu: usize) -> u64 {
        let at = &self.cpus[cpu];
        if at.queue.is_empty() {
            return u64::MAX;
        }
        let asked = at.slice_end.min(at.resched.unwrap_or(u64::MAX));
        let task = &self.tasks[at.current.expect("it is busy")];
        let in_kernel = task.code.daemon || task.class == Class::System && task.end > self.now.max(task.switch_until);
        match self.program.tick {
            Some(tick) if self.program.preempt == Preempt::Lazy && in_kernel => (asked + 1).next_multiple_of(tick),
            _ => asked,
        }
    }
}
