//! Calibration: prices of memory work on this host, measured in less than half a second: copying and clearing pages, reading what the
//! kernel keeps of frames, and the kernel's own work for a page.
//!
//! Harmless: takes some memory that is available for a moment, on one CPU, and touches no page of anybody else. Counts the
//! CPU time of its thread, so that a busy host measures the same. The price of moving a page by compaction cannot be
//! measured without compacting; the analysis estimates it from these.

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

use order9_snapshot::{Calibration, Measured};
use order9_units::{Bytes, PAGE_SIZE};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};

use crate::balloon::hypervisor_fault;
use crate::huge_fault::huge_fault;
use crate::memory::available_memory;
use crate::stopwatch::Stopwatch;

const PAGE: usize = PAGE_SIZE.get() as usize;
/// Bytes that x86-64 fetches at once, and that the kernel keeps of a frame.
const LINE: usize = 64;
/// Measurements of each price; the middle one counts.
const ROUNDS: usize = 9;
/// Fewer than this tell nothing of how sure a price is.
const ROUNDS_MIN: usize = 3;
/// Time limit for measuring each of the four prices.
const TIME_MAX: Duration = Duration::from_millis(90);
/// Length of each of two buffers, where that is beyond the caches.
const BUFFER_MIN: usize = 48 << 20;
const BUFFER_MAX: usize = 96 << 20;
/// Length of the file in memory.
const FILE: usize = 16 << 20;

/// Measures this host; the error says why it was left.
///
/// # Errors
/// Where too little memory is available to take some of it.
pub fn calibrate() -> Result<Calibration, String> {
    let length = buffer_length();
    // A tenth at most of what anybody else could want.
    let needed = Bytes::new(10 * (2 * length + FILE) as u64);
    if available_memory() < needed {
        return Err(format!("not measured: less than {} MiB of memory are available", needed.get() >> 20));
    }
    // Written once, so that all pages are there before anything is measured.
    let (from, mut to) = (vec![1_u8; length], vec![2_u8; length]);
    let pages = length / PAGE;
    let copy_page = measure(pages, || {
        to.chunks_exact_mut(PAGE)
            .zip(from.chunks_exact(PAGE))
            .for_each(|(to, from)| black_box(to).copy_from_slice(from));
    });
    // Page by page, as the kernel does: the compiler would make one call of all, whose stores pass the caches by at three times the speed.
    let clear_page = measure(pages, || to.chunks_exact_mut(PAGE).for_each(|page| black_box(page).fill(0)));
    let frame_scan = measure(length / LINE, || {
        black_box(from.iter().step_by(LINE).fold(0_u64, |sum, &byte| sum.wrapping_add(byte.into())));
    });
    // Before anything that touches huge pages: what was freed just now has not been taken back.
    let hypervisor_fault = hypervisor_fault();
    Ok(Calibration {
        copy_page,
        clear_page,
        frame_scan,
        shmem_page: shmem_page(),
        huge_fault: huge_fault(),
        hypervisor_fault,
    })
}

/// Twice the largest cache, within bounds: a virtual machine may be told of a cache that it shares with many.
fn buffer_length() -> usize {
    let text = fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").unwrap_or_default();
    let kib: usize = text.trim().strip_suffix('K').and_then(|kib| kib.parse().ok()).unwrap_or(0);
    (kib.saturating_mul(1024 * 2)).clamp(BUFFER_MIN, BUFFER_MAX) / PAGE * PAGE
}

/// Taking pages into a file in memory and giving them back, without their contents: the kernel allocates and frees them,
/// and enters them in its lists. `None` where such files have huge pages, or cannot be had.
fn shmem_page() -> Option<Measured> {
    let enabled = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/shmem_enabled").unwrap_or_default();
    if ["[always]", "[within_size]", "[force]"].iter().any(|huge| enabled.contains(huge)) {
        return None;
    }
    let file = memfd_create("order9", MemfdFlags::CLOEXEC).ok()?;
    let round = || fallocate(&file, FallocateFlags::empty(), 0, FILE as u64).and_then(|()| ftruncate(&file, 0));
    round().ok()?;
    let mut all = true;
    let measured = measure(FILE / PAGE, || all &= round().is_ok());
    all.then_some(measured)
}

/// CPU time of each of the `pieces` of work that `round` does.
fn measure(pieces: usize, mut round: impl FnMut()) -> Measured {
    let began = Instant::now();
    let mut times = Vec::with_capacity(ROUNDS);
    while times.len() < ROUNDS_MIN || (times.len() < ROUNDS && began.elapsed() < TIME_MAX) {
        let watch = Stopwatch::start();
        round();
        times.push(watch.cpu().get() * 1000 / pieces as u64);
    }
    times.sort_unstable();
    Measured {
        ps: times[times.len() / 2],
        lowest_ps: times[0],
        highest_ps: times[times.len() - 1],
        rounds: times.len() as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_of_the_right_size() {
        let Ok(prices) = calibrate() else { return };
        let Calibration { copy_page, clear_page, frame_scan, shmem_page, huge_fault, hypervisor_fault } = prices;
        let all = [(copy_page, 4096), (clear_page, 4096), (frame_scan, 64)];
        for (price, bytes) in all {
            assert!(price.lowest_ps <= price.ps && price.ps <= price.highest_ps && price.rounds >= 3, "{price:?}");
            // No memory moves a byte in less than a picosecond, nor takes a nanosecond and a half for it.
            assert!((bytes..bytes * 1500).contains(&price.ps), "{bytes}: {price:?}");
        }
        assert!(shmem_page.is_none_or(|price| (10_000..100_000_000).contains(&price.ps)), "{shmem_page:?}");
        // Clearing 2 MiB takes longer than a microsecond on any host.
        assert!(huge_fault.is_none_or(|price| price.ps > 1_000_000), "{huge_fault:?}");
        assert!(hypervisor_fault.is_none_or(|price| price.ps > 1_000_000), "{hypervisor_fault:?}");
    }
}
