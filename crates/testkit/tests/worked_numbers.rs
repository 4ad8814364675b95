//! Numbers worked out by hand: watermarks, lowmem reserves, zonelists, sizes of per-CPU lists, splits, claims.

use order9_mm::Extfrag;
use order9_mm::FrameEvent;
use order9_mm::policy::Policy;
use order9_mm::thp::HugeEnabled;
use order9_mm::trace::Event;
use order9_mm::{AllocFlags, Contents, Gfp, Layout, Mark, Mm, MmBuilder, Request, Reserve, Watermarks};
use order9_testkit::machines::{TINY_START, machine_a, tiny, two_nodes};
use order9_testkit::profiles::{linux_4_4, linux_4_19, linux_5_3, linux_6_1};
use order9_units::Migratetype::{self, Movable, Reclaimable, Unmovable};
use order9_units::{NodeId, Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

fn order(n: u8) -> Order {
    Order::new(n).expect("tests name orders up to 10")
}

fn boot(layout: &Layout, policy: Policy) -> Mm {
    MmBuilder::new(layout, policy).expect("the layout is sound").boot()
}

#[test]
fn watermarks_of_the_reference_machine() {
    let mm = boot(&machine_a(0), linux_5_3());
    assert_eq!(mm.phys().min_free_kbytes(), 67_584);
    assert_eq!(
        mm.frames().zones().iter().map(order9_mm::Zone::managed).collect::<Vec<_>>(),
        [3_840, 779_264, 3_358_720]
    );
    let marks = mm.frames().zones().iter().map(order9_mm::Zone::watermarks).collect::<Vec<_>>();
    assert_eq!(marks[0], Watermarks { min: 15, low: 18, high: 21 });
    assert_eq!(marks[1], Watermarks { min: 3_178, low: 3_972, high: 4_766 });
    assert_eq!(marks[2], Watermarks { min: 13_701, low: 17_126, high: 20_551 });

    let without_huge_pages = MmBuilder::new(&machine_a(0), linux_5_3())
        .expect("the layout is sound")
        .transparent_hugepage(HugeEnabled::Never);
    assert_eq!(without_huge_pages.boot().phys().min_free_kbytes(), 16_281);
}

#[test]
fn lowmem_reserves_of_the_reference_machine() {
    let mm = boot(&machine_a(0), linux_5_3());
    let rows = mm.frames().zones().iter().map(order9_mm::Zone::lowmem_reserve).collect::<Vec<_>>();
    assert_eq!(rows, [[0, 3_044, 16_164, 16_164], [0, 0, 13_120, 13_120], [0, 0, 0, 0]]);
}

#[test]
fn a_huge_page_counts_its_tail_against_the_mark() {
    let mut builder = MmBuilder::new(&machine_a(0), linux_5_3()).expect("the layout is sound");
    let normal = machine_a(0).zones[2].span;
    let free = PfnRange::of(normal.start, Pages::new(17_200));
    let mut pfn = free.start;
    while pfn < free.end {
        let fits = |order: &Order| pfn + order.pages() <= free.end;
        let order = [Order::PAGEBLOCK, Order::ZERO].into_iter().find(fits).expect("one page always fits");
        builder.free(pfn, order).expect("the frames are nobody's");
        pfn += order.pages();
    }
    let mm = builder.finish();
    let zone = &mm.frames().zones()[2];
    let flags = AllocFlags {
        mark: Mark::Low,
        no_watermarks: false,
        reserve: Reserve::default(),
        cma: false,
        nofragment: false,
        kswapd: false,
    };
    assert_eq!((zone.free(), zone.mark(Mark::Low)), (17_200, 17_126));
    assert!(zone.watermark_ok(Order::ZERO, ZoneKind::Normal, &flags, mm.frames().policy()));
    assert!(!zone.watermark_ok(Order::PAGEBLOCK, ZoneKind::Normal, &flags, mm.frames().policy()));
}

#[test]
fn zonelists_go_by_node_first() {
    let mm = boot(&two_nodes(2), linux_5_3());
    let list = |node: u16| {
        mm.frames().fallback_list(NodeId(node)).iter().map(|zone| (zone.node.0, zone.kind)).collect::<Vec<_>>()
    };
    use ZoneKind::{Dma, Dma32, Normal};
    assert_eq!(list(0), [(0, Normal), (0, Dma32), (0, Dma), (1, Normal)]);
    assert_eq!(list(1), [(1, Normal), (0, Normal), (0, Dma32), (0, Dma)]);
    assert_eq!(mm.frames().this_node_list(NodeId(1)).len(), 1);
}

#[test]
fn per_cpu_lists_of_the_reference_machine() {
    let sizes = |policy: Policy| {
        let mm = boot(&machine_a(1), policy);
        mm.frames()
            .zones()
            .iter()
            .map(|zone| {
                let pcp = *mm.frames().pcp(zone.id(), 0).expect("a CPU");
                (pcp.batch(), pcp.high())
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(sizes(linux_4_19()), [(1, 0), (63, 378), (63, 378)]);
    assert_eq!(sizes(linux_4_4()), [(1, 0), (31, 186), (31, 186)]);
    // The low mark, which one CPU has to itself.
    assert_eq!(sizes(linux_6_1())[1..], [(63, 3_972), (63, 17_126)]);
}

#[test]
fn splitting_the_largest_block_leaves_one_of_every_order() {
    let mut mm = boot(&tiny(16, 0), linux_5_3());
    let pfn = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("all memory is free");
    let zone = mm.frames().zones()[0].id();
    for order in Order::all().rev().skip(1) {
        let list = mm.frames().free_list(zone, order, Movable).collect::<Vec<_>>();
        assert_eq!(list, [pfn + order.pages()], "the upper half stays behind at order {order}");
    }
    assert_eq!(mm.frames().free_list(zone, Order::MAX, Movable).count(), 7);
}

/// A zone whose first pageblock, of type `old`, holds `free` free pages in blocks of order `largest` at most, then
/// `movable` movable pages, then unmovable ones. Two more pageblocks of that type have every other page free, to stay
/// above the watermarks; nothing else is free.
fn one_candidate(old: Migratetype, largest: u8, free: u64, movable: u64) -> Mm {
    let layout = tiny(16, 0);
    let mut builder = MmBuilder::new(&layout, linux_5_3()).expect("the layout is sound").traced();
    for block in 0..3 {
        builder.set_block_type(TINY_START + PAGEBLOCK_PAGES * block, old).expect("the block is in the zone");
    }
    let end_of_free = TINY_START + Pages::new(free);
    let mut pfn = TINY_START;
    while pfn < end_of_free {
        let fits = |order: &Order| pfn.is_aligned(*order) && pfn + order.pages() <= end_of_free;
        let order = Order::ZERO.to(order(largest)).rev().find(fits).expect("one page always fits");
        builder.free(pfn, order).expect("the frames are nobody's");
        pfn += order.pages();
    }
    let holey = PfnRange::of(TINY_START + PAGEBLOCK_PAGES, PAGEBLOCK_PAGES * 2);
    let first_unmovable = end_of_free + Pages::new(movable);
    for pfn in PfnRange::new(end_of_free, layout.zones[0].span.end).iter() {
        if holey.contains(pfn) && pfn.get() % 2 == 0 {
            builder.free(pfn, Order::ZERO).expect("the frames are nobody's");
        } else {
            let contents = if pfn < first_unmovable { Contents::Movable } else { Contents::Unmovable };
            builder.allocate(pfn, Order::ZERO, contents).expect("the frames are nobody's");
        }
    }
    builder.finish()
}

/// Takes one page that no list of its own type can serve; says where it came from.
fn take(mm: &mut Mm, gfp: Gfp) -> (Pfn, Extfrag) {
    mm.phys_mut().events_mut().clear();
    let pfn = mm.alloc_fast(&Request::new(Order::ZERO, gfp)).expect("memory is free above the low mark");
    mm.check().expect("every law holds");
    let mut events = core::mem::take(mm.phys_mut().events_mut()).into_iter();
    let extfrag =
        events.find_map(|event| if let Event::Frame(FrameEvent::Extfrag(event)) = event { Some(event) } else { None });
    (pfn, extfrag.expect("no page was on the own lists"))
}

fn block_type(mm: &Mm, pfn: Pfn) -> Migratetype {
    mm.frames().pageblock(pfn).expect("the block is in the zone").migratetype
}

#[test]
fn a_block_with_few_compatible_pages_lends_its_free_pages_and_keeps_its_type() {
    let mut mm = one_candidate(Movable, 6, 100, 300);
    let (pfn, event) = take(&mut mm, Gfp::GFP_KERNEL);
    assert_eq!((event.pfn, event.fallback_order, event.change_ownership), (TINY_START, order(6), false));
    assert_eq!(block_type(&mm, pfn), Movable);
    assert_eq!(mm.frames().zones()[0].free_of_type(Unmovable), 99);
    assert_eq!(mm.frames().zones()[0].boost(), PAGEBLOCK_PAGES.get());
}

#[test]
fn a_block_with_half_its_pages_free_or_compatible_is_claimed() {
    let mut mm = one_candidate(Movable, 7, 200, 200);
    let (pfn, event) = take(&mut mm, Gfp::GFP_KERNEL);
    assert!(event.change_ownership && event.is_fragmenting());
    assert_eq!(block_type(&mm, pfn), Unmovable);
    assert_eq!(mm.frames().zones()[0].free_of_type(Unmovable), 199);
    assert_eq!(mm.frames().zones()[0].boost(), PAGEBLOCK_PAGES.get(), "the boost comes before the claim");
}

#[test]
fn unmovable_and_reclaimable_pages_are_not_alike() {
    let mut mm = one_candidate(Reclaimable, 7, 200, 200);
    let (pfn, event) = take(&mut mm, Gfp::GFP_KERNEL);
    assert!(!event.change_ownership);
    assert_eq!(block_type(&mm, pfn), Reclaimable);
}

#[test]
fn a_movable_page_takes_the_smallest_foreign_block() {
    let mut mm = one_candidate(Unmovable, 2, 4, 0);
    let (pfn, event) = take(&mut mm, Gfp::GFP_HIGHUSER_MOVABLE);
    assert_eq!(event.fallback_order, Order::ZERO);
    assert!(pfn >= TINY_START + PAGEBLOCK_PAGES);
    assert_eq!(block_type(&mm, pfn), Unmovable);
    assert_eq!(mm.frames().zones()[0].free_of_type(Movable), 0, "only the page itself was taken");
}
