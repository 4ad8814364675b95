//! Made-up machines agree with themselves, with their spec and with what is said to be true of them.

use order9_snapshot::buddy::free_blocks;
use order9_snapshot::flags::{PINNED, SLAB_RECLAIMABLE, kpf};
use order9_snapshot::format::{read, write};
use order9_snapshot::synth::{Pattern, Supply, SynthError, SynthSpec, synth};
use order9_snapshot::{FrameState, Snapshot, ZoneInfo};
use order9_units::{Bytes, Migratetype, Order, Pages, Pfn, PfnRange};
use proptest::prelude::*;

fn states(snapshot: &Snapshot, range: PfnRange) -> impl Iterator<Item = (Pfn, FrameState)> {
    let map = snapshot.frames.as_ref().expect("a map");
    range.iter().map(|pfn| (pfn, map.get(pfn).expect("inside of the map")))
}

fn is_free(state: FrameState) -> bool {
    state.flags & kpf::BUDDY != 0
}

/// Buddy counts of a zone from its frames, run by run.
fn free_blocks_of(snapshot: &Snapshot, zone: &ZoneInfo) -> [u64; Order::COUNT] {
    let mut counts = [0; Order::COUNT];
    let mut open = zone.span.start;
    let mut close = |end: Pfn| {
        free_blocks(PfnRange::new(open, end)).for_each(|(_, order)| counts[order.index()] += 1);
        open = end + Pages::new(1);
    };
    states(snapshot, zone.span).filter(|&(_, state)| !is_free(state)).for_each(|(pfn, _)| close(pfn));
    close(zone.span.end);
    counts
}

/// Costs of evacuable pageblocks, by flags; `dropped` says which frames count as free besides the free ones.
fn supply_of(snapshot: &Snapshot, zone: &ZoneInfo, dropped: fn(u64) -> bool) -> Supply {
    const HUGE: u64 = kpf::THP | kpf::HUGE;
    let free = |state: FrameState| is_free(state) || dropped(state.flags);
    let movable = |state: FrameState| state.flags & kpf::LRU != 0 && state.flags & (PINNED | HUGE) == 0 && !free(state);
    let count = |range, which: &dyn Fn(FrameState) -> bool| {
        states(snapshot, range).filter(|&(_, state)| which(state)).count() as u64
    };
    let first = zone.span.start.align_up(Order::PAGEBLOCK);
    let mut costs = Vec::new();
    for block in (first.get()..zone.span.end.get()).step_by(512) {
        let block = PfnRange::of(Pfn::new(block), Order::PAGEBLOCK.pages());
        let moves = count(block, &movable);
        if count(block, &free) + moves == 512 {
            costs.push(moves as u16);
        }
    }
    costs.sort_unstable();
    Supply { free: Pages::new(count(zone.span, &free)), costs }
}

fn is_dropped(flags: u64) -> bool {
    flags & SLAB_RECLAIMABLE != 0 || flags & kpf::LRU != 0 && flags & (kpf::ANON | kpf::MMAP) == 0
}

