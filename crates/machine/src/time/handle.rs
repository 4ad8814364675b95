//! The handle of tasks and set-up code: spend, sleep, wait, lock, spawn.
//!
//! A task awaits one operation at a time. Awaiting two at once (`join!`, `select!`), or something that is not of this
//! executor, is a mistake in the program and panics with the name of the task.

use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

use order9_units::{Nanos, NodeId};
use order9_workloads::streams::{self, Stream};

use crate::time::alarm::AlarmId;
use crate::time::cpu::{CpuId, CpuSet, NoSuchCpu};
use crate::time::executor::Shared;
use crate::time::lock::{Guard, LockId, LockKind, Mode};
use crate::time::queue::{QueueId, Wake};
use crate::time::stats::{CpuStats, LockStats, TaskStats};
use crate::time::switches::Switch;
use crate::time::task::{Class, Exit, SpawnError, State, TaskId, TaskSpec};
use crate::time::timer::after;

/// Access to an executor; a clone is one more reference to the same. Ids belong to the executor that made them.
#[derive(Clone, Debug)]
pub struct Handle(Rc<Shared>);

/// Operations of the running task.
impl Handle {
    /// Uses the CPU for `time`. Others may run meanwhile, on other CPUs or, when the slice ends, on this one.
    #[inline]
    pub async fn spend(&self, class: Class, time: Nanos) {
        if !self.0.run_ahead(class, time) {
            self.0.with(|world| world.spend(class, time));
            self.parked().await;
        }
    }

    /// Uses the CPU for `time` if nobody else could act before it is over, and says whether so: `spend` without the wait.
    #[inline]
    #[must_use]
    pub fn try_spend(&self, class: Class, time: Nanos) -> bool {
        self.0.run_ahead(class, time)
    }

    /// Leaves the CPU for `time`, and then needs one again.
    pub async fn sleep(&self, time: Nanos) {
        self.sleep_until(after(self.now(), time)).await;
    }

    /// Leaves the CPU until `time`; where that has passed, until all else that is due now has happened.
    pub async fn sleep_until(&self, time: Nanos) {
        self.0.with(|world| world.sleep_until(time));
        self.parked().await;
    }

    /// Lets all that is due now happen, and tasks that wait for this CPU run, first.
    pub async fn yield_now(&self) {
        self.0.with(|world| world.yield_now());
        self.parked().await;
    }

    /// Lets a task that waits for any CPU run on this one first, if there is one that may: what a task does that shall
    /// have only time that nobody else wants. It goes to the end of a run queue, so that it comes to its turn.
    pub async fn make_way(&self) {
        if self.0.with(|world| world.make_way()) {
            self.parked().await;
        }
    }

    /// Binds the running task to those of `cpus` that the machine has (`sched_setaffinity`). A task on another CPU leaves that
    /// at once, and goes on when it gets one of these.
    ///
    /// # Errors
    ///
    /// Where the machine has none of them; the task may run where it might before.
    pub async fn set_affinity(&self, cpus: &CpuSet) -> Result<(), NoSuchCpu> {
        self.0.with(|world| world.set_affinity(cpus))?;
        self.parked().await;
        Ok(())
    }

    /// Moves the running task to an idle CPU of `node`, if there is one that it may run on and it is elsewhere; says whether it
    /// has moved.
    pub async fn move_to_idle(&self, node: NodeId) -> bool {
        let moves = self.0.with(|world| world.move_to_idle(node));
        if moves {
            self.parked().await;
        }
        moves
    }

    /// Whether new tasks go to the node of the one that spawns them, as long as a CPU of it has nothing to do, rather than to
    /// the node with the fewest tasks.
    pub fn set_packed(&self, packed: bool) {
        self.0.with(|world| world.packed = packed);
    }

    /// CPUs that the running task is bound to (`sched_getaffinity`); `None` where it may run on every one, and in set-up code
    /// and alarms.
    #[must_use]
    pub fn affinity(&self) -> Option<CpuSet> {
        self.0.with(|world| world.current.and_then(|task| world.task(task).cpus.clone()))
    }

    /// Waits in `queue` until woken, but no longer than `timeout`.
    pub async fn wait(&self, queue: QueueId, timeout: Option<Nanos>) -> Wake {
        let task = self.0.with(|world| world.wait(queue, timeout));
        self.parked().await;
        self.0.with(|world| world.task(task).wake)
    }

