//! Every switch of the engine, in the order of the fields of its `Policy`.

use order9_mm::policy::{
    BalanceRule, ClaimRule, ContinueRule, EarlyFail, FallbackSearch, FirstCompaction, InodeCache, ListEnd, LruScope,
    NewAnon, PcpHigh, PcpLists, QuickTest, ReserveRights, RetryRule, SlabDeferred, SlabTarget, SlabUnderBoost,
    StallCounts, ThrottleRule, Withdrawn,
};

use crate::switch::{Case, Switch, Value, Values};

/// The key of a field: its path.
macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($group:ident.$field:ident) => {
        concat!(stringify!($group), ".", stringify!($field))
    };
}

/// A switch that is a `bool`.
macro_rules! flag {
    ($($path:ident).+, $meaning:literal, off: $off:literal, $off_releases:literal, on: $on:literal, $on_releases:literal) => {
        Switch {
            key: key!($($path).+),
            meaning: $meaning,
            sysctl: None,
            values: Values::Flag {
                off: Case { name: "false", says: $off, releases: $off_releases },
                on: Case { name: "true", says: $on, releases: $on_releases },
            },
            get: |policy| Value::Flag(policy.$($path).+),
            set: |policy, value| policy.$($path).+ = value.flag(),
        }
    };
}

/// A switch that is an enum without data. A variant without a row does not compile.
macro_rules! choice {
    ($($path:ident).+, $meaning:literal, $subject:literal, $($variant:path: $name:literal, $says:literal, $releases:literal;)+) => {
        Switch {
            key: key!($($path).+),
            meaning: $meaning,
            sysctl: None,
            values: Values::Word {
                subject: $subject,
                cases: &[$(Case { name: $name, says: $says, releases: $releases }),+],
            },
            get: |policy| Value::Word(match policy.$($path).+ { $($variant => $name),+ }),
            set: |policy, value| policy.$($path).+ = match value.word() {
                $($name => $variant,)+
                other => unreachable!("no value {other}"),
            },
        }
    };
}

