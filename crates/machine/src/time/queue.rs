//! Wait queues: tasks that wait until somebody wakes them or a time has passed.
//!
//! First come, first woken. Nobody else runs between the check of a condition and the wait for it, so a wake-up cannot
//! fall in between; but who is woken runs later, and has to check again.

use std::collections::VecDeque;
use std::rc::Rc;

use order9_units::Nanos;

use crate::time::task::{Blocked, TaskId};
use crate::time::timer::after;
use crate::time::world::World;

/// A wait queue of one executor; it lives as long as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(u32);

/// End of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Another task woke this one.
    Woken,
    /// The time was up.
    TimedOut,
}

#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) name: Rc<str>,
    waiters: VecDeque<TaskId>,
}

impl World {
    pub(crate) fn new_queue(&mut self, name: &str) -> QueueId {
        self.queues.push(Queue { name: name.into(), waiters: VecDeque::new() });
        QueueId(u32::try_from(self.queues.len() - 1).expect("a run has fewer than 4 billion queues"))
    }

    pub(crate) fn queue(&self, queue: QueueId) -> &Queue {
        &self.queues[queue.0 as usize]
    }

    fn waiters(&mut self, queue: QueueId) -> &mut VecDeque<TaskId> {
        &mut self.queues[queue.0 as usize].waiters
    }

    pub(crate) fn wait(&mut self, queue: QueueId, timeout: Option<Nanos>) -> TaskId {
        let task = self.begin_sleeping();
        self.waiters(queue).push_back(task);
        if let Some(timeout) = timeout {
            self.set_timer(task, after(self.now, timeout));
        }
        self.task_mut(task).wake = Wake::Woken;
        self.block(task, Blocked::Queue(queue));
        task
    }

    /// Wakes up to `most` tasks, and says how many there were.
    pub(crate) fn wake(&mut self, queue: QueueId, most: usize) -> usize {
        // Woken tasks run later: none can come back into the queue meanwhile.
        let woken = most.min(self.waiters(queue).len());
        for _ in 0..woken {
            if let Some(task) = self.waiters(queue).pop_front() {
                self.unblock(task);
            }
        }
        woken
    }

    /// Takes a task off that no longer waits: its time is up, or it has ended.
    pub(crate) fn leave_queue(&mut self, task: TaskId, queue: QueueId) {
        self.waiters(queue).retain(|waiter| *waiter != task);
        self.task_mut(task).wake = Wake::TimedOut;
    }
}