    /// Waits for the end of `task`. Waiting for oneself is a stall.
    pub async fn join(&self, task: TaskId) -> Exit {
        self.0.with(|world| world.join(task));
        self.parked().await;
        self.0.with(|world| match world.task(task).state {
            State::Ended(exit) => exit,
            state => unreachable!("a joined task has ended, not {state:?}"),
        })
    }

    /// Takes `lock`, after all who asked for it before. Taking a lock that one holds already is a stall, unless both
    /// are shared and nobody waits in between.
    pub async fn lock(&self, lock: LockId, mode: Mode) -> Guard {
        let task = self.0.with(|world| world.lock(lock, mode));
        self.parked().await;
        Guard::new(self.clone(), lock, task)
    }

    /// Takes `lock` where it is free and nobody waits for it. Never waits, so it may be used under spinning locks.
    #[must_use]
    pub fn try_lock(&self, lock: LockId, mode: Mode) -> Option<Guard> {
        let task = self.0.with(|world| world.try_lock(lock, mode))?;
        Some(Guard::new(self.clone(), lock, task))
    }

    /// Whether the slice of the running task is over while others wait for its CPU, or was so during the last `spend`: the
    /// CPU changes hands within one, and nobody else could tell. False in set-up code and alarms.
    #[must_use]
    pub fn need_resched(&self) -> bool {
        self.0.with(|world| world.need_resched())
    }

    /// Whether a task other than the running one holds `lock`, in either mode, or waits for it.
    #[inline]
    #[must_use]
    pub fn is_busy(&self, lock: LockId) -> bool {
        self.0.look(|world| world.lock_ref(lock).is_busy_for(world.current))
    }

    /// The task whose code runs; `None` in set-up code and alarms.
    #[must_use]
    pub fn current(&self) -> Option<TaskId> {
        self.0.running().map(|(task, _)| task)
    }

    /// The CPU on which the running task is; `None` in set-up code and alarms.
    #[must_use]
    pub fn cpu(&self) -> Option<CpuId> {
        self.0.running().map(|(_, cpu)| cpu)
    }

    /// Waits until the operation under way is done. The executor polls a task only then.
    async fn parked(&self) {
        poll_fn(|_| if self.0.is_parked() { Poll::Pending } else { Poll::Ready(()) }).await;
    }
}

/// Operations on tasks, queues, locks and alarms.
impl Handle {
    /// The time since the start of the run.
    #[must_use]
    pub fn now(&self) -> Nanos {
        self.0.now()
    }

    /// Switches of CPUs since the last call, in order, and how many of them were lost.
    pub(crate) fn take_switches(&self) -> (Vec<Switch>, u64) {
        self.0.with(|world| world.take_switches())
    }

    /// Starts a task: it is ready now, and runs when it gets a CPU. This is the only allocation for its code.
    ///
    /// # Errors
    ///
    /// Where its CPU set is empty or names a CPU that the machine does not have.
    pub fn spawn(&self, spec: TaskSpec, task: impl Future<Output = ()> + 'static) -> Result<TaskId, SpawnError> {
        let (id, closed) = self.0.with(|world| world.spawn(spec).map(|id| (id, world.closed)))?;
        if closed {
            self.0.with(|world| world.finish(id, Exit::Cancelled));
        } else {
            self.0.keep(id, Box::pin(task));
        }
        Ok(id)
    }

    /// Ends `task` where it is: it lets go of its locks and leaves every queue. Says whether there was something to
    /// end: not where it has ended, and not for the running task, which can simply return.
    pub fn cancel(&self, task: TaskId) -> bool {
        let can = self.0.with(|world| !world.closed && !world.task(task).has_ended() && world.current != Some(task));
        if can {
            self.0.cancel(task);
        }
        can
    }

    /// Wakes the task that has waited longest in `queue`, and says whether there was one.
    pub fn wake_one(&self, queue: QueueId) -> bool {
        self.0.with(|world| world.wake(queue, 1)) == 1
    }

    /// Wakes all tasks in `queue`, and says how many there were.
    pub fn wake_all(&self, queue: QueueId) -> usize {
        self.0.with(|world| world.wake(queue, usize::MAX))
    }

