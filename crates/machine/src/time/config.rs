//! Configuration of an executor.

use order9_mm::policy::{Preempt, Scheduler};
use order9_units::{Nanos, NodeId};

/// CPUs, scheduling constants and seed of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The node of each CPU; at least one CPU, at most 65536.
    pub cpus: Vec<NodeId>,
    /// Time that a task may run while others wait for its CPU, in ns; not zero. Default 3 ms: Linux' slice of 0.75 ms,
    /// scaled by `1 + log2(CPUs)` as on 8 CPUs or more (`base_slice_ns` in /sys/kernel/debug/sched,
    /// `min_granularity_ns` before 6.6). Under CFS fewer than nine tasks share eight of them.
    pub slice: Nanos,
    /// Period of the timer interrupt, in ns, which is where a task is found to have used its slice up: 1/HZ. Default `None`: at
    /// the end of the slice.
    pub tick: Option<Nanos>,
    /// Rules by which CPU time is shared out. Default: those of 6.12 and later.
    pub scheduler: Scheduler,
    /// Interruption of a task that has to make room. Default: voluntary.
    pub preempt: Preempt,
    /// Time after which a CPU takes a task from another of its node that has one more than it, in ns for each CPU of the node.
    /// Default `None`: never.
    pub balance_interval: Option<Nanos>,
    /// Time that a CPU takes to switch to a task other than the one it ran last, in ns. Default zero: the machine's
    /// prices set it.
    pub context_switch: Nanos,
    /// Time after which a run counts as [stalled](super::Stall) if every foreground task waits for others and only
    /// daemons run, in ns. Default 120 s, like `kernel.hung_task_timeout_secs`.
    pub hung_task: Nanos,
    /// Largest delay of the start of a foreground task, drawn at random. Chance then also decides which of several
    /// equal CPUs a new task gets, instead of the lowest, and how much of its first slice is left. Default `None`: no
    /// chance.
    pub start_jitter: Option<Nanos>,
    /// Largest number of switches of CPUs that are kept until somebody takes them. Default 0: none is kept.
    pub switches_max: usize,
    /// Seed of every random stream.
    pub seed: u64,
}

/// A configuration that no machine can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// No CPU to run on.
    #[error("a machine needs at least one CPU, got none")]
    NoCpus,
    /// More CPUs than a [`CpuId`](super::CpuId) can number.
    #[error("a machine has at most 65536 CPUs, got {0}")]
    TooManyCpus(usize),
    /// A slice in which nothing can run.
    #[error("the time slice must be at least 1 ns, got 0")]
    NoSlice,
    /// A timer interrupt without end.
    #[error("the tick must be at least 1 ns, got 0")]
    NoTick,
}

impl Config {
    /// CPUs on these nodes and a seed; the rest as documented at the fields.
    #[must_use]
    pub fn new(cpus: Vec<NodeId>, seed: u64) -> Self {
        Self {
            cpus,
            slice: Nanos::new(3_000_000),
            tick: None,
            scheduler: Scheduler::default(),
            preempt: Preempt::default(),
            balance_interval: None,
            context_switch: Nanos::ZERO,
            hung_task: Nanos::new(120_000_000_000),
            start_jitter: None,
            switches_max: 0,
            seed,
        }
    }

    /// The first thing that is wrong, if anything is.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        match self.cpus.len() {
            0 => Err(ConfigError::NoCpus),
            cpus if cpus > 1 << u16::BITS => Err(ConfigError::TooManyCpus(cpus)),
            _ if self.slice == Nanos::ZERO => Err(ConfigError::NoSlice),
            _ if self.tick == Some(Nanos::ZERO) => Err(ConfigError::NoTick),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_cpus_or_slice_is_refused() {
        assert_eq!(Config::new(vec![], 0).validate(), Err(ConfigError::NoCpus));
        assert_eq!(Config::new(vec![NodeId(0); 65_537], 0).validate(), Err(ConfigError::TooManyCpus(65_537)));
        let config = Config { slice: Nanos::ZERO, ..Config::new(vec![NodeId(0)], 0) };
        assert_eq!(config.validate(), Err(ConfigError::NoSlice));
        let config = Config { tick: Some(Nanos::ZERO), ..Config::new(vec![NodeId(0)], 0) };
        assert_eq!(config.validate(), Err(ConfigError::NoTick));
        assert_eq!(Config::new(vec![NodeId(0); 65_536], 0).validate(), Ok(()));
    }
}