/// Every switch. A test proves that no field of `Policy` is missing.
pub static SWITCHES: &[Switch] = &[
    choice!(
        fallback.search,
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
        fallback.claim,
        "When a pageblock changes its type after blocks were taken from it",
        "a pageblock changes its type if at least half of it is",
        ClaimRule::FreeHalf: "free_half",
            "free", "up to 4.11";
        ClaimRule::CompatibleHalf: "compatible_half",
            "free or of compatible mobility", "4.12+";
    ),
    flag!(
        fallback.freelist_hygiene,
        "Whether the type of a free list and of the pageblocks on it always agree",
        off: "free blocks may lie on the list of another type than their pageblock's", "up to 6.9",
        on: "a block that is not claimed keeps its type and its lists", "6.10+"
    ),
    flag!(
        fallback.nofragment,
        "Whether the fast path tries other local zones rather than mix types (ALLOC_NOFRAGMENT)",
        off: "the fast path mixes types as soon as the preferred zone has no block of its own type", "up to 5.0",
        on: "the fast path tries other local zones before it mixes types", "5.1+; 5.0 had it without effect"
    ),
    flag!(
        fallback.nofragment_spares_huge,
        "Whether ALLOC_NOFRAGMENT limits only requests below pageblock order",
        off: "ALLOC_NOFRAGMENT limits requests of every order", "up to 6.0",
        on: "ALLOC_NOFRAGMENT limits only requests below pageblock order", "6.1+"
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
        get: |policy| optional(policy.watermark.scale_factor),
        set: |policy, value| policy.watermark.scale_factor = value.number().map(within_u32),
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
        get: |policy| optional(policy.watermark.boost_factor),
        set: |policy, value| policy.watermark.boost_factor = value.number().map(within_u32),
    },
    flag!(
        watermark.boost_skips_tiny_zones,
        "Whether zones below four pageblocks are never boosted",
        off: "zones of every size are boosted", "up to 5.6",
        on: "zones below four pageblocks are never boosted", "5.7+"
    ),
    flag!(
        watermark.wake_without_boost,
        "Whether a fragmentation event wakes kswapd even where it added no boost",
        off: "a fragmentation event wakes kswapd only where it added boost", "5.11+",
        on: "a fragmentation event wakes kswapd even where it added no boost", "up to 5.10"
    ),
    flag!(
        watermark.atomic_ignores_boost,
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
        get: |policy| Value::Number(policy.watermark.min_free_kbytes_max),
        set: |policy, value| set_number(&mut policy.watermark.min_free_kbytes_max, value),
    },
    choice!(
        watermark.quick_test,
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
        watermark.reserve_rights,
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
                    releases: "6.0 to 6.11",
                },
                Case {
                    name: "up_to_costly_huge_by_mobility",
                    says: "orders 0-3 and 9, order 9 on one list for movable and one for other blocks",
                    releases: "6.12+",
                },
            ],
        },
        get: |policy| {
            Value::Word(match policy.pcp.lists {
                PcpLists::BasePages => "base_pages",
                PcpLists::UpToCostly { huge_lists: 3 } => "up_to_costly_huge_by_type",
                PcpLists::UpToCostly { huge_lists: 2 } => "up_to_costly_huge_by_mobility",
                PcpLists::UpToCostly { .. } => "up_to_costly_huge_shared",
            })
        },
        set: |policy, value| {
            policy.pcp.lists = match value.word() {
                "base_pages" => PcpLists::BasePages,
                "up_to_costly_huge_by_type" => PcpLists::UpToCostly { huge_lists: 3 },
                "up_to_costly_huge_by_mobility" => PcpLists::UpToCostly { huge_lists: 2 },
                "up_to_costly_huge_shared" => PcpLists::UpToCostly { huge_lists: 1 },
                other => unreachable!("no value {other}"),
            }
        },
    },
    choice!(
        pcp.high,
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
        get: |policy| Value::Number(policy.pcp.batch_max),
        set: |policy, value| set_number(&mut policy.pcp.batch_max, value),
    },
    flag!(
        pcp.keeps_cached_type,
        "Whether a page leaves a per-CPU list with the type its pageblock had when it was freed",
        off: "a page leaves a per-CPU list with the type its pageblock has now", "6.10+",
        on: "a page leaves a per-CPU list with the type its pageblock had when it was freed", "up to 6.9"
    ),
    flag!(
        highatomic.limit_rounded,
        "How the limit of the highatomic reserve is computed from a hundredth of the zone",
        off: "the highatomic reserve is limited to a hundredth of the zone plus one pageblock", "up to 6.7",
        on: "the highatomic reserve is limited to a hundredth of the zone rounded up to a pageblock, and to none \
             where that hundredth is less than a pageblock", "6.8+"
    ),
    flag!(
        highatomic.only_free_part_withheld,
        "Whether watermark checks subtract only the free part of the highatomic reserve",
        off: "watermark checks subtract the whole highatomic reserve", "up to 6.11",
        on: "watermark checks subtract only the free part of the highatomic reserve", "6.12+"
    ),
    choice!(
        slow_path.first_compaction,
        "Which requests compact before they reclaim",
        "compaction comes before reclaim for",
        FirstCompaction::HighOrders: "high_orders",
            "every request above order 0", "up to 4.8";
        FirstCompaction::CostlyOrUnmovable: "costly_or_unmovable",
            "costly requests, and those above order 0 that are not movable", "4.9 to 6.8";
        FirstCompaction::CostlyOrUnmovableWithIo: "costly_or_unmovable_with_io",
            "costly requests, and those above order 0 that are not movable, if they may start I/O", "6.9+";
    ),
    choice!(
        slow_path.early_fail,
        "Which requests fail right after their first compaction",
        "right after their first compaction fail",
        EarlyFail::HugeNoRetry: "huge_no_retry",
            "huge pages without retries, if it was deferred or contended", "up to 4.8";
        EarlyFail::NoRetryDeferred: "no_retry_deferred",
            "costly requests without retries, if it was deferred", "4.9 to 5.3";
        EarlyFail::HugeUnlessRetryMayFail: "huge_unless_retry_may_fail",
            "costly requests without retries, if it was deferred, and order 9 with I/O and without \
             __GFP_RETRY_MAYFAIL, if it was skipped or deferred", "5.4";
        EarlyFail::NoRetrySkippedOrDeferred: "no_retry_skipped_or_deferred",
            "costly requests without retries, if it was skipped or deferred", "5.5+";
        EarlyFail::HugeNoRetryAlways: "huge_no_retry_always",
            "costly requests without retries, if it was deferred, and order 9 without retries always, kernel threads \
             excepted", "proposed in 2018";
    ),
    choice!(
        slow_path.retry,
        "How long requests go on after reclaim",
        "requests go on",
        RetryRule::Repeat: "repeat",
            "only with __GFP_REPEAT if costly, until as many pages are reclaimed as they asked for", "up to 4.6";
        RetryRule::WhileHopeful: "while_hopeful",
            "while reclaim or compaction can still help", "4.7+";
    ),
    choice!(
        slow_path.withdrawn,
        "What a compaction that was deferred, contended or left a part out means for the next try",
        "after compaction that was deferred, contended or left a part out, a request tries again",
        Withdrawn::ByReclaimable: "by_reclaimable",
            "while a zone would be suitable with what can be reclaimed", "4.9 to 5.3";
        Withdrawn::SkippedOnly: "skipped_only",
            "with more effort, until none is left", "5.4+";
    ),
    flag!(
        slow_path.retry_waits_for_writeback,
        "Whether a retry without progress waits while most of what could be reclaimed is under writeback",
        off: "a retry without progress does not wait for writeback", "up to 4.6, and 5.16+",
        on: "a retry without progress waits up to 100 ms while most of what could be reclaimed is under writeback",
            "4.7 to 5.15"
    ),
    choice!(
        slow_path.stall_counts,
        "Which direct compactions count as compact_stall",
        "compact_stall counts",
        StallCounts::Tried: "tried",
            "direct compactions that did something", "up to 5.0";
        StallCounts::All: "all",
            "all direct compactions, even skipped and deferred ones", "5.1 to 5.12";
        StallCounts::AllButSkipped: "all_but_skipped",
            "all direct compactions but skipped ones", "5.13+";
    ),
    flag!(
        slow_path.thisnode_needs_reclaim,
        "Whether a request for one node only that may not reclaim fails before kswapd is asked for",
        off: "a request for one node only that may not reclaim wakes kswapd and looks again", "4.6+",
        on: "a request for one node only that may not reclaim fails before kswapd is asked for", "up to 4.5"
    ),
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
            "on the active list", "up to 5.8";
        NewAnon::Inactive: "inactive",
            "on the inactive list, from which use has to save them", "5.9+";
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
    choice!(
        reclaim.throttle,
        "What stalled reclaimers wait for",
        "reclaimers that overtake the disks or each other wait for",
        ThrottleRule::Congestion: "congestion",
            "disks to be less busy, for up to 100 ms", "up to 5.15";
        ThrottleRule::Events: "events",
            "enough pages to be written, for up to 100 ms; for others' isolated pages 20 ms; else a tick", "5.16+";
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
    choice!(
        moved_blocks,
        "Where blocks given at boot and blocks moved between types go on their list",
        "blocks given at boot and blocks moved between types go to",
        ListEnd::Head: "head",
            "the head of their list, to be taken next", "up to 5.9";
        ListEnd::Tail: "tail",
            "the tail of their list, to be taken last", "5.10+";
    ),
    flag!(
        merge_guards_all_types,
        "Whether order-9 blocks merge only if both pageblocks are of a mergeable type or of the same",
        off: "order-9 blocks merge whatever their types, unless one is Isolate", "up to 5.17",
        on: "order-9 blocks merge only if both pageblocks are of a mergeable type or of the same", "5.18+"
    ),
    flag!(
        cma_balance,
        "Whether movable requests take CMA memory first while more than half of the free pages are CMA",
        off: "movable requests take CMA memory only when their own lists are empty", "up to 5.7",
        on: "movable requests take CMA memory first while more than half of the free pages are CMA", "5.8+"
    ),
    flag!(
        fair_zone_batches,
        "Whether local zones take turns by batches of (high - low) pages",
        off: "zones are used strictly in the order of the zonelist", "4.8+",
        on: "local zones take turns by batches of (high - low) pages", "up to 4.7"
    ),
];

