//! /proc files of a run: at its begin, at its end, and now and then in between.

use order9_machine::Tick;
use order9_record::{self as record, ProcFile, Traces};
use order9_units::Nanos;

use crate::proc_files::machine_files;

/// Interval at which mmtests reads the files.
const EVERY: Nanos = Nanos::new(10_000_000_000);

/// Readings of the files up to now.
pub(crate) struct Monitors(record::Monitors);

impl Monitors {
    pub(crate) const fn new() -> Self {
        Self(record::Monitors::new(EVERY))
    }

    /// Reads the files if it is time to.
    pub(crate) fn tick(&mut self, tick: &Tick<'_>) {
        if self.0.is_due(tick.now) {
            self.0.push(tick.now, machine_files(tick));
        }
    }

    /// The traces of a run on so many CPUs that ended with `end`.
    pub(crate) fn into_traces(self, cpus: u32, end: Vec<ProcFile>) -> Traces {
        // The counters are kept anyway.
        let monitors = self.0.files().filter(|(path, _)| *path != "/proc/vmstat").map(|(_, monitor)| monitor).collect();
        let state = |files: Vec<ProcFile>| files.into_iter().filter(|file| is_state(&file.path)).collect();
        Traces { cpus, begin: state(self.0.first().to_vec()), end: state(end), monitors, ..Traces::default() }
    }
}

/// Whether mmtests keeps the file as state of the system.
fn is_state(path: &str) -> bool {
    ["/proc/vmstat", "/proc/zoneinfo", "/proc/meminfo", "/proc/diskstats"].contains(&path)
}
