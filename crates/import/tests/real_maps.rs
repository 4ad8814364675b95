//! The bundled maps of real kernels become engines in which every law holds.

use std::fs::File;
use std::path::Path;

use order9_import::{Disk, Imported, import};
use order9_mm::policy::Policy;
use order9_mm::{Gfp, Request};
use order9_snapshot::census::Census;
use order9_snapshot::classify::FrameClass;
use order9_snapshot::flags::{REPORTED, kpf};
use order9_snapshot::{DaemonWork, FrameMapBuilder, FrameState, Snapshot, format};
use order9_units::{Nanos, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

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
        let Imported { mm, report, .. } = imported(&name);
        assert_eq!(mm.check(), Ok(()), "{name}");
        let census = Census::of(&stored(&name)).expect("a real map can be counted");
        for (zone, counted) in report.zones.iter().zip(&census.zones) {
            assert_eq!(zone.free.engine, counted.frames(FrameClass::Free).get(), "{name} {}", zone.kind);
            assert_eq!(zone.free_blocks.map(|blocks| blocks.engine), counted.free_blocks, "{name} {}", zone.kind);
            let start = |block: usize| counted.start_of(block).max(counted.span.start);
            let types = (0..counted.types.len())
                .map(|block| mm.frames().pageblock(start(block)).map(|block| block.migratetype));
            assert!(types.eq(counted.types.iter().copied().map(Some)), "{name} {}", zone.kind);
            // As many as there are, or all that may be free, less an eighth: larger blocks in use may be taken for free pages
            // first, and huge pages on the lists lie in pageblocks that are not told from those of the kernel.
            let (there, listed) = (zone.on_cpu_lists.engine, zone.on_cpu_lists.file.min(zone.unknown.get()));
            assert!(there <= listed && there >= listed / 8 * 7, "{name} {}: {zone:?}", zone.kind);
            let in_use = zone.unknown.get() - zone.on_cpu_lists.engine;
            assert!(in_use < zone.managed.engine / 20, "{name} {}: {zone:?}", zone.kind);
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
    let normal =
        mm.frames().zones().iter().find(|zone| zone.kind() == ZoneKind::Normal).expect("there is a Normal zone").id();
    let in_blocks = |mm: &order9_mm::Mm| -> u64 {
        mm.frames().zones().iter().map(|zone| zone.areas()[9].total() + 2 * zone.areas()[10].total()).sum()
    };
    let before = in_blocks(&mm) + mm.phys().deferred_pages().get() / Order::PAGEBLOCK.pages().get();
    let mut got = 0;
    while let Ok(pfn) = mm.alloc_fast(&huge) {
        assert!(pfn.is_aligned(Order::PAGEBLOCK));
        got += 1;
    }
    assert_eq!(mm.check(), Ok(()));
    assert_eq!(in_blocks(&mm), before - got);
    assert!(mm.frames().zone(normal).free() > 1 << 20, "Normal stays full of fragments that no huge page fits in");
}

#[test]
fn kcompactd_rests_where_it_would_be_at_work_and_was_not() {
    let mut policy = Policy::default();
    policy.compaction.proactive = true;
    let first_look = |watched, kcompactd| {
        let mut snapshot = stored("captures/fragmented-6.1.o9snap");
        snapshot.settings.insert("/proc/sys/vm/compaction_proactiveness".to_owned(), "100".to_owned());
        let [kcompactd, kswapd] = [kcompactd, 0].map(Pages::new);
        snapshot.daemons = Some(DaemonWork { watched: Nanos::new(watched), kcompactd, kswapd });
        let Imported { mm, .. } = import(&snapshot, policy.clone(), Disk::Present).expect("a real map can be imported");
        assert!(mm.phys().wants_proactive(NodeId(0)), "score {}", mm.phys().node_score(NodeId(0)));
        mm.phys().first_proactive_look_within(NodeId(0))
    };
    let (at_rest, at_work) = (Nanos::new(32_000_000_000), Nanos::new(500_000_000));
    assert_eq!(first_look(600_000_000, 0), at_rest);
    assert_eq!(first_look(600_000_000, 7), at_work);
    assert_eq!(first_look(400_000_000, 0), at_work, "it may just have looked");
}

#[test]
fn blocks_that_the_hypervisor_has_are_those_with_the_kernel_s_mark() {
    let mut snapshot = stored("host-fragmented.o9snap");
    let free: Vec<Pfn> = {
        let Imported { mm, .. } = imported("host-fragmented.o9snap");
        assert!(mm.phys().reported_blocks().is_some_and(|of| of.missing > 0), "its host was such a guest");
        let huge = |pfn: &Pfn| {
            matches!(mm.block_view(*pfn).state, order9_mm::FrameState::Free { order: Order::PAGEBLOCK, .. })
        };
        let frames = snapshot.frames.as_ref().expect("there is a map").len().get();
        (0..frames).step_by(512).map(Pfn::new).filter(huge).take(2).collect()
    };
    let mut map = FrameMapBuilder::new();
    let before = snapshot.frames.take().expect("there is a map");
    for at in 0..before.len().get() {
        let state = before.get(Pfn::new(at)).unwrap_or_default();
        let is_free = state.flags & kpf::BUDDY != 0;
        let flags = state.flags & !(if is_free { kpf::UPTODATE } else { 0 });
        let mark = if Pfn::new(at) == free[1] { REPORTED } else { 0 };
        map.push(FrameState { flags: flags | mark, ..state });
    }
    snapshot.frames = Some(map.finish());
    let Imported { mm, .. } = import(&snapshot, Policy::default(), Disk::Present).expect("a real map can be imported");
    let has = free.iter().map(|&pfn| mm.phys().hypervisor_has(pfn, Order::PAGEBLOCK)).collect::<Vec<_>>();
    assert_eq!((has, mm.phys().reported_blocks().expect("it reports").missing), (vec![false, true], 1));
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
    let says = "/proc/sys/vm/min_free_kbytes: \"plenty\": vm.min_free_kbytes takes 0 to 2147483647";
    assert_eq!(error.to_string(), says);
}

#[test]
fn memory_that_was_not_given_out_is_there_and_waits() {
    let snapshot = stored("host-fragmented.o9snap");
    let census = Census::of(&snapshot).expect("a real map can be counted");
    let deferred: Pages = census.zones.iter().map(|zone| zone.frames(FrameClass::Deferred)).sum();
    assert_eq!(deferred.bytes().get(), 640 << 20, "as `inspect` says");
    let Imported { mut mm, .. } = imported("host-fragmented.o9snap");
    assert_eq!(mm.phys().deferred_pages(), deferred);
    let on_cpu_lists =
        mm.frames().zones().iter().map(|zone| Pages::new(mm.frames().pcp_pages(zone.id()))).sum::<Pages>();
    let (before, managed) = (mm.phys().free_pages() + on_cpu_lists, mm.phys().managed_pages());
    let mut taken = Pages::ZERO;
    while mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_KERNEL)).is_ok() {
        taken += Pages::new(1);
    }
    assert_eq!((mm.check(), mm.phys().deferred_pages(), mm.phys().managed_pages()), (Ok(()), Pages::ZERO, managed));
    let cached: u64 =
        mm.frames().zones().iter().flat_map(|zone| mm.frames().pcps(zone.id())).map(|pcp| pcp.count()).sum();
    assert_eq!(mm.phys().free_pages() + Pages::new(cached), before - taken);
}

