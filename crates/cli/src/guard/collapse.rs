//! Collapses ranges that programs have advised MADV_HUGEPAGE: the largest first, with huge pages that no goal needs.

use std::fs;
use std::time::{Duration, Instant};

use order9_guard::Took;
use order9_live::{Collapser, own_cpu_time};
use order9_units::{Bytes, Nanos, PAGEBLOCK_PAGES};

/// Memory of a process that could be huge and is not.
struct Range {
    pid: u32,
    start: u64,
    end: u64,
    missing: u64,
}

/// Size of a huge page.
const HUGE: u64 = PAGEBLOCK_PAGES.bytes().get();

/// Collapses ranges into up to `pages` huge pages, and begins none once `at_most` has passed since they were found.
pub(super) fn collapse(pages: u64, at_most: Nanos) -> Took {
    let (begin, cpu) = (Instant::now(), own_cpu_time());
    let mut ranges: Vec<Range> = processes().flat_map(|pid| advised(pid, &smaps(pid))).collect();
    ranges.sort_by_key(|range| std::cmp::Reverse(range.missing));
    // The search is charged to the budget, and takes nothing of the time: else large hosts would never get beyond it.
    let until = Instant::now() + Duration::from_nanos(at_most.get());
    let mut left = pages;
    let mut completed = true;
    for range in &ranges {
        completed = left > 0 && Instant::now() < until;
        if !completed {
            break;
        }
        left = left.saturating_sub(range.collapse(left, until));
    }
    Took {
        elapsed: Nanos::new(begin.elapsed().as_nanos() as u64),
        cpu: own_cpu_time().saturating_sub(cpu),
        stalled: Nanos::ZERO,
        completed,
        collapsed: pages - left,
    }
}

impl Range {
    /// Collapses up to so many huge pages of the range, and says how many came. A process that is gone has none.
    fn collapse(&self, most: u64, until: Instant) -> u64 {
        let Ok(process) = Collapser::open(self.pid) else { return 0 };
        let before = huge_of(self.pid);
        let mut tried = 0;
        for start in (self.start.next_multiple_of(HUGE)..self.end.saturating_sub(HUGE - 1)).step_by(HUGE as usize) {
            if tried >= most || Instant::now() >= until {
                break;
            }
            // One that cannot be collapsed now is passed over. One that is huge takes next to no time.
            tried += u64::from(process.collapse(start, Bytes::new(HUGE)).is_ok_and(|took| took >= LEAST));
        }
        huge_of(self.pid).saturating_sub(before) / HUGE
    }
}

/// A collapse copies memory: what takes less time has found a huge page.
const LEAST: Duration = Duration::from_micros(10);

/// Numbers of all processes but this one.
fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid != std::process::id())
}

fn smaps(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap_or_default()
}

/// Anonymous memory of a process in huge pages.
fn huge_of(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    text.lines().find_map(|line| kib(line, "AnonHugePages:")).unwrap_or(0)
}

/// A line of smaps, in bytes.
fn kib(line: &str, name: &str) -> Option<u64> {
    line.strip_prefix(name)?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Ranges of a process that are advised MADV_HUGEPAGE, and have a huge page's worth of memory that is in none.
fn advised(pid: u32, smaps: &str) -> Vec<Range> {
    let mut ranges = Vec::new();
    let mut range = Range { pid, start: 0, end: 0, missing: 0 };
    for line in smaps.lines() {
        let address = |text: &str| u64::from_str_radix(text, 16).ok();
        let head = line.split_whitespace().next().and_then(|word| word.split_once('-'));
        if let Some((Some(start), Some(end))) = head.map(|(start, end)| (address(start), address(end))) {
            range = Range { pid, start, end, missing: 0 };
        }
        range.missing += kib(line, "Anonymous:").unwrap_or(0);
        range.missing = range.missing.saturating_sub(kib(line, "AnonHugePages:").unwrap_or(0));
        let flags = line.strip_prefix("VmFlags:").unwrap_or_default();
        if range.missing >= HUGE && flags.split_whitespace().any(|flag| flag == "hg") {
            ranges.push(Range { ..range });
        }
    }
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
        let ranges = advised(7, smaps);
        let [range] = ranges.as_slice() else { panic!("one range") };
        assert_eq!((range.start, range.end, range.missing), (0x7f00_0000_0000, 0x7f00_0080_0000, 6 << 20));
        assert!(advised(7, "nonsense\nAnonymous: x kB\n-\n").is_empty());
    }
}
