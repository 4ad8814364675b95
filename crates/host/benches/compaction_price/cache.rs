//! Prices of giving up page cache and slab.

use std::error::Error;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::Instant;

use order9_units::{Bytes, PAGE_SIZE};

use crate::kernel::{cpu_time_of, tell_kernel, vmstat};

const FILE: Bytes = Bytes::from_gib(1);

/// Names looked up in vain; each leaves a dentry of some 200 bytes behind.
const NAMES: u32 = 400_000;

/// Nanoseconds per page.
pub(crate) struct CachePrices {
    pub(crate) drop_page_ns: f64,
    pub(crate) drop_slab_page_ns: f64,
    pub(crate) reread_page_ns: f64,
}

/// Fills the caches with things of this benchmark alone, then drops them.
pub(crate) fn measure() -> Result<CachePrices, Box<dyn Error>> {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let path = directory.path().join("cached");
    write_file(&path)?;
    read_file(&path)?;
    let drop_page_ns = price_of_drop("1", &["nr_inactive_file", "nr_active_file"])?;

    let start = Instant::now();
    read_file(&path)?;
    let reread_page_ns = start.elapsed().as_nanos() as f64 / (FILE.get() / PAGE_SIZE.get()) as f64;

    for name in 0..NAMES {
        let _ = fs::metadata(directory.path().join(name.to_string()));
    }
    let drop_slab_page_ns = price_of_drop("2", &["nr_slab_reclaimable"])?;
    Ok(CachePrices { drop_page_ns, drop_slab_page_ns, reread_page_ns })
}

/// Gives up everything that is clean: page cache and reclaimable slab.
pub(crate) fn drop_all() -> std::io::Result<()> {
    tell_kernel("/proc/sys/vm/drop_caches", "3")
}

/// CPU time per page by which `counters` shrink when `what` is written to drop_caches.
fn price_of_drop(what: &str, counters: &[&str]) -> Result<f64, Box<dyn Error>> {
    let pages = || -> Result<u64, Box<dyn Error>> {
        let vmstat = vmstat()?;
        Ok(counters.iter().filter_map(|counter| vmstat.get(*counter)).sum())
    };
    let before = pages()?;
    let cpu = cpu_time_of(|| tell_kernel("/proc/sys/vm/drop_caches", what))?;
    let dropped = before.saturating_sub(pages()?);
    println!("drop_caches={what}: {dropped} pages of {} in {:.1} ms", counters.join(" + "), cpu.get() as f64 / 1e6);
    Ok(cpu.get() as f64 / dropped.max(1) as f64)
}

fn write_file(path: &Path) -> std::io::Result<()> {
    let block = vec![0xa5_u8; 1 << 20];
    let mut file = File::create(path)?;
    for _ in 0..FILE.get() / block.len() as u64 {
        file.write_all(&block)?;
    }
    file.sync_all()
}

fn read_file(path: &Path) -> std::io::Result<()> {
    let mut block = vec![0; 1 << 20];
    let mut file = File::open(path)?;
    while file.read(&mut block)? > 0 {}
    Ok(())
}
