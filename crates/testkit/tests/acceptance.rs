//! The acceptance scenarios of the allocator: whole situations on the reference machine with known outcomes.

use order9_mm::Extfrag;
use order9_mm::FrameEvent;
use order9_mm::policy::Policy;
use order9_mm::trace::Event;
use order9_mm::{Contents, DaemonRequest, Gfp, Mm, MmBuilder, Request};
use order9_testkit::machines::machine_a;
use order9_testkit::profiles::{linux_5_0, linux_5_3};
use order9_units::Migratetype::{Movable, Unmovable};
use order9_units::{NodeId, Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

fn order(n: u8) -> Order {
    Order::new(n).expect("tests name orders up to 10")
}

fn zone(mm: &Mm, kind: ZoneKind) -> &order9_mm::Zone {
    mm.frames().zones().iter().find(|zone| zone.kind() == kind).expect("the machine has the zone")
}

fn extfrag(mm: &mut Mm) -> Vec<Extfrag> {
    let events = core::mem::take(mm.phys_mut().events_mut());
    events
        .into_iter()
        .filter_map(|event| if let Event::Frame(FrameEvent::Extfrag(event)) = event { Some(event) } else { None })
        .collect()
}

/// Frames of every zone of the reference machine that the allocator owns.
fn managed() -> [PfnRange; 3] {
    let layout = machine_a(0);
    let [dma, dma32, normal] = [layout.zones[0].span, layout.zones[1].span, layout.zones[2].span];
    [PfnRange::new(layout.reserved[0].end, dma.end), PfnRange::new(dma32.start, layout.holes[0].start), normal]
}

fn builder(policy: Policy) -> MmBuilder {
    MmBuilder::new(&machine_a(0), policy).expect("the layout is sound").traced()
}

/// Gives every frame of `range` away in the largest aligned blocks.
fn fill(builder: &mut MmBuilder, range: PfnRange) {
    let mut pfn = range.start;
    while pfn < range.end {
        let fits = |order: &Order| pfn.is_aligned(*order) && pfn + order.pages() <= range.end;
        let order = Order::all().rev().find(fits).expect("one page always fits");
        builder.allocate(pfn, order, Contents::Movable).expect("the frames are nobody's");
        pfn += order.pages();
    }
}

/// The machine with only Movable blocks of order 8 free, one in every pageblock; `whole` pageblocks at the start of DMA32
/// are free altogether.
fn half_free(policy: Policy, whole: u64) -> Mm {
    let mut builder = builder(policy);
    let dma32 = managed()[1].start;
    for range in managed() {
        for pfn in range.iter().step_by(Order::PAGEBLOCK.pages().get() as usize / 2) {
            let lower = pfn.is_aligned(Order::PAGEBLOCK);
            let in_whole = PfnRange::of(dma32, PAGEBLOCK_PAGES * whole).contains(pfn);
            if in_whole && lower {
                builder.free(pfn, Order::PAGEBLOCK).expect("the frames are nobody's");
            } else if !in_whole && lower {
                builder.free(pfn, order(8)).expect("the frames are nobody's");
            } else if !in_whole {
                builder.allocate(pfn, order(8), Contents::Movable).expect("the frames are nobody's");
            }
        }
    }
    assert_eq!(builder.unassigned(), 0);
    builder.finish()
}

#[test]
fn first_unmovable_page_takes_a_whole_largest_block() {
    let mut mm = builder(linux_5_3()).boot();
    extfrag(&mut mm);
    let pfn = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_KERNEL)).expect("all memory is free");

    let events = extfrag(&mut mm);
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].fallback_order, events[0].fallback_migratetype), (Order::MAX, Movable));
    assert!(!events[0].is_fragmenting());
    let normal = zone(&mm, ZoneKind::Normal);
    assert_eq!(normal.boost(), 0);
    let first = pfn.align_down(Order::MAX);
    for block in [first, first + PAGEBLOCK_PAGES] {
        assert_eq!(mm.frames().pageblock(block).map(|block| block.migratetype), Some(Unmovable));
    }
    let lengths = Order::all().map(|order| mm.frames().free_list(normal.id(), order, Unmovable).count());
    assert_eq!(lengths.collect::<Vec<_>>(), [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
    mm.check().expect("every law holds");
}

#[test]
fn boot_hands_out_the_highest_block_first() {
    let mut mm = builder(linux_5_3()).boot();
    let pfn = mm.alloc_fast(&Request::new(Order::MAX, Gfp::GFP_HIGHUSER_MOVABLE)).expect("all memory is free");
    assert_eq!(pfn + Order::MAX.pages(), managed()[2].end);
}

#[test]
fn without_a_whole_pageblock_anywhere_the_second_walk_fragments_normal() {
    let mut mm = half_free(linux_5_3(), 0);
    extfrag(&mut mm);
    let pfn = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_KERNEL)).expect("half the memory is free");

    assert_fragmented_normal(&mut mm, pfn);
    mm.check().expect("every law holds");
}

