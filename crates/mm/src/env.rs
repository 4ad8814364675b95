//! The world around the engine: time, other tasks, disks.
//!
//! [`Env`] is a task's way to the engine. The engine is reached through [`Env::with`] only, so that no borrow of it can
//! cross an await: after each await the world may have changed. [`Stall`] is what reclaim waits for, [`Disks`] what files and
//! swap lie on. Who may also be killed for memory implements [`Pressure`](crate::Pressure), and a thread of a program
//! [`UserTask`](crate::tasks::UserTask). In the lab all of them are implemented by a machine in virtual time; where there
//! is one task, [`Alone`] runs straight through on the calling thread.

use alloc::vec::Vec;
use core::future::Future;

use order9_frames::ZoneId;
use order9_units::{Nanos, NodeId, Pfn};

use crate::Mm;
use crate::reclaim::PageWrite;

pub use crate::compact_result::{CompactPriority, CompactResult};
pub use alone::{Alone, run};
pub use disks::{Disks, FileWork};

mod alone;
mod disks;

/// A task's way to the engine and to time.
pub trait Env {
    /// Runs one bounded step on the engine.
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R;

    /// Lets the time pass that the engine's work since the last call takes; other tasks may run.
    fn spend(&self) -> impl Future<Output = ()>;

    /// The CPU it runs on; another one after a wait.
    fn cpu(&self) -> usize;

    /// Facts about the task, as it is now, that the allocator needs.
    fn task(&self) -> Task;

    /// Sleeps for `time`.
    fn sleep(&self, time: Nanos) -> impl Future<Output = ()>;

    /// Whether the task is due for rescheduling: its slice ended, while others wait for this CPU, during the work that was
    /// last paid for. Work that may give up rather than hold others up asks this after each [`spend`](Self::spend).
    fn need_resched(&self) -> bool;

    /// Whether another task holds `lock`, or waits for it, at this moment.
    fn lock_busy(&self, lock: SpinLock) -> bool;
}

/// A lock that tasks spin for, and that engine work is done under.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpinLock {
    /// `zone->lock`, which guards free lists.
    Zone(ZoneId),
    /// `lru_lock` of the node, which guards its LRU lists.
    Lru(NodeId),
}

/// Facts about a task that the allocator needs when the task asks for memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Task {
    /// Real-time scheduling class.
    pub rt: bool,
    /// A kernel thread.
    pub kthread: bool,
    /// Reclaiming or compacting already: may use all memory and must not recurse (PF_MEMALLOC).
    pub memalloc: bool,
    /// Killed for memory: may dip into reserves to come to its end.
    pub oom_victim: bool,
}

/// Needs of reclaim in the world: disks to write to, and sleeps that others end.
pub trait Stall: Env {
    /// Starts to write these pages, in order; their ends are told to the engine. Waits while the disk has all it can take, so
    /// that nobody gives more away than is written.
    fn submit(&self, writes: Vec<PageWrite>) -> impl Future<Output = ()>;

    /// Sleeps until somebody calls [`wake`](Self::wake) for the same, or `timeout` is over; says whether it was woken.
    fn wait(&self, until: Until, timeout: Option<Nanos>) -> impl Future<Output = bool>;

    /// Wakes everybody who waits for this.
    fn wake(&self, until: Until);

    /// The time, which waits are measured by.
    fn now(&self) -> Nanos;

    /// Lets tasks that wait for a CPU go first where this one may use theirs: for work that nobody waits for. Linux has
    /// `SCHED_IDLE` for tasks of this kind.
    fn make_way(&self) -> impl Future<Output = ()> {
        async {}
    }
}

/// Causes for which tasks that reclaim wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// kcompactd of the node, for work: the world ends this wait where [`Mm::take_wakeups`] names the node.
    KcompactdNeeded(NodeId),
    /// kswapd of the node, for work: the world ends this wait where [`Mm::take_wakeups`] names the node.
    KswapdNeeded(NodeId),
    /// khugepaged, for somebody to visit: the world ends this wait where [`Mm::take_wakeups`] names it.
    KhugepagedNeeded,
    /// The flusher, for something to write: the world ends this wait where [`Mm::take_wakeups`] names it.
    FlusherNeeded,
    /// Tasks that may not reclaim themselves, for kswapd of the node to have freed some.
    ReservesFilled(NodeId),
    /// Reclaimers, for the pages that others have isolated on the node.
    FewIsolated(NodeId),
    /// Reclaimers, for the disks: the world ends this wait when they are no longer congested.
    Uncongested,
    /// Whoever needs a page that is being read or written: the world ends this wait at the end of every transfer.
    Transferred,
    /// Whoever syncs, for writes: the world ends this wait at the end of every write.
    WriteEnded,
    /// Reclaimers, for pages of the node to be written: the world ends this wait where [`Mm::take_wakeups`] names the node.
    PagesWritten(NodeId),
}

/// A tick of 250 Hz: how long tasks sleep where Linux says "one tick", which is 1 to 10 ms by configuration.
pub(crate) const TICK: Nanos = Nanos::new(4_000_000);

/// Result of direct compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Best result over the zones tried.
    pub result: CompactResult,
    /// The block, where compaction kept it for the request.
    pub captured: Option<Pfn>,
}

/// Result of an attempt to kill for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OomKill {
    /// A task was killed; its memory is about to come free.
    Killed,
    /// Another task is killing already.
    Busy,
    /// There is nobody to kill.
    NoVictim,
}
