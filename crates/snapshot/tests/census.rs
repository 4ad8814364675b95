//! The census on real maps, on what older kernels would have shown of them, and on frames with any flags at all.

use std::fs::File;
use std::path::Path;

use order9_snapshot::census::Census;
use order9_snapshot::classify::{Extent, FrameClass, Layout};
use order9_snapshot::flags::kpf;
use order9_snapshot::inspection::Inspection;
use order9_snapshot::prices::Prices;
use order9_snapshot::{FrameMapBuilder, FrameState, Snapshot, format};
use order9_units::{Migratetype, Order, Pages, Pfn, PfnRange, ZoneKind};
use proptest::prelude::*;

const REAL: [&str; 2] = ["host-fresh.o9snap", "host-fragmented.o9snap"];

fn stored(name: &str) -> Snapshot {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    format::read(File::open(path).expect("the map is bundled")).expect("the map is intact")
}

fn with_frames(mut snapshot: Snapshot, state: impl Fn(Pfn, FrameState) -> FrameState) -> Snapshot {
    let map = snapshot.frames.take().expect("there is a map");
    let mut changed = FrameMapBuilder::new();
    for (first, chunk) in map.chunks() {
        (0..chunk.len()).for_each(|i| changed.push(state(first + Pages::new(i as u64), chunk.get(i))));
    }
    snapshot.frames = Some(changed.finish());
    snapshot
}

/// Checks that a zone's extents cover its span once and in order, agree with its classes and are blocks where they say
/// so; returns the extents.
fn checked_extents(layout: &Layout<'_>, zone: usize) -> Vec<Extent> {
    let mut classes = Vec::new();
    layout.for_each_chunk(zone, |_, chunk| classes.extend_from_slice(chunk));
    let span = layout.zones()[zone].info().span;
    assert_eq!(classes.len() as u64, span.len().get());
    let mut extents = Vec::new();
    let mut next = span.start;
    layout.for_each_extent(zone, |extent| {
        let (class, range) = match extent {
            Extent::Free { start, order } => {
                assert!(start.is_aligned(order));
                (FrameClass::Free, PfnRange::of(start, order.pages()))
            }
            Extent::Compound { class, range } => {
                assert!(range.len().get().is_power_of_two() && range.start.get() % range.len().get() == 0);
                (class, range)
            }
            Extent::Frames { class, range } => (class, range),
        };
        assert_eq!(range.start, next);
        assert!(!range.is_empty() && range.end <= span.end);
        let offsets = (range.start - span.start).get() as usize..(range.end - span.start).get() as usize;
        assert!(classes[offsets].iter().all(|&c| c == class), "{extent:?}");
        next = range.end;
        extents.push(extent);
    });
    assert_eq!(next, span.end);
    extents
}

#[test]
fn real_maps_are_accounted_for_to_the_last_frame() {
    for name in REAL {
        let snapshot = stored(name);
        let census = Census::of(&snapshot).unwrap();
        let layout = Layout::of(&snapshot).unwrap();
        for (number, zone) in census.zones.iter().enumerate() {
            let info = layout.zones()[number].info();
            assert_eq!(zone.by_class().into_values().sum::<Pages>(), info.present, "{name} {}", zone.kind);
            let mut free_blocks = [0; Order::COUNT];
            for extent in checked_extents(&layout, number) {
                if let Extent::Free { order, .. } = extent {
                    free_blocks[order.index()] += 1;
                }
            }
            assert_eq!(free_blocks, zone.free_blocks, "{name} {}", zone.kind);
            for (&mt, &blocks) in &info.block_counts {
                let given = zone.types.iter().filter(|&&given| given == mt).count() as u64;
                assert!(given == blocks || mt == Migratetype::Movable, "{name} {}: {given} blocks are {mt}", zone.kind);
            }
        }
    }
}

