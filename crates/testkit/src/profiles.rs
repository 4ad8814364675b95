//! The switches of the allocator as Linux releases had them, and every switch flipped alone.

use order9_mm::policy::{
    ClaimRule, FallbackPolicy, FallbackSearch, HighAtomicPolicy, ListEnd, PcpHigh, PcpLists, PcpPolicy, Policy,
    QuickTest, ReserveRights, WatermarkPolicy,
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

/// Linux 4.4.
#[must_use]
pub fn linux_4_4() -> Policy {
    Policy {
        fallback: FallbackPolicy {
            search: FallbackSearch::LargestFirst,
            claim: ClaimRule::FreeHalf,
            freelist_hygiene: false,
            nofragment: false,
            nofragment_spares_huge: false,
        },
        watermark: WatermarkPolicy {
            scale_factor: None,
            boost_factor: None,
            boost_skips_tiny_zones: false,
            wake_without_boost: true,
            atomic_ignores_boost: false,
            min_free_kbytes_max: 65_536,
            quick_test: QuickTest::Absent,
            reserve_rights: ReserveRights::Harder,
        },
        pcp: PcpPolicy {
            lists: PcpLists::BasePages,
            high: PcpHigh::SixBatches,
            batch_max: 128,
            keeps_cached_type: true,
        },
        highatomic: HighAtomicPolicy { limit_rounded: false, only_free_part_withheld: false },
        moved_blocks: ListEnd::Head,
        merge_guards_all_types: false,
        cma_balance: false,
        fair_zone_batches: true,
    }
}

/// Linux 4.19: smallest movable fallback, claims that count compatible pages, strict zonelist order.
#[must_use]
pub fn linux_4_19() -> Policy {
    let mut policy = linux_4_4();
    policy.fallback.search = FallbackSearch::SmallestUnlessClaimable;
    policy.fallback.claim = ClaimRule::CompatibleHalf;
    policy.watermark.scale_factor = Some(10);
    policy.watermark.quick_test = QuickTest::IgnoresHighAtomic;
    policy.pcp.batch_max = 256;
    policy.fair_zone_batches = false;
    policy
}

/// Linux 5.0: watermark boosting; ALLOC_NOFRAGMENT is there but never set.
#[must_use]
pub fn linux_5_0() -> Policy {
    let mut policy = linux_4_19();
    policy.watermark.boost_factor = Some(15_000);
    policy
}

/// Linux 5.1: ALLOC_NOFRAGMENT takes effect.
#[must_use]
pub fn linux_5_1() -> Policy {
    let mut policy = linux_5_0();
    policy.fallback.nofragment = true;
    policy
}

/// Linux 5.3, the reference.
#[must_use]
pub fn linux_5_3() -> Policy {
    linux_5_1()
}

/// Linux 5.9.
#[must_use]
pub fn linux_5_9() -> Policy {
    let mut policy = linux_5_3();
    policy.watermark.boost_skips_tiny_zones = true;
    policy.watermark.atomic_ignores_boost = true;
    policy.watermark.min_free_kbytes_max = 262_144;
    policy.watermark.quick_test = QuickTest::SubtractsHighAtomic;
    policy.cma_balance = true;
    policy
}

/// Linux 5.14: per-CPU lists of orders 0 to 3 and 9, moved blocks at the tail.
#[must_use]
pub fn linux_5_14() -> Policy {
    let mut policy = linux_5_9();
    policy.watermark.wake_without_boost = false;
    policy.pcp.lists = PcpLists::UpToCostly { huge_lists: 3 };
    policy.pcp.high = PcpHigh::LowMark;
    policy.moved_blocks = ListEnd::Tail;
    policy
}

/// Linux 6.1.
#[must_use]
pub fn linux_6_1() -> Policy {
    let mut policy = linux_5_14();
    policy.fallback.nofragment_spares_huge = true;
    policy.pcp.lists = PcpLists::UpToCostly { huge_lists: 1 };
    policy.merge_guards_all_types = true;
    policy
}

/// Linux 6.12: free lists agree with pageblocks, per-CPU lists follow the load.
#[must_use]
pub fn linux_6_12() -> Policy {
    let mut policy = linux_6_1();
    policy.fallback.freelist_hygiene = true;
    policy.watermark.reserve_rights = ReserveRights::NonBlock;
    policy.pcp.lists = PcpLists::UpToCostly { huge_lists: 2 };
    policy.pcp.high = PcpHigh::AutoTuned;
    policy.pcp.keeps_cached_type = false;
    policy.highatomic = HighAtomicPolicy { limit_rounded: true, only_free_part_withheld: true };
    policy
}

/// Linux 6.15: claiming and stealing are two phases.
#[must_use]
pub fn linux_6_15() -> Policy {
    let mut policy = linux_6_12();
    policy.fallback.search = FallbackSearch::ClaimThenSteal;
    policy
}
