//! Snapshots to write.

use std::collections::BTreeMap;

use order9_snapshot::format::write;
use order9_snapshot::owners::{Caller, KernelUse, KernelUseKind, MappedFile, OwnerMapBuilder, Owners, Process, User};
use order9_snapshot::{
    Calibration, CaptureCost, DaemonWork, FrameMap, FrameMapBuilder, FrameState, Machine, Measured, Missing, NodeInfo,
    PcpInfo, Pressure, Snapshot, Source, Watermarks, ZoneInfo,
};
use order9_units::{Bytes, Migratetype, Nanos, NodeId, PAGE_SIZE, Pages, Pfn, PfnRange, ZoneKind};
use proptest::prelude::*;

/// What every snapshot needs.
pub(crate) fn machine() -> Machine {
    Machine { page_size: PAGE_SIZE, pageblock_order: 9, ..Machine::default() }
}

/// The bytes of a snapshot.
pub(crate) fn bytes_of(snapshot: &Snapshot) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(snapshot, &mut bytes).expect("sound");
    bytes
}

/// A map of given runs of states.
pub(crate) fn map_of(runs: &[(u64, u64, u64)]) -> FrameMap {
    let mut map = FrameMapBuilder::new();
    for &(flags, count, len) in runs {
        map.push_run(FrameState { flags, count }, Pages::new(len));
    }
    map.finish()
}

/// Prices as of some host.
pub(crate) fn calibration() -> Calibration {
    let measured = |ps| Measured { ps, lowest_ps: ps - 1, highest_ps: 2 * ps, rounds: 9 };
    Calibration {
        copy_page: measured(205_000),
        clear_page: measured(147_000),
        frame_scan: measured(1_800),
        shmem_page: Some(measured(600_000)),
        huge_fault: Some(measured(180_000_000)),
        hypervisor_fault: Some(measured(4_300_000_000)),
    }
}

/// Two zones, three chunks (one state, few states, many states), every field filled.
pub(crate) fn full() -> Snapshot {
    let mut map = FrameMapBuilder::new();
    map.push_run(FrameState { flags: u64::MAX, count: u64::MAX }, Pages::new(1 << 15));
    (0..1 << 15).for_each(|i| map.push(FrameState { flags: 1 << 10 << (i % 7), count: i % 3 }));
    (0..3000).for_each(|i| map.push(FrameState { flags: i / 2, count: i % 2 }));
    let map = map.finish();
    let blocks = map.len().get().div_ceil(512) as usize;
    let counters = |names: [&str; 2]| names.into_iter().map(|name| (name.to_owned(), u64::MAX)).collect();
    Snapshot {
        source: Source::Synthetic("--seed 1".to_owned()),
        machine: Machine {
            kernel_release: "6.18.0-\u{e4}".to_owned(),
            kernel_command_line: "transparent_hugepage=always".to_owned(),
            kernel_parameters_dropped: 3,
            cpus: 2,
            uptime: Some(Nanos::new(u64::MAX)),
            ..machine()
        },
        nodes: vec![NodeInfo {
            id: NodeId(3),
            distances: vec![10],
            cpus: vec![0, 1],
            counters: counters(["nr_dirty", "nr_mapped"]),
        }],
        zones: vec![zone(ZoneKind::Dma, 1, 4096), zone(ZoneKind::Normal, 4096, map.len().get())],
        ram: vec![PfnRange::of(Pfn::new(1), Pages::new(158)), PfnRange::of(Pfn::new(256), Pages::new(9))],
        offline: vec![PfnRange::of(Pfn::new(1 << 15), Pages::new(1 << 15))],
        frames: Some(map),
        block_types: Some((0..blocks).map(|i| Migratetype::ALL[i % Migratetype::COUNT]).collect()),
        settings: BTreeMap::from([("/proc/sys/vm/swappiness".to_owned(), "60\t1\n\"quoted\"".to_owned())]),
        vmstat: counters(["pgalloc_dma", "compact_stall"]),
        meminfo: counters(["MemTotal", "Active(anon)"]),
        pressure: Some(Pressure { some_us: 1, full_us: 2 }),
        missing: vec![Missing { path: "/proc/iomem".to_owned(), reason: "needs root".to_owned() }],
        daemons: Some(DaemonWork { watched: Nanos::new(6), kcompactd: Pages::new(7), kswapd: Pages::new(8) }),
        calibration: Some(calibration()),
        owners: Some(owners()),
        cost: CaptureCost {
            wall: Nanos::new(1),
            cpu: Nanos::new(2),
            frames: Pages::new(3),
            inconsistent: Pages::new(4),
            free_drift: Pages::new(5),
        },
    }
}

