//! Locks and their queues.

use order9_machine::time::{LockKind, Mode};
use order9_units::Nanos;

use super::{Naive, State};

impl Naive<'_> {
    pub(super) fn admits(&self, lock: usize, mode: Mode) -> bool {
        let holders = &self.locks[lock].holders;
        holders.is_empty() || mode == Mode::Shared && holders.iter().all(|holder| holder.1 == Mode::Shared)
    }

    pub(super) fn is_free(&self, lock: usize, mode: Mode) -> bool {
        self.locks[lock].waiters.is_empty() && self.admits(lock, mode)
    }

    pub(super) fn take(&mut self, task: usize, lock: usize, mode: Mode) {
        self.locks[lock].holders.push((task, mode, self.now));
        self.locks[lock].stats.acquisitions += 1;
    }

    pub(super) fn lock(&mut self, task: usize, lock: usize, mode: Mode) -> bool {
        if self.is_free(lock, mode) {
            self.take(task, lock, mode);
            self.tasks[task].guards.push(Some(lock));
            self.tasks[task].answer = Some(0);
            return true;
        }
        self.locks[lock].waiters.push((task, mode, self.now));
        match self.program.locks[lock] {
            LockKind::Sleeping => self.block(task, State::InLock(lock), 0),
            LockKind::Spinning => {
                self.tasks[task].answer = Some(0);
                self.tasks[task].state = State::Spinning(lock);
                false
            }
        }
    }

    pub(super) fn unlock(&mut self, task: usize, lock: Option<usize>) {
        let Some(lock) = lock else { return };
        let holders = &mut self.locks[lock].holders;
        let position = holders.iter().position(|holder| holder.0 == task).expect("only a holder lets go");
        let held = Nanos::new(self.now - holders.remove(position).2);
        let stats = &mut self.locks[lock].stats;
        stats.hold += held;
        stats.hold_max = stats.hold_max.max(held);
        self.hand_over(lock);
    }

    pub(super) fn hand_over(&mut self, lock: usize) {
        while let Some(&(task, mode, since)) = self.locks[lock].waiters.first() {
            if !self.admits(lock, mode) {
                return;
            }
            self.locks[lock].waiters.remove(0);
            self.take(task, lock, mode);
            let waited = Nanos::new(self.now - since);
            self.locks[lock].stats.contended += 1;
            self.locks[lock].stats.wait += waited;
            self.tasks[task].granted = Some(lock);
            if self.program.locks[lock] == LockKind::Sleeping {
                self.unblock(task, 0);
            } else {
                self.tasks[task].state = State::OnCpu;
                self.tasks[task].end = self.now;
                self.go_on(self.tasks[task].cpu);
            }
        }
    }

    /// Whether `task` holds, or spins for, a spinning lock.
    pub(super) fn is_atomic(&self, task: usize) -> bool {
        let spins = |lock: usize| {
            let lock_held = self.locks[lock].holders.iter().any(|holder| holder.0 == task);
            self.program.locks[lock] == LockKind::Spinning && lock_held
        };
        matches!(self.tasks[task].state, State::Spinning(_)) || (0..self.locks.len()).any(spins)
    }
}
