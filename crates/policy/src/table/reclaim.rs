//! Switches of LRU lists and reclaim.

use order9_mm::policy::{
    BalanceRule, BalancedZones, ContinueRule, InodeCache, LazyFree, LruScope, NewAnon, NodeReach, SlabDeferred,
    SlabTarget, SlabUnderBoost, ThrottleRule, Unreclaimable,
};

use crate::switch::{Case, Switch, Value, Values};

/// Switches of reclaim, in the order of the fields of their groups.
pub(super) static SWITCHES: &[Switch] = &[
    choice!(
        reclaim.lru,
        "Whether zones or nodes have LRU lists and are reclaimed",
        "LRU lists and reclaim belong to",
        LruScope::Zone: "per_zone",
            "zones", "up to 4.7";
        LruScope::Node: "per_node",
            "nodes", "4.8+";
    ),
    choice!(
        reclaim.new_anon,
        "The list on which new anonymous pages start",
        "new anonymous pages start",
        NewAnon::Active: "active",
            "on the active list, to which one access takes them back", "up to 5.8";
        NewAnon::Inactive: "inactive",
            "on the inactive list, from which two accesses save them, as pages of files", "5.9+";
    ),
    flag!(
        reclaim.file_ratio,
        "When there are too few inactive pages of files",
        off: "active pages of files are aged while there are more of them than inactive ones", "up to 4.6",
        on: "active pages of files are aged while they outnumber inactive ones by a ratio that grows with memory", "4.7+"
    ),
    choice!(
        reclaim.balance,
        "How scanning is shared between anonymous pages and pages of files",
        "reclaim scans anonymous pages and pages of files",
        BalanceRule::Rotation: "rotation",
            "the less the more of them it lately found in use", "up to 5.7";
        BalanceRule::RefaultCost: "refault_cost",
            "the less the more refaults, rotations and writes that has lately cost", "5.8+";
    ),
    choice!(
        reclaim.should_continue,
        "Which test ends reclaim for a costly request first",
        "reclaim for a costly request goes on",
        ContinueRule::GapFirst: "gap_first",
            "until twice the block is reclaimed or less is left, and until compaction can start", "up to 5.3";
        ContinueRule::SuitableFirst: "suitable_first",
            "until compaction can start or less than twice the block is left", "5.4+";
    ),
    choice!(
        reclaim.slab_target,
        "How much slab one pass shrinks: the share of the LRU it scanned, or by its priority",
        "a pass shrinks slab by",
        SlabTarget::ScanShare: "scan_share",
            "the share of the LRU pages that it scanned", "up to 4.15";
        SlabTarget::Priority: "priority",
            "its priority", "4.16+";
    ),
    flag!(
        reclaim.slab_small_caches,
        "Whether every pass asks for at least one batch of objects, even from small caches",
        off: "a pass asks shrinkers for what it comes to, even if that makes no batch", "up to 4.17, and 5.0+",
        on: "a pass asks each shrinker for at least one batch, or all it has", "4.18 and 4.19"
    ),
    choice!(
        reclaim.slab_deferred,
        "How much shrinking that was put off is carried over to the next pass",
        "of shrinking that was put off, the next pass takes over",
        SlabDeferred::Capped: "capped",
            "what was left of the last one after its limits", "up to 4.13";
        SlabDeferred::Planned: "planned",
            "all that was asked for and not done", "4.14 to 5.12";
        SlabDeferred::Scaled: "scaled",
            "as much as its priority says; no more than twice the objects is kept", "5.13+";
    ),
    choice!(
        reclaim.inode_cache,
        "Whether shrinking an inode drops its page cache, or page cache keeps its inode",
        "an unused inode with page cache",
        InodeCache::DroppedWithInode: "dropped_with_inode",
            "loses its clean pages when it is shrunk, and goes when it is met again", "up to 5.15";
        InodeCache::KeepsInode: "keeps_inode",
            "stays until its last page has gone", "5.16+";
    ),
    flag!(
        reclaim.large_reads,
        "How far a call that wants much is read ahead for",
        off: "readahead reads no more than read_ahead_kb, however much a call wants", "up to 4.9",
        on: "readahead for a call that wants more than read_ahead_kb reads as much, as far as one request of the disk reaches", "4.10+"
    ),
    flag!(
        reclaim.large_requests,
        "Size of the requests that disks get, and how far they are read ahead, unless their limits were set",
        off: "disks get requests of up to 1280 KiB, and 128 KiB are read ahead", "up to 6.16",
        on: "disks get requests of up to 4 MiB, and twice as much is read ahead of those that count as rotating", "6.17+"
    ),
    flag!(
        reclaim.xarray,
        "Whom a new node of a file's tree wakes",
        off: "nodes of the trees of files come with what their request may reclaim, and no daemon is woken for a large slab", "up to 4.19",
        on: "nodes of the trees of files are asked for without reclaim at first, and kswapd is woken for slabs of order 2", "4.20+"
    ),
    choice!(
        reclaim.throttle,
        "Event that stalled reclaimers wait for",
        "reclaimers that overtake the disks or each other wait for",
        ThrottleRule::Congestion: "congestion",
            "disks to be less busy, for up to 100 ms", "up to 5.15";
        ThrottleRule::Events: "events",
            "enough pages to be written, for up to 100 ms; for others' isolated pages 20 ms; else a tick", "5.16+";
    ),
    flag!(
        reclaim.throttle_vm_writeout,
        "Whether reclaim waits after a pass while more pages are being written than may be dirty",
        off: "reclaim goes on however many pages are being written", "4.9+",
        on: "reclaim waits after a pass while more pages are being written than may be dirty", "up to 4.8"
    ),
    flag!(
        reclaim.force_deactivate,
        "Whether direct reclaim that got nothing starts anew and ages active lists that it had left alone",
        off: "active lists are aged only where their inactive partner is short", "up to 5.4",
        on: "direct reclaim that got nothing starts anew and ages active lists that it had left alone", "5.5+"
    ),
    choice!(
        reclaim.kswapd_balances,
        "Which zones of a node have to be above their high marks for kswapd to rest",
        "kswapd rests once the high mark is passed by",
        BalancedZones::Every: "every_zone",
            "every zone of its node, lowmem reserves left aside; above order 0 by zones with a quarter of the pages",
            "up to 4.7";
        BalancedZones::Any: "any_zone",
            "any zone of its node", "4.8+";
    ),
    choice!(
        reclaim.unreclaimable,
        "When reclaim takes memory for unreclaimable",
        "reclaim gives up",
        Unreclaimable::PagesScanned: "pages_scanned",
            "lists of which six times as many pages were scanned as it could free, since one was freed; until all are, \
             direct reclaim reports progress",
            "up to 4.11";
        Unreclaimable::KswapdFailures: "kswapd_failures",
            "nodes on which kswapd has run 16 times in vain", "4.12+";
    ),
    choice!(
        reclaim.slab_under_boost,
        "Whether slab is shrunk while kswapd works off a watermark boost",
        "while kswapd works off a watermark boost, slab is",
        SlabUnderBoost::Exempt: "exempt",
            "spared: only pages of files are taken", "5.0 to 5.2";
        SlabUnderBoost::Shrunk: "shrunk",
            "shrunk as in any other run", "5.3+";
    ),
    flag!(
        reclaim.drop_slab_doubles,
        "Whether dropping slab on request gives up sooner with every round",
        off: "slab is dropped until a round frees no more than 10 objects", "up to 5.15",
        on: "slab is dropped until a round frees few objects, at first 10, and twice as many with every round", "5.16+"
    ),
    flag!(
        reclaim.stops_at_goal,
        "Whether a pass ends once enough is reclaimed",
        off: "a pass over anonymous pages and files goes on until both were scanned in proportion, however much it has reclaimed", "up to 6.0",
        on: "a pass ends once enough is reclaimed, unless it is the first one of direct reclaim", "6.1+"
    ),
    choice!(
        reclaim.lazy_free,
        "List on which pages under MADV_FREE wait",
        "pages that a program can do without are",
        LazyFree::None: "none",
            "unknown to the kernel", "up to 4.4";
        LazyFree::AnonLists: "anon_lists",
            "marked, and freed where reclaim looks at anonymous pages, as it does with swap", "4.5 to 4.11";
        LazyFree::FileLists: "file_lists",
            "reclaimed with those of files", "4.12+";
    ),
    choice!(
        reclaim.node_reach,
        "Which nodes are reclaimed before others are used, where vm.zone_reclaim_mode says that any are",
        "where vm.zone_reclaim_mode is on, memory is reclaimed before it is taken from further away on",
        NodeReach::Nearer: "nearer",
            "nodes nearer than RECLAIM_DISTANCE", "up to 4.10";
        NodeReach::Within: "within",
            "nodes at most RECLAIM_DISTANCE away", "4.11+";
    ),
    flag!(
        reclaim.swap_in_alone,
        "Whether a page that a single entry names comes back from swap in memory (zram) without readahead",
        off: "pages come back from swap in memory with readahead, and keep their slots, as from a disk", "up to 4.14",
        on: "a page that a single entry names comes back from swap in memory without readahead, and gives up its slot", "4.15+"
    ),
    flag!(
        reclaim.node_file,
        "Whether nodes have a file to which the administrator writes how much of the node is to be reclaimed",
        off: "memory of a node is reclaimed only where somebody needs memory", "up to 6.16",
        on: "/sys/devices/system/node/nodeN/reclaim takes an amount, and a swappiness", "6.17+"
    ),
    flag!(
        reclaim.swap_clusters_by_order,
        "Whether clusters of swap that huge pages have left in part serve single pages after all others",
        off: "of clusters of swap in use in part the first one serves single pages", "up to 6.11",
        on: "clusters of swap that huge pages have left in part serve single pages after all others", "6.12+"
    ),
    flag!(
        reclaim.swap_used_first,
        "Whether single pages go to clusters of swap in use in part before empty ones",
        off: "single pages go to empty clusters of swap before those in use in part", "up to 6.17",
        on: "single pages go to clusters of swap in use in part before empty ones", "6.18+"
    ),
    flag!(
        reclaim.partial_first,
        "Whether reclaim begins with huge pages that are mapped in part",
        off: "unmapped parts of a huge page become free when its shrinker gets to it, after pages in use", "every release",
        on: "reclaim splits huge pages that are mapped in part before it takes a page that somebody uses", "order9"
    ),
];