/// Two users and a control group that hold some frames.
fn owners() -> Owners {
    let mut map = OwnerMapBuilder::default();
    (0..40_000).for_each(|at| map.push((at % 4 < 3).then_some(at % 4), (at % 5 == 0).then_some(0)));
    let process = Process { pid: 7, command: "java".to_owned(), resident: Pages::new(9), ..Process::default() };
    let kernel = KernelUse { name: "dentry".to_owned(), kind: KernelUseKind::Slab, pages: Pages::new(8) };
    Owners {
        users: vec![User::Process(process), User::File(MappedFile { path: "/lib/\u{e4}".to_owned(), pid: 7 })],
        callers: vec![Caller { function: "nf_ct_alloc_hashtable".to_owned(), module: Some("nf_nat".to_owned()) }],
        cgroups: vec!["/app".to_owned()],
        kernel: vec![kernel],
        notes: vec!["a note".to_owned()],
        map: map.finish(),
    }
}

/// A zone with every field filled.
fn zone(kind: ZoneKind, start: u64, end: u64) -> ZoneInfo {
    let pages = Pages::new;
    let by_order = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0];
    ZoneInfo {
        node: NodeId(3),
        kind,
        span: PfnRange::new(Pfn::new(start), Pfn::new(end)),
        present: pages(end - start),
        managed: pages(end - start - 1),
        cma: pages(7),
        free: pages(9),
        watermarks: Watermarks { min: pages(1), low: pages(2), high: pages(3), promo: Some(pages(4)), boost: None },
        protection: vec![pages(0), pages(17)],
        free_blocks: by_order,
        free_by_type: Migratetype::ALL.into_iter().map(|mt| (mt, by_order)).collect(),
        block_counts: Migratetype::ALL.into_iter().map(|mt| (mt, 5)).collect(),
        pcp: vec![PcpInfo { cpu: 1, count: pages(1), high: pages(2), batch: pages(3) }],
        counters: BTreeMap::from([("nr_free_pages".to_owned(), 9)]),
    }
}

/// Maps of a few chunks, from one state to more than an 8-bit index can tell apart.
pub(crate) fn any_map() -> impl Strategy<Value = FrameMap> {
    let run = (any::<u64>(), any::<u64>(), 1..20_000_u64);
    let short = (0..700_u64, 0..3_u64, 1..3_u64);
    (prop::collection::vec(run, 0..6), prop::collection::vec(short, 0..900), any::<bool>()).prop_map(
        |(long, short, long_first)| {
            let (first, second) = if long_first { (long, short) } else { (short, long) };
            map_of(&[first, second].concat())
        },
    )
}

/// Small sound snapshots with and without their optional parts.
pub(crate) fn any_snapshot() -> impl Strategy<Value = Snapshot> {
    let text = || prop::collection::btree_map(".{0,8}", ".{0,20}", 0..4);
    let counters = || prop::collection::btree_map(".{0,8}", any::<u64>(), 0..4);
    (prop::option::of(any_map()), any::<bool>(), text(), counters(), counters(), any::<u64>()).prop_map(
        |(frames, typed, settings, vmstat, meminfo, bits)| {
            let blocks = frames.as_ref().map_or(bits % 50, |map| map.len().get().div_ceil(512));
            let kind = |block: u64| Migratetype::ALL[((bits >> (block % 60)) % 6) as usize];
            let mut zones = Vec::new();
            if let Some(end) = frames.as_ref().map(|map| map.len().get()).filter(|&end| end > 4096) {
                zones = vec![zone(ZoneKind::Dma, 1, 4096), zone(ZoneKind::Dma32, 4096, end)];
            }
            let mut snapshot = Snapshot {
                machine: Machine { uptime: (bits % 2 == 0).then_some(Nanos::new(bits)), ..machine() },
                nodes: vec![NodeInfo { id: NodeId(3), ..NodeInfo::default() }],
                zones,
                frames,
                block_types: typed.then(|| (0..blocks).map(kind).collect()),
                settings,
                vmstat,
                meminfo,
                ..Snapshot::default()
            };
            snapshot.replace_odd_characters();
            snapshot
        },
    )
}

/// Memory that every sample fits in.
pub(crate) const ENOUGH: Bytes = Bytes::new(64 << 20);
