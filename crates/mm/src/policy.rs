//! Every behaviour that a published change switches, as data.
//!
//! A field says what it switches, its unit and from which Linux release on it holds ("6.10+"). The default is the
//! behaviour of Linux 5.3 with its default settings.

mod compaction;
mod thp;

pub use compaction::{Background, BlockSearch, CompactionPolicy, DrainMark, ProactiveBackoff, SkipReset, TargetStride};
pub use thp::{DefragDefault, HugeCow, HugePlacement, MmapAlign, ShmemGfp, ShmemPunch, ThpPolicy, ZeroWrite};

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

/// How a request whose own lists are empty takes from another type.
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

/// Where requests are served so that there is less to compact; order9's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllocPolicy {
    /// Movable requests are served from the fullest pageblock that could be emptied.
    pub pack_movable: bool,
    /// Requests that do not find free memory of their type, and cannot move, take from Movable pageblocks that hold such
    /// memory already.
    pub fallback_contaminated: bool,
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

/// Watermarks and boosting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatermarkPolicy {
    /// `vm.watermark_scale_factor`, in 1/10000 of the zone; distance between the marks. `None` up to 4.5: min/4.
    pub scale_factor: Option<u32>,
    /// `vm.watermark_boost_factor`, in 1/10000 of the high mark; 0 is off. `None` up to 4.20: no boosting.
    pub boost_factor: Option<u32>,
    /// Zones below four pageblocks are never boosted. 5.7+.
    pub boost_skips_tiny_zones: bool,
    /// A fragmentation event wakes kswapd even where it added no boost. Up to 5.10.
    pub wake_without_boost: bool,
    /// An order-0 atomic request that fails at the boosted min mark is checked against the unboosted one. 5.9+.
    pub atomic_ignores_boost: bool,
    /// Upper limit of the computed `min_free_kbytes`, in kB. 262144 from 5.8 on.
    pub min_free_kbytes_max: u64,
    /// Order-0 requests pass by a test without reserve rights first. 4.7+.
    pub quick_test: QuickTest,
    /// How urgent requests get at reserves.
    pub reserve_rights: ReserveRights,
}

/// The cheap watermark test for order-0 requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuickTest {
    /// None. Up to 4.6.
    Absent,
    /// Ignores the highatomic reserve. 4.7 to 5.8.
    IgnoresHighAtomic,
    /// Subtracts the highatomic reserve. 5.9+.
    SubtractsHighAtomic,
}

/// Names and shares of the rights to reserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReserveRights {
    /// ALLOC_HARDER for atomic requests and real-time tasks. Up to 6.2.
    Harder,
    /// ALLOC_MIN_RESERVE, ALLOC_NON_BLOCK, ALLOC_HIGHATOMIC. 6.3+.
    NonBlock,
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
    /// A page leaves with the type its pageblock had when it was freed, not the one it has now. Up to 6.9.
    pub keeps_cached_type: bool,
}

/// Which blocks per-CPU lists hold.
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

/// The highatomic reserve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HighAtomicPolicy {
    /// Its limit: one hundredth of the zone rounded up to a pageblock, and no reserve in zones where that hundredth is less
    /// than a pageblock. 6.8+; before, a hundredth plus one pageblock.
    pub limit_rounded: bool,
    /// Watermark checks subtract only its free part. 6.12+; before, all of it.
    pub only_free_part_withheld: bool,
}

/// LRU lists and what reclaim takes from them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReclaimPolicy {
    /// Whether zones or nodes have LRU lists and are reclaimed. 4.8+: nodes.
    pub lru: LruScope,
    /// The list on which new anonymous pages start. 5.9+: inactive.
    pub new_anon: NewAnon,
    /// Inactive pages of files are too few by a ratio that grows with memory, as anonymous ones always were. 4.7+; before,
    /// as soon as there are fewer of them than active ones.
    pub file_ratio: bool,
    /// How scanning is shared between anonymous pages and pages of files.
    pub balance: BalanceRule,
    /// Which test ends reclaim for a costly request first.
    pub should_continue: ContinueRule,
    /// What decides how much slab one pass shrinks. 4.16+: its priority.
    pub slab_target: SlabTarget,
    /// Every pass asks each shrinker for at least one batch, or all it has. 4.18 and 4.19.
    pub slab_small_caches: bool,
    /// How much shrinking that was put off is carried over.
    pub slab_deferred: SlabDeferred,
    /// Whether kswapd shrinks slab while it works off a boost of watermarks.
    pub slab_under_boost: SlabUnderBoost,
    /// What shrinking does with an unused inode that has page cache.
    pub inode_cache: InodeCache,
    /// What reclaimers that are stopped wait for.
    pub throttle: ThrottleRule,
    /// Reclaim waits after a pass while more pages are being written than may be dirty. Up to 4.8.
    pub throttle_vm_writeout: bool,
    /// Direct reclaim that got nothing starts anew and ages active lists that it had left alone. 5.5+.
    pub force_deactivate: bool,
    /// Which zones of a node have to be above their high marks for kswapd to rest.
    pub kswapd_balances: BalancedZones,
    /// When reclaim takes memory for unreclaimable.
    pub unreclaimable: Unreclaimable,
    /// Dropping slab on request gives up sooner with every round: what counts as few objects freed doubles. 5.16+.
    pub drop_slab_doubles: bool,
    /// Among which pages those wait of which `madvise` says `MADV_FREE`.
    pub lazy_free: LazyFree,
}

