//! /proc files of a run: at its begin, at its end, and now and then in between.

use order9_machine::Tick;
use order9_record::{Monitor, ProcFile, Reading, Traces};
use order9_units::Nanos;

use crate::proc_files::machine_files;

/// Interval at which mmtests reads the files.
const EVERY: Nanos = Nanos::new(10_000_000_000);
/// Readings kept; a run that would have more has them at larger intervals.
const READINGS_MAX: usize = 256;

/// Readings of the files up to now.
pub(crate) struct Monitors {
    every: Nanos,
    next: Nanos,
    readings: Vec<(Nanos, Vec<ProcFile>)>,
}

impl Monitors {
    pub(crate) fn new() -> Self {
        Self { every: EVERY, next: Nanos::ZERO, readings: Vec::new() }
    }

    /// Reads the files if it is time to.
    pub(crate) fn tick(&mut self, tick: &Tick<'_>) {
        let now = tick.now;
        if now < self.next {
            return;
        }
        if self.readings.len() == READINGS_MAX {
            let mut nth = 0;
            self.readings.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.every = self.every + self.every;
        }
        self.readings.push((now, machine_files(tick)));
        self.next = now + self.every;
    }

    /// The traces of a run on so many CPUs that ended with `end`.
    pub(crate) fn into_traces(self, cpus: u32, end: Vec<ProcFile>) -> Traces {
        let begin = self.readings.first().map(|(_, files)| files.clone()).unwrap_or_default();
        let monitor = |(at, file): (usize, &ProcFile)| {
            let reading =
                |(now, files): &(Nanos, Vec<ProcFile>)| Reading { at: *now, content: files[at].content.clone() };
            Monitor {
                name: file.path.trim_start_matches('/').replace('/', "-"),
                readings: self.readings.iter().map(reading).collect(),
            }
        };
        // The counters are kept anyway.
        let monitors = begin.iter().enumerate().filter(|(_, file)| file.path != "/proc/vmstat").map(monitor).collect();
        let state = |files: Vec<ProcFile>| files.into_iter().filter(|file| is_state(&file.path)).collect();
        Traces { cpus, begin: state(begin), end: state(end), monitors, ..Traces::default() }
    }
}

/// Whether mmtests keeps the file as state of the system.
fn is_state(path: &str) -> bool {
    ["/proc/vmstat", "/proc/zoneinfo", "/proc/meminfo", "/proc/diskstats"].contains(&path)
}
