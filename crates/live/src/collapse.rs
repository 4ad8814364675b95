//! Collapses memory of another process into huge pages: `process_madvise` with `MADV_COLLAPSE`, from 6.1 on.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use order9_units::{Bytes, Nanos};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::raw;

/// A process whose memory may be collapsed.
#[derive(Debug)]
pub struct Collapser(OwnedFd);

impl Collapser {
    /// The process with this number.
    ///
    /// # Errors
    /// Where there is none.
    pub fn open(pid: u32) -> io::Result<Self> {
        let pid = Pid::from_raw(pid.cast_signed()).ok_or(io::ErrorKind::NotFound)?;
        Ok(Self(pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Collapses a range of whole huge pages, and says how long that took.
    ///
    /// # Errors
    /// Memory that cannot be collapsed now, a process that is gone, missing rights (CAP_SYS_NICE, and to trace the process).
    pub fn collapse(&self, start: u64, length: Bytes) -> io::Result<Duration> {
        let begin = Instant::now();
        raw::collapse(self.0.as_fd(), start, length)?;
        Ok(begin.elapsed())
    }
}

/// CPU time of the calling thread; zero where the kernel does not count it.
#[must_use]
pub fn own_cpu_time() -> Nanos {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Nanos::new(text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0))
}
