//! Swapping to zram: the time of the thread that sends its own pages to swap by `MADV_PAGEOUT`, and that wants them back.
//!
//! Pages hold one byte and zeroes otherwise, as in `zram`. Swap is the machine's own: the measurement adds none. Nothing is measured where
//! there is swap that is not zram, which the pages could go to.

use std::{fs, io};

use crate::clock::cpu_of;
use crate::compaction::vmstat;
use crate::direct::Direct;
use crate::sys::{PAGE, PageSize, Region, SLOT};

/// Pages that come and go: 64 MiB.
const PAGES: usize = 16_384;

/// Fills in what it costs to swap; not a number where pages cannot go to zram, and to zram alone.
pub(crate) fn measure(direct: &mut Direct) -> io::Result<()> {
    (direct.swap_out, direct.swap_out_huge, direct.swap_in) = (f64::NAN, f64::NAN, f64::NAN);
    if !is_zram_alone()? {
        return Ok(());
    }
    let mut region = Region::anonymous(PAGES, PageSize::Base)?;
    region.store(0, PAGE);
    direct.swap_out = per_counted("pswpout", || region.page_out())?;
    direct.swap_in = per_counted("pswpin", || {
        region.store(0, PAGE);
        Ok(())
    })?;
    let mut region = Region::anonymous(PAGES, PageSize::Huge)?;
    region.store(0, PAGE);
    let whole = || vmstat().map(|counters| counters.get("thp_swpout").copied().unwrap_or(0));
    let before = whole()?;
    let time = per_counted("pswpout", || region.page_out())?;
    let is_whole = whole()? - before >= (PAGES * PAGE / SLOT) as u64;
    direct.swap_out_huge = if is_whole { time } else { f64::NAN };
    Ok(())
}

/// Whether all swap of this machine is zram, and there is some.
fn is_zram_alone() -> io::Result<bool> {
    let text = match fs::read_to_string("/proc/swaps") {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut areas = text.lines().skip(1).peekable();
    Ok(areas.peek().is_some() && areas.all(|area| area.starts_with("/dev/zram")))
}

/// CPU time of this thread for each of the pages that `counter` of /proc/vmstat has counted, in ns; not a number where they are far
/// from all: pages stayed, or others swapped.
fn per_counted(counter: &str, mut action: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let count = || vmstat().map(|counters| counters.get(counter).copied().unwrap_or(0));
    let before = count()?;
    let mut result = Ok(());
    let time = cpu_of(1, || result = action());
    result?;
    let pages = (count()? - before) as f64;
    let is_all = (pages - PAGES as f64).abs() < PAGES as f64 / 50.0;
    Ok(if is_all { time / pages } else { f64::NAN })
}
