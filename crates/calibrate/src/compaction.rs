//! Compaction of scattered pages by a write to `compact_memory`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{FallocateFlags, fallocate, ftruncate};

use crate::clock::cpu_per;
use crate::direct::Direct;
use crate::sys::{Mapping, PAGE, PageSize, Region, between_kept};
use crate::zone::memory_file;

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

/// Number of pages of which one is in use while compaction is measured.
const STRIDE: usize = 4;

/// Fills in what a moved page costs, its target's place on the free lists included and the search for both left out: of anonymous memory,
/// of a file in memory that is mapped, and of one that is not. Where too little moved it is not a number.
pub(crate) fn measure(direct: &mut Direct) -> io::Result<()> {
    direct.compact_quarter = quickest(scattered)?;
    direct.compact_file = quickest(|| Ok(scattered_file()?.0))?;
    direct.compact_mapped_file = quickest(scattered_file)?;
    direct.moves_per_flush = moves_per_flush(&fs::read_to_string("/proc/sys/kernel/osrelease")?);
    Ok(())
}

fn quickest<M>(memory: impl Fn() -> io::Result<M>) -> io::Result<f64> {
    (0..RUNS).try_fold(f64::NAN, |quickest, _| Ok(compact(&memory)?.min(quickest)))
}

/// Pages that compaction moves before it flushes their translations, under the kernel of this `release`.
fn moves_per_flush(release: &str) -> f64 {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|digits| digits.parse().unwrap_or(0));
    let release: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if release < BATCHED { 1.0 } else { CLUSTER }
}

/// Time of compaction for each page of `memory` that it moves, above a second pass over the same memory, which finds little to move.
/// Pages of attempts in which too few moved stay where they are, so that the next ones lie elsewhere.
fn compact<M>(memory: impl Fn() -> io::Result<M>) -> io::Result<f64> {
    let mut held = Vec::new();
    while held.len() < ATTEMPTS {
        let pages = memory()?;
        let [first, second] = [pass()?, pass()?];
        let moved = first.moved - second.moved;
        if moved >= MOVED_MIN {
            return Ok((first.time - second.time) / moved);
        }
        held.push(pages);
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

/// Memory of which one page in [`STRIDE`] is in use.
fn scattered() -> io::Result<Region> {
    let mut region = Region::anonymous(filled()?, PageSize::Base)?;
    region.populate()?;
    region.keep_one_in(STRIDE)?;
    Ok(region)
}

/// A file in memory of whose pages one in [`STRIDE`] is left, and its mapping.
fn scattered_file() -> io::Result<(OwnedFd, Mapping)> {
    let pages = filled()?;
    let file = memory_file()?;
    ftruncate(&file, (pages * PAGE) as u64)?;
    let mut mapping = Mapping::of_file(file.as_fd(), pages)?;
    mapping.populate()?;
    let punched = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    for gap in between_kept(pages, STRIDE).filter(|gap| !gap.is_empty()) {
        fallocate(&file, punched, (gap.start * PAGE) as u64, (gap.len() * PAGE) as u64)?;
    }
    Ok((file, mapping))
}

/// Pages that are filled.
fn filled() -> io::Result<usize> {
    Ok((available()? / 2 / PAGE as u64).min(PAGES_MAX) as usize)
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