/// What has LRU lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LruScope {
    /// Every zone. Up to 4.7.
    Zone,
    /// Every node. 4.8+.
    Node,
}

/// How scanning is shared between anonymous pages and pages of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceRule {
    /// By the share of scanned pages that were found in use. Up to 5.7.
    Rotation,
    /// By what reclaim of each type has cost: refaults, rotations and writes. 5.8+.
    RefaultCost,
}

/// Which test ends reclaim for a costly request first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContinueRule {
    /// Twice the block is reclaimed, or there is not so much to reclaim; then, whether compaction can start. Up to 5.3.
    GapFirst,
    /// Compaction can start; then, whether there is twice the block to reclaim. 5.4+.
    SuitableFirst,
}

/// Among which pages those wait that a program can do without until it writes to them again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LazyFree {
    /// `MADV_FREE` does not exist. Up to 4.4.
    None,
    /// Anonymous ones: they go only where swap lets reclaim look at those. 4.5 to 4.11.
    AnonLists,
    /// Those of files: they go before anything that has to be written. 4.12+.
    FileLists,
}

/// Where new anonymous pages start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewAnon {
    /// On the active list. Up to 5.8.
    Active,
    /// On the inactive list, from which use has to save them. 5.9+.
    Inactive,
}

/// What decides how much slab one pass shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlabTarget {
    /// The share of the LRU pages that it scanned. Up to 4.15.
    ScanShare,
    /// Its priority. 4.16+.
    Priority,
}

/// Whether kswapd shrinks slab while it works off a boost of watermarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlabUnderBoost {
    /// It takes pages of files only. 5.0 to 5.2, as they were released.
    Exempt,
    /// As in any other run. 5.3+.
    Shrunk,
}

/// How much shrinking that was put off is carried over to the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlabDeferred {
    /// What was left of the pass after its limits. Up to 4.13.
    Capped,
    /// All that was asked for and not done, limits notwithstanding. 4.14 to 5.12.
    Planned,
    /// The same, at most twice the objects there are; a pass takes on as much of it as its priority says. 5.13+.
    Scaled,
}

/// What shrinking does with an unused inode that has page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InodeCache {
    /// Its clean pages are dropped; it goes when it is met again. Up to 5.15.
    DroppedWithInode,
    /// Nothing: page cache keeps its inode. 5.16+.
    KeepsInode,
}

/// What reclaimers wait for that would only get in each other's way, or overtake the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThrottleRule {
    /// A disk that is no longer congested, for up to 100 ms, whatever the cause. Up to 5.15.
    Congestion,
    /// What ends the cause: pages written, for up to 100 ms; pages that others have isolated, 20 ms; where nobody can tell,
    /// one tick. 5.16+.
    Events,
}

/// Which zones of a node have to be above their high marks for kswapd to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalancedZones {
    /// All, without lowmem reserves; for an order above 0, zones with a quarter of the pages. Up to 4.7.
    Every,
    /// Any. 4.8+.
    Any,
}

/// When reclaim takes memory for unreclaimable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreclaimable {
    /// Lists of which six times as many pages were scanned as could be freed, since one was last freed. Only first passes go
    /// over them, and direct reclaim reports progress as long as other lists are left. Up to 4.11.
    PagesScanned,
    /// A node on which kswapd has run 16 times in vain. 4.12+.
    KswapdFailures,
}

/// What an allocation does that found no page above the low watermark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlowPathPolicy {
    /// Which requests compact before they reclaim.
    pub first_compaction: FirstCompaction,
    /// Which requests fail right after that.
    pub early_fail: EarlyFail,
    /// How long requests go on.
    pub retry: RetryRule,
    /// What a compaction that gave up means for the next try.
    pub withdrawn: Withdrawn,
    /// A retry without progress waits up to 100 ms while most of what could be reclaimed is under writeback. 4.7 to 5.15.
    pub retry_waits_for_writeback: bool,
    /// Which direct compactions count as `compact_stall`.
    pub stall_counts: StallCounts,
    /// A request for one node only that may not reclaim fails before kswapd is asked for. Up to 4.5.
    pub thisnode_needs_reclaim: bool,
}