/// The zone was initialised section by section; what it was given so far is the difference between present and managed.
#[test]
fn memory_that_is_not_initialised_is_found_exactly() {
    for (name, from) in REAL.into_iter().zip([0x15_8000, 0x61_8000]) {
        let snapshot = stored(name);
        let layout = Layout::of(&snapshot).unwrap();
        let normal = layout.zones().iter().find(|zone| zone.info().kind == ZoneKind::Normal).unwrap();
        assert_eq!(normal.deferred().start, Pfn::new(from), "{name}");
        assert_eq!(normal.deferred().len(), normal.info().present - normal.info().managed, "{name}");
        assert_eq!(layout.problems(), &[] as &[String]);
    }
}

/// The same memory as a kernel before 4.6 would show it: only heads of free blocks and of slabs are flagged.
fn as_an_older_kernel_shows_it(snapshot: &Snapshot) -> Snapshot {
    let layout = Layout::of(snapshot).unwrap();
    let mut heads = std::collections::BTreeSet::new();
    for zone in 0..layout.zones().len() {
        layout.for_each_extent(zone, |extent| {
            if let Extent::Free { start, .. } = extent {
                heads.insert(start);
            }
        });
    }
    with_frames(snapshot.clone(), |pfn, state| match state.flags {
        flags if flags & kpf::BUDDY != 0 && !heads.contains(&pfn) => FrameState::default(),
        flags if flags & kpf::COMPOUND_TAIL != 0 => FrameState { flags: kpf::COMPOUND_TAIL, ..state },
        _ => state,
    })
}

/// Frames of the kernel that carry no flag and follow a free block cannot be told from it, but the numbers of free blocks
/// say that there are some.
#[test]
fn older_kernels_show_the_same_memory() {
    for name in REAL {
        let mut snapshot = stored(name);
        let new = Census::of(&snapshot).unwrap();
        // The lists of the same instant as the map.
        for (zone, counted) in snapshot.zones.iter_mut().zip(&new.zones) {
            zone.free_blocks = counted.free_blocks;
        }
        let old = Census::of(&as_an_older_kernel_shows_it(&snapshot)).unwrap();
        assert!(old.problems.iter().any(|problem| problem.contains("only the first frame")));
        for (new, old) in new.zones.iter().zip(&old.zones) {
            let (mut now, mut before) = (new.by_class(), old.by_class());
            let free = |zone: &mut std::collections::BTreeMap<_, Pages>| {
                let [unknown, pcp, free] = [FrameClass::Unknown, FrameClass::Pcp, FrameClass::Free]
                    .map(|class| zone.remove(&class).unwrap_or_default());
                (free, unknown + pcp + free)
            };
            let ((free_now, sum_now), (free_before, sum_before)) = (free(&mut now), free(&mut before));
            assert_eq!((now, sum_now), (before, sum_before), "{name} {}", new.kind);
            assert_eq!(free_now, free_before, "{name} {}", new.kind);
            for order in Order::all() {
                let differ = new.free_blocks[order.index()].abs_diff(old.free_blocks[order.index()]);
                assert!(differ < 10, "{name} {} order {order}: {differ}", new.kind);
            }
        }
    }
}

/// The lists of the stored maps are from another instant than the map: then they are believed.
#[test]
fn older_kernels_never_show_more_free_huge_pages_than_the_lists() {
    for name in REAL {
        let snapshot = as_an_older_kernel_shows_it(&stored(name));
        for (zone, info) in Census::of(&snapshot).unwrap().zones.iter().zip(&snapshot.zones) {
            let frames = |blocks: &[u64; Order::COUNT]| blocks[9] * 512 + blocks[10] * 1024;
            let (shown, listed) = (frames(&zone.free_blocks), frames(&info.free_blocks));
            assert!(shown <= listed, "{name} {}: {shown} > {listed}", zone.kind);
        }
    }
}