fn assert_fragmented_normal(mm: &mut Mm, pfn: Pfn) {
    let events = extfrag(mm);
    assert_eq!(events.len(), 1);
    assert!(events[0].is_fragmenting());
    assert!(managed()[2].contains(pfn));
    assert_eq!(zone(mm, ZoneKind::Normal).boost(), PAGEBLOCK_PAGES.get());
    let request = DaemonRequest { order: Order::ZERO, class: ZoneKind::Normal };
    assert_eq!(mm.phys().kswapd_request(NodeId(0)), Some(request));
}

#[test]
fn a_whole_pageblock_in_dma32_spares_normal() {
    let mut mm = half_free(linux_5_3(), 1);
    extfrag(&mut mm);
    let pfn = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_KERNEL)).expect("half the memory is free");

    assert!(managed()[1].contains(pfn));
    let events = extfrag(&mut mm);
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].fallback_order, Order::PAGEBLOCK);
    assert!(!events[0].is_fragmenting());
    assert!(mm.frames().zones().iter().all(|zone| zone.boost() == 0));
    assert_eq!(mm.phys().kswapd_request(NodeId(0)), None);
    mm.check().expect("every law holds");
}

#[test]
fn linux_5_0_fragments_normal_all_the_same() {
    let mut mm = half_free(linux_5_0(), 1);
    extfrag(&mut mm);
    let pfn = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_KERNEL)).expect("half the memory is free");
    assert_fragmented_normal(&mut mm, pfn);
}

/// Makes `events` fragmentation events in the zone that `gfp` prefers; each takes the one free order-8 block of another
/// pageblock, so that no later request finds anything on its own lists.
fn fragment(mm: &mut Mm, gfp: Gfp, events: u64) {
    for _ in 0..events {
        mm.alloc_fast(&Request::new(order(8), gfp)).expect("half the memory is free");
        assert_eq!(extfrag(mm).into_iter().filter(Extfrag::is_fragmenting).count(), 1);
    }
}

#[test]
fn boost_stops_at_its_cap() {
    let mut mm = half_free(linux_5_3(), 0);
    extfrag(&mut mm);
    let cases = [
        (Gfp::GFP_KERNEL, ZoneKind::Normal, 61, 30_826),
        (Gfp::GFP_KERNEL | Gfp::DMA32, ZoneKind::Dma32, 14, 7_149),
        (Gfp::GFP_KERNEL | Gfp::DMA, ZoneKind::Dma, 1, 512),
    ];
    for (gfp, kind, events, cap) in cases {
        fragment(&mut mm, gfp, events - 1);
        assert!(zone(&mm, kind).boost() < cap, "{kind}");
        fragment(&mut mm, gfp, 1);
        assert_eq!(zone(&mm, kind).boost(), cap, "{kind}");
        if kind != ZoneKind::Dma {
            fragment(&mut mm, gfp, 1);
            assert_eq!(zone(&mm, kind).boost(), cap, "{kind}");
            assert_eq!(mm.frames().counters().boost_saturated, if kind == ZoneKind::Normal { 1 } else { 2 });
        }
    }
    mm.check().expect("every law holds");
}

#[test]
fn recomputed_watermarks_end_every_boost() {
    let mut mm = half_free(linux_5_3(), 0);
    extfrag(&mut mm);
    fragment(&mut mm, Gfp::GFP_KERNEL, 3);
    mm.phys_mut().set_watermark_scale_factor(10);
    assert!(mm.frames().zones().iter().all(|zone| zone.boost() == 0));
}

/// The machine with `free` pages of zone Normal free, as many as possible in order-9 blocks, and no other memory.
fn only_normal_free(free: u64) -> Mm {
    let mut builder = builder(linux_5_3());
    let [dma, dma32, normal] = managed();
    fill(&mut builder, dma);
    fill(&mut builder, dma32);
    let whole = PAGEBLOCK_PAGES * (free / PAGEBLOCK_PAGES.get());
    let free_part = PfnRange::of(normal.start, whole);
    for pfn in free_part.iter().step_by(PAGEBLOCK_PAGES.get() as usize) {
        builder.free(pfn, Order::PAGEBLOCK).expect("the frames are nobody's");
    }
    let rest = PfnRange::of(free_part.end, Pages::new(free) - whole);
    for pfn in rest.iter() {
        builder.free(pfn, Order::ZERO).expect("the frames are nobody's");
    }
    fill(&mut builder, PfnRange::new(rest.end, normal.end));
    builder.finish()
}

#[test]
fn a_huge_page_needs_its_own_size_above_the_low_mark() {
    let request = Request::new(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE_LIGHT);
    let mut below = only_normal_free(17_637);
    assert_eq!(zone(&below, ZoneKind::Normal).free(), 17_637);
    assert!(below.alloc_fast(&request).is_err());
    let mut enough = only_normal_free(17_638);
    let pfn = enough.alloc_fast(&request).expect("one page more is enough");
    assert!(managed()[2].contains(pfn));
    enough.check().expect("every law holds");
}
