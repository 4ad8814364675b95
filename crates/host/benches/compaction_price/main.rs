//! Measures what huge pages cost on this host: moving a page by compaction, dropping a page of clean page cache or of
//! reclaimable slab, and reading a dropped page again. Needs root, fills memory, and drops this host's clean caches.
//!
//! Usage: `compaction_price [--gib N]`, where N is the memory to fragment, by default half of what is available.
//! Ends with a price list as in machines/*.toml.

mod cache;
mod fragment;
mod kernel;

use std::error::Error;

use kernel::{Work, cpu_time_of, free_huge_pages, tell_kernel, vmstat};
use order9_units::Bytes;

/// Compaction is started this often: usually the first run moves what there is to move and the others find little left.
const ROUNDS: usize = 3;

/// A run that moves fewer pages spends most of its time scanning, and says nothing of moving.
const MOVED_MIN: u64 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    let bytes = wanted(std::env::args().skip(1))?;
    let move_ns = compaction(bytes)?;
    let prices = cache::measure()?;
    println!("\nname = \"this host\"");
    match move_ns {
        Some(ns) => print_price("move_page", ns, "write to compact_memory, 3 of 4 base pages free, scanning included"),
        None => println!("# move_page: no run moved {MOVED_MIN} pages; repeat with more memory or soon after boot"),
    }
    print_price("drop_page", prices.drop_page_ns, "drop_caches=1 after reading a file of 1 GiB");
    print_price("drop_slab_page", prices.drop_slab_page_ns, "drop_caches=2 after looking up names that do not exist");
    print_price("reread_page", prices.reread_page_ns, "reading that file again after the drop, waiting included");
    Ok(())
}

/// How much memory to fragment. `cargo bench` itself passes `--bench`.
fn wanted(arguments: impl Iterator<Item = String>) -> Result<Bytes, Box<dyn Error>> {
    const USAGE: &str = "expected `--gib N`, where N is the memory to fragment in GiB";
    let mut arguments = arguments.filter(|argument| argument != "--bench");
    match (arguments.next().as_deref(), arguments.next(), arguments.next()) {
        (None, _, _) => Ok(Bytes::new(kernel::available_memory()?.get() / 2)),
        (Some("--gib"), Some(n), None) => Ok(Bytes::from_gib(n.parse().map_err(|_| USAGE)?)),
        _ => Err(USAGE.into()),
    }
}

/// Fragments memory, compacts it and returns the nanoseconds of CPU time per moved page of the run that moved most, if
/// it moved enough. Caches are dropped first: compaction can stop early at large folios of page cache for which
/// fragmented memory has no room.
fn compaction(bytes: Bytes) -> Result<Option<f64>, Box<dyn Error>> {
    cache::drop_all()?;
    println!("fragmenting {} MiB: touch every base page, free 3 of 4", bytes.get() >> 20);
    let kept = fragment::keep_every_fourth_page(bytes)?;
    println!(
        "{:>5} {:>10} {:>14} {:>14} {:>12} {:>9} {:>11} {:>11}",
        "round", "moved", "migrate scan", "free scan", "CPU, ms", "ns/moved", "free 2 MiB", "then"
    );
    let mut best: Option<(u64, f64)> = None;
    for round in 1..=ROUNDS {
        let (huge_before, before) = (free_huge_pages()?, Work::of(&vmstat()?));
        let cpu = cpu_time_of(|| tell_kernel("/proc/sys/vm/compact_memory", "1"))?;
        let Work { moved, migrate_scanned, free_scanned } = Work::of(&vmstat()?).since(&before);
        let per_page = cpu.get() as f64 / moved.max(1) as f64;
        let (cpu_ms, huge_after) = (cpu.get() as f64 / 1e6, free_huge_pages()?);
        println!(
            "{round:>5} {moved:>10} {migrate_scanned:>14} {free_scanned:>14} {cpu_ms:>12.1} {per_page:>9.0} \
             {huge_before:>11} {huge_after:>11}"
        );
        if moved >= MOVED_MIN && best.is_none_or(|(most, _)| moved > most) {
            best = Some((moved, per_page));
        }
    }
    drop(kept);
    Ok(best.map(|(_, per_page)| per_page))
}

fn print_price(name: &str, ns: f64, source: &str) {
    println!("{name} = {{ ns = {ns:.0}, source = \"{source}\" }}");
}
