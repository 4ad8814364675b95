//! Words of reclaim: its callers, the findings of a pass, reasons to hold a task up.

/// Starter of reclaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reclaimer {
    /// The daemon of a node.
    Kswapd,
    /// A task that needs memory.
    Direct,
    /// A task that was told to reclaim a node.
    Proactive,
}

/// Pages that a pass took off inactive lists, and how it found them; Linux' `scan_control.nr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassStats {
    /// All.
    pub taken: u64,
    /// Of files on disk.
    pub file_taken: u64,
    /// Dirty or under writeback.
    pub dirty: u64,
    /// Dirty, and no write has begun.
    pub unqueued_dirty: u64,
    /// Of a congested device, or back at the tail before their write has ended.
    pub congested: u64,
    /// Under writeback.
    pub writeback: u64,
    /// Under writeback for the second time around, while all that was taken lately was.
    pub immediate: u64,
}

impl PassStats {
    pub(super) const NONE: Self =
        Self { taken: 0, file_taken: 0, dirty: 0, unqueued_dirty: 0, congested: 0, writeback: 0, immediate: 0 };

    /// Adds what a chunk met.
    pub(super) fn add(&mut self, chunk: &Self) {
        let Self { taken, file_taken, dirty, unqueued_dirty, congested, writeback, immediate } = chunk;
        self.taken += taken;
        self.file_taken += file_taken;
        self.dirty += dirty;
        self.unqueued_dirty += unqueued_dirty;
        self.congested += congested;
        self.writeback += writeback;
        self.immediate += immediate;
    }

    /// Nothing but dirty pages that nobody writes: the flushers are needed.
    pub(super) const fn is_all_unqueued(&self) -> bool {
        self.taken > 0 && self.unqueued_dirty == self.taken
    }

    /// Whether kswapd sleeps for up to 100 ms after the pass, since pages come round faster than they are written.
    #[must_use]
    pub const fn stalls_kswapd(&self) -> bool {
        self.immediate > 0
    }
}

/// Why a reclaimer is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stalled {
    /// Pages come round again before they are written (`VMSCAN_THROTTLE_WRITEBACK`).
    Writeback,
    /// Others hold too many isolated pages (`VMSCAN_THROTTLE_ISOLATED`).
    Isolated,
    /// All dirty pages are those of congested devices (`VMSCAN_THROTTLE_CONGESTED`).
    Congested,
    /// A task comes to its last passes without a page (`VMSCAN_THROTTLE_NOPROGRESS`).
    NoProgress,
}

impl Stalled {
    /// As the tracepoint `mm_vmscan_throttled` calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Writeback => "VMSCAN_THROTTLE_WRITEBACK",
            Self::Isolated => "VMSCAN_THROTTLE_ISOLATED",
            Self::Congested => "VMSCAN_THROTTLE_CONGESTED",
            Self::NoProgress => "VMSCAN_THROTTLE_NOPROGRESS",
        }
    }
}

/// Owner of the objects that a shrinker gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShrinkerKind {
    /// Dentries and inodes of the filesystem; needs `__GFP_FS`.
    Superblock,
    /// Buffers of the filesystem's metadata.
    Buffers,
    /// Huge pages with base pages that nobody maps, which splitting frees.
    DeferredSplit,
    /// The huge page of zeros, once nobody maps it.
    HugeZeroPage,
    /// Huge pages of tmpfs that reach beyond the end of their file, which splitting frees in part; needs `__GFP_FS`.
    Shmem,
}

impl ShrinkerKind {
    /// The function that trace events name on Linux.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Superblock | Self::Shmem => "super_cache_scan",
            Self::Buffers => "xfs_buftarg_shrink_scan",
            Self::DeferredSplit => "deferred_split_scan",
            Self::HugeZeroPage => "shrink_huge_zero_page_scan",
        }
    }
}

/// Pages of a list that a step looks at; Linux' SWAP_CLUSTER_MAX.
pub(crate) const CHUNK: u64 = 32;
