//! Pressure under every built-in policy, on a small machine with two zones.

use order9_machine::{Machine, Options};
use order9_policy::load;
use order9_units::{Bytes, Pages, Pfn, PfnRange, ZoneKind};

use super::{Kind, Pressure};
use crate::{NORMAL, machine_of, mib};

const MEMORY: Bytes = mib(16);
const KINDS: [Kind; 7] = [Kind::Anon, Kind::Shared, Kind::Read, Kind::Dirty, Kind::Mlocked, Kind::Pinned, Kind::Slab];

fn machine(policy: &str, options: &Options) -> Machine {
    let half = Pages::new(Pages::from_bytes_floor(MEMORY).get() / 2);
    let zones = [(ZoneKind::Dma32, PfnRange::of(Pfn::new(4096), half)), (ZoneKind::Normal, PfnRange::of(NORMAL, half))];
    machine_of(&zones, load(policy).expect("it is built in").policy, 2, options)
}

/// A little more than memory without swap, half as much again with ample swap, and twice memory with a little.
fn under(policy: &str) {
    let ample = Pages::from_bytes_floor(Bytes::new(MEMORY.get() * 4));
    let mut tasks = [4, 16, 1].into_iter().cycle();
    for kind in KINDS {
        for (percent, swap) in [(110, Pages::ZERO), (150, ample), (200, Pages::new(64))] {
            let tasks = tasks.next().expect("a cycle has no end");
            let pressure = Pressure { memory: MEMORY, kind, percent, swap, tasks };
            pressure.check(|options| machine(policy, options));
        }
    }
}

#[test]
fn linux_4_4_which_reclaims_zones_one_by_one() {
    under("linux-4.4");
}

#[test]
fn linux_5_0_which_fragments_at_once() {
    under("linux-5.0");
}

#[test]
fn linux_5_3_rc3_which_spares_slab_under_boosts() {
    under("linux-5.3-rc3");
}

#[test]
fn linux_5_3_which_shrinks_slab_under_boosts() {
    under("linux-5.3-shrinker");
}

#[test]
fn linux_5_9_which_reclaims_by_the_cost_of_refaults() {
    under("linux-5.9");
}

#[test]
fn order9_which_compacts_by_an_index() {
    under("order9");
}

#[test]
fn linux_6_18_which_stalls_reclaimers_until_events() {
    under("linux-6.18");
}
