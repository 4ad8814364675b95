//! Every behaviour that a published change switches, as data.
//!
//! A field says what it switches, its unit and from which Linux release on it holds ("6.10+"). The default is the
//! behaviour of Linux 5.3 with its default settings.

mod alloc;
mod compaction;
mod locks;
mod mempolicy;
mod numa_balancing;
mod reclaim;
mod slow_path;
mod thp;
mod watermark;

pub use alloc::{AllocPolicy, ClaimRule, FallbackPolicy, FallbackSearch, PcpHigh, PcpLists, PcpPolicy};
pub use compaction::{Background, BlockSearch, CompactionPolicy, DrainMark, ProactiveBackoff, SkipReset, TargetStride};
pub use locks::MmapLock;
pub use mempolicy::MempolicyInterface;
pub use numa_balancing::{NumaBalancingPolicy, ScanSlowsDown, ScanSpares, ScanVmas};
pub use reclaim::{
    BalanceRule, BalancedZones, ContinueRule, InodeCache, LazyFree, LruScope, NewAnon, NodeReach, ReclaimPolicy,
    SlabDeferred, SlabTarget, SlabUnderBoost, ThrottleRule, Unreclaimable,
};
pub use slow_path::{EarlyFail, FirstCompaction, RetryRule, SlowPathPolicy, StallCounts, Withdrawn};
pub use thp::{
    DefragDefault, HugeCow, HugeInterface, HugePlacement, MmapAlign, ShmemGfp, ShmemPunch, ThpPolicy, ZeroWrite,
};
pub use watermark::{HighAtomicPolicy, QuickTest, ReserveRights, WatermarkPolicy};

/// Switches of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Fallback between migratetypes.
    pub fallback: FallbackPolicy,
    /// Where requests are served by the pageblock index.
    pub alloc: AllocPolicy,
    /// Watermarks and boosting.
    pub watermark: WatermarkPolicy,
    /// Per-CPU lists.
    pub pcp: PcpPolicy,
    /// Reserve for high-order requests that may not sleep.
    pub highatomic: HighAtomicPolicy,
    /// LRU lists.
    pub reclaim: ReclaimPolicy,
    /// What an allocation does that found no page above the low watermark.
    pub slow_path: SlowPathPolicy,
    /// Compaction.
    pub compaction: CompactionPolicy,
    /// Transparent huge pages.
    pub thp: ThpPolicy,
    /// Automatic NUMA balancing.
    pub numa_balancing: NumaBalancingPolicy,
    /// Which calls and modes of memory policies there are.
    pub mempolicy: MempolicyInterface,
    /// How far the lock of an address space keeps its threads from each other.
    pub mmap_lock: MmapLock,
    /// Where blocks given at boot and blocks moved between types go on their list. 5.10+: the tail.
    pub moved_blocks: ListEnd,
    /// Order-9 blocks merge only if both pageblocks are of a mergeable type or of the same. 5.18+; before, this was asked
    /// only where a pageblock is of type Isolate.
    pub merge_guards_all_types: bool,
    /// Movable requests take CMA memory first while more than half of the zone's free pages are CMA. 5.8+.
    pub cma_balance: bool,
    /// Round-robin over the local zones by batches of (high - low) pages before strict zonelist order. Up to 4.7.
    pub fair_zone_batches: bool,
}

/// Which end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListEnd {
    /// Taken next.
    Head,
    /// Taken last.
    Tail,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            fallback: FallbackPolicy::default(),
            alloc: AllocPolicy::default(),
            watermark: WatermarkPolicy::default(),
            pcp: PcpPolicy::default(),
            reclaim: ReclaimPolicy::default(),
            slow_path: SlowPathPolicy::default(),
            compaction: CompactionPolicy::default(),
            highatomic: HighAtomicPolicy::default(),
            thp: ThpPolicy::default(),
            numa_balancing: NumaBalancingPolicy::default(),
            mempolicy: MempolicyInterface::Base,
            mmap_lock: MmapLock::Downgraded,
            moved_blocks: ListEnd::Head,
            merge_guards_all_types: false,
            cma_balance: false,
            fair_zone_batches: false,
        }
    }
}
