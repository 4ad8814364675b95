//! What the benchmark asks and tells the kernel.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io;

use order9_units::{Bytes, Nanos};
use rustix::time::{ClockId, clock_gettime};

/// Compaction's counters of /proc/vmstat.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    pub(crate) moved: u64,
    pub(crate) migrate_scanned: u64,
    pub(crate) free_scanned: u64,
}

impl Work {
    pub(crate) fn of(vmstat: &BTreeMap<String, u64>) -> Self {
        let counter = |name: &str| vmstat.get(name).copied().unwrap_or(0);
        Self {
            moved: counter("pgmigrate_success"),
            migrate_scanned: counter("compact_migrate_scanned"),
            free_scanned: counter("compact_free_scanned"),
        }
    }

    pub(crate) fn since(self, before: &Self) -> Self {
        Self {
            moved: self.moved - before.moved,
            migrate_scanned: self.migrate_scanned - before.migrate_scanned,
            free_scanned: self.free_scanned - before.free_scanned,
        }
    }
}

/// /proc/vmstat.
pub(crate) fn vmstat() -> io::Result<BTreeMap<String, u64>> {
    counters("/proc/vmstat")
}

/// `MemAvailable` of /proc/meminfo.
pub(crate) fn available_memory() -> Result<Bytes, Box<dyn Error>> {
    let kib = counters("/proc/meminfo")?.get("MemAvailable:").copied();
    Ok(Bytes::from_kib(kib.ok_or("/proc/meminfo: expected a line `MemAvailable:`")?))
}

/// Free blocks of 2 MiB, counting those within blocks of 4 MiB.
pub(crate) fn free_huge_pages() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/buddyinfo")?;
    let in_line = |line: &str| -> u64 {
        let mut orders = line.split_whitespace().rev().map(|word| word.parse().unwrap_or(0));
        2 * orders.next().unwrap_or(0) + orders.next().unwrap_or(0)
    };
    Ok(text.lines().map(in_line).sum())
}

/// Writes `text` to a file that acts on it before the write returns.
pub(crate) fn tell_kernel(path: &str, text: &str) -> io::Result<()> {
    fs::write(path, text).map_err(|error| io::Error::new(error.kind(), format!("{path}: {error}")))
}

/// CPU time of this thread spent in `action`: for work the kernel does within one call, its system time.
pub(crate) fn cpu_time_of(action: impl FnOnce() -> io::Result<()>) -> io::Result<Nanos> {
    let before = thread_cpu_ns();
    action()?;
    Ok(Nanos::new(thread_cpu_ns() - before))
}

fn thread_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

fn counters(path: &str) -> io::Result<BTreeMap<String, u64>> {
    let text = fs::read_to_string(path)?;
    let pairs = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.parse().ok()?))
    });
    Ok(pairs.collect())
}