    /// A new lock. The name appears in reports and need not be unique.
    #[must_use]
    pub fn new_lock(&self, name: &str, kind: LockKind) -> LockId {
        self.0.with(|world| world.new_lock(name, kind))
    }

    /// A new wait queue. The name appears in reports and need not be unique.
    #[must_use]
    pub fn new_queue(&self, name: &str) -> QueueId {
        self.0.with(|world| world.new_queue(name))
    }

    /// A new alarm, not set. `handler` runs whenever it goes off: between tasks, on no CPU, without awaiting anything.
    /// It may wake, spawn and cancel tasks, and set alarms, this one included. The name appears in reports.
    #[must_use]
    pub fn new_alarm(&self, name: &str, handler: impl Fn() + 'static) -> AlarmId {
        let alarm = self.0.with(|world| world.new_alarm(name));
        self.0.keep_handler(alarm, Rc::new(handler));
        alarm
    }

    /// Lets `alarm` go off once, at `time`, or at once where that has passed; `None` is never. What it was set to
    /// before is forgotten. An alarm keeps no run alive.
    pub fn set_alarm(&self, alarm: AlarmId, time: Option<Nanos>) {
        self.0.with(|world| world.set_alarm(alarm, time));
    }

    /// The random stream called `name` of the running task, or in set-up code of the run, from its beginning: asked for
    /// again, it gives the same numbers again.
    #[must_use]
    pub fn stream(&self, name: &str) -> Stream {
        let key = self.0.with(|world| world.current.map_or(world.config.seed, |task| world.task(task).stream));
        streams::stream(key, name)
    }

    /// The node of each CPU.
    #[must_use]
    pub fn cpus(&self) -> Vec<NodeId> {
        self.0.with(|world| world.config.cpus.clone())
    }

    /// The CPUs of `node`; none where it has no CPU.
    #[must_use]
    pub fn cpus_of(&self, node: NodeId) -> CpuSet {
        let cpus = self.cpus().into_iter().enumerate();
        cpus.filter(|(_, of)| *of == node).map(|(cpu, _)| CpuId(cpu as u16)).collect()
    }
}

/// State and statistics of a run.
impl Handle {
    /// All tasks there ever were, in the order of spawning.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> + use<> {
        (0..self.0.with(|world| world.tasks.len())).map(TaskId::from_index)
    }

    /// The name of a task.
    #[must_use]
    pub fn task_name(&self, task: TaskId) -> Rc<str> {
        self.0.with(|world| world.task(task).name.clone())
    }

    /// The task's time by state, up to now.
    #[must_use]
    pub fn task_stats(&self, task: TaskId) -> TaskStats {
        self.0.with(|world| {
            world.settle(task);
            world.task(task).stats
        })
    }

    /// The CPU's time by state, up to now; `None` where the machine does not have the CPU.
    #[must_use]
    pub fn cpu_stats(&self, cpu: CpuId) -> Option<CpuStats> {
        self.0.with(|world| world.cpus.get(cpu.index()).map(|cpu| cpu.stats(world.now)))
    }

    /// All locks there ever were, in the order of making.
    pub fn locks(&self) -> impl Iterator<Item = LockId> + use<> {
        (0..self.0.with(|world| world.locks.len())).map(LockId::from_index)
    }

    /// The name of a lock.
    #[must_use]
    pub fn lock_name(&self, lock: LockId) -> Rc<str> {
        self.0.with(|world| world.lock_ref(lock).name.clone())
    }

    /// The history of a lock.
    #[must_use]
    pub fn lock_stats(&self, lock: LockId) -> LockStats {
        self.0.with(|world| world.lock_ref(lock).stats)
    }

    /// A hash of everything the scheduler did: who was spawned, got and left a CPU, was given a lock, became ready and
    /// ended, when and in which order. Two runs with the same inputs have the same.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.0.with(|world| world.digest)
    }
}

impl Handle {
    pub(crate) fn new(shared: Shared) -> Self {
        Self(Rc::new(shared))
    }

    pub(crate) fn shared(&self) -> &Shared {
        &self.0
    }

    pub(crate) fn downgrade(&self, lock: LockId, task: TaskId) {
        self.0.with(|world| world.downgrade(lock, task));
    }

    pub(crate) fn unlock(&self, lock: LockId, task: TaskId) {
        self.0.with(|world| world.unlock(lock, task));
    }
}