#[test]
fn pages_of_hugetlb_pools_are_in_the_pools() {
    let mut snapshot = stored("host-fresh.o9snap");
    let mut pages = 0;
    let mut frames = FrameMapBuilder::new();
    let map = snapshot.frames.take().expect("it has one");
    let mut pfn = Pfn::new(0);
    // The first free huge pages become three of a pool, one of them mapped.
    while let Some(state) = map.get(pfn) {
        let is_free = |pfn: Pfn| map.get(pfn).is_some_and(|state| state.flags & kpf::BUDDY != 0);
        if pages < 3
            && pfn.get() > 1 << 20
            && pfn.is_aligned(Order::MAX)
            && PfnRange::of(pfn, Order::MAX.pages()).iter().all(is_free)
        {
            for _ in 0..2 {
                let (head, count) = (kpf::HUGE | kpf::COMPOUND_HEAD, u64::from(pages == 0));
                frames.push(FrameState { flags: head, count });
                frames.push_run(FrameState { flags: kpf::HUGE | kpf::COMPOUND_TAIL, count: 0 }, Pages::new(511));
                pages += 1;
            }
            pfn += Order::MAX.pages();
        } else {
            frames.push(state);
            pfn += Pages::new(1);
        }
    }
    snapshot.frames = Some(frames.finish());
    snapshot.settings.retain(|path, _| !path.contains("/hugepages/"));
    let pool = |snapshot: &Snapshot| {
        let Imported { mm, .. } = import(snapshot, Policy::default(), Disk::Present).expect("it can be imported");
        mm.check().expect("every law holds");
        (mm.pages().hugetlb().hugetlb_pool().total, mm.pages().hugetlb().hugetlb_pool().free)
    };
    assert_eq!(pool(&snapshot), (4, 3), "one is mapped");
    for (file, value) in [("nr_hugepages", "4"), ("free_hugepages", "2"), ("resv_hugepages", "1")] {
        snapshot.settings.insert(format!("/sys/kernel/mm/hugepages/hugepages-2048kB/{file}"), value.to_owned());
    }
    assert_eq!(pool(&snapshot), (4, 1), "two are used, one of the others is promised");
}

