//! This host itself, where it lets us.

use std::io::Write as _;

use order9_host::{Options, Root, capture};
use order9_snapshot::Source;
use order9_snapshot::flags::kpf;
use order9_units::{Pages, Pfn, ZoneKind};

#[test]
fn this_host_adds_up() {
    if std::fs::File::open("/proc/kpageflags").is_err() {
        // Not by `println!`, which the test harness would swallow.
        let line = "SKIPPED: this_host_adds_up needs /proc/kpageflags: run as root on Linux";
        writeln!(std::io::stderr(), "{line}").expect("stderr");
        return;
    }
    let snapshot = capture(&Root::live(), Options::default()).expect("a snapshot of this host");
    assert_eq!(snapshot.source, Source::Host);
    let frames = snapshot.frames.as_ref().expect("a map");
    let end = snapshot.zones.iter().map(|zone| zone.span.end).max().expect("a zone");
    assert_eq!(Pfn::new(frames.len().get()), end, "the map reaches the end of the last zone");
    assert_eq!(snapshot.cost.frames, frames.len());
    assert!(!snapshot.ram.is_empty() && !snapshot.vmstat.is_empty() && !snapshot.settings.is_empty());

    for zone in &snapshot.zones {
        assert!(zone.managed <= zone.present && zone.present <= zone.span.len(), "{:?}", zone.kind);
        let in_ram: Pages = snapshot.ram.iter().map(|ram| ram.intersect(zone.span).len()).sum();
        // A frame that is RAM only in part is present in Linux' count and not in ours; firmware leaves a few such.
        let firmware = Pages::new(if zone.kind == ZoneKind::Dma { 256 } else { 64 });
        assert!(zone.present <= in_ram + firmware, "{:?}: {:?} of {in_ram:?}", zone.kind, zone.present);

        let free = zone.span.iter().filter(|&pfn| frames.get(pfn).is_some_and(|f| f.flags & kpf::BUDDY != 0)).count();
        assert!(free as u64 <= zone.present.get(), "{:?}: {free} free frames", zone.kind);
    }
    // Frames are free and in use at the same time only because the map changed while it was read.
    assert!(snapshot.cost.inconsistent.get() < frames.len().get() / 100, "{:?}", snapshot.cost);
}