/// A combination of values that no policy may have, since the laws of the engine do not hold with it.
pub(crate) struct Conflict {
    /// Key and value of one side.
    pub(crate) one: (&'static str, Value),
    /// Key and value of the other side.
    pub(crate) other: (&'static str, Value),
    /// What would go wrong.
    pub(crate) why: &'static str,
}

/// Every combination that is refused.
pub(crate) static CONFLICTS: &[Conflict] = &[Conflict {
    one: ("fallback.freelist_hygiene", Value::Flag(true)),
    other: ("pcp.keeps_cached_type", Value::Flag(true)),
    why: "pages would come back with an older type than their pageblock's, and lists would disagree with pageblocks",
}];

/// The switch called `key`.
pub(crate) fn find(key: &str) -> Option<&'static Switch> {
    SWITCHES.iter().find(|switch| switch.key == key)
}

fn optional(number: Option<u32>) -> Value {
    number.map_or(Value::Word("absent"), |number| Value::Number(number.into()))
}

fn within_u32(number: u64) -> u32 {
    u32::try_from(number).expect("the range of the switch fits its field")
}

fn set_number(field: &mut u64, value: Value) {
    *field = value.number().expect("the switch admits no word");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use order9_mm::policy::{
        FallbackPolicy, HighAtomicPolicy, PcpPolicy, Policy, ReclaimPolicy, SlowPathPolicy, WatermarkPolicy,
    };

    use super::*;

    /// The keys of all fields, from a pattern that must name each: a new field does not compile until it stands here.
    macro_rules! keys {
        ($($group:ident: $of:ident { $($field:ident),+ }),+; $($own:ident),+) => {{
            let Policy { $($group: $of { $($field: _),+ },)+ $($own: _),+ } = Policy::default();
            BTreeSet::from([$($(key!($group.$field),)+)+ $(key!($own)),+])
        }};
    }

    #[test]
    fn every_field_of_the_policy_has_a_switch() {
        let fields = keys!(
            fallback: FallbackPolicy { search, claim, freelist_hygiene, nofragment, nofragment_spares_huge },
            watermark: WatermarkPolicy {
                scale_factor, boost_factor, boost_skips_tiny_zones, wake_without_boost, atomic_ignores_boost,
                min_free_kbytes_max, quick_test, reserve_rights
            },
            pcp: PcpPolicy { lists, high, batch_max, keeps_cached_type },
            reclaim: ReclaimPolicy {
                lru, new_anon, file_ratio, balance, should_continue, slab_target, slab_small_caches, slab_deferred,
                slab_under_boost, inode_cache, throttle, drop_slab_doubles
            },
            highatomic: HighAtomicPolicy { limit_rounded, only_free_part_withheld },
            slow_path: SlowPathPolicy {
                first_compaction, early_fail, retry, withdrawn, retry_waits_for_writeback, stall_counts,
                thisnode_needs_reclaim
            };
            moved_blocks, merge_guards_all_types, cma_balance, fair_zone_batches
        );
        let keys: Vec<_> = SWITCHES.iter().map(|switch| switch.key).collect();
        assert_eq!(fields, keys.iter().copied().collect());
        assert_eq!(fields.len(), keys.len(), "no key twice");
    }

    /// Values to try: the named ones and both ends of a range.
    fn values(switch: &Switch) -> Vec<Value> {
        match &switch.values {
            Values::Flag { .. } => vec![Value::Flag(false), Value::Flag(true)],
            Values::Word { cases, .. } => cases.iter().map(|case| Value::Word(case.name)).collect(),
            Values::Number { range, absent, .. } => {
                let ends = [*range.start(), *range.end()].map(Value::Number);
                ends.into_iter().chain(absent.map(|case| Value::Word(case.name))).collect()
            }
        }
    }

    #[test]
    fn what_was_set_is_what_one_gets_and_nothing_else_changes() {
        for switch in SWITCHES {
            let before = Policy::default();
            for value in values(switch) {
                assert!(switch.values.admits(value), "{} = {value}", switch.key);
                let mut policy = before.clone();
                (switch.set)(&mut policy, value);
                assert_eq!(switch.get(&policy), value, "{}", switch.key);
                for other in SWITCHES.iter().filter(|other| other.key != switch.key) {
                    assert_eq!(other.get(&policy), other.get(&before), "{} set {}", switch.key, other.key);
                }
                assert!(!switch.sentence(value).is_empty() && !switch.releases(value).is_empty());
            }
        }
    }

    #[test]
    fn conflicts_name_switches_and_values() {
        for conflict in CONFLICTS {
            for (key, value) in [conflict.one, conflict.other] {
                assert!(find(key).expect("a switch").values.admits(value), "{key} = {value}");
            }
        }
    }
}
