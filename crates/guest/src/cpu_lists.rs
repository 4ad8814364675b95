//! Per-CPU lists of free pages, kept short while a map of memory is made.
//!
//! No flag of a frame says that it is on such a list. From 6.7 on they hold thousands of pages after boot, and whoever reads the map has to
//! guess which frames these are, of which type. A fraction too small for any zone makes four batches the limit of each list
//! (`vm.percpu_pagelist_high_fraction`, 5.14+), and pages that are freed then push out what is beyond.

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Setting of the size of the lists. Older kernels keep them short.
const FRACTION: &str = "/proc/sys/vm/percpu_pagelist_high_fraction";
/// A part of a zone that is less than the least that the kernel keeps.
const SMALLEST: &str = "1000000";
/// A file in memory, whose pages are freed with it.
const SCRATCH: &str = "/scratch";
/// Pages of the file. For each page that comes to lists that are too long, these give back a batch at least.
const PAGES: usize = 64;
/// Number of times that the file is written and removed.
const ROUNDS: usize = 16;

/// Does `work` while the lists are short.
pub(crate) fn kept_short<T>(work: impl FnOnce() -> T) -> T {
    let Ok(before) = fs::read_to_string(FRACTION) else { return work() };
    if fs::write(FRACTION, SMALLEST).is_ok() {
        on_each_cpu(push_out);
    }
    let done = work();
    // The kernel had this value before.
    let _ = fs::write(FRACTION, before);
    done
}

/// Frees pages until the lists of this CPU are as short as they are to be.
fn push_out() {
    for _ in 0..ROUNDS {
        // A guest whose memory is full has short lists.
        let _ = fs::write(SCRATCH, vec![0; PAGES << 12]);
        let _ = fs::remove_file(SCRATCH);
    }
}

fn on_each_cpu(mut work: impl FnMut()) {
    let Ok(all) = sched_getaffinity(None) else { return };
    for cpu in (0..CpuSet::MAX_CPU).filter(|&cpu| all.is_set(cpu)) {
        let mut one = CpuSet::new();
        one.set(cpu);
        if sched_setaffinity(None, &one).is_ok() {
            work();
        }
    }
    // It was allowed before.
    let _ = sched_setaffinity(None, &all);
}
