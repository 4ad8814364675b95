//! Made-up machines of every pattern become engines in which every law holds, under old and new rules alike.

use order9_import::{Disk, import};
use order9_mm::policy::{FallbackSearch, ListEnd, PcpHigh, PcpLists, Policy};
use order9_snapshot::synth::{Pattern, SynthSpec, synth};
use order9_units::{Bytes, Order};
use proptest::prelude::*;

/// The switches of a kernel with freelist hygiene, in which lists and pageblocks must agree on the type.
fn recent() -> Policy {
    let mut policy = Policy::default();
    policy.frames.fallback.search = FallbackSearch::ClaimThenSteal;
    policy.frames.fallback.freelist_hygiene = true;
    policy.frames.fallback.nofragment_spares_huge = true;
    policy.frames.pcp.lists = PcpLists::UpToCostly { huge_lists: 2 };
    policy.frames.pcp.high = PcpHigh::AutoTuned;
    policy.frames.pcp.keeps_cached_type = false;
    policy.frames.moved_blocks = ListEnd::Tail;
    policy.frames.merge_guards_all_types = true;
    policy
}

fn spec() -> impl Strategy<Value = SynthSpec> {
    let shares = (0.1..0.9, 0.0..0.2, 0.0..0.1, 0.0..0.1, 0.0..0.2);
    let pattern = prop::sample::select(&Pattern::ALL[..]);
    (2..5_u64, shares, pattern, 0.0..1.0, 0.0..1.0, any::<u64>()).prop_map(
        |(eighths, (fill, unmovable, reclaimable, pinned, huge), pattern, degree, contamination, seed)| SynthSpec {
            size: Bytes::new(eighths << 27),
            fill,
            unmovable: fill * unmovable,
            reclaimable: fill * reclaimable,
            clean_cache: fill * 0.1,
            pinned: fill * pinned,
            huge: fill * huge,
            pattern,
            degree,
            contamination,
            seed,
            ..SynthSpec::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_law_holds_and_the_truth_is_kept(spec in spec()) {
        let made = synth(&spec);
        // Few draws ask for more contamination than there are unmovable pages; a rejected draw is drawn again.
        prop_assume!(made.is_ok());
        let (snapshot, truth) = made.expect("it was made");
        for policy in [Policy::default(), recent()] {
            let imported = import(&snapshot, policy, Disk::Present).expect("a made-up machine can be imported");
            prop_assert_eq!(imported.mm.check(), Ok(()));
            for (zone, truth) in imported.mm.frames().zones().iter().zip(&truth.zones) {
                prop_assert_eq!(zone.free(), truth.now.free.get());
                let huge = zone.areas()[Order::PAGEBLOCK.index()].total() + 2 * zone.areas()[Order::MAX.index()].total();
                let free_already = truth.now.costs.iter().take_while(|&&moves| moves == 0).count();
                prop_assert_eq!(huge, free_already as u64);
            }
        }
    }
}
