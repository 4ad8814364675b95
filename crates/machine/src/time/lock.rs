//! Locks as resources in virtual time: contention shows as waiting.
//!
//! Strictly first come, first served, and handed over: a lock that is let go belongs at once to whoever waited longest,
//! or to all readers at the head of the queue. (The kernel's locks let a running task overtake a sleeping one now and
//! then; queued spinlocks do not.) Waiters of a spinning lock stay on their CPU and burn it, as for `zone->lock`; those
//! of a sleeping lock leave it, as for `mmap_lock`, and need a CPU again after the hand-over.

use std::collections::VecDeque;
use std::rc::Rc;

use order9_units::Nanos;

use crate::time::handle::Handle;
use crate::time::stats::LockStats;
use crate::time::task::{Blocked, State, TaskId};
use crate::time::world::{Event, World};

/// A lock of one executor; it lives as long as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockId(u32);

impl LockId {
    pub(crate) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a run has fewer than 4 billion locks"))
    }
}

/// Behaviour of tasks that wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Burn their CPU. Who holds such a lock is not preempted and may not sleep.
    Spinning,
    /// Leave their CPU to others.
    Sleeping,
}

/// Mode in which a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Held by one task alone.
    Exclusive,
    /// Others in the same mode.
    Shared,
}

#[derive(Debug)]
pub(crate) struct Holder {
    pub(crate) task: TaskId,
    mode: Mode,
    since: Nanos,
}

#[derive(Debug)]
pub(crate) struct Waiter {
    pub(crate) task: TaskId,
    pub(crate) mode: Mode,
    since: Nanos,
}

#[derive(Debug)]
pub(crate) struct Lock {
    pub(crate) name: Rc<str>,
    kind: LockKind,
    pub(crate) holders: Vec<Holder>,
    pub(crate) waiters: VecDeque<Waiter>,
    pub(crate) stats: LockStats,
}

impl Lock {
    /// Whether the present holders leave room for one more in `mode`.
    fn admits(&self, mode: Mode) -> bool {
        match mode {
            Mode::Exclusive => self.holders.is_empty(),
            Mode::Shared => self.holders.iter().all(|holder| holder.mode == Mode::Shared),
        }
    }

    fn is_free_for(&self, mode: Mode) -> bool {
        self.waiters.is_empty() && self.admits(mode)
    }

    /// Whether anybody but `task` holds it or waits for it.
    pub(crate) fn is_busy_for(&self, task: Option<TaskId>) -> bool {
        !self.waiters.is_empty() || self.holders.iter().any(|holder| Some(holder.task) != task)
    }

    fn hold(&mut self, task: TaskId, mode: Mode, now: Nanos) {
        self.stats.acquisitions += 1;
        self.holders.push(Holder { task, mode, since: now });
    }

    /// Whether `task` was a holder and now is no more.
    fn let_go(&mut self, task: TaskId, now: Nanos) -> bool {
        let Some(position) = self.holders.iter().position(|holder| holder.task == task) else { return false };
        let held = now - self.holders.remove(position).since;
        self.stats.hold += held;
        self.stats.hold_max = self.stats.hold_max.max(held);
        true
    }
}

impl World {
    pub(crate) fn new_lock(&mut self, name: &str, kind: LockKind) -> LockId {
        let (holders, waiters) = (Vec::new(), VecDeque::new());
        self.locks.push(Lock { name: name.into(), kind, holders, waiters, stats: LockStats::default() });
        LockId::from_index(self.locks.len() - 1)
    }

    pub(crate) fn lock_ref(&self, lock: LockId) -> &Lock {
        &self.locks[lock.0 as usize]
    }

    fn lock_mut(&mut self, lock: LockId) -> &mut Lock {
        &mut self.locks[lock.0 as usize]
    }

