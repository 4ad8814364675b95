//! Differences between releases about who gets a CPU, as data. The engine runs nobody: the world does.

/// Way in which the tasks of a CPU share its time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduler {
    /// CFS: a task that wakes has a credit of half the latency, and preempts who is ahead of it by more than the wake-up
    /// granularity. A slice is a share of the latency. Up to 6.5.
    Cfs,
    /// EEVDF: a task keeps through a sleep how far it is behind or ahead (its lag). Among those that are not ahead the earliest
    /// deadline is next. Who has begun its slice ends it, unless it is ahead. 6.6 to 6.11.
    Eevdf,
    /// EEVDF with delayed dequeue: a task that goes to sleep ahead of others works that off while it sleeps. 6.12+.
    #[default]
    EevdfDelayed,
}

/// Interruption of a task that has to make room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preempt {
    /// The task gives way at its next preemption point. Up to 6.18.
    #[default]
    Voluntary,
    /// A task in the kernel is asked to give way when it returns to its program, and made to by the timer interrupt after
    /// that. 7.0+.
    Lazy,
}
