//! /proc files over time, at intervals that grow with a run, so that a long one has no more of them than a short one.

use order9_units::Nanos;

use crate::{Monitor, ProcFile, Reading};

/// Readings kept; a run that would have more has them at larger intervals.
const READINGS_MAX: usize = 256;

/// Readings of some files up to now, always the same files in the same order.
#[derive(Clone, Debug)]
pub struct Monitors {
    every: Nanos,
    next: Nanos,
    readings: Vec<(Nanos, Vec<ProcFile>)>,
}

impl Monitors {
    /// No readings yet; at first there is one at each interval.
    #[must_use]
    pub const fn new(every: Nanos) -> Self {
        Self { every, next: Nanos::ZERO, readings: Vec::new() }
    }

    /// Whether a reading is wanted.
    #[must_use]
    pub fn is_due(&self, now: Nanos) -> bool {
        now >= self.next
    }

    /// Takes a reading. One of other files than the first is left out.
    pub fn push(&mut self, now: Nanos, files: Vec<ProcFile>) {
        if self.readings.len() == READINGS_MAX {
            let mut nth = 0;
            self.readings.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.every = self.every + self.every;
        }
        self.next = now + self.every;
        let paths = |files: &[ProcFile]| files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
        if self.first().is_empty() || paths(self.first()) == paths(&files) {
            self.readings.push((now, files));
        }
    }

    /// The files of the first reading.
    #[must_use]
    pub fn first(&self) -> &[ProcFile] {
        self.readings.first().map_or(&[], |(_, files)| files)
    }

    /// Every file over time.
    pub fn files(&self) -> impl Iterator<Item = (&str, Monitor)> {
        self.first().iter().enumerate().map(|(at, file)| {
            let reading =
                |(now, files): &(Nanos, Vec<ProcFile>)| Reading { at: *now, content: files[at].content.clone() };
            let name = file.path.trim_start_matches('/').replace('/', "-");
            (file.path.as_str(), Monitor { name, readings: self.readings.iter().map(reading).collect() })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_fewer_readings_of_each_hour() {
        let mut monitors = Monitors::new(Nanos::new(10));
        let file = |content: u64| ProcFile { path: "/proc/a/b".to_owned(), content: content.to_string() };
        for now in 0..10 * 1000 {
            if monitors.is_due(Nanos::new(now)) {
                monitors.push(Nanos::new(now), vec![file(now)]);
            }
        }
        monitors.push(Nanos::new(20_000), vec![file(1), file(2)]);
        let (path, monitor) = monitors.files().next().expect("there is a file");
        assert_eq!((path, monitor.name.as_str()), ("/proc/a/b", "proc-a-b"));
        assert!((READINGS_MAX / 2..=READINGS_MAX).contains(&monitor.readings.len()), "{}", monitor.readings.len());
        let times: Vec<u64> = monitor.readings.iter().map(|reading| reading.at.get()).collect();
        assert_eq!((times[0], times[1]), (0, 40));
    }
}
