//! The clock of a run, which all its processes share and which stands still while the supervisor looks at memory.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicU64, Ordering};

use order9_units::{Nanos, PAGE_SIZE};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::time::{ClockId, clock_gettime};

use crate::raw;

/// Places of words in the shared page.
const START: usize = 0;
const HELD: usize = 1;
const FILES: usize = 2;
const MOUNTS: usize = 3;

/// The supervisor's end: starts the clock and holds it.
pub(crate) struct ClockFile {
    file: File,
    start: u64,
    held: u64,
}

/// A program's end. The page is the same for all processes of the run.
#[derive(Clone, Copy)]
pub(crate) struct Clock(&'static [AtomicU64; 512]);

/// `CLOCK_MONOTONIC`, in ns.
fn monotonic() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

impl ClockFile {
    /// A clock that starts now.
    pub(crate) fn start() -> io::Result<Self> {
        let file = File::from(memfd_create("order9 clock", MemfdFlags::CLOEXEC)?);
        ftruncate(&file, PAGE_SIZE.get())?;
        let clock = Self { file, start: monotonic(), held: 0 };
        clock.write(START, clock.start)?;
        Ok(clock)
    }

    pub(crate) const fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn now(&self) -> Nanos {
        Nanos::new(monotonic() - self.start - self.held)
    }

    /// Time of the run at `monotonic` ns of `CLOCK_MONOTONIC`. What happened while the clock stood still has the time at which it stood, or
    /// a time before.
    pub(crate) fn at(&self, monotonic: u64) -> Nanos {
        Nanos::new(monotonic.saturating_sub(self.start + self.held))
    }

    /// Does `work` while the clock stands still. Nobody of the run may read it meanwhile.
    pub(crate) fn hold(&mut self, work: impl FnOnce()) -> io::Result<()> {
        let begin = monotonic();
        work();
        self.held += monotonic() - begin;
        self.write(HELD, self.held)
    }

    fn write(&self, word: usize, value: u64) -> io::Result<()> {
        self.file.write_all_at(&value.to_ne_bytes(), word as u64 * 8)
    }
}

impl Clock {
    /// The clock in a shared file.
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        raw::shared_page(file.as_fd()).map(Self)
    }

    pub(crate) fn now(self) -> Nanos {
        let before = self.0[START].load(Ordering::Relaxed) + self.0[HELD].load(Ordering::Relaxed);
        Nanos::new(monotonic() - before)
    }

    /// The number of a new file: each process of the run gets another.
    pub(crate) fn new_file(self) -> u32 {
        self.0[FILES].fetch_add(1, Ordering::Relaxed) as u32
    }

    /// The number of a new mount.
    pub(crate) fn new_mount(self) -> u16 {
        self.0[MOUNTS].fetch_add(1, Ordering::Relaxed) as u16
    }

    /// Time that passes between two readings with nothing between them: what a measured time has too much.
    pub(crate) fn price(self) -> Nanos {
        let mut gaps: Vec<u64> = (0..1001)
            .map(|_| {
                let before = self.now();
                (self.now() - before).get()
            })
            .collect();
        gaps.sort_unstable();
        Nanos::new(gaps[gaps.len() / 2])
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;

    #[test]
    fn time_that_is_held_does_not_pass() {
        let mut file = ClockFile::start().expect("a file in memory");
        let clock = Clock::of(file.file()).expect("it can be mapped");
        let before = clock.now();
        file.hold(|| sleep(Duration::from_millis(200))).expect("it can be written");
        assert!(clock.now() - before < Nanos::new(150_000_000));
        assert!(file.now() >= before);
        assert!(clock.price() < Nanos::new(100_000));
        assert_eq!([clock.new_file(), clock.new_file()], [0, 1]);
    }
}