    pub(crate) fn lock(&mut self, id: LockId, mode: Mode) -> TaskId {
        let now = self.now;
        let kind = self.lock_ref(id).kind;
        let task = match kind {
            LockKind::Spinning => self.begin(),
            LockKind::Sleeping => self.begin_sleeping(),
        };
        if self.take_if_free(id, task, mode) {
            return task;
        }
        self.lock_mut(id).waiters.push_back(Waiter { task, mode, since: now });
        match kind {
            LockKind::Spinning => {
                self.settle(task);
                self.parked = true;
                let spinner = self.task_mut(task);
                spinner.spin_depth += 1;
                spinner.state = State::Spinning(id);
            }
            LockKind::Sleeping => self.block(task, Blocked::Lock(id)),
        }
        task
    }

    pub(crate) fn try_lock(&mut self, id: LockId, mode: Mode) -> Option<TaskId> {
        let task = self.begin();
        self.take_if_free(id, task, mode).then_some(task)
    }

    fn take_if_free(&mut self, id: LockId, task: TaskId, mode: Mode) -> bool {
        let now = self.now;
        let lock = self.lock_mut(id);
        if !lock.is_free_for(mode) {
            return false;
        }
        lock.hold(task, mode, now);
        if lock.kind == LockKind::Spinning {
            self.task_mut(task).spin_depth += 1;
        }
        true
    }

    /// Lets others share what `task` holds alone.
    pub(crate) fn downgrade(&mut self, id: LockId, task: TaskId) {
        for holder in self.lock_mut(id).holders.iter_mut().filter(|holder| holder.task == task) {
            holder.mode = Mode::Shared;
        }
        self.hand_over(id);
    }

    pub(crate) fn unlock(&mut self, id: LockId, task: TaskId) {
        let now = self.now;
        let lock = self.lock_mut(id);
        if !lock.let_go(task, now) {
            return;
        }
        if lock.kind == LockKind::Spinning {
            self.task_mut(task).spin_depth -= 1;
        }
        self.hand_over(id);
    }

    /// Gives the lock to those at the head of its queue whom its holders leave room for.
    fn hand_over(&mut self, id: LockId) {
        let now = self.now;
        loop {
            let lock = self.lock_mut(id);
            let admitted = lock.waiters.front().is_some_and(|waiter| lock.admits(waiter.mode));
            let Some(waiter) = lock.waiters.pop_front_if(|_| admitted) else { return };
            lock.hold(waiter.task, waiter.mode, now);
            lock.stats.contended += 1;
            lock.stats.wait += now - waiter.since;
            let kind = lock.kind;
            self.task_mut(waiter.task).granted = Some(id);
            self.note(Event::Grant, waiter.task);
            match kind {
                LockKind::Sleeping => self.unblock(waiter.task),
                LockKind::Spinning => {
                    self.settle(waiter.task);
                    let task = self.task_mut(waiter.task);
                    task.state = State::Running;
                    let cpu = task.cpu;
                    self.go_on(cpu);
                }
            }
        }
    }

    /// Takes a task that has ended off the queue of a lock; those behind it may come in now.
    pub(crate) fn leave_lock_queue(&mut self, task: TaskId, id: LockId) {
        self.lock_mut(id).waiters.retain(|waiter| waiter.task != task);
        self.hand_over(id);
    }
}

/// A held lock: dropping it lets go, at the time of the drop.
#[derive(Debug)]
#[must_use = "a lock is held as long as its guard lives"]
pub struct Guard {
    handle: Handle,
    lock: LockId,
    task: TaskId,
}

impl Guard {
    pub(crate) fn new(handle: Handle, lock: LockId, task: TaskId) -> Self {
        Self { handle, lock, task }
    }

    /// Lets others share the lock from now on (`downgrade_write`), as far as they come before those who do not.
    pub fn downgrade(&self) {
        self.handle.downgrade(self.lock, self.task);
    }

    /// The lock that is held.
    #[must_use]
    pub fn lock(&self) -> LockId {
        self.lock
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.handle.unlock(self.lock, self.task);
    }
}
