//! Requests that are served at once, beside the same requests served by the walk.

use alloc::vec;
use alloc::vec::Vec;

use order9_units::{PAGEBLOCK_PAGES, PfnRange};

use super::*;
use crate::ZoneSpec;
use crate::policy::{FallbackSearch, PcpHigh, QuickTest};
use crate::testing::{Layout, NodeSpec};

/// Two nodes, of which the first has a low zone too, with a CPU on each.
fn machine(policy: FramesPolicy) -> Frames {
    let zones = [(0, ZoneKind::Dma32), (0, ZoneKind::Normal), (1, ZoneKind::Normal)];
    let spec = |(at, (node, kind))| {
        let start = Pfn::new((at as u64 + 1) << 20);
        ZoneSpec { node: NodeId(node), kind, span: PfnRange::of(start, PAGEBLOCK_PAGES * 64) }
    };
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10, 20] }, NodeSpec { distances: vec![20, 10] }],
        zones: zones.into_iter().enumerate().map(spec).collect(),
        cpus: vec![NodeId(0), NodeId(1)],
        ..Layout::default()
    };
    layout.builder(policy).expect("the layout is sound").boot()
}

/// Switches of old, of usual and of recent releases.
fn policies() -> [FramesPolicy; 4] {
    let [mut old, mut later, usual, mut recent] = [(); 4].map(|()| FramesPolicy::default());
    old.fair_zone_batches = true;
    old.watermark.quick_test = QuickTest::Absent;
    later.fair_zone_batches = true;
    recent.cma_balance = true;
    recent.watermark.quick_test = QuickTest::SubtractsHighAtomic;
    recent.fallback.freelist_hygiene = true;
    recent.fallback.search = FallbackSearch::ClaimThenSteal;
    recent.pcp.lists = PcpLists::UpToCostly { huge_lists: 2 };
    recent.pcp.high = PcpHigh::AutoTuned;
    recent.pcp.keeps_cached_type = false;
    [old, later, usual, recent]
}

/// All that a request changes, but for the lists themselves.
fn state(of: &Frames) -> impl PartialEq + core::fmt::Debug + use<> {
    let zones: Vec<_> = of
        .zones
        .iter()
        .map(|zone| (zone.free, zone.free_by_type, zone.fair_batch, zone.boost, zone.boosted, zone.below_high))
        .collect();
    let pcps: Vec<_> = of.pcps.iter().map(|pcp| (pcp.count(), pcp.high())).collect();
    (zones, pcps, of.blocks.clone(), of.numa.clone(), of.counters, of.work, of.wanted)
}

#[test]
fn what_is_served_at_once_is_served_as_by_the_walk() {
    for policy in policies() {
        let mut at_once = machine(policy);
        let mut by_walk = at_once.clone();
        let mut held = Vec::new();
        let (mut random, mut served) = (0x9e37_79b9_7f4a_7c15_u64, 0);
        for step in 0..30_000 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let pick = |shift: u32, of: u64| (random >> shift) % of;
            // Memory is nearly used up in the first half, and given back in the second.
            if !held.is_empty() && pick(0, 10) < if step < 15_000 { 3 } else { 7 } {
                let pfn = held.swap_remove(pick(8, held.len() as u64) as usize);
                let cpu = pick(40, 2) as usize;
                assert_eq!([&mut at_once, &mut by_walk].map(|of| of.free(pfn, cpu)), [Ok(()); 2]);
                continue;
            }
            let gfp =
                [Gfp::GFP_HIGHUSER_MOVABLE, Gfp::GFP_KERNEL, Gfp::GFP_KERNEL | Gfp::RECLAIMABLE, Gfp::GFP_TRANSHUGE];
            let order = Order::new([0, 0, 0, 1, 3, 5, 9, 10][pick(4, 8) as usize]).expect("an order");
            let mut request = Request::new(order, gfp[pick(16, 4) as usize]);
            (request.node, request.cpu) = (NodeId(pick(24, 2) as u16), pick(32, 3) as usize);
            let before = at_once.work.zones_checked;
            let answers = [at_once.alloc(&request), by_walk.alloc_by_walk(&request)];
            assert_eq!(answers[0], answers[1], "{request:?}");
            served += u32::from(at_once.work.zones_checked == before + 1);
            held.extend(answers[0]);
            if step % 64 == 0 {
                assert_eq!(state(&at_once), state(&by_walk), "step {step}");
            }
        }
        assert!(served > 5_000, "{served} requests were served by the first zone");
        assert_eq!(state(&at_once), state(&by_walk));
        at_once.check().expect("every law holds");
    }
}
