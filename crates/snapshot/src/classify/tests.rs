//! Layouts of small made-up machines.

use order9_units::{NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use super::*;
use crate::flags::kpf;
use crate::frames::CHUNK_PAGES;
use crate::{FrameMapBuilder, FrameState, Snapshot, ZoneInfo};

/// A zone of these frames without holes, all of them managed.
pub(crate) fn zone(start: u64, end: u64) -> ZoneInfo {
    ZoneInfo {
        node: NodeId(0),
        kind: ZoneKind::Normal,
        span: range(start, end),
        present: Pages::new(end - start),
        managed: Pages::new(end - start),
        cma: Pages::ZERO,
        free: Pages::ZERO,
        watermarks: crate::Watermarks::default(),
        protection: Vec::new(),
        free_blocks: [0; Order::COUNT],
        free_by_type: std::collections::BTreeMap::new(),
        block_counts: std::collections::BTreeMap::new(),
        pcp: Vec::new(),
        counters: std::collections::BTreeMap::new(),
    }
}

fn range(start: u64, end: u64) -> PfnRange {
    PfnRange::new(Pfn::new(start), Pfn::new(end))
}

/// A machine of one zone from pfn 0 on, its frames given as runs of (flags, length).
fn machine(runs: &[(u64, u64)]) -> Snapshot {
    let mut map = FrameMapBuilder::new();
    for &(flags, length) in runs {
        map.push_run(FrameState { flags, count: 0 }, Pages::new(length));
    }
    let map = map.finish();
    let zones = vec![zone(0, map.len().get())];
    Snapshot { zones, frames: Some(map), ..Snapshot::default() }
}

/// The classes of a layout's only zone as runs.
fn runs(layout: &Layout<'_>) -> Vec<(FrameClass, u64)> {
    let mut runs: Vec<(FrameClass, u64)> = Vec::new();
    let mut next = layout.zones()[0].info().span.start;
    layout.for_each_chunk(0, |start, classes| {
        assert_eq!(start, next);
        next += Pages::new(classes.len() as u64);
        for &class in classes {
            match runs.last_mut() {
                Some((last, length)) if *last == class => *length += 1,
                _ => runs.push((class, 1)),
            }
        }
    });
    assert_eq!(next, layout.zones()[0].info().span.end);
    runs
}

#[test]
fn memory_not_yet_initialised_is_told_from_kernel_memory() {
    let mut snapshot = machine(&[(kpf::RESERVED, 100), (kpf::BUDDY, 1436), (0, 10), (kpf::SLAB, 502), (0, 3072)]);
    snapshot.zones[0].managed = Pages::new(5120 - 100 - 2560);
    let layout = Layout::of(&snapshot).unwrap();
    assert_eq!(layout.problems(), &[] as &[String]);
    assert_eq!(layout.zones()[0].deferred(), range(2560, 5120));
    assert_eq!(
        runs(&layout),
        [
            (FrameClass::Reserved, 100),
            (FrameClass::Free, 1436),
            (FrameClass::Unknown, 10),
            (FrameClass::Slab, 502),
            (FrameClass::Unknown, 512),
            (FrameClass::Deferred, 2560),
        ]
    );
}

#[test]
fn unmanaged_memory_that_cannot_be_found_is_reported() {
    let mut snapshot = machine(&[(0, 4096), (kpf::BUDDY, 1024), (0, 1024)]);
    snapshot.zones[0].managed = Pages::new(2048);
    let layout = Layout::of(&snapshot).unwrap();
    assert_eq!(layout.zones()[0].deferred(), range(5120, 6144));
    assert_eq!(layout.problems().len(), 1);
    assert!(layout.problems()[0].contains("only 1024"), "{:?}", layout.problems());
}

#[test]
fn holes_come_from_ram_ranges_marks_or_counts() {
    let frames = [(kpf::BUDDY, 1024), (0, 2048), (kpf::BUDDY, 1024)];
    let with_hole = [(FrameClass::Free, 1024), (FrameClass::Hole, 2048), (FrameClass::Free, 1024)];
    let mut by_ram = machine(&frames);
    by_ram.ram = vec![range(0, 1024), range(3072, 9999)];
    assert_eq!(runs(&Layout::of(&by_ram).unwrap()), with_hole);
    let mut by_count = machine(&frames);
    by_count.zones[0].present = Pages::new(2048);
    by_count.zones[0].managed = Pages::new(2048);
    assert_eq!(runs(&Layout::of(&by_count).unwrap()), with_hole);
    let mut by_mark = machine(&[(kpf::BUDDY, 1024), (kpf::NOPAGE, 1024), (0, 1024)]);
    by_mark.zones[0].present = Pages::new(2048);
    by_mark.zones[0].managed = Pages::new(2048);
    assert_eq!(runs(&Layout::of(&by_mark).unwrap())[2], (FrameClass::Unknown, 1024));
    let mut offline = machine(&frames);
    offline.offline = vec![range(1024, 3072)];
    assert_eq!(runs(&Layout::of(&offline).unwrap())[1], (FrameClass::Offline, 2048));
}

#[test]
fn gigantic_pages_reach_over_chunks() {
    let chunk = CHUNK_PAGES as u64;
    let (head, tail) = (kpf::HUGE | kpf::COMPOUND_HEAD, kpf::COMPOUND_TAIL);
    let snapshot = machine(&[(head, 1), (tail, 4 * chunk - 1), (kpf::BUDDY, 512)]);
    let layout = Layout::of(&snapshot).unwrap();
    assert_eq!(runs(&layout), [(FrameClass::Hugetlb, 4 * chunk), (FrameClass::Free, 512)]);
    let mut extents = Vec::new();
    layout.for_each_extent(0, |extent| extents.push(extent));
    assert_eq!(
        extents,
        [
            Extent::Compound { class: FrameClass::Hugetlb, range: range(0, 4 * chunk) },
            Extent::Free { start: Pfn::new(4 * chunk), order: Order::PAGEBLOCK },
        ]
    );
}

#[test]
fn extents_keep_neighbouring_compound_pages_apart() {
    let (head, tail) = (kpf::SLAB | kpf::COMPOUND_HEAD, kpf::SLAB | kpf::COMPOUND_TAIL);
    let snapshot =
        machine(&[(kpf::SLAB, 2), (head, 1), (tail, 1), (head, 1), (tail, 3), (head, 1), (tail, 1), (kpf::BUDDY, 502)]);
    let mut extents = Vec::new();
    Layout::of(&snapshot).unwrap().for_each_extent(0, |extent| extents.push(extent));
    let class = FrameClass::Slab;
    assert_eq!(
        extents[..4],
        [
            Extent::Frames { class, range: range(0, 2) },
            Extent::Compound { class, range: range(2, 4) },
            Extent::Compound { class, range: range(4, 8) },
            Extent::Compound { class, range: range(8, 10) },
        ]
    );
    assert_eq!(extents[4], Extent::Free { start: Pfn::new(10), order: Order::new(1).unwrap() });
}

#[test]
fn torn_compound_pages_become_single_frames() {
    let snapshot =
        machine(&[(kpf::SLAB | kpf::COMPOUND_HEAD, 1), (kpf::COMPOUND_TAIL, 2), (kpf::COMPOUND_HEAD, 1), (0, 508)]);
    let mut extents = Vec::new();
    Layout::of(&snapshot).unwrap().for_each_extent(0, |extent| extents.push(extent));
    assert_eq!(extents[0], Extent::Frames { class: FrameClass::Slab, range: range(0, 3) });
}

#[test]
fn zones_and_map_must_fit_together() {
    let mut short = machine(&[(0, 512)]);
    short.zones[0].span.end = Pfn::new(1024);
    assert!(matches!(Layout::of(&short), Err(LayoutError::MapShort { .. })));
    let mut overlap = machine(&[(0, 1024)]);
    overlap.zones.push(zone(512, 1024));
    let error = Layout::of(&overlap).unwrap_err();
    assert!(error.to_string().contains("overlap at pfn 0x200"), "{error}");
    assert_eq!(Layout::of(&Snapshot::default()).unwrap_err(), LayoutError::NoMap);
}
