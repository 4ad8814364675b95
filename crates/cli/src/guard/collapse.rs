//! Collapses ranges that programs have advised MADV_HUGEPAGE: the largest first, with huge pages that no goal needs.

use std::fs;
use std::time::{Duration, Instant};

use order9_guard::Took;
use order9_host::smaps::{self, MappedRange};
use order9_live::{Collapser, own_cpu_time};
use order9_units::{Bytes, Nanos};

use crate::collapse::{HUGE, collapse as collapse_range};

/// Collapses ranges into up to `pages` huge pages, and begins none once `at_most` has passed since they were found.
pub(super) fn collapse(pages: u64, at_most: Nanos) -> Took {
    let (begin, cpu) = (Instant::now(), own_cpu_time());
    let advised = |pid: u32| advised(&smaps(pid)).into_iter().map(move |range| (pid, range));
    let mut ranges: Vec<(u32, MappedRange)> = processes().flat_map(advised).collect();
    ranges.sort_by_key(|(_, range)| std::cmp::Reverse(range.base()));
    // The search is charged to the budget, and takes nothing of the time: else large hosts would never get beyond it.
    let until = Instant::now() + Duration::from_nanos(at_most.get());
    let mut left = pages;
    let mut completed = true;
    for (pid, range) in &ranges {
        completed = left > 0 && Instant::now() < until;
        if !completed {
            break;
        }
        left = left.saturating_sub(gained(*pid, range, left, until));
    }
    Took {
        elapsed: Nanos::new(begin.elapsed().as_nanos() as u64),
        cpu: own_cpu_time().saturating_sub(cpu),
        stalled: Nanos::ZERO,
        completed,
        collapsed: pages - left,
    }
}

/// Collapses up to so many huge pages of a range, and says how many came. A process that is gone has none.
fn gained(pid: u32, range: &MappedRange, most: u64, until: Instant) -> u64 {
    let Ok(process) = Collapser::open(pid) else { return 0 };
    let before = huge_of(pid);
    collapse_range(&process, range, most, Some(until));
    huge_of(pid).saturating_sub(before).get() / HUGE.get()
}

/// Numbers of all processes but this one.
fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id())
}

fn smaps(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap_or_default()
}

/// Anonymous memory of a process in huge pages. The rollup has the form of one range.
fn huge_of(pid: u32) -> Bytes {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    smaps::parse(&text).iter().map(|range| range.anon_huge).sum()
}

/// Ranges that are advised MADV_HUGEPAGE, and have a huge page's worth of memory that is in none.
fn advised(smaps: &str) -> Vec<MappedRange> {
    let mut ranges = smaps::parse(smaps);
    ranges.retain(|range| range.is_advised && range.base() >= HUGE);
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advised_ranges_with_base_pages_are_found() {
        let smaps = "7f0000000000-7f0000800000 rw-p 00000000 00:00 0 \nAnonymous:      8192 kB\nAnonHugePages:      2048 kB\n\
                     VmFlags: rd wr mr mw me ac hg sd \n\
                     7f0000800000-7f0000a00000 rw-p 00000000 00:00 0 \nAnonymous:      2048 kB\nAnonHugePages:      0 kB\n\
                     VmFlags: rd wr mr mw me ac sd \n\
                     7f0000c00000-7f0000e00000 rw-p 00000000 00:00 0 \nAnonymous:      2048 kB\nAnonHugePages:      2048 kB\n\
                     VmFlags: rd hg \n";
        let ranges = advised(smaps);
        let [range] = ranges.as_slice() else { panic!("one range") };
        assert_eq!((range.start, range.end, range.base().get()), (0x7f00_0000_0000, 0x7f00_0080_0000, 6 << 20));
        assert!(advised("nonsense\nAnonymous: x kB\n-\n").is_empty());
    }
}
