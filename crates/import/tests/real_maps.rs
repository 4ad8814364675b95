//! The bundled maps of real kernels become engines in which every law holds.

use std::fs::File;
use std::path::Path;

use order9_import::{Disk, Imported, import};
use order9_mm::policy::Policy;
use order9_mm::{Gfp, Request};
use order9_snapshot::census::Census;
use order9_snapshot::classify::FrameClass;
use order9_snapshot::{Snapshot, format};
use order9_units::{Order, Pages, ZoneKind};

fn stored(name: &str) -> Snapshot {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name);
    format::read(File::open(path).expect("the map is bundled")).expect("the map is intact")
}

/// Every capture in `tests/data/captures`, as a name for [`stored`].
fn captures() -> Vec<String> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/captures");
    let names = dir.read_dir().expect("the captures are bundled").map(|entry| entry.expect("it is there").file_name());
    let names = names.map(|name| format!("captures/{}", name.display()));
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".o9snap")).collect();
    names.sort();
    names
}

fn imported(name: &str) -> Imported {
    import(&stored(name), Policy::default(), Disk::Present).expect("a real map can be imported")
}

#[test]
fn real_maps_obey_every_law() {
    let hosts = ["host-fresh.o9snap", "host-fragmented.o9snap"].map(str::to_owned);
    for name in hosts.into_iter().chain(captures()) {
        let Imported { mm, report } = imported(&name);
        assert_eq!(mm.check(), Ok(()), "{name}");
        let census = Census::of(&stored(&name)).expect("a real map can be counted");
        for (zone, counted) in report.zones.iter().zip(&census.zones) {
            assert_eq!(zone.free.engine, counted.frames(FrameClass::Free).get(), "{name} {}", zone.kind);
            assert_eq!(zone.free_blocks.map(|blocks| blocks.engine), counted.free_blocks, "{name} {}", zone.kind);
            assert!(zone.unknown < Pages::new(zone.managed.engine / 20), "{name} {}: {zone:?}", zone.kind);
        }
    }
}

#[test]
fn what_changed_while_the_map_was_read_is_reported() {
    let Imported { report, .. } = imported("host-fresh.o9snap");
    let normal = report.zones.iter().find(|zone| zone.kind == ZoneKind::Normal).expect("there is a Normal zone");
    // Copying the files filled page cache after the map of frames had been read and before zoneinfo was.
    assert!(normal.free.engine > normal.free.file, "{normal:?}");
    assert!(normal.free.engine - normal.free.file < normal.free.file / 8, "{normal:?}");
}

#[test]
fn an_imported_machine_allocates_from_what_is_free() {
    let Imported { mut mm, .. } = imported("host-fragmented.o9snap");
    let huge = Request::new(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE_LIGHT);
    let normal = mm.zones().iter().find(|zone| zone.kind() == ZoneKind::Normal).expect("there is a Normal zone").id();
    let in_blocks = |mm: &order9_mm::Mm| -> u64 {
        mm.zones().iter().map(|zone| zone.areas()[9].total() + 2 * zone.areas()[10].total()).sum()
    };
    let before = in_blocks(&mm);
    let mut got = 0;
    while let Ok(pfn) = mm.alloc_fast(&huge) {
        assert!(pfn.is_aligned(Order::PAGEBLOCK));
        got += 1;
    }
    assert_eq!(mm.check(), Ok(()));
    assert_eq!(in_blocks(&mm), before - got);
    assert!(mm.zone(normal).free() > 1 << 20, "Normal stays full of fragments that no huge page fits in");
}

#[test]
fn a_snapshot_without_a_map_is_refused() {
    let mut snapshot = stored("host-fresh.o9snap");
    snapshot.frames = None;
    let error = import(&snapshot, Policy::default(), Disk::Present).err().expect("there is nothing to import");
    assert!(error.to_string().contains("kpageflags"), "{error}");
}

#[test]
fn a_setting_that_is_no_number_is_named() {
    let mut snapshot = stored("host-fresh.o9snap");
    snapshot.settings.insert("/proc/sys/vm/min_free_kbytes".to_owned(), "plenty".to_owned());
    let error = import(&snapshot, Policy::default(), Disk::Present).err().expect("the setting is wrong");
    assert_eq!(error.to_string(), "/proc/sys/vm/min_free_kbytes: \"plenty\" is not a number");
}
