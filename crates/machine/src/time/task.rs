//! Tasks: what they are called, where they may run, what they are doing.

use std::fmt;
use std::rc::Rc;

use order9_units::Nanos;

use crate::time::cpu::{CpuId, CpuSet};
use crate::time::fair::Entity;
use crate::time::lock::LockId;
use crate::time::queue::{QueueId, Wake};
use crate::time::stats::TaskStats;
use crate::time::timer::Key;

/// A task of one executor; numbered in the order of spawning and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(u32);

impl TaskId {
    pub(crate) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a run has fewer than 4 billion tasks"))
    }

    /// The number of the task, from 0.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Whether a run goes on for a task's sake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// The run lasts until this task has ended.
    #[default]
    Foreground,
    /// Serves others and never ends by itself, as `kswapd` does.
    Daemon,
}

/// Account on which a task spends time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// Time of the program itself.
    #[default]
    User,
    /// The kernel, for the program.
    System,
}

/// End of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The task came to its end.
    Finished,
    /// The task was cancelled.
    Cancelled,
}

/// Name of a task, and CPUs on which it may run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskSpec {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) cpus: Option<CpuSet>,
    pub(crate) nice: i8,
}

impl TaskSpec {
    /// A foreground task that may run on every CPU. Names need not be unique; `kswapd0` is a good one.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Makes the task a daemon, which keeps no run alive.
    #[must_use]
    pub fn daemon(self) -> Self {
        Self { kind: Kind::Daemon, ..self }
    }

    /// Gives the task a nice value, from -20 to 19, instead of 0.
    #[must_use]
    pub fn nice(self, nice: i8) -> Self {
        Self { nice: nice.clamp(-20, 19), ..self }
    }

    /// Binds the task to `cpus`.
    #[must_use]
    pub fn on(self, cpus: CpuSet) -> Self {
        Self { cpus: Some(cpus), ..self }
    }
}

/// Why a task could not be spawned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpawnError {
    /// The CPU set of the task is empty.
    #[error("task {task} may run on no CPU: its CPU set is empty")]
    NoCpu {
        /// Name of the task.
        task: String,
    },
    /// The CPU set of the task names a CPU that the machine does not have.
    #[error("task {task} is bound to CPU {cpu}, but this machine has CPUs 0 to {last}")]
    UnknownCpu {
        /// Name of the task.
        task: String,
        /// The first such CPU.
        cpu: CpuId,
        /// The last CPU of the machine.
        last: CpuId,
    },
}

/// Event for which a task off its CPU waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    Sleep,
    Queue(QueueId),
    Lock(LockId),
    Join(TaskId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Waiting in the run queue of its CPU.
    Ready,
    /// On its CPU: it spends time, or its code runs.
    Running,
    /// On its CPU, spinning for a lock.
    Spinning(LockId),
    /// Off the CPUs.
    Blocked(Blocked),
    Ended(Exit),
}

#[derive(Debug)]
pub(crate) struct Task {
    // Whole life.
    pub(crate) name: Rc<str>,
    pub(crate) kind: Kind,
    pub(crate) cpus: Option<CpuSet>,
    /// Start of the task's random streams.
    pub(crate) stream: u64,
    pub(crate) stats: TaskStats,
    /// Tasks that wait for the end of this one.
    pub(crate) joiners: Vec<TaskId>,

    // Until the state changes.
    pub(crate) state: State,
    /// Up to when the state's time is in `stats`.
    pub(crate) since: Nanos,
    /// CPU on which the task runs, is queued, or ran last.
    pub(crate) cpu: usize,
    /// Place in the virtual time of that CPU.
    pub(crate) entity: Entity,

    // Until the operation under way is done.
    /// Rest of a switch to this task.
    pub(crate) switch_left: Nanos,
    /// Rest of a `spend`.
    pub(crate) remaining: Nanos,
    pub(crate) class: Class,
    /// Whether it had to make room for others during the last `spend`.
    pub(crate) made_room: bool,
    pub(crate) timer: Option<Key>,
    /// End of the last wait.
    pub(crate) wake: Wake,
    /// A lock it was given while it waited, until its code runs again and holds the guard.
    pub(crate) granted: Option<LockId>,

    /// Spinning locks it holds or spins for: while there is one, it stays on its CPU.
    pub(crate) spin_depth: u32,
}

impl Task {
    pub(crate) fn new(spec: TaskSpec, stream: u64, cpu: usize, now: Nanos) -> Self {
        Self {
            name: spec.name.into(),
            kind: spec.kind,
            cpus: spec.cpus,
            stream,
            stats: TaskStats { spawned: now, ..TaskStats::default() },
            joiners: Vec::new(),
            state: State::Ready,
            since: now,
            cpu,
            entity: Entity::new(spec.nice),
            switch_left: Nanos::ZERO,
            remaining: Nanos::ZERO,
            class: Class::User,
            made_room: false,
            timer: None,
            wake: Wake::Woken,
            granted: None,
            spin_depth: 0,
        }
    }

    pub(crate) fn may_run_on(&self, cpu: usize) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.holds(cpu))
    }

    pub(crate) fn is_preemptible(&self) -> bool {
        self.spin_depth == 0
    }

    /// Whether it does something in the kernel, which a daemon always does.
    pub(crate) fn is_in_kernel(&self) -> bool {
        self.kind == Kind::Daemon || self.class == Class::System && self.remaining > Nanos::ZERO
    }

    /// Whether it waits for what only another task can do.
    pub(crate) fn waits_for_others(&self) -> bool {
        let waits = matches!(self.state, State::Spinning(_) | State::Blocked(_));
        waits && self.timer.is_none()
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.state, State::Ended(_))
    }
}