/// Everything that must hold for any machine.
fn check(spec: &SynthSpec) {
    let (snapshot, truth) = synth(spec).expect("a possible machine");
    assert_eq!(truth.zones.len(), snapshot.zones.len());
    let types = snapshot.block_types.as_ref().expect("types");
    for (zone, truth) in snapshot.zones.iter().zip(&truth.zones) {
        assert_eq!((zone.node, zone.kind), (truth.node, truth.kind));
        assert_eq!(zone.free_blocks, free_blocks_of(&snapshot, zone), "{} {}", zone.node, zone.kind);
        let by_type = |order: usize| zone.free_by_type.values().map(|counts| counts[order]).sum::<u64>();
        assert!((0..Order::COUNT).all(|order| by_type(order) == zone.free_blocks[order]));
        assert_eq!(truth.now, supply_of(&snapshot, zone, |_| false));
        assert_eq!(truth.after_drop, supply_of(&snapshot, zone, is_dropped));
        assert_eq!(zone.free, truth.now.free);
        let present = states(&snapshot, zone.span).filter(|(_, state)| state.flags & kpf::NOPAGE == 0).count();
        assert_eq!(zone.present.get(), present as u64);
        let reserved = states(&snapshot, zone.span).filter(|(_, state)| state.flags & kpf::RESERVED != 0).count();
        assert_eq!((zone.present - zone.managed).get(), reserved as u64);
        let marks = zone.watermarks;
        assert!(marks.min <= marks.low && marks.low <= marks.high);
    }
    let counted: u64 = snapshot.zones.iter().flat_map(|zone| zone.block_counts.values()).sum();
    let hole = if types.len() > 2048 { 512 } else { 0 };
    assert_eq!(counted, types.len() as u64 - hole);
    let free: Pages = snapshot.zones.iter().map(|zone| zone.free).sum();
    assert_eq!(snapshot.vmstat["nr_free_pages"], free.get());
    assert_eq!(snapshot.meminfo["MemFree"], free.get() * 4);

    let mut file = Vec::new();
    write(&snapshot, &mut file).expect("a sound snapshot");
    assert_eq!(read(file.as_slice()).expect("a sound file"), snapshot);
    assert_eq!(synth(spec).expect("again").0, snapshot);
}

#[test]
fn every_pattern_is_consistent() {
    for pattern in Pattern::ALL {
        check(&SynthSpec { size: Bytes::from_gib(1), pattern, pinned: 0.01, ..SynthSpec::default() });
    }
}

#[test]
fn nodes_and_the_hole_below_four_gigabytes_are_consistent() {
    check(&SynthSpec { size: Bytes::from_gib(9), nodes: 2, ..SynthSpec::default() });
}

/// Frames of all zones but DMA, for which shares are given.
fn shared_frames(snapshot: &Snapshot, which: fn(FrameState) -> bool) -> f64 {
    let zones = &snapshot.zones[1..];
    let found: usize =
        zones.iter().map(|zone| states(snapshot, zone.span).filter(|&(_, state)| which(state)).count()).sum();
    let managed: Pages = zones.iter().map(|zone| zone.managed).sum();
    found as f64 / managed.get() as f64
}

#[test]
fn shares_are_met() {
    for pattern in Pattern::ALL {
        let spec = SynthSpec { size: Bytes::from_gib(2), pattern, pinned: 0.05, ..SynthSpec::default() };
        let (snapshot, _) = synth(&spec).expect("a possible machine");
        let near = |what: &str, found: f64, wanted: f64| {
            // A pageblock of 2 GiB less the kernel is 0.001 of it.
            assert!((found - wanted).abs() < 0.0011, "{pattern}: {what} is {found}, expected {wanted}");
        };
        near("free", shared_frames(&snapshot, is_free), 1.0 - spec.fill);
        near("pinned", shared_frames(&snapshot, |state| state.flags & PINNED != 0), spec.pinned);
        near("huge", shared_frames(&snapshot, |state| state.flags & kpf::THP != 0), spec.huge);
        near("reclaimable", shared_frames(&snapshot, |state| state.flags & SLAB_RECLAIMABLE != 0), spec.reclaimable);
        let unmovable = |state: FrameState| {
            let kernel = state.flags == 0 || state.flags & (kpf::SLAB | kpf::PGTABLE) != 0;
            kernel && state.flags & SLAB_RECLAIMABLE == 0
        };
        near("unmovable", shared_frames(&snapshot, unmovable), spec.unmovable);
    }
}

#[test]
fn degree_moves_free_memory_out_of_whole_pageblocks() {
    for degree in [0.0, 0.25, 1.0] {
        let pattern = Pattern::Random;
        let spec = SynthSpec { size: Bytes::from_gib(2), degree, pattern, ..SynthSpec::default() };
        let (snapshot, _) = synth(&spec).expect("a possible machine");
        let zone = &snapshot.zones[1];
        let whole: u64 = (9..=10).map(|order| zone.free_blocks[order] << order).sum();
        let scattered = 1.0 - whole as f64 / zone.free.get() as f64;
        assert!((scattered - degree).abs() < 0.005, "{scattered} for {degree}");
    }
}

