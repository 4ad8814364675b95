//! CPU time shared out on one CPU: where tasks stand in virtual time, whose turn it is, and when the one that runs has to
//! make room.

use order9_mm::policy::{Preempt, Scheduler};
use order9_units::Nanos;
use order9_workloads::streams;

use crate::time::fair::{Average, Entity, Rules, unscaled};
use crate::time::task::TaskId;
use crate::time::timer::{NEVER, after};
use crate::time::world::World;

/// Why a task comes to a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// The task has never run.
    New,
    /// The wait of the task is over.
    Woken,
    /// The task could run before, and had to make room or goes to another CPU.
    Moved,
}

/// The whole periods that cover `time`.
fn periods(time: Nanos, period: Nanos) -> Nanos {
    time.get().checked_next_multiple_of(period.get()).map_or(NEVER, Nanos::new)
}

impl World {
    fn rules(&self) -> Rules {
        Rules { scheduler: self.config.scheduler, slice: self.config.slice, tick: self.config.tick }
    }

    fn entity(&self, task: TaskId) -> &Entity {
        &self.task(task).entity
    }

    /// Time at which the timer interrupt finds what is so from `time` on: that time itself, on a machine without one.
    fn seen_at(&self, time: Nanos) -> Nanos {
        self.config.tick.map_or(time, |tick| periods(time, tick))
    }

