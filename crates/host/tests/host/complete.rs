//! A host of which every file can be read.

use std::collections::BTreeMap;

use crate::support::{Bundle, reason};
use order9_host::{Options, Progress, Root, capture, plain_read};
use order9_snapshot::flags::kpf;
use order9_snapshot::{FrameState, Pressure, Source};
use order9_units::{Migratetype, Nanos, NodeId, Pages, Pfn, PfnRange, ZoneKind};

const FRAMES: u64 = 40_960;
const ANON: u64 = kpf::LRU | kpf::MMAP | kpf::ANON;

/// One zone of 160 MiB: free memory with a mapped page at every sixteenth frame.
fn host() -> Bundle {
    let zoneinfo = format!(
        "Node 0, zone   Normal\n  per-node stats\n      nr_anon_pages 7\n  pages free     38400\n        boost    0\n        \
         min      100\n        low      125\n        high     150\n        spanned  {FRAMES}\n        present  {FRAMES}\n        \
         managed  {FRAMES}\n        cma      0\n        protection: (0, 0)\n      nr_free_pages 38400\n  pagesets\n    cpu: 0\n              \
         count:    3\n              high:     186\n              batch:    31\n  vm stats threshold: 4\n  \
         node_unreclaimable:  0\n  start_pfn:           0\n"
    );
    let flags: Vec<u64> = (0..FRAMES).map(|pfn| if pfn % 16 == 0 { ANON } else { kpf::BUDDY }).collect();
    let counts: Vec<u64> = (0..FRAMES).map(|pfn| u64::from(pfn % 16 == 0)).collect();
    let thp = "/sys/kernel/mm/transparent_hugepage";
    Bundle::empty()
        .with("/proc/zoneinfo", &zoneinfo)
        .with("/proc/buddyinfo", "Node 0, zone   Normal 2560 2560 2560 2560 0 0 0 0 0 0 0\n")
        .with(
            "/proc/pagetypeinfo",
            "Page block order: 9\nPages per block:  512\n\n\
             Free pages count per migrate type at order 0 1 2 3 4 5 6 7 8 9 10\n\
             Node    0, zone   Normal, type      Movable 2560 2560 2560 2560 0 0 0 0 0 0 0\n\n\
             Number of blocks type      Movable\nNode 0, zone   Normal           80\n",
        )
        .with("/proc/vmstat", "nr_free_pages 38400\ncompact_stall 12\n")
        .with("/proc/meminfo", "MemTotal: 163840 kB\nHugePages_Total: 0\n")
        .with("/proc/uptime", "7261.50 60.00\n")
        .with("/proc/cmdline", "root=/dev/sda1 transparent_hugepage=always -- secret\n")
        .with("/proc/iomem", "00000000-09ffffff : System RAM\n0a000000-0a000fff : 0000:00:01.0\n")
        .with("/proc/pressure/memory", "some avg10=0.00 total=17\nfull avg10=0.00 total=5\n")
        .with("/proc/sys/kernel/osrelease", "6.12.3-acme-web7\n")
        .with("/proc/sys/kernel/numa_balancing", "1\n")
        .with("/proc/sys/vm/swappiness", "60\n")
        .with("/proc/sys/vm/stat_refresh", "never read\n")
        .with("/proc/sys/vm/lowmem_reserve_ratio", "256\t256\t32\t0\t0\n")
        .with(&format!("{thp}/enabled"), "always [madvise] never\n")
        .with(&format!("{thp}/hpage_pmd_size"), "2097152\n")
        .with(&format!("{thp}/khugepaged/max_ptes_none"), "511\n")
        .with(&format!("{thp}/hugepages-64kB/stats/swpout"), "9\n")
        .with("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "3\n")
        .with("/sys/devices/system/cpu/online", "0-3\n")
        .with("/sys/devices/system/node/node0/cpulist", "0-3\n")
        .with("/sys/devices/system/node/node0/distance", "10\n")
        .with("/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages", "3\n")
        .with("/sys/devices/system/memory/block_size_bytes", "8000000\n")
        .with("/sys/devices/system/memory/memory0/state", "online\n")
        .with("/sys/devices/system/memory/memory3/state", "offline\n")
        .with("/sys/devices/system/memory/memory4/state", "offline\n")
        .with_words("/proc/kpageflags", &flags)
        .with_words("/proc/kpagecount", &counts)
}

#[test]
fn everything_lands_in_its_place() {
    let snapshot = host().capture();
    assert_eq!(snapshot.source, Source::Directory);
    assert_eq!(snapshot.machine.kernel_release, "6.12.3");
    assert_eq!(snapshot.machine.kernel_command_line, "transparent_hugepage=always");
    assert_eq!(snapshot.machine.kernel_parameters_dropped, 2);
    assert_eq!((snapshot.machine.cpus, snapshot.machine.pageblock_order), (4, 9));
    assert_eq!(snapshot.machine.uptime, Some(Nanos::new(7_200_000_000_000)));
    assert_eq!(snapshot.ram, [PfnRange::of(Pfn::new(0), Pages::new(FRAMES))]);
    assert_eq!(snapshot.offline, [PfnRange::of(Pfn::new(3 << 15), Pages::new(2 << 15))]);
    assert_eq!(snapshot.pressure, Some(Pressure { some_us: 17, full_us: 5 }));
    assert_eq!(snapshot.vmstat["compact_stall"], 12);
    assert_eq!(snapshot.meminfo["MemTotal"], 163_840);
}

#[test]
fn a_release_is_kept_whole_where_that_was_asked_for() {
    let options = Options { full_release: true, ..Options::default() };
    let snapshot = capture(&Root::directory(host().path()), options).unwrap();
    assert_eq!(snapshot.machine.kernel_release, "6.12.3-acme-web7");
}

#[test]
fn zones_are_put_together_from_three_files() {
    let snapshot = host().capture();
    let [zone] = snapshot.zones.as_slice() else { panic!("one zone") };
    assert_eq!((zone.node, zone.kind), (NodeId(0), ZoneKind::Normal));
    assert_eq!(zone.free_blocks[3], 2560);
    assert_eq!(zone.free_by_type[&Migratetype::Movable], zone.free_blocks);
    assert_eq!(zone.block_counts, BTreeMap::from([(Migratetype::Movable, 80)]));
    assert_eq!(zone.pcp[0].count, Pages::new(3));
    let [node] = snapshot.nodes.as_slice() else { panic!("one node") };
    assert_eq!((node.distances.as_slice(), node.cpus.as_slice()), (&[10][..], &[0, 1, 2, 3][..]));
    assert_eq!(node.counters["nr_anon_pages"], 7);
}

#[test]
fn settings_keep_their_path_and_triggers_are_left_alone() {
    let settings = host().capture().settings;
    assert_eq!(settings["/proc/sys/vm/swappiness"], "60");
    assert_eq!(settings["/proc/sys/vm/lowmem_reserve_ratio"], "256\t256\t32\t0\t0");
    assert_eq!(settings["/proc/sys/kernel/numa_balancing"], "1");
    assert_eq!(settings["/sys/kernel/mm/transparent_hugepage/enabled"], "always [madvise] never");
    assert_eq!(settings["/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/swpout"], "9");
    assert_eq!(settings["/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages"], "3");
    assert!(!settings.contains_key("/proc/sys/vm/stat_refresh"));
}

#[test]
fn the_map_holds_every_frame() {
    let snapshot = host().capture();
    let frames = snapshot.frames.expect("a map");
    assert_eq!(frames.len(), Pages::new(FRAMES));
    assert_eq!(frames.get(Pfn::new(16)), Some(FrameState { flags: ANON, count: 1 }));
    assert_eq!(frames.get(Pfn::new(FRAMES - 1)), Some(FrameState { flags: kpf::BUDDY, count: 0 }));
    assert_eq!((snapshot.cost.frames, snapshot.cost.inconsistent), (Pages::new(FRAMES), Pages::ZERO));
}

#[test]
fn progress_counts_up_to_the_end_of_the_last_zone() {
    let bundle = host();
    let mut seen = Vec::new();
    let mut note = |progress: Progress| seen.push(progress);
    capture(&Root::directory(bundle.path()), Options { progress: Some(&mut note), ..Options::default() }).unwrap();
    let total = Some(Pages::new(FRAMES));
    assert_eq!(seen, [Progress { done: Pages::new(1 << 15), total }, Progress { done: Pages::new(FRAMES), total }]);
}

#[test]
fn the_yardstick_reads_both_files() {
    assert_eq!(plain_read(&Root::directory(host().path())).unwrap().words, 2 * FRAMES);
    let error = plain_read(&Root::directory(host().without("/proc/kpagecount").path())).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn frames_behind_the_last_zone_are_left_out() {
    let more: Vec<u64> = vec![kpf::RESERVED; FRAMES as usize + 5000];
    let snapshot = host().with_words("/proc/kpageflags", &more).capture();
    assert_eq!(snapshot.frames.expect("a map").len(), Pages::new(FRAMES));
}

#[test]
fn contradictions_are_counted() {
    let mut counts: Vec<u64> = (0..FRAMES).map(|pfn| u64::from(pfn % 16 == 0)).collect();
    counts[1] = 1; // Free and mapped.
    counts[16] = 0; // Mapped by its flags alone.
    let snapshot = host().with_words("/proc/kpagecount", &counts).capture();
    assert_eq!(snapshot.cost.inconsistent, Pages::new(2));
}

#[test]
fn short_maps_say_where_they_end() {
    let snapshot = host().with_words("/proc/kpageflags", &[kpf::BUDDY; 1000]).capture();
    assert_eq!(snapshot.frames.as_ref().expect("a map").len(), Pages::new(1000));
    assert_eq!(reason(&snapshot, "/proc/kpageflags"), "ends at frame 1000, while the zones reach frame 40960");
    let snapshot = host().with_words("/proc/kpagecount", &[0; 1000]).capture();
    assert_eq!(snapshot.frames.as_ref().expect("a map").len(), Pages::new(FRAMES));
    assert_eq!(reason(&snapshot, "/proc/kpagecount"), "ends at frame 1000, while kpageflags has 40960");
}

#[test]
fn void_counts_are_named_and_not_held_against_the_flags() {
    let snapshot = host().with_words("/proc/kpagecount", &[0; FRAMES as usize]).capture();
    assert_eq!(snapshot.cost.inconsistent, Pages::ZERO);
    assert_eq!(reason(&snapshot, "/proc/kpagecount"), "says that no frame is mapped, while kpageflags has mapped ones");
}
