//! Boosted watermarks, worked off in two ways, and what shrinkers put off.

use order9_mm::env::Env;
use order9_mm::policy::{Policy, SlabUnderBoost};
use order9_mm::reclaim::Reclaimer;
use order9_mm::shrinker::{LruScan, ShrinkControl, ShrinkSlab, ShrinkStep};
use order9_mm::{DaemonRequest, Gfp};
use order9_units::{Order, ZoneKind};

use super::world::{Memory, NODE, World};

fn policy(slab_under_boost: SlabUnderBoost) -> Policy {
    let mut policy = Policy::default();
    policy.reclaim.slab_under_boost = slab_under_boost;
    policy
}

/// DMA32 clears its high mark and the lowmem reserve; a million pages of a file, and enough objects that a run that
/// shrinks slab gets to a batch of them.
fn balanced(slab_under_boost: SlabUnderBoost) -> Memory {
    let (dma32_free, normal_free) = (20_000, 18_944);
    Memory { policy: policy(slab_under_boost), dma32_free, normal_free, file: 1_000_000, anon: 0, files: 10_000 }
}

/// An event boosts zone Normal; what kswapd does about it.
fn after_an_event(memory: &Memory) -> World {
    let world = memory.world();
    world.kswapd(|| {
        world.fragment(1);
        assert_eq!(world.boost(), 512);
        let request = DaemonRequest { order: Order::ZERO, class: ZoneKind::Normal };
        assert_eq!(world.with(|mm| mm.phys().kswapd_request(NODE)), Some(request));
    });
    world
}

#[test]
fn on_a_balanced_node_a_boost_is_worked_off_gently() {
    for slab in [SlabUnderBoost::Exempt, SlabUnderBoost::Shrunk] {
        let world = after_an_event(&balanced(slab));
        assert_eq!(world.passes_over_files(), [(12, 244, 244), (11, 488, 488)], "{slab:?}");
        let request = DaemonRequest { order: Order::PAGEBLOCK, class: ZoneKind::Normal };
        assert_eq!(world.with(|mm| mm.phys().kcompactd_request(NODE)), Some(request), "{slab:?}");
        assert_eq!((world.boost(), world.count("pswpout")), (0, 0), "{slab:?}");
        assert_eq!(world.count("slabs_scanned") > 0, slab == SlabUnderBoost::Shrunk, "{slab:?}");
    }
}

#[test]
fn on_a_node_that_is_not_balanced_a_boost_only_raises_the_high_mark() {
    for slab in [SlabUnderBoost::Exempt, SlabUnderBoost::Shrunk] {
        let world = after_an_event(&Memory { dma32_free: 10_000, file: 0, anon: 200_000, ..balanced(slab) });
        let free =
            world.with(|mm| mm.frames().zones().iter().map(|zone| (zone.kind(), zone.free())).collect::<Vec<_>>());
        assert!(free.iter().any(|&(kind, free)| kind == ZoneKind::Normal && free > 20_551 + 512), "{free:?}");
        assert!(world.count("pswpout") > 0 && world.count("slabs_scanned") > 0, "{slab:?}");
        assert_eq!(world.boost(), 0, "{slab:?}");
    }
}

#[test]
fn what_is_too_little_for_a_batch_is_put_off() {
    let memory = Memory { file: 0, ..balanced(SlabUnderBoost::Shrunk) };
    let world = memory.world();
    let control = ShrinkControl {
        node: NODE,
        gfp: Gfp::GFP_KERNEL,
        by: Reclaimer::Kswapd,
        priority: 12,
        lru: LruScan::default(),
        cpu: 0,
    };
    let calls = [(); 4].map(|()| {
        world.with(|mm| {
            assert_eq!(mm.pages().fs_freeable(NODE, mm.phys()), 1_000_000);
            let mut call = ShrinkSlab::new(control);
            let (phys, pages) = mm.parts();
            while call.step(pages, phys) == ShrinkStep::Progress {}
            mm.pages().deferred_shrinking(NODE).map(|(_, deferred)| deferred).sum::<u64>()
        })
    });
    assert_eq!(calls, [488, 976, 440, 928]);
}