    /// The tasks of a CPU: those that wait, and then the one that runs.
    fn of_cpu(&self, cpu: usize) -> impl Iterator<Item = TaskId> + '_ {
        self.cpus[cpu].queue.iter().copied().chain(self.cpus[cpu].current)
    }

    /// Average of the tasks of a CPU: where they stand in virtual time, and their weight together.
    pub(crate) fn average(&self, cpu: usize) -> Average {
        let nobody = Average::of_nobody(self.cpus[cpu].min_vruntime);
        self.of_cpu(cpu).fold(nobody, |average, task| average.with(self.entity(task)))
    }

    /// Brings the virtual time of the task on a CPU up to now.
    pub(crate) fn charge(&mut self, cpu: usize) {
        self.renew_alone(cpu);
        let now = self.now;
        let at = &mut self.cpus[cpu];
        let Some(task) = at.current else { return };
        let ran = now.saturating_sub(at.charged);
        at.charged = at.charged.max(now);
        let entity = &mut self.tasks[task.index()].entity;
        entity.vruntime += entity.scaled(ran);
        self.advance_virtual(cpu);
    }

    /// Lets the virtual time of a CPU follow its tasks.
    fn advance_virtual(&mut self, cpu: usize) {
        let least = self.of_cpu(cpu).map(|task| self.entity(task).vruntime).min();
        let at = &mut self.cpus[cpu].min_vruntime;
        *at = (*at).max(least.unwrap_or(*at));
    }

    /// Gives a task its place in the virtual time of the CPU that it comes to.
    pub(crate) fn attach(&mut self, cpu: usize, task: TaskId, arrival: Arrival) {
        let from = self.task(task).cpu;
        self.charge(from);
        self.charge(cpu);
        if self.cpus[cpu].queue.is_empty() {
            self.renew(cpu);
        }
        if arrival == Arrival::Moved && from == cpu {
            return;
        }
        let rules = self.rules();
        let entity = match rules.scheduler {
            Scheduler::Cfs => self.attached_by_credit(cpu, from, *self.entity(task), arrival),
            Scheduler::Eevdf | Scheduler::EevdfDelayed => self.attached_by_lag(cpu, from, *self.entity(task), arrival),
        };
        self.task_mut(task).entity = entity;
    }

    /// CFS: a sleeper has a credit, a new task begins with a slice of debt.
    fn attached_by_credit(&self, cpu: usize, from: usize, entity: Entity, arrival: Arrival) -> Entity {
        let (rules, at) = (self.rules(), &self.cpus[cpu]);
        let moved = entity.vruntime + at.min_vruntime - self.cpus[from].min_vruntime;
        let vruntime = match arrival {
            Arrival::Moved => moved,
            Arrival::Woken => moved.max(at.min_vruntime - rules.credit()),
            Arrival::New => {
                let tasks = self.of_cpu(cpu).count() as u64 + 1;
                let debt = rules.share(&entity, tasks, self.average(cpu).weight + entity.weight);
                let parents = at.current.map_or(at.min_vruntime, |task| self.entity(task).vruntime);
                parents.max(at.min_vruntime + entity.scaled(debt))
            }
        };
        Entity { vruntime, ..entity }
    }

    /// EEVDF: a task is as far behind the average as it was when it left. Its own weight moves the average, for which the
    /// lag is stretched. A new task has half a slice at first.
    fn attached_by_lag(&self, cpu: usize, from: usize, entity: Entity, arrival: Arrival) -> Entity {
        let (rules, average) = (self.rules(), self.average(cpu));
        let works_off = rules.scheduler == Scheduler::EevdfDelayed && arrival == Arrival::Woken && entity.lag < 0;
        let lag = match arrival {
            Arrival::New => 0,
            // It has stayed where it was, and others have caught up.
            Arrival::Woken if works_off => (self.average(from).value() - entity.vruntime).clamp(entity.lag, 0),
            Arrival::Woken | Arrival::Moved => entity.lag,
        };
        let (others, all) = (i128::from(average.weight), i128::from(average.weight + entity.weight));
        let stretched = if others == 0 { 0 } else { (lag * all).div_euclid(others) };
        let vruntime = average.value() - stretched;
        let slice = entity.scaled(rules.slice);
        let deadline = vruntime + if arrival == Arrival::New { slice / 2 } else { slice };
        Entity { vruntime, deadline, ..entity }
    }

    /// Notes where a task stands that leaves its CPU, of which it is still one.
    pub(crate) fn detach(&mut self, cpu: usize, task: TaskId) {
        let entity = self.entity(task);
        let most = self.rules().lag_max(entity);
        let lag = (self.average(cpu).value() - entity.vruntime).clamp(-most, most);
        self.task_mut(task).entity.lag = lag;
    }

    /// EEVDF: begins the slice anew where it is used up.
    fn renew(&mut self, cpu: usize) {
        let Some(task) = self.cpus[cpu].current else { return };
        let slice = self.config.slice;
        let entity = &mut self.task_mut(task).entity;
        if entity.vruntime >= entity.deadline {
            entity.deadline = entity.vruntime + entity.scaled(slice);
        }
    }

    /// EEVDF: begins the slice anew, each time that it was used up while nobody else wanted the CPU.
    fn renew_alone(&mut self, cpu: usize) {
        let at = &self.cpus[cpu];
        let Some(task) = at.current.filter(|_| at.queue.is_empty() && self.config.scheduler != Scheduler::Cfs) else {
            return;
        };
        let (entity, rules) = (*self.entity(task), self.rules());
        let used_up = self.seen_at(after(at.charged, entity.time_for(entity.deadline - entity.vruntime)));
        if used_up > self.now {
            return;
        }
        let period = rules.tick.map_or(rules.slice, |tick| periods(rules.slice, tick));
        let last = self.now.get() - (self.now - used_up).get() % period.get();
        let ran = entity.scaled(Nanos::new(last).saturating_sub(at.charged));
        self.task_mut(task).entity.deadline = entity.vruntime + ran + entity.scaled(rules.slice);
    }

    /// Begins the slice of a task that gets a CPU now. Of the first one a part is over already, where chance says so.
    pub(crate) fn begin_slice(&mut self, cpu: usize, id: TaskId) {
        let task = self.task(id);
        if self.config.start_jitter.is_some() && task.stats.dispatches == 1 {
            let over = Nanos::new(streams::drawn(task.stream, "first slice", self.config.slice.get()));
            let span = task.entity.scaled(over);
            self.task_mut(id).entity.deadline -= span;
            self.cpus[cpu].slice_start = self.cpus[cpu].slice_start.saturating_sub(over);
        }
        self.cpus[cpu].protected = self.task(id).entity.deadline;
        self.set_slice_end(cpu);
    }

    /// Finds the time at which the slice of a CPU's task is used up, now that other tasks wait than before.
    pub(crate) fn set_slice_end(&mut self, cpu: usize) {
        let at = &self.cpus[cpu];
        let Some(task) = at.current.filter(|_| !at.queue.is_empty()) else { return };
        let entity = self.entity(task);
        let used_up = match self.config.scheduler {
            Scheduler::Cfs => self.share_end(cpu, entity),
            Scheduler::Eevdf | Scheduler::EevdfDelayed => {
                after(at.charged, entity.time_for(entity.deadline - entity.vruntime))
            }
        };
        self.cpus[cpu].slice_end = self.seen_at(used_up.max(self.now));
    }

    /// CFS: when the task has run for its share, or is ahead by one and has run for the shortest slice.
    fn share_end(&self, cpu: usize, entity: &Entity) -> Nanos {
        let (at, rules) = (&self.cpus[cpu], self.rules());
        let share = rules.share(entity, at.queue.len() as u64 + 1, self.average(cpu).weight);
        let first = at.queue.iter().map(|task| self.entity(*task).vruntime).min().expect("somebody waits");
        let ahead = after(at.charged, entity.time_for(first + unscaled(share) - entity.vruntime));
        after(at.slice_start, share).min(ahead.max(after(at.slice_start, rules.slice)))
    }

    /// Whether `woken`, which has come to a CPU's queue, preempts its task at once.
    pub(crate) fn is_preempted_by(&self, cpu: usize, woken: TaskId) -> bool {
        let Some(task) = self.cpus[cpu].current else { return false };
        let (running, entity) = (self.entity(task), self.entity(woken));
        match self.config.scheduler {
            Scheduler::Cfs => running.vruntime - entity.vruntime > self.rules().wakeup_granularity(entity),
            Scheduler::Eevdf | Scheduler::EevdfDelayed => {
                let average = self.average(cpu);
                let is_protected = running.vruntime < self.cpus[cpu].protected && average.admits(running.vruntime);
                let is_over = running.vruntime >= running.deadline;
                is_over || !is_protected && self.best(self.of_cpu(cpu), average) == Some(woken)
            }
        }
    }

    /// The task whose turn it is on a CPU, the one that runs included; its next slice begins where the last one is used up.
    pub(crate) fn turn(&mut self, cpu: usize) -> TaskId {
        self.charge(cpu);
        let task = self.cpus[cpu].current.expect("only a busy CPU changes its task");
        self.renew(cpu);
        self.best(self.of_cpu(cpu), self.average(cpu)).unwrap_or(task)
    }

    /// The task of a CPU's queue whose turn it is.
    pub(crate) fn first(&self, cpu: usize) -> Option<TaskId> {
        self.best(self.cpus[cpu].queue.iter().copied(), self.average(cpu))
    }

    /// CFS: who has had least. EEVDF: the earliest deadline among those that have not had more than their share. The first of
    /// several.
    fn best(&self, tasks: impl Iterator<Item = TaskId>, average: Average) -> Option<TaskId> {
        match self.config.scheduler {
            Scheduler::Cfs => tasks.min_by_key(|task| self.entity(*task).vruntime),
            Scheduler::Eevdf | Scheduler::EevdfDelayed => tasks.min_by_key(|task| {
                let entity = self.entity(*task);
                (!average.admits(entity.vruntime), entity.deadline)
            }),
        }
    }

    /// Time from which the task of a CPU has been asked to make room; [`NEVER`] where nobody waits.
    pub(crate) fn asked_at(&self, cpu: usize) -> Nanos {
        let at = &self.cpus[cpu];
        if at.queue.is_empty() { NEVER } else { at.slice_end.min(at.resched.unwrap_or(NEVER)) }
    }

    /// Time at which the task of a CPU makes room, in the kernel or in its program; [`NEVER`] where nobody waits.
    pub(crate) fn resched_at(&self, cpu: usize, is_in_kernel: bool) -> Nanos {
        let asked = self.asked_at(cpu);
        match self.config.tick {
            Some(tick) if self.config.preempt == Preempt::Lazy && is_in_kernel && asked < NEVER => {
                periods(after(asked, Nanos::new(1)), tick)
            }
            _ => asked,
        }
    }
}
