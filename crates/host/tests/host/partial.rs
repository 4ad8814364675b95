//! Hosts of which some files are missing, old, or not what they should be.

use crate::support::{Bundle, reason};
use order9_host::CaptureError;
use order9_snapshot::flags::kpf;
use order9_units::{NodeId, Pages, Pfn, PfnRange, ZoneKind};

/// A zone as Linux 4.7 and older print it: counters of the node stand in the zone, `protection` comes last.
fn zone_of_4_4(node: u16, start: u64, pages: u64) -> String {
    format!(
        "Node {node}, zone   Normal\n  pages free     {pages}\n        min      64\n        low      80\n        high     96\n        \
         scanned  0\n        spanned  {pages}\n        present  {pages}\n        managed  {pages}\n    nr_free_pages {pages}\n    \
         nr_inactive_anon 3\n        protection: (0, 0, 0, 0)\n  pagesets\n    cpu: {node}\n              count: 0\n              \
         high:  186\n              batch: 31\n  vm stats threshold: 6\n  all_unreclaimable: 0\n  start_pfn:         {start}\n  \
         inactive_ratio:    1\n"
    )
}

#[test]
fn without_privilege_what_can_be_read_is_read() {
    let snapshot = Bundle::empty()
        .with("/proc/zoneinfo", &zone_of_4_4(0, 0, 1024))
        .with("/proc/buddyinfo", "Node 0, zone   Normal 0 0 0 0 0 0 0 0 0 0 1\n")
        .with("/proc/vmstat", "nr_free_pages 1024\n")
        .with("/proc/iomem", "00000000-00000000 : System RAM\n")
        .capture();
    assert_eq!(snapshot.zones[0].free_blocks[10], 1);
    assert!(snapshot.zones[0].block_counts.is_empty());
    assert_eq!(snapshot.frames, None);
    assert!(snapshot.ram.is_empty());
    assert_eq!(reason(&snapshot, "/proc/iomem"), "shows no addresses: needs root (CAP_SYS_ADMIN)");
    for path in ["/proc/kpageflags", "/proc/kpagecount", "/proc/pagetypeinfo", "/proc/sys/vm"] {
        assert_eq!(reason(&snapshot, path), "not among the copied files", "{path}");
    }
    assert_eq!(reason(&snapshot, "/proc/sys/vm/swappiness"), "", "its directory is named already");
}

#[test]
fn an_old_kernel_without_a_map() {
    let snapshot = Bundle::empty()
        .with("/proc/zoneinfo", &zone_of_4_4(0, 4096, 2048))
        .with("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n")
        .capture();
    assert_eq!(snapshot.zones[0].counters["nr_inactive_anon"], 3);
    assert!(snapshot.nodes[0].counters.is_empty());
    assert_eq!(snapshot.nodes[0].distances, [10]);
    assert_eq!(snapshot.machine.cpus, 1, "counted from the per-CPU lists");
    let per_size = "/sys/kernel/mm/transparent_hugepage/hugepages-*kB";
    assert_eq!(reason(&snapshot, per_size), "not among the copied files");
}

#[test]
fn old_kernels_print_types_as_negative_counts() {
    let snapshot = Bundle::empty()
        .with("/proc/zoneinfo", &zone_of_4_4(0, 0, 4))
        .with_words("/proc/kpageflags", &[kpf::BUDDY, 0, 0, kpf::NOPAGE])
        .with_words("/proc/kpagecount", &[(-127_i64) as u64, 0, 0, 0])
        .capture();
    let frames = snapshot.frames.expect("a map");
    assert_eq!(frames.get(Pfn::new(0)).map(|frame| frame.count), Some(0));
    assert_eq!(snapshot.cost.inconsistent, Pages::ZERO);
}

