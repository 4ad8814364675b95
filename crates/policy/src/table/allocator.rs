//! Switches of the allocator: fallback, watermarks, per-CPU lists, reserves.

use order9_mm::policy::{
    ClaimRule, FallbackSearch, ListEnd, MempolicyInterface, MmapLock, PcpHigh, PcpLists, Preempt, QuickTest,
    ReserveRights, Scheduler,
};

use super::{optional, set_number, within_u32};
use crate::switch::{Case, Switch, Value, Values};

/// Switches of the allocator, in the order of the fields of their groups.
pub(super) static SWITCHES: &[Switch] = &[
    choice!(
        [frames] fallback.search,
        "Which block a request takes from another type when the lists of its own are empty",
        "fallback takes",
        FallbackSearch::LargestFirst: "largest_first",
            "always the largest block", "up to 4.12";
        FallbackSearch::SmallestUnlessClaimable: "smallest_unless_claimable",
            "the largest block, but the smallest for a movable request that could not claim its pageblock",
            "4.13 to 6.14";
        FallbackSearch::ClaimThenSteal: "claim_then_steal",
            "whole pageblocks from large to small, and steals the smallest block only if none can be claimed", "6.15+";
    ),
    choice!(
        [frames] fallback.claim,
        "When a pageblock changes its type after blocks were taken from it",
        "a pageblock changes its type if at least half of it is",
        ClaimRule::FreeHalf: "free_half",
            "free", "up to 4.11";
        ClaimRule::CompatibleHalf: "compatible_half",
            "free or of compatible mobility", "4.12+";
    ),
    flag!(
        [frames] fallback.freelist_hygiene,
        "Whether the type of a free list and of the pageblocks on it always agree",
        off: "free blocks may lie on the list of another type than their pageblock's", "up to 6.9",
        on: "a block that is not claimed keeps its type and its lists", "6.10+"
    ),
    flag!(
        [frames] fallback.nofragment,
        "Whether the fast path tries other local zones rather than mix types (ALLOC_NOFRAGMENT)",
        off: "the fast path mixes types as soon as the preferred zone has no block of its own type", "up to 5.0",
        on: "the fast path tries other local zones before it mixes types", "5.1+; 5.0 had it without effect"
    ),
    flag!(
        [frames] fallback.nofragment_spares_huge,
        "Whether ALLOC_NOFRAGMENT limits only requests below pageblock order",
        off: "ALLOC_NOFRAGMENT limits requests of every order", "up to 6.0",
        on: "ALLOC_NOFRAGMENT limits only requests below pageblock order", "6.1+"
    ),
    flag!(
        [frames] fallback.defrag_mode,
        "Whether vm.defrag_mode exists, which is 0 until it is written",
        off: "there is no vm.defrag_mode", "up to 6.14",
        on: "with vm.defrag_mode at 1, requests reclaim and compact before they mix types in a pageblock", "6.15+"
    ),
    flag!(
        [frames] alloc.pack_movable,
        "Whether movable requests are served from the fullest pageblock that could be emptied",
        off: "movable requests are served from the smallest free block", "every release",
        on: "movable requests are served from the fullest pageblock that could be emptied", "order9"
    ),
    flag!(
        [frames] alloc.fallback_contaminated,
        "Whether fallback of immovable requests takes from pageblocks that already hold immovable memory",
        off: "fallback of immovable requests takes from the pageblock of the block that it finds", "every release",
        on: "fallback of immovable requests takes from Movable pageblocks that already hold immovable memory", "order9"
    ),
    Switch {
        key: "watermark.scale_factor",
        meaning: "Distance between the watermarks, in 1/10000 of the zone",
        sysctl: Some("vm.watermark_scale_factor"),
        values: Values::Number {
            subject: "the distance between watermarks is",
            says: "{}/10000 of the zone, at least min/4",
            range: 1..=3000,
            absent: Some(Case { name: "absent", says: "min/4", releases: "up to 4.5" }),
            releases: "4.6+",
        },
        get: |policy| optional(policy.frames.watermark.scale_factor),
        set: |policy, value| policy.frames.watermark.scale_factor = value.number().map(within_u32),
    },
    Switch {
        key: "watermark.boost_factor",
        meaning: "Limit to which fragmentation events raise the watermarks of a zone, in 1/10000 of its high mark; 0 is off",
        sysctl: Some("vm.watermark_boost_factor"),
        values: Values::Number {
            subject: "fragmentation events raise the watermarks of their zone",
            says: "by up to {}/10000 of the high mark",
            range: 0..=i32::MAX as u64,
            absent: Some(Case { name: "absent", says: "not at all", releases: "up to 4.20" }),
            releases: "5.0+",
        },
        get: |policy| optional(policy.frames.watermark.boost_factor),
        set: |policy, value| policy.frames.watermark.boost_factor = value.number().map(within_u32),
    },
    flag!(
        [frames] watermark.boost_skips_tiny_zones,
        "Whether zones below four pageblocks are never boosted",
        off: "zones of every size are boosted", "up to 5.6",
        on: "zones below four pageblocks are never boosted", "5.7+"
    ),
    flag!(
        [frames] watermark.wake_without_boost,
        "Whether a fragmentation event wakes kswapd even where it added no boost",
        off: "a fragmentation event wakes kswapd only where it added boost", "5.11+",
        on: "a fragmentation event wakes kswapd even where it added no boost", "up to 5.10"
    ),
    flag!(
        [frames] watermark.atomic_ignores_boost,
        "Whether an order-0 atomic request that fails at the boosted min mark is checked against the unboosted one",
        off: "atomic requests obey the boosted min mark", "up to 5.8",
        on: "order-0 atomic requests may go below the boosted min mark, down to the unboosted one", "5.9+"
    ),
    Switch {
        key: "watermark.min_free_kbytes_max",
        meaning: "Upper limit of the computed vm.min_free_kbytes, in kB",
        sysctl: None,
        values: Values::Number {
            subject: "the computed min_free_kbytes is at most",
            says: "{} kB",
            range: 128..=1 << 30,
            absent: None,
            releases: "65536 up to 5.7, 262144 from 5.8 on",
        },
        get: |policy| Value::Number(policy.frames.watermark.min_free_kbytes_max),
        set: |policy, value| set_number(&mut policy.frames.watermark.min_free_kbytes_max, value),
    },
    choice!(
        [frames] watermark.quick_test,
        "The cheap watermark test that order-0 requests pass by first",
        "order-0 requests pass",
        QuickTest::Absent: "absent",
            "the full watermark check only", "up to 4.6";
        QuickTest::IgnoresHighAtomic: "ignores_highatomic",
            "a quick test that ignores the highatomic reserve", "4.7 to 5.8";
        QuickTest::SubtractsHighAtomic: "subtracts_highatomic",
            "a quick test that subtracts the highatomic reserve", "5.9+";
    ),
    choice!(
        [frames] watermark.reserve_rights,
        "How urgent requests get at reserves",
        "urgent requests get at reserves by",
        ReserveRights::Harder: "harder",
            "ALLOC_HARDER, for atomic requests and real-time tasks", "up to 6.2";
        ReserveRights::NonBlock: "non_block",
            "ALLOC_MIN_RESERVE, ALLOC_NON_BLOCK and ALLOC_HIGHATOMIC", "6.3+";
    ),
    Switch {
        key: "pcp.lists",
        meaning: "Which blocks per-CPU lists hold",
        sysctl: None,
        values: Values::Word {
            subject: "per-CPU lists hold",
            cases: &[
                Case { name: "base_pages", says: "order 0 only", releases: "up to 5.13" },
                Case {
                    name: "up_to_costly_huge_by_type",
                    says: "orders 0-3 and 9, order 9 on a list per mobility type",
                    releases: "5.14 to 5.19",
                },
                Case {
                    name: "up_to_costly_huge_shared",
                    says: "orders 0-3 and 9, order 9 on one list for all types",
                    releases: "6.0 to 6.9",
                },
                Case {
                    name: "up_to_costly_huge_by_mobility",
                    says: "orders 0-3 and 9, order 9 on one list for movable and one for other blocks",
                    releases: "6.10+",
                },
            ],
        },
        get: |policy| {
            Value::Word(match policy.frames.pcp.lists {
                PcpLists::BasePages => "base_pages",
                PcpLists::UpToCostly { huge_lists: 3 } => "up_to_costly_huge_by_type",
                PcpLists::UpToCostly { huge_lists: 2 } => "up_to_costly_huge_by_mobility",
                PcpLists::UpToCostly { .. } => "up_to_costly_huge_shared",
            })
        },
        set: |policy, value| {
            policy.frames.pcp.lists = match value.word() {
                "base_pages" => PcpLists::BasePages,
                "up_to_costly_huge_by_type" => PcpLists::UpToCostly { huge_lists: 3 },
                "up_to_costly_huge_by_mobility" => PcpLists::UpToCostly { huge_lists: 2 },
                "up_to_costly_huge_shared" => PcpLists::UpToCostly { huge_lists: 1 },
                other => unreachable!("no value {other}"),
            }
        },
    },
    choice!(
        [frames] pcp.high,
        "Size of a per-CPU list at which pages go back to the zone",
        "a per-CPU list returns pages at",
        PcpHigh::SixBatches: "six_batches",
            "six times its batch", "up to 5.13";
        PcpHigh::LowMark: "low_mark",
            "its share of the low watermark, at least four times its batch", "5.14 to 6.6";
        PcpHigh::AutoTuned: "auto_tuned",
            "a size that follows the load, from its share of the low watermark to an eighth of the zone", "6.7+";
    ),
    Switch {
        key: "pcp.batch_max",
        meaning: "Ceiling of the batch of per-CPU lists before scaling, in pages",
        sysctl: None,
        values: Values::Number {
            subject: "the batch of per-CPU lists is computed from at most",
            says: "{} pages",
            range: 1..=1 << 16,
            absent: None,
            releases: "128 up to 4.18, 256 from 4.19 on",
        },
        get: |policy| Value::Number(policy.frames.pcp.batch_max),
        set: |policy, value| set_number(&mut policy.frames.pcp.batch_max, value),
    },
    flag!(
        [frames] pcp.freed_list_first,
        "Which of a CPU's lists give pages back to the zone",
        off: "each of a CPU's lists in turn gives a block back to the zone", "up to 5.17",
        on: "the per-CPU list that a page was freed to gives all its blocks back before the next list does", "5.18+"
    ),
    flag!(
        [frames] pcp.keeps_cached_type,
        "Whether a page leaves a per-CPU list with the type its pageblock had when it was freed",
        off: "a page leaves a per-CPU list with the type its pageblock has now", "6.10+",
        on: "a page leaves a per-CPU list with the type its pageblock had when it was freed", "up to 6.9"
    ),
    flag!(
        [frames] pcp.decay,
        "Whether per-CPU lists whose size follows the load shrink with time",
        off: "per-CPU lists keep the size that the load gave them", "up to 6.6",
        on: "per-CPU lists lose an eighth of their size each second, and what they hold beyond", "6.7+"
    ),
    flag!(
        [frames] highatomic.limit_rounded,
        "How the limit of the highatomic reserve is computed from a hundredth of the zone",
        off: "the highatomic reserve is limited to a hundredth of the zone plus one pageblock", "up to 6.7",
        on: "the highatomic reserve is limited to a hundredth of the zone rounded up to a pageblock, and to none \
             where that hundredth is less than a pageblock", "6.8+"
    ),
    flag!(
        [frames] highatomic.only_free_part_withheld,
        "Whether watermark checks subtract only the free part of the highatomic reserve",
        off: "watermark checks subtract the whole highatomic reserve", "up to 6.11",
        on: "watermark checks subtract only the free part of the highatomic reserve", "6.12+"
    ),
    choice!(
        mempolicy,
        "Calls and modes of memory policies",
        "programs choose their nodes by",
        MempolicyInterface::Base: "base",
            "MPOL_PREFERRED, MPOL_BIND, MPOL_INTERLEAVE and MPOL_LOCAL", "up to 5.11";
        MempolicyInterface::BindBalancing: "bind_balancing",
            "the same, and MPOL_F_NUMA_BALANCING with MPOL_BIND", "5.12 to 5.14";
        MempolicyInterface::PreferredMany: "preferred_many",
            "the same and MPOL_PREFERRED_MANY", "5.15 to 5.16";
        MempolicyInterface::HomeNode: "home_node",
            "the same, MPOL_PREFERRED_MANY and set_mempolicy_home_node", "5.17 to 6.8";
        MempolicyInterface::WeightedInterleave: "weighted_interleave",
            "the same, MPOL_PREFERRED_MANY, set_mempolicy_home_node and MPOL_WEIGHTED_INTERLEAVE", "6.9";
        MempolicyInterface::PreferredManyBalancing: "preferred_many_balancing",
            "the same, MPOL_PREFERRED_MANY, set_mempolicy_home_node, MPOL_WEIGHTED_INTERLEAVE, and MPOL_F_NUMA_BALANCING with \
             MPOL_PREFERRED_MANY", "6.10 to 6.15";
        MempolicyInterface::AutoWeights: "auto_weights",
            "the same, MPOL_PREFERRED_MANY, set_mempolicy_home_node, MPOL_F_NUMA_BALANCING with MPOL_PREFERRED_MANY, and \
             MPOL_WEIGHTED_INTERLEAVE with weights that follow the bandwidth of nodes", "6.16+";
    ),
    choice!(
        mmap_lock,
        "How far the lock of an address space keeps its threads from each other",
        "a fault waits for",
        MmapLock::Whole: "whole",
            "every change of the mappings, and for `munmap` until its last page is unmapped", "up to 4.19";
        MmapLock::Downgraded: "downgraded",
            "every change of the mappings, but not while `munmap` unmaps pages", "4.20 to 6.3";
        MmapLock::PerAnonVma: "per_anon_vma",
            "changes of its own mapping where that is anonymous and has pages, and else for every change of the mappings",
            "6.4 to 6.6";
        MmapLock::PerVma: "per_vma",
            "changes of its own mapping alone", "6.7+";
    ),
    choice!(
        scheduler,
        "Way in which the tasks of a CPU share its time",
        "on a CPU",
        Scheduler::Cfs: "cfs",
            "CFS: a task that wakes preempts who has had more, with a credit of half the latency for its sleep", "up to 6.5";
        Scheduler::Eevdf: "eevdf",
            "EEVDF: a task that wakes preempts who has had more than its share, and keeps its lag through a sleep", "6.6 to 6.11";
        Scheduler::EevdfDelayed: "eevdf_delayed_dequeue",
            "EEVDF: the same, but what a task had too much it works off in its sleep", "6.12+";
    ),
    choice!(
        preempt,
        "Interruption of a task that has to make room for another",
        "a task in the kernel makes room",
        Preempt::Voluntary: "voluntary",
            "at its next preemption point", "up to 6.18";
        Preempt::Lazy: "lazy",
            "when it returns to its program, or at the timer interrupt after it was asked", "7.0+";
    ),
    choice!(
        [frames] moved_blocks,
        "Where blocks given at boot and blocks moved between types go on their list",
        "blocks given at boot and blocks moved between types go to",
        ListEnd::Head: "head",
            "the head of their list, to be taken next", "up to 5.9";
        ListEnd::Tail: "tail",
            "the tail of their list, to be taken last", "5.10+";
    ),
    flag!(
        [frames] merge_guards_all_types,
        "Whether order-9 blocks merge only if both pageblocks are of mergeable types or of one type",
        off: "order-9 blocks merge whatever their types, unless one is Isolate", "up to 5.17",
        on: "order-9 blocks merge only if both pageblocks are of a mergeable type or of the same", "5.18+"
    ),
    flag!(
        [frames] cma_balance,
        "Whether movable requests take CMA memory first while more than half of the free pages are CMA",
        off: "movable requests take CMA memory only when their own lists are empty", "up to 5.7",
        on: "movable requests take CMA memory first while more than half of the free pages are CMA", "5.8+"
    ),
    flag!(
        [frames] fair_zone_batches,
        "Whether local zones take turns by batches of (high - low) pages",
        off: "zones are used strictly in the order of the zonelist", "4.8+",
        on: "local zones take turns by batches of (high - low) pages", "up to 4.7"
    ),
];
