//! Collapse: base pages, and what is left of huge pages that were given back in part, become huge pages.
//!
//! From Linux 6.1 on `MADV_COLLAPSE` collapses, in the time of the thread that calls. Before, only khugepaged does, in a time of its own. One
//! pass of it has to reach every slot. No setting is changed here, so that a kernel is measured by khugepaged only where `pages_to_scan` is
//! large enough already, as in a guest. Both ways take equally long: under 6.1, 6.12 and 7.2 they differ by 1 %.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::clock::cpu_per;
use crate::compaction::vmstat;
use crate::direct::Direct;
use crate::sys::{PAGE, PageSize, Region, SLOT};

/// Slots that are collapsed at once: 256 MiB.
const SLOTS: usize = 128;
/// Pages of a slot.
const PER_SLOT: usize = SLOT / PAGE;
/// Pages that are there in a slot with few of them.
pub(crate) const FEW: usize = 64;
/// Pages that are there in a slot with half of them.
pub(crate) const HALF: usize = 256;

/// Folder of khugepaged's settings and counts.
const KHUGEPAGED: &str = "/sys/kernel/mm/transparent_hugepage/khugepaged";
/// Pages that a pass of khugepaged must look at: all slots, and some for each mapping on the way.
const PASS: u64 = 2 * (SLOTS * PER_SLOT) as u64;
/// Time in which khugepaged has collapsed everything. Whoever asks it meanwhile takes the CPU from it, and its count of time falls short.
const DONE: Duration = Duration::from_secs(2);

/// Fills in what the collapse of a slot costs. What this kernel cannot collapse is not a number.
pub(crate) fn measure(direct: &mut Direct) -> io::Result<()> {
    direct.collapse_few = collapse(PageSize::Base, FEW)?;
    direct.collapse_half = collapse(PageSize::Base, HALF)?;
    direct.collapse_full = collapse(PageSize::Base, PER_SLOT)?;
    direct.collapse_few_parts = collapse(PageSize::Huge, FEW)?;
    direct.collapse_half_parts = collapse(PageSize::Huge, HALF)?;
    Ok(())
}

/// Time for each slot in which `present` pages are there: base pages, or parts of a huge page.
fn collapse(size: PageSize, present: usize) -> io::Result<f64> {
    let Some(mut region) = region(size, present)? else { return Ok(f64::NAN) };
    region.allow_huge()?;
    free_huge_pages()?;
    match cpu_per(SLOTS, || region.collapse()) {
        Ok(time) => Ok(time),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(by_khugepaged().unwrap_or(f64::NAN)),
        // No free huge page, or a page that somebody holds.
        Err(_) => Ok(f64::NAN),
    }
}

/// Leaves free huge pages for all slots that were in use just now, which are handed out next. A hypervisor may have taken back others.
fn free_huge_pages() -> io::Result<()> {
    Region::anonymous(SLOTS * PER_SLOT, PageSize::Huge)?.store(0, SLOT);
    Ok(())
}

/// The slots before their collapse; `None` where huge pages were wanted and there were not enough.
fn region(size: PageSize, present: usize) -> io::Result<Option<Region>> {
    let huge_faults = || vmstat().map(|counters| counters.get("thp_fault_alloc").copied().unwrap_or(0));
    let before = huge_faults()?;
    let mut region = Region::anonymous(SLOTS * PER_SLOT, size)?;
    match size {
        PageSize::Base => region.populate()?,
        PageSize::Huge => region.store(0, SLOT),
    }
    let is_huge = huge_faults()? - before >= SLOTS as u64;
    if present < PER_SLOT {
        region.keep_one_in(PER_SLOT / present)?;
    }
    Ok((is_huge == (size == PageSize::Huge)).then_some(region))
}

/// Time that khugepaged takes for each of the slots, which it may collapse; `None` where it does not collapse all of them.
fn by_khugepaged() -> Option<f64> {
    let file = |name: &str| Path::new(KHUGEPAGED).join(name);
    let (collapsed, pause, schedstat) = (file("pages_collapsed"), file("scan_sleep_millisecs"), schedstat()?);
    if number(&file("pages_to_scan"))? < PASS {
        return None;
    }
    let before = (number(&collapsed)?, number(&schedstat)?);
    // Written again, the length of a pause ends the pause.
    fs::write(&pause, number(&pause)?.to_string()).ok()?;
    sleep(DONE);
    let time = number(&schedstat)? - before.1;
    (number(&collapsed)? - before.0 == SLOTS as u64).then_some(time as f64 / SLOTS as f64)
}

/// The file with the CPU time of khugepaged, its first number, in ns.
fn schedstat() -> Option<PathBuf> {
    let paths = fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path());
    let called = |path: &PathBuf| fs::read_to_string(path.join("comm")).is_ok_and(|name| name == "khugepaged\n");
    // A program that is called so has a command line.
    let is_of_kernel = |path: &PathBuf| fs::read(path.join("cmdline")).is_ok_and(|line| line.is_empty());
    paths.filter(called).find(is_of_kernel).map(|path| path.join("schedstat"))
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.split_whitespace().next()?.parse().ok()
}
