//! Any bytes as copies of a host's files, captured. Whatever they say, there is a snapshot or a refusal in one line; and a
//! snapshot that can be written is read again alike, and can be counted.

use std::fmt::Display;
use std::fs;
use std::path::Path;

use order9_host::{Options, Root, capture};
use order9_snapshot::census::Census;
use order9_snapshot::format::{read_within, write};
use order9_units::Bytes;

use crate::sections::sections;

/// Small enough that a hostile map is refused quickly.
const MEMORY: Bytes = Bytes::new(64 << 20);

const FILES: [&str; 30] = [
    "proc/buddyinfo",
    "proc/cmdline",
    "proc/iomem",
    "proc/kpagecount",
    "proc/kpageflags",
    "proc/meminfo",
    "proc/pagetypeinfo",
    "proc/pressure/memory",
    "proc/sys/kernel/numa_balancing",
    "proc/sys/kernel/osrelease",
    "proc/sys/vm/compaction_proactiveness",
    "proc/sys/vm/lowmem_reserve_ratio",
    "proc/sys/vm/min_free_kbytes",
    "proc/sys/vm/swappiness",
    "proc/sys/vm/watermark_scale_factor",
    "proc/uptime",
    "proc/vmstat",
    "proc/zoneinfo",
    "sys/devices/system/cpu/online",
    "sys/devices/system/memory/block_size_bytes",
    "sys/devices/system/memory/memory0/state",
    "sys/devices/system/memory/memory1/state",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node0/distance",
    "sys/devices/system/node/node1/cpulist",
    "sys/devices/system/node/node1/distance",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
    "sys/kernel/mm/transparent_hugepage/enabled",
    "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
    "sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none",
];

/// Captures the files of `input`, which are put into `folder`; it holds nothing else.
pub(crate) fn run(input: &[u8], folder: &Path) {
    let root = folder.join("bundle");
    if root.exists() {
        fs::remove_dir_all(&root).expect("what was written can be removed");
    }
    fs::create_dir(&root).expect("a folder can be made");
    for (file, contents) in sections(input, &FILES) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder can be made");
        fs::write(path, contents).expect("a file can be written");
    }
    let snapshot = match capture(&Root::directory(&root), Options::default()) {
        Ok(snapshot) => snapshot,
        Err(error) => return one_line(&error),
    };
    let mut file = Vec::new();
    // Files that contradict each other make no map that anybody could read.
    if let Err(error) = write(&snapshot, &mut file) {
        return one_line(&error);
    }
    if let Ok(again) = read_within(file.as_slice(), MEMORY) {
        assert!(again == snapshot, "a round trip changed the capture");
    }
    let _ = Census::of(&snapshot);
}

fn one_line(error: &dyn Display) {
    let message = error.to_string();
    assert!(!message.chars().any(char::is_control), "{message:?}");
}
