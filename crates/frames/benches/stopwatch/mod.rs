//! How long something took this thread, whatever else the machine does.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Time of this thread on a processor.
pub(crate) struct Stopwatch {
    start: Duration,
}

impl Stopwatch {
    /// From now on.
    pub(crate) fn start() -> Self {
        Self { start: on_cpu() }
    }

    /// Since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        on_cpu() - self.start
    }
}

fn on_cpu() -> Duration {
    clock_gettime(ClockId::ThreadCPUTime).try_into().expect("time on a processor is not negative")
}
