//! Switches of CPUs from task to task, kept where somebody asks for them: tracepoint `sched_switch` of Linux.
//!
//! A task that leaves its CPU and the one that takes its place at once are one switch; an empty CPU runs nobody.

use order9_units::Nanos;

use crate::time::cpu::CpuId;
use crate::time::task::{State, TaskId};
use crate::time::world::World;

/// State in which a task leaves its CPU, as `prev_state` of `sched_switch` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrevState {
    /// `R`: the task could go on.
    Running,
    /// `S`: the task waits or sleeps.
    Sleeping,
    /// `X`: the task has ended.
    Dead,
}

impl PrevState {
    /// Number in the records of Linux 4.14 and later.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Running => 0,
            Self::Sleeping => 1,
            Self::Dead => 16,
        }
    }

    const fn of(state: State) -> Self {
        match state {
            State::Ready | State::Running | State::Spinning(_) => Self::Running,
            State::Blocked(_) => Self::Sleeping,
            State::Ended(_) => Self::Dead,
        }
    }
}

/// A CPU has gone from one task to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Time of the switch.
    pub at: Nanos,
    /// The CPU.
    pub cpu: CpuId,
    /// The task that ran, with its state; `None` where the CPU was idle.
    pub prev: Option<(TaskId, PrevState)>,
    /// The task that runs now; `None` where the CPU is idle.
    pub next: Option<TaskId>,
}

/// Switches since they were last taken.
#[derive(Debug)]
pub(crate) struct Switches {
    max: usize,
    kept: Vec<Switch>,
    /// Switches that came after the log was full.
    lost: u64,
}

impl Switches {
    /// A log of at most `max` switches; `None` where that is none.
    pub(crate) fn new(max: usize) -> Option<Self> {
        (max > 0).then(|| Self { max, kept: Vec::new(), lost: 0 })
    }

    fn keep(&mut self, switch: Switch) {
        if self.kept.len() == self.max {
            self.lost += 1;
        } else {
            self.kept.push(switch);
        }
    }

    /// The CPU got a task: where another one left it just now, that was one switch, or none.
    fn taken(&mut self, at: Nanos, cpu: CpuId, next: TaskId) {
        let left = self.kept.pop_if(|last| last.next.is_none() && last.cpu == cpu && last.at == at);
        let prev = left.and_then(|left| left.prev);
        if prev.is_none_or(|(prev, _)| prev != next) {
            self.keep(Switch { at, cpu, prev, next: Some(next) });
        }
    }

    fn take(&mut self) -> (Vec<Switch>, u64) {
        (std::mem::take(&mut self.kept), std::mem::take(&mut self.lost))
    }
}

impl World {
    /// Notes that `task` has left its CPU.
    #[inline]
    pub(crate) fn note_left(&mut self, cpu: usize, task: TaskId) {
        if self.switches.is_some() {
            let prev = Some((task, PrevState::of(self.task(task).state)));
            let switch = Switch { at: self.now, cpu: CpuId(cpu as u16), prev, next: None };
            self.switches.iter_mut().for_each(|switches| switches.keep(switch));
        }
    }

    /// Notes that `task` has got a CPU.
    #[inline]
    pub(crate) fn note_taken(&mut self, cpu: usize, task: TaskId) {
        if let Some(switches) = &mut self.switches {
            switches.taken(self.now, CpuId(cpu as u16), task);
        }
    }

    /// Switches since the last call, in order, and how many were lost.
    pub(crate) fn take_switches(&mut self) -> (Vec<Switch>, u64) {
        self.switches.as_mut().map(Switches::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: CpuId = CpuId(3);
    const AT: Nanos = Nanos::new(7);

    fn left(task: usize, at: Nanos) -> Switch {
        let prev = Some((TaskId::from_index(task), PrevState::Sleeping));
        Switch { at, cpu: CPU, prev, next: None }
    }

    fn taken(switches: &mut Switches, task: usize) -> Vec<(Option<usize>, Option<usize>)> {
        switches.taken(AT, CPU, TaskId::from_index(task));
        let index = |task: TaskId| task.index();
        let ends = |switch: &Switch| (switch.prev.map(|(task, _)| index(task)), switch.next.map(index));
        switches.kept.iter().map(ends).collect()
    }

    #[test]
    fn a_task_that_takes_the_place_of_another_is_one_switch() {
        let mut switches = Switches::new(9).expect("room for nine");
        switches.keep(left(1, AT));
        assert_eq!(taken(&mut switches, 2), [(Some(1), Some(2))]);
        let mut switches = Switches::new(9).expect("room for nine");
        switches.keep(left(1, Nanos::new(6)));
        assert_eq!(taken(&mut switches, 2), [(Some(1), None), (None, Some(2))], "it was idle in between");
        let mut switches = Switches::new(9).expect("room for nine");
        switches.keep(left(1, AT));
        assert_eq!(taken(&mut switches, 1), [], "who goes on has not been switched from");
    }

    #[test]
    fn a_full_log_counts_what_it_loses() {
        let mut switches = Switches::new(1).expect("room for one");
        switches.keep(left(1, Nanos::new(1)));
        switches.keep(left(2, Nanos::new(2)));
        assert_eq!(switches.take(), (vec![left(1, Nanos::new(1))], 1));
        assert!(Switches::new(0).is_none());
    }
}
