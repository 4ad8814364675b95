//! Description of a run that cannot go on: the waiting tasks, and the events that they wait for.

use std::fmt;

use order9_units::Nanos;

use crate::time::lock::Mode;
use crate::time::task::{Blocked, Kind, State, Task, TaskId};
use crate::time::world::World;

/// Why a run ended before its goal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// Foreground tasks wait for each other, or for nobody.
    #[error(transparent)]
    Stall(Stall),
    /// Millions of things happened, and no time passed: a task loops without spending.
    #[error("no time passes after {} ns: task {task} goes round in circles without spending any", time.get())]
    NoProgress {
        /// Time of the stall.
        time: Nanos,
        /// The task that was next.
        task: String,
    },
}

/// A run that cannot go on: no task can run, or only daemons have run for a long time, while foreground tasks wait for
/// others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Time of the stall.
    pub time: Nanos,
    /// Every task that waits for another to do something, daemons included, in the order of spawning.
    pub waiting: Vec<WaitingTask>,
}

/// A task that waits without a timeout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingTask {
    /// Id of the task.
    pub task: TaskId,
    /// Name of the task.
    pub name: String,
    /// Whether the run depends on it.
    pub kind: Kind,
    /// Event that would make the task go on.
    pub waits_for: WaitsFor,
}

/// Event that would make a waiting task go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// The release of a lock.
    Lock {
        /// Name of the lock.
        name: String,
        /// Mode in which the lock is wanted.
        mode: Mode,
        /// Names of the tasks that hold it.
        holders: Vec<String>,
    },
    /// A wake-up through a wait queue.
    Queue {
        /// Name of the queue.
        name: String,
    },
    /// The end of a task.
    End {
        /// Name of that task.
        of: String,
    },
}

impl World {
    pub(crate) fn stall(&self) -> Stall {
        let ids = (0..self.tasks.len()).map(TaskId::from_index);
        let waiting = ids.filter_map(|id| {
            let task = self.task(id);
            let waits_for = self.waits_for(id, task)?;
            Some(WaitingTask { task: id, name: task.name.to_string(), kind: task.kind, waits_for })
        });
        Stall { time: self.now, waiting: waiting.collect() }
    }

    fn waits_for(&self, id: TaskId, task: &Task) -> Option<WaitsFor> {
        if !task.waits_for_others() {
            return None;
        }
        let name = |task: TaskId| self.task(task).name.to_string();
        match task.state {
            State::Spinning(lock) | State::Blocked(Blocked::Lock(lock)) => {
                let lock = self.lock_ref(lock);
                let waiter = lock.waiters.iter().find(|waiter| waiter.task == id)?;
                let holders = lock.holders.iter().map(|holder| name(holder.task)).collect();
                Some(WaitsFor::Lock { name: lock.name.to_string(), mode: waiter.mode, holders })
            }
            State::Blocked(Blocked::Queue(queue)) => Some(WaitsFor::Queue { name: self.queue(queue).name.to_string() }),
            State::Blocked(Blocked::Join(other)) => Some(WaitsFor::End { of: name(other) }),
            State::Blocked(Blocked::Sleep) | State::Ready | State::Running | State::Ended(_) => None,
        }
    }
}

impl std::error::Error for Stall {}

impl fmt::Display for Stall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the run cannot go on at {} ns", self.time.get())?;
        for (nth, waiting) in self.waiting.iter().enumerate() {
            f.write_str(if nth == 0 { ": " } else { "; " })?;
            let kind = if waiting.kind == Kind::Daemon { "daemon" } else { "task" };
            write!(f, "{kind} {} waits for {}", waiting.name, waiting.waits_for)?;
        }
        Ok(())
    }
}

impl fmt::Display for WaitsFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock { name, mode, holders } => {
                let mode = if *mode == Mode::Exclusive { "exclusive" } else { "shared" };
                let holders = if holders.is_empty() { "nobody" } else { &holders.join(", ") };
                write!(f, "lock {name} ({mode}), held by {holders}")
            }
            Self::Queue { name } => write!(f, "a wake-up through queue {name}"),
            Self::End { of } => write!(f, "the end of task {of}"),
        }
    }
}
