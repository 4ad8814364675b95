//! Every switch of the engine, in the order of the fields of its `Policy`.

use crate::switch::{Switch, Value};

/// The key of a field: its path.
macro_rules! key {
    ($field:ident) => {
        stringify!($field)
    };
    ($group:ident.$field:ident) => {
        concat!(stringify!($group), ".", stringify!($field))
    };
}

/// A switch that is a `bool`; `[part]` names the part of the policy that it is in, which its key does not.
macro_rules! flag {
    ($([$part:ident])? $($path:ident).+, $meaning:literal, off: $off:literal, $off_releases:literal, on: $on:literal, $on_releases:literal) => {
        Switch {
            key: key!($($path).+),
            meaning: $meaning,
            sysctl: None,
            values: Values::Flag {
                off: Case { name: "false", says: $off, releases: $off_releases },
                on: Case { name: "true", says: $on, releases: $on_releases },
            },
            get: |policy| Value::Flag(policy$(.$part)?.$($path).+),
            set: |policy, value| policy$(.$part)?.$($path).+ = value.flag(),
        }
    };
}

/// A switch that is an enum without data. A variant without a row does not compile.
macro_rules! choice {
    ($([$part:ident])? $($path:ident).+, $meaning:literal, $subject:literal, $($variant:path: $name:literal, $says:literal, $releases:literal;)+) => {
        Switch {
            key: key!($($path).+),
            meaning: $meaning,
            sysctl: None,
            values: Values::Word {
                subject: $subject,
                cases: &[$(Case { name: $name, says: $says, releases: $releases }),+],
            },
            get: |policy| Value::Word(match policy$(.$part)?.$($path).+ { $($variant => $name),+ }),
            set: |policy, value| policy$(.$part)?.$($path).+ = match value.word() {
                $($name => $variant,)+
                other => unreachable!("no value {other}"),
            },
        }
    };
}

mod allocator;
mod compaction;
mod numa_balancing;
mod reclaim;
mod slow_path;
mod thp;

static GROUPS: &[&[Switch]] = &[
    allocator::SWITCHES,
    reclaim::SWITCHES,
    slow_path::SWITCHES,
    compaction::SWITCHES,
    thp::SWITCHES,
    numa_balancing::SWITCHES,
];

/// Every switch. A test proves that no field of `Policy` is missing.
pub fn switches() -> impl Iterator<Item = &'static Switch> {
    GROUPS.iter().copied().flatten()
}

/// A combination of values that no policy may have, since the laws of the engine do not hold with it.
pub(crate) struct Conflict {
    /// Key and value of one side.
    pub(crate) one: (&'static str, Value),
    /// Key and value of the other side.
    pub(crate) other: (&'static str, Value),
    /// The contradiction between the values, in words.
    pub(crate) why: &'static str,
}

/// Every combination that is refused.
pub(crate) static CONFLICTS: &[Conflict] = &[
    Conflict {
        one: ("fallback.freelist_hygiene", Value::Flag(true)),
        other: ("pcp.keeps_cached_type", Value::Flag(true)),
        why: "pages would come back with an older type than their pageblock's, and lists would disagree with pageblocks",
    },
    index_alone("compaction.source_search", "compaction.target_search", "linear"),
    index_alone("compaction.source_search", "compaction.target_search", "free_lists"),
    index_alone("compaction.target_search", "compaction.source_search", "linear"),
    index_alone("compaction.target_search", "compaction.source_search", "free_lists"),
];

/// Only one side of compaction goes by the index.
const fn index_alone(by_index: &'static str, other: &'static str, search: &'static str) -> Conflict {
    Conflict {
        one: (by_index, Value::Word("index")),
        other: (other, Value::Word(search)),
        why: "a run by the index has no scanner that could look for the other side",
    }
}

/// The switch called `key`.
pub(crate) fn find(key: &str) -> Option<&'static Switch> {
    switches().find(|switch| switch.key == key)
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
        AllocPolicy, CompactionPolicy, FallbackPolicy, FramesPolicy, HighAtomicPolicy, NumaBalancingPolicy, PcpPolicy,
        Policy, ReclaimPolicy, SlowPathPolicy, ThpPolicy, WatermarkPolicy,
    };

    use super::*;
    use crate::switch::Values;

