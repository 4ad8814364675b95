//! Wall-clock and CPU time of the calling thread.

use std::time::Instant;

use order9_units::Nanos;
use rustix::time::{ClockId, clock_gettime};

/// A running measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    wall: Instant,
    cpu: Nanos,
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { wall: Instant::now(), cpu: thread_cpu_time() }
    }

    /// Wall-clock time since the start.
    pub(crate) fn wall(&self) -> Nanos {
        Nanos::new(u64::try_from(self.wall.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// CPU time this thread used since the start, in the kernel and outside.
    pub(crate) fn cpu(&self) -> Nanos {
        thread_cpu_time().saturating_sub(self.cpu)
    }
}

fn thread_cpu_time() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanos) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
    Nanos::new(seconds * 1_000_000_000 + nanos)
}
