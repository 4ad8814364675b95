//! Differences between releases about LRU lists and reclaim.

use order9_units::NodeId;

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
    /// Split of scanning between anonymous pages and pages of files.
    pub balance: BalanceRule,
    /// Test that ends reclaim for a costly request first.
    pub should_continue: ContinueRule,
    /// Measure of the slab that one pass shrinks. 4.16+: its priority.
    pub slab_target: SlabTarget,
    /// Every pass asks each shrinker for at least one batch, or all it has. 4.18 and 4.19.
    pub slab_small_caches: bool,
    /// Share of the shrinking that was put off which is carried over.
    pub slab_deferred: SlabDeferred,
    /// Whether kswapd shrinks slab while it works off a boost of watermarks.
    pub slab_under_boost: SlabUnderBoost,
    /// Treatment of an unused inode that has page cache.
    pub inode_cache: InodeCache,
    /// A call that reads more than `read_ahead_kb` is read ahead for by what it wants, as far as one request of the disk reaches. 4.10+.
    pub large_reads: bool,
    /// Disks get requests of up to 4 MiB, not 1280 KiB, unless they or somebody else say otherwise; twice as much is read ahead of
    /// those that count as rotating. 6.17+.
    pub large_requests: bool,
    /// Nodes of the trees of files are asked for without reclaim at first, so that kswapd is woken for slabs of their preferred order.
    /// 4.20+.
    pub xarray: bool,
    /// Event that stopped reclaimers wait for.
    pub throttle: ThrottleRule,
    /// Reclaim waits after a pass while more pages are being written than may be dirty. Up to 4.8.
    pub throttle_vm_writeout: bool,
    /// Direct reclaim that got nothing starts anew and ages active lists that it had left alone. 5.5+.
    pub force_deactivate: bool,
    /// Zones of a node that have to be above their high marks for kswapd to rest.
    pub kswapd_balances: BalancedZones,
    /// When reclaim takes memory for unreclaimable.
    pub unreclaimable: Unreclaimable,
    /// Dropping slab on request gives up sooner with every round: what counts as few objects freed doubles. 5.16+.
    pub drop_slab_doubles: bool,
    /// A pass that has reclaimed enough ends in the round after its budgets were cut; else it uses up what is left of them. 6.1+.
    pub stops_at_goal: bool,
    /// Among which pages those wait of which `madvise` says `MADV_FREE`.
    pub lazy_free: LazyFree,
    /// Nodes that are reclaimed before others are used, where `vm.zone_reclaim_mode` says that any are.
    pub node_reach: NodeReach,
    /// A page that a single entry names comes back from swap in memory by itself, without readahead, and gives up its slot. 4.15+.
    pub swap_in_alone: bool,
    /// Nodes have a file `reclaim`, to which the administrator writes how much of the node is to be reclaimed. 6.17+.
    pub node_file: bool,
    /// Clusters of swap that huge pages have left in part serve single pages after all others. 6.12+.
    pub swap_clusters_by_order: bool,
    /// Single pages go to a cluster of swap that is in use in part before an empty one. 6.18+.
    pub swap_used_first: bool,
    /// Reclaim splits huge pages that are mapped in part before it takes any page that somebody uses. order9's own.
    pub partial_first: bool,
}

/// Owner of LRU lists: a zone or a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LruScope {
    /// Every zone. Up to 4.7.
    Zone,
    /// Every node. 4.8+.
    Node,
}

/// List on which new anonymous pages start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewAnon {
    /// On the active list, to which one access takes them back. Up to 5.8.
    Active,
    /// On the inactive list, from which use has to save them: two accesses, as for pages of files. 5.9+.
    Inactive,
}

/// Rule that splits scanning between anonymous pages and pages of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BalanceRule {
    /// By the share of scanned pages that were found in use. Up to 5.7.
    Rotation,
    /// By what reclaim of each type has cost: refaults, rotations and writes. 5.8+.
    RefaultCost,
}

/// Rule that ends reclaim for a costly request first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContinueRule {
    /// Twice the block is reclaimed, or there is not so much to reclaim; then, whether compaction can start. Up to 5.3.
    GapFirst,
    /// Compaction can start; then, whether there is twice the block to reclaim. 5.4+.
    SuitableFirst,
}

/// Measure of the slab that one pass shrinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlabTarget {
    /// The share of the LRU pages that it scanned. Up to 4.15.
    ScanShare,
    /// Priority of the pass. 4.16+.
    Priority,
}

/// Share of the shrinking that was put off which is carried over to the next pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlabDeferred {
    /// Rest of the pass after its limits. Up to 4.13.
    Capped,
    /// All that was asked for and not done, limits notwithstanding. 4.14 to 5.12.
    Planned,
    /// Rest of the pass, at most twice the objects there are; a pass takes on as much of the rest as its priority says. 5.13+.
    Scaled,
}

/// Whether kswapd shrinks slab while it works off a boost of watermarks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlabUnderBoost {
    /// A gentle run takes pages of files only. 5.0 to 5.2, as they were released.
    Exempt,
    /// As in any other run. 5.3+.
    Shrunk,
}

/// Treatment of an unused inode that has page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InodeCache {
    /// Clean pages of the inode are dropped; the inode goes when it is met again. Up to 5.15.
    DroppedWithInode,
    /// Nothing: page cache keeps its inode. 5.16+.
    KeepsInode,
}

/// Event that reclaimers wait for which would only get in each other's way, or overtake the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThrottleRule {
    /// A disk that is no longer congested, for up to 100 ms, whatever the cause. Up to 5.15.
    Congestion,
    /// End of the cause: pages written, for up to 100 ms; pages that others have isolated, 20 ms; where nobody can tell,
    /// one tick. 5.16+.
    Events,
}

/// Zones of a node that have to be above their high marks for kswapd to rest.
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

/// Among which pages those wait that a program can do without until it writes to them again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LazyFree {
    /// `MADV_FREE` does not exist. Up to 4.4.
    None,
    /// Anonymous ones: they go only where swap lets reclaim look at those. 4.5 to 4.11.
    AnonLists,
    /// Inactive lists of files: their pages go before anything that has to be written. 4.12+.
    FileLists,
}

/// Nodes that are reclaimed before others are used, by their distance from the preferred one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeReach {
    /// Nodes nearer than `RECLAIM_DISTANCE`. Up to 4.10.
    Nearer,
    /// Nodes at most that far away. 4.11+.
    Within,
}

impl Default for ReclaimPolicy {
    fn default() -> Self {
        Self {
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
            large_reads: true,
            large_requests: false,
            xarray: true,
            throttle: ThrottleRule::Congestion,
            throttle_vm_writeout: false,
            force_deactivate: false,
            kswapd_balances: BalancedZones::Any,
            unreclaimable: Unreclaimable::KswapdFailures,
            drop_slab_doubles: false,
            stops_at_goal: false,
            lazy_free: LazyFree::FileLists,
            node_reach: NodeReach::Within,
            swap_in_alone: true,
            node_file: false,
            swap_clusters_by_order: false,
            swap_used_first: false,
            partial_first: false,
        }
    }
}

impl LruScope {
    /// Sets of lists that a machine has.
    pub(crate) const fn sets(self, zones: usize, nodes: usize) -> usize {
        match self {
            Self::Zone => zones,
            Self::Node => nodes,
        }
    }

    /// The set that serves a zone of a node.
    pub(crate) const fn set(self, zone: usize, node: NodeId) -> usize {
        match self {
            Self::Zone => zone,
            Self::Node => node.index(),
        }
    }
}
