//! Where memory lies, compared with what Linux shows on real machines.

use std::fs;

use order9_lab::machines::{MachineSpec, load};
use order9_mm::{Layout, MmBuilder, policy::Policy};
use order9_units::{Bytes, NodeId, Pages, ZoneKind};

use crate::built_in::all;

#[test]
fn every_built_in_machine_can_be_built() {
    for machine in all() {
        let layout = machine.layout();
        assert_eq!(layout.cpus, machine.cpus());
        if machine.memory().get() > 64 << 30 {
            continue; // Its frame table takes gigabytes; the layout has nothing that the smaller ones do not have.
        }
        let mm = MmBuilder::new(&layout, Policy::default()).expect("a layout").boot();
        mm.check().unwrap_or_else(|broken| panic!("{}: {broken:?}", machine.name));
    }
}

/// A machine with one CPU and such memory on each node.
fn machine(memory: &[&str]) -> MachineSpec {
    let count = memory.len();
    let nodes = memory.iter().enumerate().map(|(from, memory)| {
        let distances: Vec<_> = (0..count).map(|to| if from == to { 10 } else { 21 }).collect();
        format!("[[nodes]]\nmemory = '{memory}'\ncpus = 1\ndistances = {distances:?}\n")
    });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    fs::write(&path, format!("base = 'xeon-2s'\n{}", nodes.collect::<String>())).unwrap();
    load(path.to_str().unwrap()).unwrap()
}

/// Node, kind, first and last frame of every zone.
fn zones(layout: &Layout) -> Vec<(NodeId, ZoneKind, u64, u64)> {
    layout.zones.iter().map(|zone| (zone.node, zone.kind, zone.span.start.get(), zone.span.end.get() - 1)).collect()
}

#[test]
fn zones_hold_all_memory_but_the_first_frame_and_the_old_hole() {
    for machine in all() {
        let layout = machine.layout();
        let spanned: u64 = layout.zones.iter().map(|zone| zone.span.len().get()).sum();
        let holes: u64 = layout.holes.iter().map(|hole| hole.len().get()).sum();
        assert_eq!(spanned - holes, Pages::from_bytes_floor(machine.memory()).get() - 98, "{}", machine.name);
        let reserved: u64 = layout.reserved.iter().map(|range| range.len().get()).sum();
        // The image of the kernel is as large in a small guest.
        let share = if machine.memory() < Bytes::from_gib(4) { 25 } else { 50 };
        assert!(reserved * share < spanned, "{} reserves too much", machine.name);
    }
}

#[test]
fn small_nodes_leave_zones_out() {
    use ZoneKind::{Dma, Dma32, Normal};
    let (zero, one) = (NodeId(0), NodeId(1));
    let layout = machine(&["2 GiB", "1 GiB"]).layout();
    let expected = [(zero, Dma, 1, 0xfff), (zero, Dma32, 0x1000, 0x7_ffff), (one, Normal, 0x10_0000, 0x13_ffff)];
    assert_eq!(zones(&layout), expected);
    let layout = machine(&["3200 MiB", "1 GiB"]).layout();
    let expected = [
        (zero, Dma, 1, 0xfff),
        (zero, Dma32, 0x1000, 0xf_ffff),
        (zero, Normal, 0x10_0000, 0x10_7fff),
        (one, Normal, 0x10_8000, 0x14_7fff),
    ];
    assert_eq!(zones(&layout), expected);
    MmBuilder::new(&layout, Policy::default()).unwrap().boot().check().unwrap();
}

#[test]
fn tables_that_do_not_fit_the_upper_end_go_on_below_the_devices() {
    let machine = machine(&["3200 MiB", "1 GiB"]);
    let layout = machine.layout();
    let normal = layout.zones[2].span;
    assert!(layout.reserved.contains(&normal), "all of 128 MiB");
    let tables = Bytes::new(64) * (3200 << 8) + machine.reserved.boot_tables;
    let below = layout.reserved.iter().find(|range| range.end.get() == 0xc_0000).expect("the rest");
    assert_eq!(below.len() + normal.len(), Pages::from_bytes_ceil(tables));
}

#[test]
fn zones_are_those_of_the_host() {
    let layout = load("epyc-vm").unwrap().layout();
    let mm = MmBuilder::new(&layout, Policy::default()).unwrap().boot();
    // /proc/zoneinfo of the host: zone, start_pfn, spanned, present, managed.
    let host = [
        (ZoneKind::Dma, 1, 4095, 3998, 3840),
        (ZoneKind::Dma32, 4096, 1_044_480, 782_336, 772_917),
        (ZoneKind::Normal, 1_048_576, 5_505_024, 5_505_024, 5_394_266),
    ];
    assert_eq!(mm.frames().zones().len(), host.len());
    for (zone, (kind, start, spanned, present, managed)) in mm.frames().zones().iter().zip(host) {
        assert_eq!((zone.kind(), zone.span().start.get()), (kind, start));
        assert_eq!((zone.span().len(), zone.present()), (Pages::new(spanned), present), "{kind}");
        let off = zone.managed().abs_diff(managed);
        assert!(off * 1000 < managed, "{kind}: {} managed frames, {managed} on the host", zone.managed());
    }
}
