//! Measures on a real kernel what the cost model of the lab asks for: faults, clearing, copying, unmapping, the page allocator,
//! compaction, collapse, splits, flushes, switches, compressed swap.
//!
//! Key types: [`Direct`] (one round of everything that is measured), [`Calibration`] (rounds, and the prices that follow from them, as a
//! machine file and as tables). [`measure`] needs root, since it raises its own priority, takes less than 2 GiB, and changes no
//! setting; a device of zram comes and goes. Never knows what a price should be.
#![deny(unsafe_code)]

mod caches;
mod checks;
mod clock;
mod collapse;
mod compaction;
mod cpus;
mod direct;
mod files;
mod huge_split;
mod machine_file;
mod pages;
mod prices;
mod report;
mod scan;
mod spread;
mod swap;
mod sys;
mod zone;
mod zram;

use std::io;
use std::path::Path;

pub use direct::Direct;
pub use machine_file::Base;
pub use prices::keys;
pub use report::{Calibration, Measured, OtherWay, Priced, Sum, Tables};
pub use spread::Spread;

/// The highest priority, so that others on this host disturb little.
const NICE: i32 = -20;
/// Bytes that must be available: what the largest of the measurements takes, and some to spare.
const WANTED: u64 = 3 << 29;

/// Reason for which nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The machine has too little memory to measure in.
    #[error("expected {} MiB of available memory to measure in, found {} MiB", WANTED >> 20, .0 >> 20)]
    NoMemory(u64),
    /// The kernel refused something.
    #[error("the kernel refuses {what}: {error}")]
    Refused {
        /// The measurement.
        what: &'static str,
        /// Answer of the kernel.
        error: io::Error,
    },
}

fn refused(what: &'static str) -> impl Fn(io::Error) -> CalibrateError {
    move |error| CalibrateError::Refused { what, error }
}

/// Folders without which some prices are not measured.
#[derive(Clone, Copy, Debug, Default)]
pub struct Places<'a> {
    /// Directory on a disk, for pages of files.
    pub files: Option<&'a Path>,
    /// Folder of tracefs, for what compaction looks at.
    pub tracefs: Option<&'a Path>,
}

/// Measures everything so many times, one round after the other, so that drifts hit everything alike. `tells` hears of each round
/// that ends.
///
/// # Errors
/// What kept it from being measured.
pub fn measure(rounds: usize, places: Places<'_>, mut tells: impl FnMut(usize)) -> Result<Vec<Direct>, CalibrateError> {
    let available = compaction::available().map_err(refused("/proc/meminfo"))?;
    if available < WANTED {
        return Err(CalibrateError::NoMemory(available));
    }
    let cpus = clock::cpus().map_err(refused("the CPUs of this process"))?;
    clock::pin(cpus.here).map_err(refused("one CPU to this thread"))?;
    rustix::process::setpriority_process(None, NICE)
        .map_err(|error| refused("a high priority, which root may have")(error.into()))?;
    let filler = zone::Filler::new().map_err(refused("a file that fills per-CPU lists"))?;
    filler.fill_list().map_err(refused("a file that fills per-CPU lists"))?;
    let mut memory = caches::Memory::new().map_err(refused("memory for walks through caches"))?;
    let mut round = || -> Result<Direct, CalibrateError> {
        let mut direct = Direct::default();
        zone::measure(&mut direct, &filler).map_err(refused("pages of files"))?;
        pages::measure(&mut direct).map_err(refused("faults and forks"))?;
        memory.measure(&mut direct).map_err(refused("memory of a program"))?;
        cpus::measure(&mut direct, cpus).map_err(refused("threads"))?;
        compaction::measure(&mut direct).map_err(refused("compaction"))?;
        direct.compact_in_vain = scan::measure(places.tracefs).map_err(refused("compaction"))?;
        collapse::measure(&mut direct).map_err(refused("pages to collapse"))?;
        huge_split::measure(&mut direct).map_err(refused("huge pages to split"))?;
        zram::measure(&mut direct).map_err(refused("a device of zram"))?;
        swap::measure(&mut direct).map_err(refused("pages to swap out"))?;
        files::measure(&mut direct, places.files).map_err(refused("a file on a disk"))?;
        Ok(direct)
    };
    round()?; // The first touches memory that the hypervisor may not have backed yet.
    (1..=rounds)
        .map(|number| {
            let direct = round()?;
            tells(number);
            Ok(direct)
        })
        .collect()
}
