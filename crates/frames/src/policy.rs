//! Behaviour of the allocator that published changes switch, as data.
//!
//! A field says what it switches, its unit and from which Linux release on it holds ("6.10+"). The default is the
//! behaviour of Linux 5.3 with its default settings.

mod alloc;
mod watermark;

pub use alloc::{AllocPolicy, ClaimRule, FallbackPolicy, FallbackSearch, PcpHigh, PcpLists, PcpPolicy};
pub use watermark::{HighAtomicPolicy, QuickTest, ReserveRights, WatermarkPolicy};

/// Switches of the allocator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FramesPolicy {
    /// Fallback between migratetypes.
    pub fallback: FallbackPolicy,
    /// Requests that are served by the pageblock index.
    pub alloc: AllocPolicy,
    /// Watermarks and boosting.
    pub watermark: WatermarkPolicy,
    /// Per-CPU lists.
    pub pcp: PcpPolicy,
    /// Reserve for high-order requests that may not sleep.
    pub highatomic: HighAtomicPolicy,
    /// End of the list on which blocks go that are given at boot or moved between types. 5.10+: the tail.
    pub moved_blocks: ListEnd,
    /// Order-9 blocks merge only if both pageblocks are of a mergeable type or of the same. 5.18+; before, this was asked
    /// only where a pageblock is of type Isolate.
    pub merge_guards_all_types: bool,
    /// Movable requests take CMA memory first while more than half of the zone's free pages are CMA. 5.8+.
    pub cma_balance: bool,
    /// Round-robin over the local zones by batches of (high - low) pages before strict zonelist order. Up to 4.7.
    pub fair_zone_batches: bool,
}

/// An end of a free list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListEnd {
    /// Taken next.
    Head,
    /// Taken last.
    Tail,
}

impl Default for FramesPolicy {
    fn default() -> Self {
        Self {
            fallback: FallbackPolicy::default(),
            alloc: AllocPolicy::default(),
            watermark: WatermarkPolicy::default(),
            pcp: PcpPolicy::default(),
            highatomic: HighAtomicPolicy::default(),
            moved_blocks: ListEnd::Head,
            merge_guards_all_types: false,
            cma_balance: false,
            fair_zone_batches: false,
        }
    }
}
