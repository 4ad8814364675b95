//! `--timing`: how long each part took, beside merely reading the two files.

use std::time::{Duration, Instant};

use order9_host::{Root, plain_read};
use order9_report::number::duration;
use order9_units::{Bytes, Nanos, Pages};

/// A running measurement of phases.
pub(crate) struct Timing {
    last: Instant,
    phases: Vec<(&'static str, Duration)>,
}

impl Timing {
    pub(crate) fn start() -> Self {
        Self { last: Instant::now(), phases: Vec::new() }
    }

    /// The phase that ends now.
    pub(crate) fn phase(&mut self, name: &'static str) {
        let now = Instant::now();
        self.phases.push((name, now - self.last));
        self.last = now;
    }

    /// The phases; then, where `root` says what was read, the same files read and thrown away, now, for comparison.
    /// `frames` is the length of the map.
    pub(crate) fn text(&self, root: Option<&Root>, frames: Pages) -> String {
        let whole: Duration = self.phases.iter().map(|(_, time)| *time).sum();
        let mut out = "\nTiming\n".to_owned();
        let mut line = |name: &str, value: String| out.push_str(&format!("  {name:<28}{value:>10}\n"));
        for (name, time) in &self.phases {
            line(name, duration(nanos(*time)));
        }
        line("all", duration(nanos(whole)));
        let rate = Bytes::new(frames.get() * 8).get() as f64 / whole.as_secs_f64() / 1e9;
        line("kpageflags per second", format!("{rate:.2} GB"));
        match root.map(plain_read) {
            None => {}
            Some(Err(error)) => line("plain read of both files", format!("failed: {error}")),
            Some(Ok(plain)) => {
                line("plain read of both files", duration(plain.wall));
                line("all / plain read", format!("{:.2}", whole.as_secs_f64() * 1e9 / plain.wall.get() as f64));
            }
        }
        out
    }
}

fn nanos(time: Duration) -> Nanos {
    Nanos::new(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
