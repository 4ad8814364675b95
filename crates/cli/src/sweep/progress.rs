//! Progress of a sweep: one line on standard error, where that is a terminal.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use order9_sweep::{Ended, Progress};

use crate::run::coarse;

/// The line.
pub(super) struct Shown {
    line: ProgressBar,
    begun: Instant,
}

impl Shown {
    pub(super) fn new() -> Self {
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("the template is sound");
        let line = ProgressBar::no_length().with_style(style);
        line.enable_steady_tick(Duration::from_millis(120));
        Self { line, begun: Instant::now() }
    }
}

impl Progress for Shown {
    fn ended(&self, Ended { done, was_kept, ended, total }: Ended<'_>) {
        let left = total - ended;
        let rest = if was_kept || ended == 0 {
            String::new()
        } else {
            format!(", about {} left", coarse(self.begun.elapsed().mul_f64(left as f64 / ended as f64)))
        };
        let (policy, machine) = (&done.axes.policy, &done.axes.machine);
        self.line.set_message(format!("{ended} of {total} cells{rest}; last: {policy}, {machine}, seed {}", done.seed));
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}
