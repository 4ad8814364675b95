//! Compaction of scattered pages by a write to `compact_memory`.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use crate::clock::cpu_per;
use crate::direct::Direct;
use crate::sys::{PAGE, PageSize, Region};

/// Pages that are filled, at most: 1 GiB.
const PAGES_MAX: u64 = 256 * 1024;
/// A run that moves fewer pages spends most of its time on looking, and says nothing of moving.
const MOVED_MIN: f64 = 5_000.0;
/// Attempts of a run. Pages lie where the kernel puts them: at the end of a zone there is nowhere to move them.
const ATTEMPTS: usize = 4;

/// The quickest of several runs counts: the hypervisor may back the targets of the first only now.
const RUNS: usize = 2;
/// Pages that compaction moves at once: `COMPACT_CLUSTER_MAX`.
const CLUSTER: f64 = 32.0;
/// The first release that unmaps pages together and flushes once for them. Source: "migrate_pages: batch flushing TLB",
/// https://lore.kernel.org/all/20230213123444.155149-9-ying.huang@intel.com.
const BATCHED: (u32, u32) = (6, 3);

/// Fills in what a moved page costs, its target's place on the free lists included and the search for both left out, where one page of
/// four is in use. Where too little moved it is not a number.
pub(crate) fn measure(direct: &mut Direct) -> io::Result<()> {
    direct.compact_quarter =
        (0..RUNS).try_fold(f64::NAN, |quickest, _| Ok::<_, io::Error>(compact(4)?.min(quickest)))?;
    direct.moves_per_flush = moves_per_flush(&fs::read_to_string("/proc/sys/kernel/osrelease")?);
    Ok(())
}

/// Pages that compaction moves before it flushes their translations, under the kernel of this `release`.
fn moves_per_flush(release: &str) -> f64 {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    let release: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if release < BATCHED { 1.0 } else { CLUSTER }
}

/// Time of compaction for each page that it moves, where one page in `stride` is in use, above a second pass over the same memory, which
/// finds little to move. Pages of attempts in which too few moved stay where they are, so that the next ones lie elsewhere.
fn compact(stride: usize) -> io::Result<f64> {
    let mut held = Vec::new();
    while held.len() < ATTEMPTS {
        let region = scattered(stride)?;
        let [first, second] = [pass()?, pass()?];
        let moved = first.moved - second.moved;
        if moved >= MOVED_MIN {
            return Ok((first.time - second.time) / moved);
        }
        held.push(region);
    }
    Ok(f64::NAN)
}

/// Pass of compaction over all of memory.
struct Pass {
    /// CPU time, in ns.
    time: f64,
    /// Pages that it moved.
    moved: f64,
}

fn pass() -> io::Result<Pass> {
    let moved = || Ok::<_, io::Error>(vmstat()?.get("pgmigrate_success").map_or(0.0, |&moved| moved as f64));
    let before = moved()?;
    let time = cpu_per(1, compact_all)?;
    Ok(Pass { time, moved: moved()? - before })
}

/// Compacts all of memory.
pub(crate) fn compact_all() -> io::Result<()> {
    fs::write("/proc/sys/vm/compact_memory", "1")
}

/// Memory of which one page in `stride` is in use.
fn scattered(stride: usize) -> io::Result<Region> {
    let pages = (available()? / 2 / PAGE as u64).min(PAGES_MAX) as usize;
    let mut region = Region::anonymous(pages, PageSize::Base)?;
    region.populate()?;
    region.keep_one_in(stride)?;
    Ok(region)
}

/// Memory that is available, in bytes.
pub(crate) fn available() -> io::Result<u64> {
    let counters = counters("/proc/meminfo")?;
    let kib = counters.get("MemAvailable:");
    kib.map(|kib| kib << 10).ok_or_else(|| io::Error::other("/proc/meminfo: expected a line `MemAvailable:`"))
}

/// Counters of /proc/vmstat.
pub(crate) fn vmstat() -> io::Result<BTreeMap<String, u64>> {
    counters("/proc/vmstat")
}

fn counters(path: &str) -> io::Result<BTreeMap<String, u64>> {
    let text = fs::read_to_string(path)?;
    let pairs = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
    });
    Ok(pairs.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_flushed_one_by_one_before_6_3() {
        let releases = ["5.10.0-30-amd64", "6.2.16", "6.3.0-rc1", "6.18.44\n", "7.0", "not a release"];
        assert_eq!(releases.map(moves_per_flush), [1.0, 1.0, 32.0, 32.0, 32.0, 1.0]);
    }
}
