//! Progress of runs: a line for all and one for each that goes on, on standard error, where that is a terminal.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use order9_lab::Cell;
use order9_report::number::duration;
use order9_units::Nanos;

/// Lines that show the progress.
pub(super) struct Progress {
    lines: MultiProgress,
    /// Above all others, where there are several runs.
    whole: ProgressBar,
    /// Name of the experiment, where several are made one after the other.
    title: Option<String>,
    begun: Instant,
    /// Runs to be made, and those of them that had ended before.
    total: usize,
    before: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: BTreeMap<(usize, u64), Running>,
    /// Virtual durations of the runs that have ended.
    ended: Vec<Nanos>,
}

struct Running {
    line: ProgressBar,
    /// Virtual time that the run has reached.
    now: Nanos,
}

impl Progress {
    /// Progress of `total` runs of the experiment `title`; an earlier attempt has made some, which took the virtual times `ended`.
    pub(super) fn new(title: Option<&str>, total: usize, ended: Vec<Nanos>) -> Self {
        let lines = MultiProgress::new();
        let whole = if total > 1 || title.is_some() { lines.add(line("{msg}")) } else { ProgressBar::hidden() };
        let title = title.map(str::to_owned);
        let (before, state) = (ended.len(), Mutex::new(State { ended, ..State::default() }));
        Self { lines, whole, title, begun: Instant::now(), total, before, state }
    }

    /// A run has come to `now`.
    pub(super) fn tick(&self, policy: &str, cell: Cell, now: Nanos) {
        let mut state = self.state();
        let running = state.running.entry((cell.policy, cell.seed)).or_insert_with(|| {
            let line = self.lines.add(line("{prefix}: {msg}, {elapsed} so far"));
            line.set_prefix(format!("{policy}, seed {}", cell.seed));
            Running { line, now }
        });
        running.now = now;
        let speed = now.get() as f64 / 1e9 / running.line.elapsed().as_secs_f64().max(1e-9);
        running.line.set_message(format!("simulated {}, {speed:.1} times real time", duration(now)));
        self.say(&state);
    }

    /// A run has ended, which took so long in virtual time.
    pub(super) fn ended(&self, cell: Cell, took: Nanos) {
        let mut state = self.state();
        state.ended.push(took);
        if let Some(running) = state.running.remove(&(cell.policy, cell.seed)) {
            running.line.finish_and_clear();
        }
        self.say(&state);
    }

    /// Leaves the terminal as it was, whatever still runs.
    pub(super) fn clear(&self) {
        // A terminal that is gone needs no clearing.
        let _ = self.lines.clear();
    }

    fn say(&self, state: &State) {
        let done = state.ended.len();
        let usual = state.ended.iter().map(|took| took.get() as f64).sum::<f64>() / done as f64;
        let parts = state.running.values().map(|running| (running.now.get() as f64 / usual).min(0.99));
        // Before a run has ended nobody knows how long one takes.
        let parts = if done == 0 { 0.0 } else { parts.sum() };
        let Outlook { percent, left } = outlook(self.total, self.before, done as f64 + parts, self.begun.elapsed());
        let left = left.map(|left| format!(", about {} left", coarse(left))).unwrap_or_default();
        let title = self.title.iter().map(|title| format!("{title}: ")).collect::<String>();
        self.whole.set_message(format!("{title}{done} of {} runs, {percent} %{left}", self.total));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line that does not look dead while virtual time goes on slowly.
fn line(template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template).expect("the template is sound");
    let line = ProgressBar::no_length().with_style(style);
    line.enable_steady_tick(Duration::from_millis(500));
    line
}

/// Share that is done, and remaining time where that can be told.
#[derive(Debug, PartialEq, Eq)]
struct Outlook {
    percent: u32,
    left: Option<Duration>,
}

/// Remaining time: `done` of `total` runs are made, parts included, and all but the first `before` took `elapsed`.
fn outlook(total: usize, before: usize, done: f64, elapsed: Duration) -> Outlook {
    let share = (done / total as f64).min(1.0);
    let own = done - before as f64;
    let left = (own > 0.0).then(|| elapsed.mul_f64((total as f64 - done).max(0.0) / own));
    Outlook { percent: (share * 100.0) as u32, left }
}

/// A time to wait: `40 s`, `12 min`, `3 h`.
pub(crate) fn coarse(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=99 => format!("{seconds} s"),
        seconds @ 100..=5999 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_takes_as_long_as_the_runs_before_did() {
        let minute = Duration::from_secs(60);
        assert_eq!(outlook(4, 0, 1.0, minute), Outlook { percent: 25, left: Some(3 * minute) });
        assert_eq!(outlook(4, 2, 3.0, minute), Outlook { percent: 75, left: Some(minute) });
        assert_eq!(outlook(4, 0, 0.0, minute), Outlook { percent: 0, left: None });
        assert_eq!(outlook(4, 4, 4.0, minute), Outlook { percent: 100, left: None });
        assert_eq!([40, 130, 7300].map(|seconds| coarse(Duration::from_secs(seconds))), ["40 s", "3 min", "3 h"]);
    }
}
