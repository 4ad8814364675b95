//! How long something took this thread, whatever else the machine does.

use std::time::{Duration, Instant};

/// Time of this thread on a processor, or by the clock where the host does not tell.
pub(crate) struct Stopwatch {
    clock: Instant,
    on_cpu: Option<Duration>,
}

impl Stopwatch {
    /// From now on.
    pub(crate) fn start() -> Self {
        Self { clock: Instant::now(), on_cpu: on_cpu() }
    }

    /// Since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        on_cpu().zip(self.on_cpu).map_or_else(|| self.clock.elapsed(), |(now, then)| now - then)
    }
}

/// Linux counts it in nanoseconds, up to date to a scheduler tick.
fn on_cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split_whitespace().next()?.parse().ok()?))
}
