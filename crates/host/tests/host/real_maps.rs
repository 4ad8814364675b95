//! The real maps among the test data, which came from this crate.

use std::fs::File;

use order9_snapshot::flags::kpf;
use order9_snapshot::{Snapshot, Source, format};
use order9_units::ZoneKind;

fn stored(name: &str) -> Snapshot {
    let path = format!("{}/../../tests/data/{name}.o9snap", env!("CARGO_MANIFEST_DIR"));
    format::read(File::open(path).expect("test data")).expect("a sound snapshot")
}

/// Free frames in the map of the zone `kind`.
fn free_frames(snapshot: &Snapshot, kind: ZoneKind) -> u64 {
    let zone = snapshot.zones.iter().find(|zone| zone.kind == kind).expect("the zone");
    let frames = snapshot.frames.as_ref().expect("a map");
    let free = |pfn: &order9_units::Pfn| frames.get(*pfn).is_some_and(|frame| frame.flags & kpf::BUDDY != 0);
    zone.span.iter().filter(free).count() as u64
}

#[test]
fn the_map_agrees_with_the_free_counts() {
    // Copying the maps filled page cache while the kernel was still taking in memory, one section at a time.
    let slack = 1 << 15;
    for name in ["host-fresh", "host-fragmented"] {
        let snapshot = stored(name);
        assert_eq!(snapshot.source, Source::Directory);
        for zone in snapshot.zones.iter().filter(|zone| !zone.span.is_empty()) {
            let in_map = free_frames(&snapshot, zone.kind);
            assert!(in_map.abs_diff(zone.free.get()) <= slack, "{name} {}: {in_map} of {:?}", zone.kind, zone.free);
        }
    }
}

#[test]
fn nothing_but_memory_parameters_was_kept_of_the_command_line() {
    for name in ["host-fresh", "host-fragmented"] {
        let machine = stored(name).machine;
        assert_eq!(
            machine.kernel_command_line,
            "swiotlb=noforce psi=1 page_reporting.page_reporting_order=11 deferred_init=lazy"
        );
        assert!(machine.kernel_parameters_dropped > 0);
    }
}
