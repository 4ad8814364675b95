//! A guard beside the programs of a run: the controller of [`order9_guard`], with the engine for the host.
//!
//! The guard is a program of user space, which writes to `nodeN/compact`: it looks, acts, and sleeps as the one on a live host does.
//! Each file that it reads costs a system call; the making of its text is not priced.

use std::rc::Rc;

use order9_guard::{Action, Config, Controller, Lesson, NodeSeen, Observation, Stalled, Took, Watch};
use order9_mm::Mark;
use order9_mm::env::{Env as _, Task};
use order9_mm::tasks::compact_node;
use order9_units::{Nanos, NodeId, Order, Pages};

use crate::daemons::Daemon;
use crate::kernel::Kernel;
use crate::time::{Class, QueueId, TaskId, TaskSpec};

/// Files that are read for a look: buddyinfo, zoneinfo, vmstat and pressure/memory.
const FILES: u64 = 4;

/// Record of a guard.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Guarded {
    /// CPU time of the guard and of its steps, looks included.
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
    /// CPU time of the processes that made its steps.
    cpu: Nanos,
    steps: Vec<GuardStep>,
}

impl Kernel {
    /// Starts a guard. It is no program that the run waits for.
    pub(crate) fn start_guard(self: &Rc<Self>, config: Config) {
        // Nothing in the lab collapses ranges for others.
        let controller = Controller::new(Config { may_collapse: false, ..config });
        let daemon = Daemon::new(self, Task::default());
        let ended = self.handle.new_queue("a step of the guard has ended");
        let task = self.handle.spawn(TaskSpec::new("order9-guard").daemon(), guard(daemon, controller, ended));
        let task = task.expect("a task that may run on every CPU");
        *self.guard.borrow_mut() = Some(RunningGuard { task, cpu: Nanos::ZERO, steps: Vec::new() });
    }

    /// Record of the guard, if one ran.
    pub(crate) fn guarded(&self) -> Option<Guarded> {
        let RunningGuard { task, cpu, steps } = self.guard.take()?;
        Some(Guarded { cpu: cpu + Nanos::new(self.cpu_of([task].into_iter())), steps })
    }
}

async fn guard(daemon: Daemon, mut controller: Controller, ended: QueueId) {
    loop {
        let seen = look(&daemon).await;
        if let Some(action @ Action::Compact { node, .. }) = controller.decide(&seen).action {
            let took = compact(&daemon, &mut controller, node, ended).await;
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

/// Has a process write to `nodeN/compact`, looks at it meanwhile, and kills it when it has done enough.
async fn compact(watcher: &Daemon, controller: &mut Controller, node: NodeId, ended: QueueId) -> Took {
    let kernel = &watcher.kernel;
    let worker = Rc::new(Daemon::new(kernel, Task::default()));
    let (begin, stalled) = (kernel.handle.now(), kernel.stalls.some(kernel.handle.now()));
    let task = kernel.handle.spawn(TaskSpec::new("order9-compact").daemon(), write(Rc::clone(&worker), node, ended));
    let task = task.expect("a task that may run on every CPU");
    let cpu = || Nanos::new(kernel.cpu_of([task].into_iter()));
    let mut broken_off = None;
    while !worker.has_ended.get() {
        match controller.watch(cpu(), &look(watcher).await) {
            // It may have ended while the guard looked.
            _ if worker.has_ended.get() => {}
            Watch::GoesOn { look_in } => drop(kernel.handle.wait(ended, Some(look_in)).await),
            Watch::Stops(stop) => {
                broken_off = Some(stop);
                worker.killed.set(true);
                break;
            }
        }
    }
    kernel.handle.join(task).await;
    let now = kernel.handle.now();
    let stalled = kernel.stalls.some(now) - stalled;
    kernel.guard.borrow_mut().as_mut().expect("it runs").cpu += cpu();
    Took { elapsed: now - begin, cpu: cpu(), stalled, broken_off, collapsed: 0 }
}

/// The process that writes to the file.
async fn write(worker: Rc<Daemon>, node: NodeId, ended: QueueId) {
    worker.kernel.pay(Class::System, worker.kernel.prices.syscall).await;
    compact_node(&*worker, node).await;
    worker.spend().await;
    worker.has_ended.set(true);
    worker.kernel.handle.wake_all(ended);
}