/// Which requests compact before they reclaim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstCompaction {
    /// Every request above order 0. Up to 4.8.
    HighOrders,
    /// Costly requests, and others above order 0 that are not movable. 4.9 to 6.8.
    CostlyOrUnmovable,
    /// The same, if they may start I/O. 6.9+.
    CostlyOrUnmovableWithIo,
}

/// Which requests fail after their first compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlyFail {
    /// Huge pages without retries, after a deferred or contended compaction. Up to 4.8.
    HugeNoRetry,
    /// Costly requests without retries, if compaction is deferred. 4.9 to 5.3.
    NoRetryDeferred,
    /// The same, and order 9 with I/O and without `__GFP_RETRY_MAYFAIL` if it was skipped or deferred. 5.4.
    HugeUnlessRetryMayFail,
    /// Costly requests without retries, if compaction was skipped or deferred. 5.5+.
    NoRetrySkippedOrDeferred,
    /// The same, and order 9 in every case if it was skipped or deferred, unless reclaim of pages makes the difference.
    /// order9's own.
    UnlessReclaimHelps,
    /// Costly requests without retries if deferred, and order 9 without retries always, kernel threads excepted. Proposed in
    /// 2018, never merged.
    HugeNoRetryAlways,
}

/// How long requests go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryRule {
    /// Costly requests with `__GFP_REPEAT` until as many pages are reclaimed as they asked for. Up to 4.6.
    Repeat,
    /// While reclaim or compaction can still help. 4.7+.
    WhileHopeful,
}

/// What a compaction that was deferred, contended or skipped a part means for the next try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// Retry while a zone would be suitable with what can be reclaimed. 4.9 to 5.3.
    ByReclaimable,
    /// Try harder; only a skipped one depends on what can be reclaimed. 5.4+.
    SkippedOnly,
}

/// Which direct compactions count as `compact_stall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallCounts {
    /// Those that did something. Up to 5.0.
    Tried,
    /// All, even skipped and deferred ones. 5.1 to 5.12.
    All,
    /// All but skipped ones. 5.13+.
    AllButSkipped,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            fallback: FallbackPolicy {
                search: FallbackSearch::SmallestUnlessClaimable,
                claim: ClaimRule::CompatibleHalf,
                freelist_hygiene: false,
                nofragment: true,
                nofragment_spares_huge: false,
                defrag_mode: false,
            },
            alloc: AllocPolicy::default(),
            watermark: WatermarkPolicy {
                scale_factor: Some(10),
                boost_factor: Some(15_000),
                boost_skips_tiny_zones: false,
                wake_without_boost: true,
                atomic_ignores_boost: false,
                min_free_kbytes_max: 65_536,
                quick_test: QuickTest::IgnoresHighAtomic,
                reserve_rights: ReserveRights::Harder,
            },
            pcp: PcpPolicy {
                lists: PcpLists::BasePages,
                high: PcpHigh::SixBatches,
                batch_max: 256,
                keeps_cached_type: true,
            },
            reclaim: ReclaimPolicy {
                lru: LruScope::Node,
                new_anon: NewAnon::Active,
                file_ratio: true,
                balance: BalanceRule::Rotation,
                should_continue: ContinueRule::GapFirst,
                slab_target: SlabTarget::Priority,
                slab_small_caches: false,
                slab_deferred: SlabDeferred::Planned,
                slab_under_boost: SlabUnderBoost::Shrunk,
                inode_cache: InodeCache::DroppedWithInode,
                throttle: ThrottleRule::Congestion,
                throttle_vm_writeout: false,
                force_deactivate: false,
                kswapd_balances: BalancedZones::Any,
                unreclaimable: Unreclaimable::KswapdFailures,
                drop_slab_doubles: false,
                lazy_free: LazyFree::FileLists,
            },
            slow_path: SlowPathPolicy {
                first_compaction: FirstCompaction::CostlyOrUnmovable,
                early_fail: EarlyFail::NoRetryDeferred,
                retry: RetryRule::WhileHopeful,
                withdrawn: Withdrawn::ByReclaimable,
                retry_waits_for_writeback: true,
                stall_counts: StallCounts::All,
                thisnode_needs_reclaim: false,
            },
            compaction: CompactionPolicy::default(),
            highatomic: HighAtomicPolicy { limit_rounded: false, only_free_part_withheld: false },
            thp: ThpPolicy::default(),
            moved_blocks: ListEnd::Head,
            merge_guards_all_types: false,
            cma_balance: false,
            fair_zone_batches: false,
        }
    }
}
