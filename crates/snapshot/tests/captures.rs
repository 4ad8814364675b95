//! Captures of kernels of several releases in varied states: each is read, its numbers agree, and shows its state.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;

use order9_snapshot::census::Census;
use order9_snapshot::classify::FrameClass;
use order9_snapshot::inspection::Inspection;
use order9_snapshot::prices::Prices;
use order9_snapshot::{Snapshot, ZoneInfo, format};
use order9_units::{NodeId, Order, Pages, ZoneKind};

fn captures() -> BTreeMap<String, Snapshot> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/captures");
    let files = fs::read_dir(dir).expect("the captures are bundled").map(|entry| entry.expect("it is there").path());
    let stored = files.filter(|path| path.extension().is_some_and(|extension| extension == "o9snap"));
    let read = |path: &Path| format::read(File::open(path).expect("it is there")).expect("the capture is intact");
    stored.map(|path| (path.file_stem().expect("a name").to_string_lossy().into_owned(), read(&path))).collect()
}

fn in_blocks(zone: &ZoneInfo) -> u64 {
    Order::all().map(|order| zone.free_blocks[order.index()] * order.pages().get()).sum()
}

/// What the files of one kernel say of the same memory agrees, but for what changed between the reading of two.
#[test]
fn the_map_agrees_with_the_counts() {
    for (name, snapshot) in captures() {
        let census = Census::of(&snapshot).expect("a capture can be counted");
        // The free counts below are what changes while a map is read.
        let others: Vec<_> = census.problems.iter().filter(|problem| !problem.contains("free")).collect();
        assert!(others.is_empty(), "{name}: {others:?}");
        for (zone, info) in census.zones.iter().zip(snapshot.zones.iter().filter(|zone| !zone.span.is_empty())) {
            assert_eq!((zone.node, zone.kind), (info.node, info.kind), "{name}");
            let by_class = zone.by_class();
            assert_eq!(by_class.values().copied().sum::<Pages>(), info.present, "{name} {}", zone.kind);
            let free = zone.frames(FrameClass::Free).get();
            let on_lists: u64 = info.pcp.iter().map(|pcp| pcp.high.get() + pcp.batch.get()).sum();
            let moved_on = snapshot.cost.free_drift.get() + on_lists + info.managed.get() / 256;
            for listed in [info.free.get(), in_blocks(info)] {
                assert!(free.abs_diff(listed) <= moved_on, "{name} {}: {free} of {listed}, {moved_on}", zone.kind);
            }
            let (unknown, managed) = (zone.frames(FrameClass::Unknown).get(), info.managed.get());
            assert!(unknown <= managed / 20, "{name} {}: {unknown} of {managed}", zone.kind);
        }
    }
}

/// An inspection counts every pageblock once, and promises no more than there is.
#[test]
fn inspections_make_sense() {
    for (name, snapshot) in captures() {
        let census = Census::of(&snapshot).expect("a capture can be counted");
        let inspection = Inspection::of(&snapshot, Some(&census), &Prices::built_in());
        for zone in inspection.nodes.iter().flat_map(|node| &node.zones) {
            let found = zone.view.findings.as_ref().expect("there is a map");
            let blocks = &found.blocks;
            let parts = [blocks.free, blocks.huge, blocks.evacuable, blocks.slab, blocks.unmarked, blocks.lost];
            let sum: u64 = parts.into_iter().sum::<u64>() + blocks.partial + blocks.deferred;
            assert_eq!(sum, blocks.total, "{name} {}: {blocks:?}", zone.name);
            assert!(found.by_moving.huge_pages <= blocks.evacuable, "{name} {}", zone.name);
            assert!(found.by_moving_in_linux.huge_pages <= found.by_moving.huge_pages, "{name} {}", zone.name);
            let most = found.by_moving.huge_pages * Order::PAGEBLOCK.pages().get();
            assert!(found.by_moving.moves.get() <= most, "{name} {}", zone.name);
        }
    }
}

/// The state that the name of a capture speaks of is in it.
#[test]
fn captures_show_the_states_they_are_named_after() {
    let captures = captures();
    assert!(captures.len() >= 20, "{}", captures.len());
    let release = |snapshot: &Snapshot| {
        let numbers: Vec<&str> = snapshot.machine.kernel_release.splitn(3, ['.', '-']).collect();
        format!("{}.{}", numbers[0], numbers[1])
    };
    for (name, snapshot) in &captures {
        assert_eq!(name.rsplit('-').next(), Some(release(snapshot).as_str()), "{name}");
    }
    let releases: BTreeSet<String> = captures.values().map(release).collect();
    assert_eq!(releases.into_iter().collect::<Vec<_>>(), ["5.10", "6.1", "6.12", "6.18", "7.2"]);

    let frames = |name: &str, class: FrameClass| {
        let census = Census::of(&captures[name]).expect("a capture can be counted");
        census.zones.iter().map(|zone| zone.frames(class).get()).sum::<u64>()
    };
    let large = |name: &str| {
        let census = Census::of(&captures[name]).expect("a capture can be counted");
        census.zones.iter().map(|zone| zone.movable_in_large_folios.get()).sum::<u64>()
    };
    let counter = |name: &str, counter: &str| captures[name].vmstat[counter];
    let distances = |name: &str| captures[name].nodes.iter().map(|node| node.distances.clone()).collect::<Vec<_>>();
    for name in ["numa-6.1", "numa-uneven-7.2"] {
        assert_eq!(distances(name), [[10, 21], [21, 10]], "{name}");
        assert!(captures[name].zones.iter().any(|zone| zone.node == NodeId(1) && !zone.block_counts.is_empty()));
    }
    let movable = captures["movable-zone-5.10"].zones.iter().find(|zone| zone.kind == ZoneKind::Movable);
    assert!(movable.is_some_and(|zone| zone.managed > Pages::new(100_000)));
    assert!(captures["offline-6.12"].offline.iter().map(|range| range.len().get()).sum::<u64>() >= 3 << 15);
    assert_eq!(frames("hugetlb-6.12", FrameClass::Hugetlb), 96 * 512);
    assert!(frames("huge-heaps-5.10", FrameClass::AnonHuge) >= 300 * 512);
    assert!(["cache-xfs-6.12", "cache-ext4-7.2"].into_iter().all(|name| large(name) > 50_000));
    assert!(["zram-6.1", "zram-huge-7.2"].into_iter().all(|name| counter(name, "pswpout") > 10_000));
    assert!(counter("compacted-6.12", "compact_isolated") > 10_000);
    let pinned = |name: &str| counter(name, "nr_foll_pin_acquired");
    assert!(pinned("pinned-io_uring-7.2") >= 256);
}
