//! Collapses ranges that programs have advised MADV_HUGEPAGE, with huge pages that no goal needs: what is used most comes first, as DAMON
//! sees it, and where the kernel has no DAMON to spare, the largest.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use order9_guard::{Stop, Took};
use order9_host::smaps::{self, MappedRange};
use order9_live::{Collapser, DAMON_PROCESSES, Damon, DamonError, Region, Watched, own_cpu_time};
use order9_units::{Bytes, Nanos};

use crate::collapse::{HUGE, collapse as collapse_range};

/// Time for which memory is watched: ten times as long as DAMON counts looks together, so that it can tell parts of a region apart.
const WATCH: Duration = Duration::from_secs(2);

/// Advised ranges of a process, upward.
struct Process {
    pid: u32,
    ranges: Vec<MappedRange>,
}

/// Part of an advised range, and the share of looks at which it had been used; where nobody looked, all of it counts as used.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    pid: u32,
    range: MappedRange,
    used: f64,
}

/// Collapses ranges into up to `pages` huge pages, and begins none once `at_most` has passed since they were found. Says in words what
/// comes first, and why.
pub(super) fn collapse(pages: u64, at_most: Nanos) -> (Took, String) {
    let (begin, cpu) = (Instant::now(), own_cpu_time());
    let (pieces, watched, order) = find();
    // The search is charged to the budget, and takes nothing of the time: else large hosts would never get beyond it.
    let until = Instant::now() + Duration::from_nanos(at_most.get());
    let before: Vec<(u32, Bytes)> = pids(&pieces).into_iter().map(|pid| (pid, huge_of(pid))).collect();
    let mut left = pages;
    let mut broken_off = None;
    for piece in &pieces {
        if left == 0 {
            break;
        }
        if Instant::now() >= until {
            broken_off = Some(Stop::Cpu);
            break;
        }
        // A process that is gone has none.
        let Ok(process) = Collapser::open(piece.pid) else { continue };
        left -= collapse_range(&process, &piece.range, left, Some(until)).done.min(left);
    }
    let collapsed = before.iter().map(|&(pid, before)| huge_of(pid).saturating_sub(before).get() / HUGE.get()).sum();
    let took = Took {
        elapsed: Nanos::new(begin.elapsed().as_nanos() as u64),
        cpu: own_cpu_time().saturating_sub(cpu) + watched,
        stalled: Nanos::ZERO,
        broken_off,
        collapsed,
    };
    (took, order)
}

/// Pieces in the order in which they are to be collapsed; the CPU time that DAMON took; and the order in words.
fn find() -> (Vec<Piece>, Nanos, String) {
    let mut processes = advised_processes();
    match watch(&processes) {
        Ok((regions, cpu)) => {
            processes.truncate(regions.len());
            (used_most_first(&processes, &regions), cpu, "what is used most first".to_owned())
        }
        Err(error) => (largest_first(&processes), Nanos::ZERO, format!("the largest first, since {error}")),
    }
}

/// Looks for a while which memory of the first processes is used.
fn watch(processes: &[Process]) -> Result<(Vec<Vec<Region>>, Nanos), DamonError> {
    let addresses = |range: &MappedRange| range.start..range.end;
    let watched =
        |process: &Process| Watched { pid: process.pid, ranges: process.ranges.iter().map(addresses).collect() };
    let watched: Vec<Watched> = processes.iter().take(DAMON_PROCESSES).map(watched).collect();
    if watched.is_empty() {
        return Ok((Vec::new(), Nanos::ZERO));
    }
    let damon = Damon::start(&watched)?;
    sleep(WATCH);
    Ok((damon.regions()?, damon.cpu_time()))
}

/// Runs of huge pages that are used alike, those that are used most first, of these the longest. What is not used at all is left out: a huge
/// page would save nothing there.
fn used_most_first(processes: &[Process], regions: &[Vec<Region>]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for (process, regions) in processes.iter().zip(regions) {
        for range in &process.ranges {
            let slots: Vec<_> = range.slots().map(|start| (start, used_at_most(regions, start))).collect();
            pieces.extend(slots.chunk_by(|one, next| one.1 == next.1).map(|run| {
                let (start, used) = run[0];
                let end = start + HUGE.get() * run.len() as u64;
                Piece { pid: process.pid, range: MappedRange { start, end, ..MappedRange::default() }, used }
            }));
        }
    }
    pieces.retain(|piece| piece.used > 0.0);
    // Of equals those that were found first.
    pieces.sort_by(|one, other| {
        other.used.total_cmp(&one.used).then(other.range.huge_pages().cmp(&one.range.huge_pages()))
    });
    pieces
}

