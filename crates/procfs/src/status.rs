//! /proc/PID/status: the lines about memory.

use core::fmt::{Result, Write};

use order9_units::Pages;

use order9_mm::space::{Prot, Rss, Space, Vma};

/// Writes the lines of /proc/PID/status about memory, as far as they are known: neither peaks nor pins are recorded by
/// program, and nothing tells code and stack from other mappings.
///
/// # Errors
/// Those of `out`.
pub fn render_status(space: &Space, out: &mut impl Write) -> Result {
    let mapped = |which: fn(&&Vma) -> bool| -> Pages { space.vmas().filter(which).map(|vma| vma.range.len()).sum() };
    let rss = space.rss();
    let Rss { anon_pages, shmem_pages, file_pages } = rss;
    for (name, pages) in [
        ("VmSize", mapped(|_| true)),
        ("VmLck", mapped(|vma| vma.locked)),
        ("VmRSS", rss.total()),
        ("RssAnon", Pages::new(anon_pages)),
        ("RssFile", Pages::new(file_pages)),
        ("RssShmem", Pages::new(shmem_pages)),
        ("VmData", mapped(|vma| vma.kind.is_private() && vma.prot.has(Prot::WRITE))),
        ("VmPTE", Pages::new(space.page_tables())),
        ("VmSwap", space.swapped()),
        ("HugetlbPages", space.hugetlb()),
    ] {
        writeln!(out, "{name}:\t{:>8} kB", pages.bytes().get() / 1024)?;
    }
    Ok(())
}
