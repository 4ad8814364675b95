//! How far runs have come: a line for each on standard error, where that is a terminal.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use order9_lab::Cell;
use order9_report::number::duration;
use order9_units::Nanos;

/// The lines.
pub(super) struct Progress {
    lines: MultiProgress,
    running: Mutex<BTreeMap<(usize, u64), ProgressBar>>,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self { lines: MultiProgress::new(), running: Mutex::default() }
    }

    /// A run has come to `now`.
    pub(super) fn tick(&self, policy: &str, cell: Cell, now: Nanos) {
        let mut running = self.running();
        let line = running.entry((cell.policy, cell.seed)).or_insert_with(|| {
            let style = ProgressStyle::with_template("{prefix}: {msg}, {elapsed} so far");
            let style = style.expect("the template is sound");
            let prefix = format!("{policy}, seed {}", cell.seed);
            let line = self.lines.add(ProgressBar::no_length().with_style(style).with_prefix(prefix));
            // Virtual time may go on slowly: the line should not look dead meanwhile.
            line.enable_steady_tick(Duration::from_millis(500));
            line
        });
        let speed = now.get() as f64 / 1e9 / line.elapsed().as_secs_f64().max(1e-9);
        line.set_message(format!("simulated {}, {speed:.1} times real time", duration(now)));
    }

    /// A run has ended.
    pub(super) fn ended(&self, cell: Cell) {
        if let Some(line) = self.running().remove(&(cell.policy, cell.seed)) {
            line.finish_and_clear();
        }
    }

    /// Leaves the terminal as it was, whatever still runs.
    pub(super) fn clear(&self) {
        // A terminal that is gone needs no clearing.
        let _ = self.lines.clear();
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<(usize, u64), ProgressBar>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
