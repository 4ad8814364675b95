//! Work that takes more than a moment, shown on standard error where that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A line that says what goes on, and for how long already. It goes when this is dropped.
pub(crate) struct Waiting(ProgressBar);

impl Waiting {
    /// Work whose length nobody knows.
    pub(crate) fn new(work: &'static str) -> Self {
        Self::with(ProgressBar::no_length(), "{spinner} {msg}, {elapsed} so far", work)
    }

    /// Work of `steps` equal steps: the remaining time is shown after the first.
    pub(crate) fn of(steps: usize, work: &'static str) -> Self {
        Self::with(ProgressBar::new(steps as u64), "{spinner} {msg}: {pos} of {len}, about {eta} left", work)
    }

    fn with(bar: ProgressBar, template: &str, work: &'static str) -> Self {
        let bar = bar.with_style(ProgressStyle::with_template(template).expect("the template is sound"));
        bar.set_message(work);
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    /// The work goes on with something else.
    pub(crate) fn goes_on(&self, work: &'static str) {
        self.0.set_message(work);
    }

    /// The work is so many steps in all, as is known by now.
    pub(crate) fn is_of(&self, steps: usize) {
        self.0.set_length(steps as u64);
    }

    /// Shows that so many steps are done.
    pub(crate) fn done(&self, steps: usize) {
        self.0.set_position(steps as u64);
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