/// Share of looks at which the most used region in the huge page at `start` had been used. Regions lie by address.
fn used_at_most(regions: &[Region], start: u64) -> f64 {
    let first = regions.partition_point(|region| region.addresses.end <= start);
    let inside = regions[first..].iter().take_while(|region| region.addresses.start < start + HUGE.get());
    inside.map(|region| region.used).fold(0.0, f64::max)
}

/// All ranges, those with the most memory outside huge pages first.
fn largest_first(processes: &[Process]) -> Vec<Piece> {
    let of = |process: &Process| {
        let pid = process.pid;
        process.ranges.iter().map(move |range| Piece { pid, range: range.clone(), used: 1.0 }).collect::<Vec<_>>()
    };
    let mut pieces: Vec<Piece> = processes.iter().flat_map(of).collect();
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.range.base()));
    pieces
}

fn pids(pieces: &[Piece]) -> Vec<u32> {
    let mut pids: Vec<u32> = pieces.iter().map(|piece| piece.pid).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// Processes but this one with ranges that are worth it, those with the most memory outside huge pages first.
fn advised_processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let others = pids.filter(|pid| *pid != std::process::id());
    let mut processes: Vec<Process> = others.map(|pid| Process { pid, ranges: advised(&smaps(pid)) }).collect();
    processes.retain(|process| !process.ranges.is_empty());
    processes.sort_by_key(|process| std::cmp::Reverse(process.ranges.iter().map(MappedRange::base).sum::<Bytes>()));
    processes
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

    const MIB: u64 = 1 << 20;

    fn range(start: u64, end: u64, base: u64) -> MappedRange {
        MappedRange { start, end, anonymous: Bytes::new(base), is_advised: true, ..MappedRange::default() }
    }

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

    #[test]
    fn what_is_used_most_comes_first_and_what_is_not_used_never() {
        let process = |pid, ranges: &[MappedRange]| Process { pid, ranges: ranges.to_vec() };
        // The first page of the range is part of no huge page of its own.
        let processes = [
            process(1, &[range(MIB, 12 * MIB, 12 * MIB), range(12 * MIB, 14 * MIB, 2 * MIB)]),
            process(2, &[range(0, 4 * MIB, 4 * MIB)]),
            process(3, &[range(0, 4 * MIB, 4 * MIB)]),
        ];
        let region = |start: u64, end: u64, used: f64| Region { addresses: start * MIB..end * MIB, used };
        let regions = [
            vec![region(1, 5, 0.25), region(5, 8, 0.0), region(8, 14, 0.5)],
            vec![region(0, 1, 0.0), region(1, 2, 0.75), region(2, 4, 0.0)],
            // This process has ended.
            Vec::new(),
        ];
        let found = used_most_first(&processes, &regions);
        let seen: Vec<_> = found.iter().map(|it| (it.pid, it.range.start / MIB, it.range.end / MIB, it.used)).collect();
        assert_eq!(seen, [(2, 0, 2, 0.75), (1, 8, 12, 0.5), (1, 12, 14, 0.5), (1, 2, 6, 0.25)]);
    }

    #[test]
    fn without_looks_the_largest_comes_first() {
        let processes = [
            Process { pid: 1, ranges: vec![range(0, 4 * MIB, 2 * MIB), range(8 * MIB, 16 * MIB, 8 * MIB)] },
            Process { pid: 2, ranges: vec![range(0, 8 * MIB, 4 * MIB)] },
        ];
        let found = largest_first(&processes);
        let seen: Vec<_> = found.iter().map(|piece| (piece.pid, piece.range.base().get() / MIB)).collect();
        assert_eq!(seen, [(1, 8), (2, 4), (1, 2)]);
        assert_eq!(pids(&found), [1, 2]);
    }
}
