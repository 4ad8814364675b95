//! A thread of a program, as the kernel acts for it: [`UserTask`].

use core::cell::Cell;
use core::future::Future;

use order9_units::NodeId;

use crate::env::Disks;
use crate::mempolicy::SpaceTask;
use crate::numa_balancing::NumaTask;
use crate::space::{VirtAddr, VpnRange};
use crate::tasks::slow_path::Pressure;

/// A task that acts in the address space of a program: a thread of it, or khugepaged on a visit.
///
/// The world owns the locks of the space, since who waits for a lock, and how long, is a matter of time. A lock is held as long
/// as its guard lives.
pub trait UserTask: Pressure {
    /// The disks of the machine.
    fn disks(&self) -> &impl Disks;

    /// The task as memory policies know it.
    fn identity(&self) -> SpaceTask;

    /// Whether the program is being killed. Every call of the system ends then.
    fn fatal_signal_pending(&self) -> bool;

    /// Takes the lock that keeps the mapping of `addr` as it is during a fault: of the space, or of the mapping alone.
    fn lock_for_fault(&self, addr: VirtAddr) -> impl Future<Output = impl Sized>;

    /// Takes `mmap_lock` for reading.
    fn mmap_read_lock(&self) -> impl Future<Output = impl Sized>;

    /// Takes `mmap_lock` for reading, if nobody has to be waited for.
    fn mmap_read_trylock(&self) -> Option<impl Sized>;

    /// Takes `mmap_lock` for writing, and the locks of the mappings that overlap with `range`.
    fn lock_mappings(&self, range: VpnRange) -> impl Future<Output = impl Sized>;

    /// The task as NUMA balancing knows it; `None` where no task runs.
    fn numa_task(&self) -> Option<NumaTask>;

    /// Moves the task to a CPU of `node` that has nothing to do, if there is one.
    fn move_to_idle_cpu(&self, node: NodeId) -> impl Future<Output = ()>;

    /// Pages that the program has made dirty since it last looked at how many there are (`nr_dirtied` of the task).
    fn nr_dirtied(&self) -> &Cell<u64>;

    /// A point between two steps of the engine at which the task could be preempted. A world in virtual time lets time pass in
    /// [`spend`](crate::env::Env::spend) alone; tests let others run here, too.
    fn preemption_point(&self) -> impl Future<Output = ()> {
        async {}
    }
}
