//! Switches for what differs between releases about free pages: fallback between types, and per-CPU lists.

/// Rule by which a request whose own lists are empty takes from another type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FallbackPolicy {
    /// Order in which candidate blocks are searched.
    pub search: FallbackSearch,
    /// When a pageblock changes its type.
    pub claim: ClaimRule,
    /// Free lists and pageblocks always agree on the type: a block that is not claimed keeps its type and lists. 6.10+.
    pub freelist_hygiene: bool,
    /// ALLOC_NOFRAGMENT: the fast path tries other local zones before it mixes types. 5.1+ (5.0 had it without effect).
    pub nofragment: bool,
    /// ALLOC_NOFRAGMENT limits only requests below pageblock order. 6.1+.
    pub nofragment_spares_huge: bool,
    /// `vm.defrag_mode` exists. 6.15+.
    pub defrag_mode: bool,
}

/// Order of search for a fallback block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackSearch {
    /// Always the largest block. Up to 4.12.
    LargestFirst,
    /// The largest block, but the smallest for a movable request that could not claim. 4.13 to 6.14.
    SmallestUnlessClaimable,
    /// Claim whole pageblocks from large to small; if none can be claimed, steal the smallest block. 6.15+.
    ClaimThenSteal,
}

/// When a pageblock changes its type after blocks were taken from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimRule {
    /// At least half of it is free. Up to 4.11.
    FreeHalf,
    /// Free pages and pages of compatible mobility are at least half of it. 4.12+.
    CompatibleHalf,
}

/// Requests that are served so that there is less to compact; order9's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocPolicy {
    /// Movable requests are served from the fullest pageblock that could be emptied.
    pub pack_movable: bool,
    /// Requests that do not find free memory of their type, and cannot move, take from Movable pageblocks that hold such
    /// memory already.
    pub fallback_contaminated: bool,
}

/// Per-CPU lists of free pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PcpPolicy {
    /// Orders and lists.
    pub lists: PcpLists,
    /// Size at which pages go back to the zone.
    pub high: PcpHigh,
    /// Ceiling of `batch` before scaling, in pages. 128 up to 4.18, 256 from 4.19 on.
    pub batch_max: u64,
    /// Lists that are too long give back from one list to its end, then from the next, beginning with the one that a page was freed to; before
    /// that, a block of each list in turn. 5.18+.
    pub freed_list_first: bool,
    /// A page leaves with the type its pageblock had when it was freed, not the one it has now. Up to 6.9.
    pub keeps_cached_type: bool,
    /// Lists that follow the load lose an eighth of their size each second, and what they hold beyond. 6.7+.
    pub decay: bool,
}

/// Blocks that per-CPU lists hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcpLists {
    /// Order 0, a list per mobility type. Up to 5.13.
    BasePages,
    /// Orders 0 to 3 by type, and huge pages on this many lists: 3 (5.14 to 5.19), 1 (6.0 to 6.11) or 2 (6.12+).
    UpToCostly {
        /// Lists for order 9.
        huge_lists: u8,
    },
}

/// Size of a per-CPU list at which `batch` pages go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PcpHigh {
    /// Six times `batch`. Up to 5.13.
    SixBatches,
    /// The low watermark shared by the node's CPUs, at least four times `batch`. 5.14 to 6.6.
    LowMark,
    /// Between that and an eighth of the zone shared by the node's CPUs, following the load. 6.7+.
    AutoTuned,
}

impl AllocPolicy {
    /// Whether some switch needs the index.
    #[must_use]
    pub const fn needs_index(&self) -> bool {
        self.pack_movable || self.fallback_contaminated
    }
}

impl Default for FallbackPolicy {
    fn default() -> Self {
        Self {
            search: FallbackSearch::SmallestUnlessClaimable,
            claim: ClaimRule::CompatibleHalf,
            freelist_hygiene: false,
            nofragment: true,
            nofragment_spares_huge: false,
            defrag_mode: false,
        }
    }
}

impl Default for PcpPolicy {
    fn default() -> Self {
        Self {
            lists: PcpLists::BasePages,
            high: PcpHigh::SixBatches,
            batch_max: 256,
            freed_list_first: false,
            keeps_cached_type: true,
            decay: false,
        }
    }
}