/// The kernel's own run over the fragmented state moved 994,196 pages and ended with 7,608 free pageblocks in this zone;
/// see docs/inspect.md for how far the two states are the same.
#[test]
fn the_kernel_stays_within_the_bound_of_the_fragmented_host() {
    let snapshot = stored("host-fragmented.o9snap");
    let census = Census::of(&snapshot).unwrap();
    let inspection = Inspection::of(&snapshot, Some(&census), &Prices::built_in());
    let zone = inspection.nodes[0].zones.iter().find(|zone| zone.name == "Normal").unwrap();
    let found = zone.view.findings.as_ref().unwrap();
    let most = found.blocks.free + found.by_moving.huge_pages;
    assert!((7608..7800).contains(&most), "{most}");
    assert!(found.by_moving.moves < Pages::new(994_196), "{:?}", found.by_moving);
    assert!(found.by_moving.moves > Pages::new(950_000), "{:?}", found.by_moving);
}

/// States made of the flags that decide a class, in any combination.
fn any_state() -> impl Strategy<Value = FrameState> {
    const BITS: [u64; 16] = [
        kpf::BUDDY,
        kpf::SLAB,
        kpf::LRU,
        kpf::ANON,
        kpf::COMPOUND_HEAD,
        kpf::COMPOUND_TAIL,
        kpf::COMPOUND_TAIL,
        kpf::COMPOUND_TAIL,
        kpf::HUGE,
        kpf::NOPAGE,
        kpf::RESERVED,
        kpf::HWPOISON,
        kpf::OFFLINE,
        kpf::PGTABLE,
        kpf::UNEVICTABLE,
        kpf::UPTODATE,
    ];
    let flags = prop::collection::vec(prop::sample::select(BITS.as_slice()), 0..3);
    (flags, 0_u64..2).prop_map(|(flags, count)| FrameState { flags: flags.into_iter().fold(0, |a, b| a | b), count })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_flags_are_classified_once(
        runs in prop::collection::vec((any_state(), 1_u64..1500), 1..40),
        cuts in prop::collection::vec(0_u64..40_000, 8),
        counters in prop::collection::vec(0_u64..60_000, 4),
        release in prop::sample::select(["4.4.0", "6.18.1"].as_slice()),
    ) {
        let mut snapshot = stored("host-fresh.o9snap");
        let mut map = FrameMapBuilder::new();
        runs.iter().for_each(|&(state, length)| map.push_run(state, Pages::new(length)));
        map.push_run(FrameState::default(), Pages::new(40_000));
        let end = runs.iter().map(|&(_, length)| length).sum::<u64>() + 40_000;
        let range = |a: u64, b: u64| PfnRange::new(Pfn::new(a.min(b)), Pfn::new(a.max(b)));
        snapshot.frames = Some(map.finish());
        snapshot.machine.kernel_release = release.to_owned();
        snapshot.ram = if cuts[0] % 2 == 0 { Vec::new() } else { vec![range(cuts[0], cuts[1])] };
        snapshot.offline = vec![range(cuts[2], cuts[3])];
        snapshot.zones.truncate(2);
        let middle = cuts[4].min(end);
        for (zone, span) in snapshot.zones.iter_mut().zip([range(cuts[5].min(middle), middle), range(middle, end)]) {
            zone.span = span;
            zone.present = span.len().min(Pages::new(counters[0]));
            zone.managed = zone.present.min(Pages::new(counters[1]));
            zone.free_blocks[3] = counters[2];
        }
        let layout = Layout::of(&snapshot).unwrap();
        let census = Census::of(&snapshot).unwrap();
        for (number, zone) in census.zones.iter().enumerate() {
            checked_extents(&layout, number);
            prop_assert_eq!(zone.blocks.len(), zone.types.len());
            let frames = zone.blocks.len() as u64 * 512;
            let counted: u64 = FrameClass::ALL.into_iter().map(|class| zone.frames(class).get()).sum();
            prop_assert_eq!(counted, frames);
        }
        let inspection = Inspection::of(&snapshot, Some(&census), &Prices::built_in());
        prop_assert!(serde_json::to_string(&inspection).is_ok());
    }
}
