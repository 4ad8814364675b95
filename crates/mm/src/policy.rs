//! Every behaviour that a published change switches, as data.
//!
//! A field says what it switches, its unit and from which Linux release on it holds ("6.10+"). The default is the
//! behaviour of Linux 5.3 with its default settings.

mod compaction;
mod locks;
mod mempolicy;
mod numa_balancing;
pub(crate) mod placement;
pub(crate) mod reclaim;
mod scheduler;
mod slow_path;
mod thp;

pub use compaction::{
    Background, CompactGap, CompactionPolicy, DrainMark, ProactiveBackoff, SkipReset, SourceSearch, TargetSearch,
    TargetStride,
};
pub use locks::MmapLock;
pub use mempolicy::MempolicyInterface;
pub use numa_balancing::{NumaBalancingPolicy, ScanSlowsDown, ScanSpares, ScanVmas};
pub use order9_frames::policy::{
    AllocPolicy, ClaimRule, FallbackPolicy, FallbackSearch, FramesPolicy, HighAtomicPolicy, ListEnd, PcpHigh, PcpLists,
    PcpPolicy, QuickTest, ReserveRights, WatermarkPolicy,
};
pub use placement::HugePlacement;
pub use reclaim::{
    BalanceRule, BalancedZones, ContinueRule, InodeCache, LazyFree, LruScope, NewAnon, NodeReach, ReclaimPolicy,
    SlabDeferred, SlabTarget, SlabUnderBoost, ThrottleRule, Unreclaimable,
};
pub use scheduler::{Preempt, Scheduler};
pub use slow_path::{EarlyFail, FirstCompaction, RetryRule, SlowPathPolicy, StallCounts, Withdrawn};
pub use thp::{DefragDefault, HugeCow, HugeInterface, MmapAlign, ShmemGfp, ShmemPunch, ThpPolicy, ZeroWrite};

/// Switches of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The allocator.
    pub frames: FramesPolicy,
    /// LRU lists.
    pub reclaim: ReclaimPolicy,
    /// Way of an allocation that found no page above the low watermark.
    pub slow_path: SlowPathPolicy,
    /// Compaction.
    pub compaction: CompactionPolicy,
    /// Transparent huge pages.
    pub thp: ThpPolicy,
    /// Automatic NUMA balancing.
    pub numa_balancing: NumaBalancingPolicy,
    /// Calls and modes of memory policies that exist.
    pub mempolicy: MempolicyInterface,
    /// Extent to which the lock of an address space keeps its threads from each other.
    pub mmap_lock: MmapLock,
    /// Way in which the tasks of a CPU share its time.
    pub scheduler: Scheduler,
    /// Interruption of a task that has to make room.
    pub preempt: Preempt,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            frames: FramesPolicy::default(),
            reclaim: ReclaimPolicy::default(),
            slow_path: SlowPathPolicy::default(),
            compaction: CompactionPolicy::default(),
            thp: ThpPolicy::default(),
            numa_balancing: NumaBalancingPolicy::default(),
            mempolicy: MempolicyInterface::Base,
            mmap_lock: MmapLock::Downgraded,
            scheduler: Scheduler::Cfs,
            preempt: Preempt::Voluntary,
        }
    }
}
