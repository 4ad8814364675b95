//! A guard beside the programs of a run: the controller of [`order9_guard`], with the engine for the host.
//!
//! The guard is a program of user space, which writes to `nodeN/compact`: it looks, acts, and sleeps as the one on a live host does.
//! Each file that it reads costs a system call; the making of its text is not priced.

use std::rc::Rc;

use order9_guard::{Action, Config, Controller, Lesson, NodeSeen, Observation, Stalled, Took};
use order9_mm::Mark;
use order9_mm::env::{Env as _, Task};
use order9_mm::tasks::compact_node;
use order9_units::{Nanos, NodeId, Order, Pages};

use crate::daemons::Daemon;
use crate::kernel::Kernel;
use crate::time::{Class, TaskId, TaskSpec};

/// Files that are read for a look: buddyinfo, zoneinfo, vmstat and pressure/memory.
const FILES: u64 = 4;

/// Record of a guard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guarded {
    /// CPU time of the guard, looks included.
    pub cpu: Nanos,
    /// Every step, in order.
    pub steps: Vec<GuardStep>,
}

/// A step of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardStep {
    /// Time at its end.
    pub at: Nanos,
    /// Node that was compacted.
    pub node: NodeId,
    /// Costs.
    pub took: Took,
    /// Judgement on it.
    pub lesson: Lesson,
}

/// A guard that runs.
pub(crate) struct RunningGuard {
    task: TaskId,
    steps: Vec<GuardStep>,
}

impl Kernel {
    /// Starts a guard. It is no program that the run waits for.
    pub(crate) fn start_guard(self: &Rc<Self>, config: Config) {
        // Nothing in the lab collapses ranges for others. The guard has been there since long before the run, as the daemons.
        let controller = Controller::new(Config { may_collapse: false, ..config }).with_savings();
        let daemon = Daemon::new(self, Task::default());
        let task = self.handle.spawn(TaskSpec::new("order9-guard").daemon(), guard(daemon, controller));
        let task = task.expect("a task that may run on every CPU");
        *self.guard.borrow_mut() = Some(RunningGuard { task, steps: Vec::new() });
    }

    /// Record of the guard, if one ran.
    pub(crate) fn guarded(&self) -> Option<Guarded> {
        let RunningGuard { task, steps } = self.guard.take()?;
        Some(Guarded { cpu: Nanos::new(self.cpu_of([task].into_iter())), steps })
    }
}

async fn guard(daemon: Daemon, mut controller: Controller) {
    loop {
        let seen = look(&daemon).await;
        if let Some(action @ Action::Compact { node, at_most }) = controller.decide(&seen).action {
            let took = compact(&daemon, node, at_most).await;
            let after = look(&daemon).await;
            let lesson = controller.learn(action, &took, &after);
            let step = GuardStep { at: after.at, node, took, lesson };
            daemon.kernel.guard.borrow_mut().as_mut().expect("it runs").steps.push(step);
        }
        daemon.sleep(controller.pause()).await;
    }
}

/// Reads the files of /proc.
async fn look(daemon: &Daemon) -> Observation {
    let kernel = &daemon.kernel;
    kernel.pay(Class::System, kernel.prices.syscall.times(FILES)).await;
    let at = kernel.handle.now();
    let stalled = Stalled { some: kernel.stalls.some(at), full: Nanos::ZERO };
    kernel.look(|mm| {
        let nodes = mm.frames().nodes().map(|node| {
            let zones = mm.frames().zones().iter().filter(|zone| zone.node() == node);
            let mut seen = NodeSeen { node, memory: Pages::ZERO, free: Pages::ZERO, huge: 0, low: Pages::ZERO };
            for zone in zones {
                seen.memory += Pages::new(zone.managed());
                seen.free += Pages::new(zone.free());
                seen.low += Pages::new(zone.mark(Mark::Low));
                let blocks = zone.areas().iter().enumerate().skip(Order::PAGEBLOCK.get().into());
                seen.huge += blocks
                    .map(|(order, area)| area.total() << (order - usize::from(Order::PAGEBLOCK.get())))
                    .sum::<u64>();
            }
            seen
        });
        let nodes = nodes.filter(|seen| seen.memory > Pages::ZERO).collect();
        Observation { at, nodes, stalled: Some(stalled), freed: Pages::new(mm.frames().counters().pgfree) }
    })
}

/// Writes to `nodeN/compact`, and is broken off once the time is over.
async fn compact(daemon: &Daemon, node: NodeId, at_most: Nanos) -> Took {
    let kernel = &daemon.kernel;
    let task = kernel.handle.current().expect("it runs");
    let costs = || {
        (kernel.handle.now(), Nanos::new(kernel.cpu_of([task].into_iter())), kernel.stalls.some(kernel.handle.now()))
    };
    let (begin, cpu, stalled) = costs();
    daemon.deadline.set(begin + at_most);
    kernel.pay(Class::System, kernel.prices.syscall).await;
    compact_node(daemon, node).await;
    daemon.spend().await;
    let completed = !daemon.task().oom_victim;
    daemon.deadline.set(Nanos::new(u64::MAX));
    let (end, cpu_then, stalled_then) = costs();
    Took { elapsed: end - begin, cpu: cpu_then - cpu, stalled: stalled_then - stalled, completed, collapsed: 0 }
}
