//! Whatever memory holds, every run of kswapd keeps to these laws.

use order9_mm::DaemonRequest;
use order9_mm::env::Env;
use order9_mm::kswapd::FAILURES_MAX;
use order9_mm::policy::SlabUnderBoost;
use order9_testkit::profiles;
use order9_units::{Order, ZoneKind};
use proptest::prelude::*;

use super::world::{Memory, NODE, World};

/// Memory between short and ample, and what it holds between nothing and more than kswapd needs.
fn memory() -> impl Strategy<Value = Memory> {
    let policy = (prop::sample::select(&profiles::ALL[2..]), any::<bool>()).prop_map(|((_, profile), exempt)| {
        let mut policy = profile();
        policy.reclaim.slab_under_boost = if exempt { SlabUnderBoost::Exempt } else { SlabUnderBoost::Shrunk };
        policy
    });
    let sizes = (6_000u64..24_000, 68u64..90, 0u64..6_000, 0u64..3_000, 0u64..3_000);
    (policy, sizes).prop_map(|(policy, (dma32_free, blocks, file, anon, files))| Memory {
        policy,
        dma32_free,
        normal_free: 256 * blocks,
        file,
        anon,
        files,
    })
}

fn gentle(world: &World) -> (u64, u64) {
    world.with(|mm| (mm.counters().gentle_runs, mm.counters().gentle_switches))
}

fn check(memory: &Memory, events: usize) {
    let world = memory.world();
    let counters = ["pswpout", "nr_vmscan_write", "slabs_scanned", "allocstall_normal", "pgscan_direct", "pageoutrun"];
    let before = counters.map(|name| world.count(name));
    let mut boosted = false;
    world.kswapd(|| {
        world.fragment(events);
        boosted = world.boost() > 0;
    });
    let [swapped, written, slab, stalls, direct, runs] = {
        let after = counters.map(|name| world.count(name));
        std::array::from_fn(|at| after[at] - before[at])
    };
    // Nobody else works here, and nothing is boosted while kswapd does.
    assert_eq!((stalls, direct, world.boost()), (0, 0, 0), "{memory:?}");
    if let (1, 0) = gentle(&world) {
        assert_eq!(runs, 1, "{memory:?}");
        assert_eq!((swapped, written), (0, 0), "a gentle run writes nothing: {memory:?}");
        assert!(world.passes_over_files().iter().all(|pass| pass.0 >= 10), "a gentle run stays shallow: {memory:?}");
        let exempt = memory.policy.reclaim.slab_under_boost == SlabUnderBoost::Exempt;
        assert!(slab == 0 || !exempt, "{slab} objects of slab under a boost: {memory:?}");
    }
    world.with(|mm| {
        let done = mm.pages().is_balanced(NODE, Order::ZERO, ZoneKind::Normal, mm.phys())
            || mm.phys().kswapd_failures(NODE) >= FAILURES_MAX;
        assert!(runs == 0 || done, "kswapd sleeps on a node that needs it: {memory:?}");
        let order = Order::PAGEBLOCK;
        let request = boosted.then_some(DaemonRequest { order, class: ZoneKind::Normal });
        assert_eq!(mm.phys().kcompactd_request(NODE), request, "{memory:?}");
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn kswapd_keeps_its_laws(memory in memory(), events in 0usize..4) {
        check(&memory, events);
    }
}