    /// The keys of all fields, from a pattern that must name each: a new field does not compile until it stands here.
    macro_rules! keys {
        ($policy:ident; $($group:ident: $of:ident { $($field:ident),+ }),+; $($own:ident),+; $($part:ident)?) => {{
            let $policy { $($group: $of { $($field: _),+ },)+ $($own: _,)+ $($part: _)? } = $policy::default();
            BTreeSet::from([$($(key!($group.$field),)+)+ $(key!($own)),+])
        }};
    }

    #[test]
    fn every_field_of_the_policy_has_a_switch() {
        let of_frames = keys!(
            FramesPolicy;
            fallback: FallbackPolicy { search, claim, freelist_hygiene, nofragment, nofragment_spares_huge, defrag_mode },
            alloc: AllocPolicy { pack_movable, fallback_contaminated },
            watermark: WatermarkPolicy {
                scale_factor, boost_factor, boost_skips_tiny_zones, wake_without_boost, atomic_ignores_boost,
                min_free_kbytes_max, quick_test, reserve_rights
            },
            pcp: PcpPolicy { lists, high, batch_max, freed_list_first, keeps_cached_type, decay },
            highatomic: HighAtomicPolicy { limit_rounded, only_free_part_withheld };
            moved_blocks, merge_guards_all_types, cma_balance, fair_zone_batches;
        );
        let above = keys!(
            Policy;
            reclaim: ReclaimPolicy {
                lru, new_anon, file_ratio, balance, should_continue, slab_target, slab_small_caches, slab_deferred,
                slab_under_boost, inode_cache, large_reads, large_requests, xarray, throttle, throttle_vm_writeout, force_deactivate, kswapd_balances, unreclaimable,
                drop_slab_doubles, stops_at_goal, lazy_free, node_reach, swap_in_alone, node_file, swap_clusters_by_order, swap_used_first, partial_first
            },
            slow_path: SlowPathPolicy {
                first_compaction, early_fail, retry, withdrawn, retry_waits_for_writeback, stall_counts,
                thisnode_needs_reclaim
            },
            compaction: CompactionPolicy {
                background, wake_when_balanced, source_search, target_search, target_stride, nohandler_fail_fast, finish_block_always, isolate_ignores_boost, source_private, rescan_whole_block, contention_finish_block, skip_huge_block_early, sync_cached_unusable, free_cursor_slow, target_order_rr, capture, resched_aborts_async, skip_reset, drain_mark, fast_source_wasted, fast_source_fail, private_aligned_only, cached_migrate_overshoot, finish_on_failure, capture_before_drain, reset_free_last_frame, target_limit_min, gap, proactive, proactive_zone_weighted, proactive_backoff, works_ahead, gives_way, scan_counts_jumps, migrate_large_folios, scan_counts_taken, batched_migrate, defer_cap, defer_remote_cap, stop_at_fragmented_remote, compact_memory_totals_accumulate
            },
            thp: ThpPolicy {
                defrag, defer, defer_madvise, madvised_noretry, placement, near, cow, zero_write, split_page_with_pmd, queue_full_unmap,
                words_by_prefix, madvise_collapse, max_ptes_swap, max_ptes_shared, migration, fork_pin_copy, mmap_align, hugetlb_noretry, shmem, shmem_gfp, shmem_punch,
                within_size_end, shmem_retract, swap_whole, swap_small_whole, file_large, stop_resets_min_free, min_free_all_zones, zero_by_slot, collapse_equal_nodes, shrink_underused, free_empty_tables, interface
            },
            numa_balancing: NumaBalancingPolicy {
                spares, vmas, slows_down, early_moves, rate_limit, counts_thp, debugfs
            };
            mempolicy, mmap_lock, scheduler, preempt; frames
        );
        let fields: BTreeSet<&str> = of_frames.union(&above).copied().collect();
        let keys: Vec<_> = switches().map(|switch| switch.key).collect();
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
        for switch in switches() {
            let before = Policy::default();
            for value in values(switch) {
                assert!(switch.values.admits(value), "{} = {value}", switch.key);
                let mut policy = before.clone();
                (switch.set)(&mut policy, value);
                assert_eq!(switch.get(&policy), value, "{}", switch.key);
                for other in switches().filter(|other| other.key != switch.key) {
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
