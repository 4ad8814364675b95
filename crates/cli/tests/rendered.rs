//! The files of /proc that the engine renders read back, by the reader of real hosts, as the state they were rendered from.

use std::fs;
use std::path::Path;

use order9_host::{Options, Root, capture};
use order9_import::{Disk, import};
use order9_mm::policy::Policy;
use order9_mm::{Gfp, Mm, Request};
use order9_snapshot::{Snapshot, format};
use order9_units::{Migratetype, Order, Pages};

/// The bundled fragmented host as an engine, with something taken so that counters are not zero.
fn engine() -> Mm {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/host-fragmented.o9snap");
    let stored = format::read(fs::File::open(path).expect("the map is bundled")).expect("the map is intact");
    let mut mm = import(&stored, Policy::default(), Disk::Present).expect("a real map can be imported").mm;
    for order in [0, 1, 9, 10].into_iter().filter_map(Order::new) {
        mm.alloc_fast(&Request::new(order, Gfp::GFP_KERNEL)).expect("there is memory");
    }
    mm
}

/// The rendered files in a directory like a support bundle, read as one.
fn read_back(mm: &Mm) -> Snapshot {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str, content: String| {
        let path = directory.path().join("proc").join(name);
        fs::create_dir_all(path.parent().expect("a file has a directory")).expect("the directory can be made");
        fs::write(path, content).expect("the file can be written");
    };
    let render = |render: &dyn Fn(&mut String) -> std::fmt::Result| {
        let mut text = String::new();
        render(&mut text).expect("a string takes everything");
        text
    };
    file("buddyinfo", render(&|out| order9_procfs::render_buddyinfo(mm, out)));
    file("pagetypeinfo", render(&|out| order9_procfs::render_pagetypeinfo(mm, out)));
    file("zoneinfo", render(&|out| order9_procfs::render_zoneinfo(mm, out)));
    file("vmstat", render(&|out| order9_procfs::render_vmstat(mm, out)));
    capture(&Root::directory(directory.path()), Options::default()).expect("rendered files are files of a host")
}

#[test]
fn rendered_files_say_what_the_engine_holds() {
    let mm = engine();
    let snapshot = read_back(&mm);
    assert_eq!(snapshot.zones.len(), mm.frames().zones().len());
    for (read, zone) in snapshot.zones.iter().zip(mm.frames().zones()) {
        assert_eq!((read.node, read.kind, read.span), (zone.node(), zone.kind(), zone.span()));
        assert_eq!((read.present, read.managed), (Pages::new(zone.present()), Pages::new(zone.managed())));
        assert_eq!(read.free, Pages::new(zone.free()));
        assert_eq!(read.watermarks.low, Pages::new(zone.mark(order9_mm::Mark::Low)));
        assert_eq!(read.protection, zone.lowmem_reserve().map(Pages::new));
        assert_eq!(read.free_blocks, zone.areas().each_ref().map(|area| area.total()));
        for (mt, blocks) in &read.free_by_type {
            let engine = zone.areas().each_ref().map(|area| u64::from(area.blocks[mt.index()]).min(100_000));
            assert_eq!(*blocks, engine, "{} {mt}", zone.kind());
        }
        let pageblocks: u64 = read.block_counts.values().sum();
        let first = zone.span().start.align_down(Order::PAGEBLOCK);
        assert_eq!(pageblocks, (zone.span().end - first).get().div_ceil(512), "{}", zone.kind());
        assert!(read.block_counts[&Migratetype::Movable] > 0);
        let pcp: Pages = read.pcp.iter().map(|pcp| pcp.count).sum();
        assert_eq!(pcp, Pages::new(mm.frames().pcp_pages(zone.id())));
    }
    for (name, value) in order9_procfs::vmstat(&mm) {
        assert_eq!(snapshot.vmstat.get(name), Some(&value), "{name}");
    }
    assert!(snapshot.vmstat["pgalloc_normal"] > 0);
}
