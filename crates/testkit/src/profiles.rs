//! The switches of the allocator's lists and marks as Linux releases had them, and every switch flipped alone.

use order9_mm::policy::{
    BalanceRule, ClaimRule, ContinueRule, FallbackSearch, HighAtomicPolicy, ListEnd, LruScope, NewAnon, PcpHigh,
    PcpLists, Policy, QuickTest, ReserveRights,
};

/// A profile and its name.
pub type Profile = (&'static str, fn() -> Policy);

/// Every profile, oldest first.
pub const ALL: [Profile; 10] = [
    ("linux_4_4", linux_4_4),
    ("linux_4_19", linux_4_19),
    ("linux_5_0", linux_5_0),
    ("linux_5_1", linux_5_1),
    ("linux_5_3", linux_5_3),
    ("linux_5_9", linux_5_9),
    ("linux_5_14", linux_5_14),
    ("linux_6_1", linux_6_1),
    ("linux_6_12", linux_6_12),
    ("linux_6_15", linux_6_15),
];

/// Linux 4.4: largest fallback always, claims by free pages alone, zones in turn.
#[must_use]
pub fn linux_4_4() -> Policy {
    let mut policy = linux_4_19();
    policy.frames.fallback.search = FallbackSearch::LargestFirst;
    policy.frames.fallback.claim = ClaimRule::FreeHalf;
    policy.frames.watermark.scale_factor = None;
    policy.frames.watermark.quick_test = QuickTest::Absent;
    policy.frames.pcp.batch_max = 128;
    policy.frames.fair_zone_batches = true;
    policy.reclaim.lru = LruScope::Zone;
    policy.reclaim.file_ratio = false;
    policy
}

/// Linux 4.19: no boosting yet.
#[must_use]
pub fn linux_4_19() -> Policy {
    let mut policy = linux_5_0();
    policy.frames.watermark.boost_factor = None;
    policy
}

/// Linux 5.0: watermark boosting; ALLOC_NOFRAGMENT is there but never set.
#[must_use]
pub fn linux_5_0() -> Policy {
    let mut policy = linux_5_1();
    policy.frames.fallback.nofragment = false;
    policy
}

/// Linux 5.1: ALLOC_NOFRAGMENT takes effect.
#[must_use]
pub fn linux_5_1() -> Policy {
    linux_5_3()
}

/// Linux 5.3, the reference.
#[must_use]
pub fn linux_5_3() -> Policy {
    Policy::default()
}

/// The policy of Linux 5.9.
#[must_use]
pub fn linux_5_9() -> Policy {
    let mut policy = linux_5_3();
    policy.frames.watermark.boost_skips_tiny_zones = true;
    policy.frames.watermark.atomic_ignores_boost = true;
    policy.frames.watermark.min_free_kbytes_max = 262_144;
    policy.frames.watermark.quick_test = QuickTest::SubtractsHighAtomic;
    policy.frames.cma_balance = true;
    policy.reclaim.new_anon = NewAnon::Inactive;
    policy.reclaim.balance = BalanceRule::RefaultCost;
    policy.reclaim.should_continue = ContinueRule::SuitableFirst;
    policy
}

/// Linux 5.14: per-CPU lists of orders 0 to 3 and 9, moved blocks at the tail.
#[must_use]
pub fn linux_5_14() -> Policy {
    let mut policy = linux_5_9();
    policy.frames.watermark.wake_without_boost = false;
    policy.frames.pcp.lists = PcpLists::UpToCostly { huge_lists: 3 };
    policy.frames.pcp.high = PcpHigh::LowMark;
    policy.frames.moved_blocks = ListEnd::Tail;
    policy
}

/// The policy of Linux 6.1.
#[must_use]
pub fn linux_6_1() -> Policy {
    let mut policy = linux_5_14();
    policy.frames.fallback.nofragment_spares_huge = true;
    policy.frames.pcp.lists = PcpLists::UpToCostly { huge_lists: 1 };
    policy.frames.pcp.freed_list_first = true;
    policy.frames.merge_guards_all_types = true;
    policy
}

/// Linux 6.12: free lists agree with pageblocks, per-CPU lists follow the load.
#[must_use]
pub fn linux_6_12() -> Policy {
    let mut policy = linux_6_1();
    policy.frames.fallback.freelist_hygiene = true;
    policy.frames.watermark.reserve_rights = ReserveRights::NonBlock;
    policy.frames.pcp.lists = PcpLists::UpToCostly { huge_lists: 2 };
    policy.frames.pcp.high = PcpHigh::AutoTuned;
    policy.frames.pcp.keeps_cached_type = false;
    policy.frames.highatomic = HighAtomicPolicy { limit_rounded: true, only_free_part_withheld: true };
    policy
}

/// Linux 6.15: claiming and stealing are two phases.
#[must_use]
pub fn linux_6_15() -> Policy {
    let mut policy = linux_6_12();
    policy.frames.fallback.search = FallbackSearch::ClaimThenSteal;
    policy
}

/// One switch set to one value, and what it is called.
pub type Flip = (&'static str, fn(&mut Policy));

/// Every switch with every value it can take, to be set in any profile.
pub const FLIPS: [Flip; 46] = [
    ("search_largest", |p| p.frames.fallback.search = FallbackSearch::LargestFirst),
    ("search_smallest", |p| p.frames.fallback.search = FallbackSearch::SmallestUnlessClaimable),
    ("search_claim_then_steal", |p| p.frames.fallback.search = FallbackSearch::ClaimThenSteal),
    ("claim_free_half", |p| p.frames.fallback.claim = ClaimRule::FreeHalf),
    ("claim_compatible_half", |p| p.frames.fallback.claim = ClaimRule::CompatibleHalf),
    ("hygiene_off", |p| p.frames.fallback.freelist_hygiene = false),
    ("hygiene_on", hygiene_on),
    ("nofragment_off", |p| p.frames.fallback.nofragment = false),
    ("nofragment_on", |p| p.frames.fallback.nofragment = true),
    ("nofragment_limits_huge", |p| p.frames.fallback.nofragment_spares_huge = false),
    ("nofragment_spares_huge", |p| p.frames.fallback.nofragment_spares_huge = true),
    ("scale_factor_none", |p| p.frames.watermark.scale_factor = None),
    ("scale_factor_100", |p| p.frames.watermark.scale_factor = Some(100)),
    ("boost_none", |p| p.frames.watermark.boost_factor = None),
    ("boost_0", |p| p.frames.watermark.boost_factor = Some(0)),
    ("boost_15000", |p| p.frames.watermark.boost_factor = Some(15_000)),
    ("boost_tiny_zones", |p| p.frames.watermark.boost_skips_tiny_zones = false),
    ("boost_skips_tiny_zones", |p| p.frames.watermark.boost_skips_tiny_zones = true),
    ("wake_with_boost", |p| p.frames.watermark.wake_without_boost = false),
    ("wake_without_boost", |p| p.frames.watermark.wake_without_boost = true),
    ("atomic_obeys_boost", |p| p.frames.watermark.atomic_ignores_boost = false),
    ("atomic_ignores_boost", |p| p.frames.watermark.atomic_ignores_boost = true),
    ("min_free_kbytes_max_512", |p| p.frames.watermark.min_free_kbytes_max = 512),
    ("quick_test_absent", |p| p.frames.watermark.quick_test = QuickTest::Absent),
    ("quick_test_ignores_highatomic", |p| p.frames.watermark.quick_test = QuickTest::IgnoresHighAtomic),
    ("quick_test_subtracts_highatomic", |p| p.frames.watermark.quick_test = QuickTest::SubtractsHighAtomic),
    ("rights_harder", |p| p.frames.watermark.reserve_rights = ReserveRights::Harder),
    ("rights_non_block", |p| p.frames.watermark.reserve_rights = ReserveRights::NonBlock),
    ("pcp_base_pages", |p| p.frames.pcp.lists = PcpLists::BasePages),
    ("pcp_three_huge_lists", |p| p.frames.pcp.lists = PcpLists::UpToCostly { huge_lists: 3 }),
    ("pcp_one_huge_list", |p| p.frames.pcp.lists = PcpLists::UpToCostly { huge_lists: 1 }),
    ("pcp_two_huge_lists", |p| p.frames.pcp.lists = PcpLists::UpToCostly { huge_lists: 2 }),
    ("pcp_six_batches", |p| p.frames.pcp.high = PcpHigh::SixBatches),
    ("pcp_low_mark", |p| p.frames.pcp.high = PcpHigh::LowMark),
    ("pcp_auto_tuned", |p| p.frames.pcp.high = PcpHigh::AutoTuned),
    ("pcp_batch_max_16", |p| p.frames.pcp.batch_max = 16),
    ("pcp_freed_list_first", |p| p.frames.pcp.freed_list_first = true),
    ("pcp_current_type", |p| p.frames.pcp.keeps_cached_type = false),
    ("highatomic_limit_rounded", |p| p.frames.highatomic.limit_rounded = true),
    ("highatomic_free_part", |p| p.frames.highatomic.only_free_part_withheld = true),
    ("moved_blocks_head", |p| p.frames.moved_blocks = ListEnd::Head),
    ("moved_blocks_tail", |p| p.frames.moved_blocks = ListEnd::Tail),
    ("merge_guards_all_types", |p| p.frames.merge_guards_all_types = true),
    ("cma_balance", |p| p.frames.cma_balance = true),
    ("cma_last", |p| p.frames.cma_balance = false),
    ("fair_zone_batches", |p| p.frames.fair_zone_batches = true),
];

/// The hygiene stands on guarded merges, and ended stale types of cached pages: no release had it otherwise.
fn hygiene_on(policy: &mut Policy) {
    policy.frames.fallback.freelist_hygiene = true;
    policy.frames.pcp.keeps_cached_type = false;
    policy.frames.merge_guards_all_types = true;
}
