//! Where memory lies, compared with what Linux shows on real machines.

use order9_lab::machines::load;
use order9_mm::{MmBuilder, policy::Policy};
use order9_units::{Pages, ZoneKind};

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

#[test]
fn zones_are_those_of_the_host() {
    let layout = load("this-host").unwrap().layout();
    let mm = MmBuilder::new(&layout, Policy::default()).unwrap().boot();
    // /proc/zoneinfo of the host: zone, start_pfn, spanned, present, managed.
    let host = [
        (ZoneKind::Dma, 1, 4095, 3998, 3840),
        (ZoneKind::Dma32, 4096, 1_044_480, 782_336, 772_917),
        (ZoneKind::Normal, 1_048_576, 5_505_024, 5_505_024, 5_394_266),
    ];
    assert_eq!(mm.zones().len(), host.len());
    for (zone, (kind, start, spanned, present, managed)) in mm.zones().iter().zip(host) {
        assert_eq!((zone.kind(), zone.span().start.get()), (kind, start));
        assert_eq!((zone.span().len(), zone.present()), (Pages::new(spanned), present), "{kind}");
        let off = zone.managed().abs_diff(managed);
        assert!(off * 1000 < managed, "{kind}: {} managed frames, {managed} on the host", zone.managed());
    }
}