/// Folios of several pages of files on disk in a map: first frame and number of pages.
fn folios(snapshot: &Snapshot) -> Vec<(Pfn, u64)> {
    let map = snapshot.frames.as_ref().expect("it has a map");
    let flags = |pfn: Pfn| map.get(pfn).map_or(0, |state| state.flags);
    let of_disk = |&pfn: &Pfn| {
        let own = flags(pfn) & (kpf::COMPOUND_HEAD | kpf::LRU | kpf::ANON | kpf::SWAPBACKED | kpf::UNEVICTABLE);
        own == kpf::COMPOUND_HEAD | kpf::LRU
    };
    let end = Pfn::new(map.len().get());
    let heads = PfnRange::new(Pfn::new(0), end).iter().filter(of_disk);
    let tails = |head: Pfn| PfnRange::new(head + Pages::new(1), end).iter();
    heads
        .map(|head| (head, 1 + tails(head).take_while(|&pfn| flags(pfn) & kpf::COMPOUND_TAIL != 0).count() as u64))
        .collect()
}

#[test]
fn folios_of_files_stay_whole_where_the_policy_has_such() {
    let mut large = Policy::default();
    large.thp.file_large = true;
    for (name, least) in [("cache-ext4-7.2", 100), ("host-small-huge-6.18", 100), ("cache-xfs-6.12", 100)] {
        let snapshot = stored(&format!("captures/{name}.o9snap"));
        let folios = folios(&snapshot);
        assert!(folios.len() > least, "{name}: {}", folios.len());
        let mut levels = Vec::new();
        for policy in [Policy::default(), large.clone()] {
            let whole = policy.thp.file_large;
            let Imported { mm, .. } = import(&snapshot, policy, Disk::Present).expect("it can be imported");
            mm.check().expect("every law holds");
            let is_one = |&&(head, pages): &&(Pfn, u64)| matches!(mm.frames().frame(head), order9_mm::FrameState::Allocated { order, .. } if order.pages().get() == pages);
            let kept = folios.iter().filter(is_one).count();
            // Pinned ones are blocks of nobody in either case.
            assert!(
                if whole { kept == folios.len() } else { kept < folios.len() / 10 },
                "{name}: {kept} of {}",
                folios.len()
            );
            levels.push((mm.pages().user_levels().file, mm.write_pending(None)));
        }
        assert_eq!(levels[0].0, levels[1].0, "{name}: as many pages of files either way");
        assert!(levels[1].1.dirty >= levels[0].1.dirty, "{name}");
    }
}
