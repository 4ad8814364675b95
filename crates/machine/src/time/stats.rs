//! Statistics of time: per task, per CPU, per lock.

use order9_units::Nanos;

/// The time of one task; all in ns. The law: from `spawned` to `ended` (or now) there are exactly `user + system + spin +
/// switching + run_queue + lock + sleep + wait`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskStats {
    /// Time at which the task was spawned.
    pub spawned: Nanos,
    /// Time at which the task ended; `None` while it lives.
    pub ended: Option<Nanos>,
    /// Spent for the program itself.
    pub user: Nanos,
    /// Spent in the kernel for the program.
    pub system: Nanos,
    /// Burnt on a CPU while a spinning lock was held by another.
    pub spin: Nanos,
    /// Spent on switching to this task.
    pub switching: Nanos,
    /// Ready, but no CPU was free.
    pub run_queue: Nanos,
    /// Off the CPU until a sleeping lock came free.
    pub lock: Nanos,
    /// Asleep until a time.
    pub sleep: Nanos,
    /// Time in a wait queue, or waiting for another task's end.
    pub wait: Nanos,
    /// Number of times that the task was put on a CPU.
    pub dispatches: u64,
    /// Number of times that its slice ended while others waited.
    pub preemptions: u64,
    /// Number of times that it was put on a CPU other than its last one.
    pub migrations: u64,
}

impl TaskStats {
    /// All of the time that is accounted for: the right side of the law.
    #[must_use]
    pub fn accounted(&self) -> Nanos {
        let on_cpu = self.user + self.system + self.spin + self.switching;
        on_cpu + self.run_queue + self.lock + self.sleep + self.wait
    }
}

/// The time of one CPU. `busy + idle` is the time since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuStats {
    /// Time with a task, spinning and switching included, in ns.
    pub busy: Nanos,
    /// Time without a task, in ns.
    pub idle: Nanos,
    /// Number of switches to a task other than the one it ran last.
    pub context_switches: u64,
}

/// The history of one lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockStats {
    /// Number of times that the lock was taken, in either mode.
    pub acquisitions: u64,
    /// Number of times that a task had to wait for it.
    pub contended: u64,
    /// Time waited by those, up to the hand-over, in ns.
    pub wait: Nanos,
    /// Time held, summed over holders, in ns; counted when a holder lets go.
    pub hold: Nanos,
    /// The longest single hold, in ns.
    pub hold_max: Nanos,
}
