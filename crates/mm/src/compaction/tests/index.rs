//! The index stays true whatever the allocator does.

use alloc::vec;
use alloc::vec::Vec;

use order9_units::{Migratetype, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use crate::policy::{AllocPolicy, Policy, SourceSearch, TargetSearch};
use crate::slab::tests::Random;
use crate::{Gfp, Layout, Mm, MmBuilder, NodeSpec, Request, ZoneSpec};

const BASE: Pfn = Pfn::new(1 << 20);
/// Frames of the zone, which ends within a pageblock.
const FRAMES: u64 = 24 * 512 + 100;

fn machine(change: impl FnOnce(&mut Policy)) -> Mm {
    let mut policy = Policy::default();
    (policy.compaction.source_search, policy.compaction.target_search) = (SourceSearch::Index, TargetSearch::Index);
    change(&mut policy);
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span: PfnRange::of(BASE, Pages::new(FRAMES)) }],
        cpus: vec![NodeId(0); 2],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("one zone is a layout").boot()
}

/// Allocates, frees, pins, isolates and splits at random, and recounts everything now and then.
fn live(mut mm: Mm, seed: u64) {
    let mut random = Random(seed);
    let mut pages: Vec<Pfn> = Vec::new();
    let orders = [0, 0, 0, 0, 1, 3, 5, 8, 9, 10].map(|order| Order::new(order).expect("it exists"));
    for step in 0..12_000 {
        let at = random.below(pages.len().max(1) as u64) as usize;
        match random.below(20) {
            0..=10 => {
                let gfp = [Gfp::GFP_HIGHUSER_MOVABLE, Gfp::GFP_HIGHUSER_MOVABLE, Gfp::GFP_KERNEL, Gfp::GFP_ATOMIC];
                let gfp = gfp[random.below(4) as usize];
                let order = orders[random.below(10) as usize];
                let cpu = random.below(3) as usize;
                pages.extend(mm.alloc_fast(&Request { cpu, ..Request::new(order, gfp) }));
            }
            11..=16 if !pages.is_empty() => {
                if mm.free(pages[at], random.below(3) as usize).is_ok() {
                    pages.swap_remove(at);
                }
            }
            17 if !pages.is_empty() && random.below(2) == 0 => drop(mm.pin(pages[at])),
            17 if !pages.is_empty() => drop(mm.unpin(pages[at])),
            18 if !pages.is_empty() && random.below(10) == 0 => {
                let frames = match mm.phys.frames.frame(pages[at]) {
                    crate::FrameState::Allocated { order } => order.pages().get(),
                    state => unreachable!("{state:?} is no page of ours"),
                };
                if mm.split_page(pages[at]).is_ok() {
                    let first = pages.swap_remove(at);
                    pages.extend((0..frames).map(|page| first + Pages::new(page)));
                }
            }
            19 => {
                let pfn = BASE + Pages::new(random.below(24) * 512);
                if mm.phys.isolate_pageblock(pfn).is_err() {
                    let _ = mm.phys.unisolate_pageblock(pfn, Migratetype::Movable);
                }
            }
            _ => mm.phys.drain_all(),
        }
        if step % 64 == 0 {
            mm.check().unwrap_or_else(|violation| panic!("seed {seed}, step {step}: {violation}"));
        }
    }
}

#[test]
fn the_index_follows_the_allocator() {
    live(machine(|_| ()), 1);
    live(machine(|policy| policy.frames.merge_guards_all_types = true), 2);
    live(machine(|policy| policy.frames.alloc = AllocPolicy { pack_movable: true, fallback_contaminated: true }), 4);
    live(
        machine(|policy| {
            policy.frames.fallback.freelist_hygiene = true;
            policy.frames.fallback.search = crate::policy::FallbackSearch::ClaimThenSteal;
            policy.frames.pcp.lists = crate::policy::PcpLists::UpToCostly { huge_lists: 2 };
            policy.frames.pcp.keeps_cached_type = false;
            policy.frames.merge_guards_all_types = true;
            policy.frames.alloc = AllocPolicy { pack_movable: true, fallback_contaminated: true };
        }),
        3,
    );
}

#[test]
fn movable_requests_fill_the_fullest_pageblock_first() {
    let mut mm = machine(|policy| policy.frames.alloc.pack_movable = true);
    let request = Request { cpu: 9, ..Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE) };
    let pages: Vec<Pfn> = (0..4 * 512).map(|_| mm.alloc_fast(&request).expect("memory is free")).collect();
    // One page of the first pageblock is freed, a hundred of each of the others.
    let block = |pfn: &Pfn| pfn.get() / 512;
    let first = block(&pages[0]);
    for (at, &pfn) in pages.iter().enumerate() {
        if block(&pfn) == first && at == 7 || block(&pfn) != first && pfn.get() % 5 == 0 {
            mm.free(pfn, 9).expect("it lives");
        }
    }
    for _ in 0..300 {
        let blocks =
            mm.phys.frames.blocks().iter().filter(|block| block.is_evacuable() && (1..512).contains(&block.free));
        let fullest = blocks.map(|block| block.free).min().expect("pageblocks have room");
        let next = mm.alloc_fast(&request).expect("memory is free");
        let of_next = mm.phys.frames.pageblock(next).expect("it is there");
        assert_eq!(of_next.free + 1, fullest, "{of_next:?}");
    }
    mm.check().expect("all laws hold");
}

#[test]
fn what_cannot_move_goes_where_such_memory_is() {
    let mut mm = machine(|policy| policy.frames.alloc.fallback_contaminated = true);
    let of = |gfp| Request { cpu: 9, ..Request::new(Order::ZERO, gfp) };
    let mut pages = Vec::new();
    while mm.phys.frames.zones()[0].free() > mm.phys.frames.zones()[0].watermarks().low + 600 {
        pages.push(mm.alloc_fast(&of(Gfp::GFP_HIGHUSER_MOVABLE)).expect("memory is free"));
    }
    // Some room in every pageblock, and the first page of the kernel in one of them.
    pages.iter().filter(|pfn| pfn.get() % 8 == 0).for_each(|&pfn| mm.free(pfn, 9).expect("it lives"));
    let mut spoilt = Vec::new();
    for _ in 0..300 {
        let Ok(pfn) = mm.alloc_fast(&of(Gfp::GFP_KERNEL)) else { break };
        spoilt.push(pfn.get() / 512);
    }
    spoilt.sort_unstable();
    spoilt.dedup();
    assert!(spoilt.len() <= 6, "{} pageblocks for 300 pages", spoilt.len());
    mm.check().expect("all laws hold");
}