#[test]
fn packed_memory_ends_in_one_free_run() {
    let spec = SynthSpec { size: Bytes::from_gib(1), pattern: Pattern::Packed, ..SynthSpec::default() };
    let (snapshot, truth) = synth(&spec).expect("a possible machine");
    let free: Vec<_> = states(&snapshot, snapshot.zones[1].span).map(|(_, state)| is_free(state)).collect();
    assert!(free.is_sorted());
    // Only kernel memory, reserved frames and huge pages cannot be evacuated.
    let blocked = (0.03 + 0.02 + 0.1) * 488.0;
    assert!((truth.zones[1].now.costs.len() as f64 - (488.0 - blocked)).abs() <= 3.0);
}

#[test]
fn contamination_is_one_page_in_the_wanted_share_of_pageblocks() {
    let spec = SynthSpec {
        size: Bytes::from_gib(1),
        pattern: Pattern::Contaminated,
        contamination: 0.5,
        degree: 1.0,
        ..SynthSpec::default()
    };
    let (snapshot, _) = synth(&spec).expect("a possible machine");
    let types = snapshot.block_types.as_ref().expect("types");
    let managed = PfnRange::new(Pfn::new(0x3000), snapshot.zones[1].span.end);
    let mut by_immovable = [0_u64; 513];
    for block in (managed.start.get()..managed.end.get()).step_by(512) {
        let range = PfnRange::of(Pfn::new(block), Order::PAGEBLOCK.pages());
        let immovable = states(&snapshot, range).filter(|(_, state)| state.flags & (kpf::LRU | kpf::BUDDY) == 0);
        let count = immovable.count();
        by_immovable[count] += 1;
        assert_eq!(count == 512, types[(block / 512) as usize] != Migratetype::Movable);
    }
    let huge = (488.0 * 0.1) as u64;
    let mixed = by_immovable[0] + by_immovable[1] - huge;
    assert_eq!(by_immovable[2..512].iter().sum::<u64>(), 0);
    assert!(by_immovable[1].abs_diff(mixed / 2) <= 1, "{} of {mixed}", by_immovable[1]);
}

#[test]
fn contamination_needs_enough_unmovable_pages() {
    let spec = SynthSpec { unmovable: 0.0001, contamination: 1.0, ..SynthSpec::default() };
    let error = synth(&spec).expect_err("26 MiB of unmovable pages cannot be everywhere");
    assert!(matches!(error, SynthError::Contamination { .. }));
    assert_eq!(
        error.to_string(),
        "contamination 1 means 1241 pageblocks with an unmovable page in zone DMA32 of node 0, but the unmovable share \
         gives 77 pages only"
    );
}

#[test]
fn seeds_differ() {
    let machine =
        |seed| synth(&SynthSpec { size: Bytes::from_gib(1), seed, ..SynthSpec::default() }).expect("possible");
    assert_ne!(machine(1).0.frames, machine(2).0.frames);
}

prop_compose! {
    fn any_spec()(
        sections in 2..9_u64,
        fill in 0.0..=1.0,
        parts in prop::array::uniform5(0.0..1.0_f64),
        pattern in prop::sample::select(&Pattern::ALL[..]),
        degree in prop_oneof![Just(0.0), Just(1.0), 0.0..1.0],
        contamination in 0.0..=1.0,
        seed: u64,
    ) -> SynthSpec {
        let scale = fill / parts.iter().sum::<f64>().max(1.0);
        let [unmovable, reclaimable, pinned, huge, clean_cache] = parts.map(|part| part * scale);
        SynthSpec {
            size: Bytes::new(sections * (128 << 20)),
            nodes: 1,
            fill, unmovable, reclaimable, pinned, huge, clean_cache, pattern, degree, contamination, seed,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_machine_is_consistent(spec in any_spec()) {
        match synth(&spec) {
            Ok(_) => check(&spec),
            Err(error) => prop_assert!(matches!(error, SynthError::Contamination { .. }), "{}", error),
        }
    }
}
