//! The largest processes, and what smaps says of each.

use std::cmp::Reverse;
use std::fs;
use std::io;

use order9_snapshot::owners::Process;
use order9_units::{Bytes, Pages};

use crate::smaps::{self, MappedRange};

/// Numbers of all processes with memory of their own but this one, the largest first.
pub(super) fn by_size() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut sized: Vec<(u64, u32)> = pids
        .filter(|&pid| pid != std::process::id())
        .filter_map(|pid| Some((resident(&fs::read_to_string(format!("/proc/{pid}/statm")).ok()?)?, pid)))
        .filter(|&(pages, _)| pages > 0)
        .collect();
    sized.sort_unstable_by_key(|&(pages, pid)| (Reverse(pages), pid));
    sized.into_iter().map(|(_, pid)| pid).collect()
}

/// Resident pages, by /proc/PID/statm.
fn resident(statm: &str) -> Option<u64> {
    statm.split_whitespace().nth(1)?.parse().ok()
}

/// A process, and its ranges of memory.
pub(super) fn read(pid: u32) -> io::Result<(Process, Vec<MappedRange>)> {
    let file = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}"));
    let ranges = smaps::parse(&file("smaps")?);
    let sum = |of: fn(&MappedRange) -> Bytes| pages(ranges.iter().map(of).sum());
    let takes_huge = |range: &&MappedRange| range.takes_huge();
    let base = |ranges: &mut dyn Iterator<Item = &MappedRange>| pages(ranges.map(MappedRange::base).sum());
    let process = Process {
        pid,
        command: file("comm")?.trim_end().to_owned(),
        cgroup: cgroup(&file("cgroup").unwrap_or_default()).to_owned(),
        resident: sum(|range| range.resident),
        anonymous: sum(|range| range.anonymous),
        anon_huge: sum(|range| range.anon_huge),
        advised_base: base(&mut ranges.iter().filter(|range| range.is_advised).filter(takes_huge)),
        collapsible: base(&mut ranges.iter().filter(takes_huge)),
    };
    Ok((process, ranges))
}

fn pages(bytes: Bytes) -> Pages {
    Pages::from_bytes_floor(bytes)
}

/// Path of the control group that memory is charged to, by /proc/PID/cgroup: that of the memory controller, else of the one hierarchy.
fn cgroup(text: &str) -> &str {
    let line = |wanted: &dyn Fn(&str) -> bool| {
        text.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?);
            wanted(controllers).then_some(path)
        })
    };
    line(&|controllers| controllers.split(',').any(|name| name == "memory"))
        .or_else(|| line(&str::is_empty))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_group_is_the_one_that_pays_for_memory() {
        assert_eq!(cgroup("9:name=systemd:/a\n4:cpu,memory:/pods/x:y\n0::/unified\n"), "/pods/x:y");
        assert_eq!(cgroup("0::/system.slice/db.service\n"), "/system.slice/db.service");
        assert_eq!(cgroup("nonsense\n"), "");
    }

    #[test]
    fn sizes_are_those_of_statm() {
        assert_eq!(resident("2000 1234 5 1 0 3 0\n"), Some(1234));
        assert_eq!(resident("x"), None);
    }
}
