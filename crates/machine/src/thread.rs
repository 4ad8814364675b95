//! A thread of a process on the machine: the way of a program to the engine, to time and to the other programs.

use std::rc::Rc;

use order9_mm::Mm;
use order9_mm::env::{Env, SpinLock, Task};
use order9_mm::mempolicy::SpaceTask;
use order9_units::{Nanos, NodeId};
use order9_workloads::Stop;

use crate::balancing::NextLook;
use crate::kernel::Kernel;
use crate::process::Process;
use crate::time::Class;

/// A thread, as its own program sees it; a clone is the same thread's. Programs use it through
/// [`Sys`](order9_workloads::Sys).
#[derive(Clone)]
pub struct Thread {
    pub(crate) kernel: Rc<Kernel>,
    pub(crate) process: Rc<Process>,
    /// Itself, for memory policies.
    pub(crate) task: SpaceTask,
    /// This is khugepaged at work in the address space of another process.
    pub(crate) visits: bool,
    pub(crate) next_look: Rc<NextLook>,
}

impl Thread {
    /// The CPU it runs on.
    #[inline]
    pub(crate) fn cpu(&self) -> usize {
        self.kernel.handle.cpu().map_or(0, |cpu| usize::from(cpu.0))
    }

    /// The node of that CPU.
    pub(crate) fn cpu_node(&self) -> NodeId {
        self.kernel.cpus[self.cpu()]
    }

    /// An error where the process is being killed: every call of the system ends with it then.
    #[inline]
    pub(crate) fn alive(&self) -> Result<(), Stop> {
        if self.process.killed.get() { Err(self.process.killed_stop()) } else { Ok(()) }
    }

    /// Enters the kernel for a system call.
    pub(crate) async fn enter(&self) -> Result<(), Stop> {
        self.alive()?;
        self.kernel.pay(Class::System, self.kernel.prices.syscall).await;
        Ok(())
    }

    /// Other CPUs that may hold translations of this address space.
    pub(crate) fn other_cpus(&self) -> u64 {
        let cpus = self.process.threads.get() + u64::from(self.visits);
        cpus.min(self.kernel.cpus.len() as u64).saturating_sub(1)
    }
}

impl Env for Thread {
    #[inline]
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        self.kernel.with(step)
    }

    fn cpu(&self) -> usize {
        Thread::cpu(self)
    }

    #[inline]
    async fn spend(&self) {
        self.kernel.settle(self.other_cpus()).await;
    }

    fn task(&self) -> Task {
        if self.visits {
            return Task { kthread: true, ..Task::default() };
        }
        Task { oom_victim: self.process.killed.get(), kthread: self.process.kthread, ..Task::default() }
    }

    async fn sleep(&self, time: Nanos) {
        self.kernel.handle.sleep(time).await;
    }

    fn need_resched(&self) -> bool {
        self.kernel.handle.need_resched()
    }

    fn lock_busy(&self, lock: SpinLock) -> bool {
        self.kernel.lock_busy(lock)
    }
}