#[test]
fn two_nodes_with_their_distances() {
    let node = "/sys/devices/system/node";
    let snapshot = Bundle::empty()
        .with("/proc/zoneinfo", &(zone_of_4_4(0, 0, 1024) + &zone_of_4_4(1, 1024, 1024)))
        .with(
            "/proc/buddyinfo",
            "Node 0, zone   Normal 0 0 0 0 0 0 0 0 0 0 1\nNode 1, zone   Normal 1024 0 0 0 0 0 0 0 0 0 0\n",
        )
        .with(&format!("{node}/node0/distance"), "10 21\n")
        .with(&format!("{node}/node0/cpulist"), "0-1\n")
        .with(&format!("{node}/node1/distance"), "21 10\n")
        .with(&format!("{node}/node1/cpulist"), "2-3\n")
        .with("/sys/devices/system/cpu/online", "0-3\n")
        .capture();
    let kinds: Vec<_> = snapshot.zones.iter().map(|zone| (zone.node, zone.kind, zone.free_blocks[0])).collect();
    assert_eq!(kinds, [(NodeId(0), ZoneKind::Normal, 0), (NodeId(1), ZoneKind::Normal, 1024)]);
    assert_eq!(snapshot.zones[1].span, PfnRange::of(Pfn::new(1024), Pages::new(1024)));
    let distances: Vec<_> = snapshot.nodes.iter().map(|node| node.distances.as_slice()).collect();
    assert_eq!(distances, [[10, 21], [21, 10]]);
    assert_eq!(snapshot.nodes[1].cpus, [2, 3]);
    assert_eq!(snapshot.machine.cpus, 4);
}

#[test]
fn damaged_files_are_named_with_their_line() {
    let snapshot = Bundle::empty()
        .with("/proc/zoneinfo", &zone_of_4_4(0, 0, 1024))
        .with("/proc/buddyinfo", "Node 0, zone   Normal 0 0 0 0 0 0 0 0 0 0 1\nNode zero\n")
        .with("/proc/vmstat", "")
        .with_bytes("/proc/meminfo", &[0xff, 0xfe, 0])
        .with("/sys/devices/system/node/node0/distance", "near\n")
        .capture();
    let buddyinfo = "cannot be used: line 2: expected `Node N, zone NAME`";
    assert_eq!(reason(&snapshot, "/proc/buddyinfo"), buddyinfo);
    assert_eq!(reason(&snapshot, "/proc/vmstat"), "is empty");
    assert!(reason(&snapshot, "/proc/meminfo").starts_with("cannot be read: "));
    assert!(reason(&snapshot, "/sys/devices/system/node/node0/distance").contains("one distance per node"));
}

#[test]
fn machines_of_another_kind_are_refused() {
    let zoneinfo = zone_of_4_4(0, 0, 1024);
    let pmd_size = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
    let cases = [
        ("/proc/zoneinfo", zoneinfo.replace("Normal", "HighMem"), "line 1: zone `HighMem`, where order9 knows"),
        ("/proc/buddyinfo", "Node 0, zone Normal 0 0 0 1".to_owned(), "line 1: 4 orders, where order9 knows the 11"),
        ("/proc/pagetypeinfo", "Page block order: 13\n".to_owned(), "line 1: pageblock order 13, where order9 knows 9"),
        (pmd_size, "536870912\n".to_owned(), "huge pages of 536870912 bytes, where order9 knows 2097152"),
    ];
    for (path, text, expected) in cases {
        let bundle = Bundle::empty().with("/proc/zoneinfo", &zoneinfo).with(path, &text);
        match bundle.try_capture() {
            Err(CaptureError::Unsupported { file, what }) => {
                assert!(file.ends_with(path.trim_start_matches('/')), "{}", file.display());
                assert!(what.starts_with(expected), "{what}");
            }
            other => panic!("{path}: {other:?}"),
        }
    }
}

#[test]
fn a_directory_without_any_usable_file_is_refused() {
    for bundle in [Bundle::empty(), Bundle::empty().with("/proc/vmstat", "garbage").with("/proc/zoneinfo", "\0\0")] {
        let error = bundle.try_capture().unwrap_err();
        assert_eq!(error, CaptureError::NoFiles { directory: bundle.path().to_owned() });
        assert!(error.to_string().contains("expected copies of a host's files such as proc/zoneinfo"), "{error}");
    }
}

#[test]
fn a_copy_that_ends_within_a_word_keeps_the_whole_ones() {
    let snapshot = Bundle::empty().with_bytes("/proc/kpageflags", &[0; 20]).capture();
    assert_eq!(snapshot.frames.expect("a map").len(), Pages::new(2));
}
