//! Splits of huge pages: `MADV_COLD` for one page of a huge page makes base pages of all of it, in the time of the thread that calls.
//!
//! Each page has content. From 6.12 on a split looks for parts that hold zeros and frees them, which takes four times as long.

use std::io;

use crate::clock::cpu_per;
use crate::compaction::vmstat;
use crate::direct::Direct;
use crate::sys::{PAGE, PageSize, Region, SLOT};

/// Huge pages that are split one after another: 128 MiB.
const HUGE_PAGES: usize = 64;

/// Part of a huge page that is mapped when it is split.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mapped {
    /// All of it, by one entry.
    Whole,
    /// All but one page, page by page.
    AllButFirst,
    /// Half of it, page by page.
    SecondHalf,
}

/// Fills in what a split of a huge page costs. Where there are no huge pages, or the kernel does not split them, it is not a number.
pub(crate) fn measure(direct: &mut Direct) -> io::Result<()> {
    direct.huge_split_whole = split(Mapped::Whole)?;
    direct.huge_split_pages = split(Mapped::AllButFirst)?;
    direct.huge_split_half = split(Mapped::SecondHalf)?;
    Ok(())
}

fn split(mapped: Mapped) -> io::Result<f64> {
    let mut region = Region::anonymous(HUGE_PAGES * SLOT / PAGE, PageSize::Huge)?;
    region.store(0, PAGE);
    match mapped {
        Mapped::Whole => {}
        Mapped::AllButFirst => region.give_back_of_slots(PAGE)?,
        Mapped::SecondHalf => region.give_back_of_slots(SLOT / 2)?,
    }
    let splits = || vmstat().map(|counters| counters.get("thp_split_page").copied().unwrap_or(0));
    let before = splits()?;
    let time = cpu_per(HUGE_PAGES, || region.cool_ends())?;
    // Others may split at the same time.
    Ok(if splits()? - before >= HUGE_PAGES as u64 { time } else { f64::NAN })
}
