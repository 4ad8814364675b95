//! Runs that have ended are kept beside the place of the run directory, until that is written: an experiment that is
//! interrupted goes on where it was.

use std::fs;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use order9_lab::{Finished, Plan, asked};
use order9_record::{Begin, Digest, ExtraFile, Inputs, Partial, Run, Target, WriteError};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::emulate_default_handler;

use super::progress::Progress;
use crate::failure::{Failure, io_sentence};
use crate::output::complain;

/// Runs that are kept as they end, and the first error in keeping one.
pub(super) struct Keeping {
    partial: Partial,
    state: Arc<Mutex<State>>,
}

/// Whoever holds its lock sees no run half kept.
struct State {
    /// Number of runs that are kept.
    count: usize,
    failed: Option<WriteError>,
}

/// Runs and files that an interrupted attempt has kept.
#[derive(Default)]
pub(super) struct Left {
    pub(super) finished: Finished,
    /// Files that its runs add to the run directory.
    pub(super) files: Vec<ExtraFile>,
}

impl Keeping {
    /// Beside the place `target`; `begin` says what becomes of runs that are there already.
    pub(super) fn open(target: &Target, plan: &Plan, begin: Begin) -> Result<(Self, Left), Failure> {
        let (partial, kept) = target.partial(own_digest()?, &asked(plan), begin).map_err(|error| refused(&error))?;
        let state = State { count: kept.len(), failed: None };
        let mut left = Left::default();
        for kept in kept {
            left.finished.inputs.get_or_insert(kept.inputs);
            left.finished.runs.push(kept.run);
            left.files.extend(kept.files);
        }
        Ok((Self { partial, state: Arc::new(Mutex::new(state)) }, left))
    }

    /// Keeps a run. After a failure nothing more is kept.
    pub(super) fn keep(&self, inputs: &Inputs, run: &Run, files: &[ExtraFile]) {
        let mut state = locked(&self.state);
        if state.failed.is_none() {
            state.failed = self.partial.keep(inputs, run, files).err();
            state.count += usize::from(state.failed.is_none());
        }
    }

    /// A run could not start: where none has ended before, nothing is left behind.
    pub(super) fn give_up(self) {
        if locked(&self.state).count == 0 {
            // The refusal that follows says more than that a folder could not be removed.
            let _ = self.partial.remove();
        }
    }

    /// Closes the place of the kept runs once all runs have ended.
    ///
    /// # Errors
    /// The first error in keeping a run.
    pub(super) fn finish(self) -> Result<Partial, Failure> {
        let failed = locked(&self.state).failed.take();
        failed.map_or(Ok(self.partial), |error| Err(refused(&error)))
    }

    /// Says how `to_go_on` when a signal ends the program.
    pub(super) fn interruptible(
        &self,
        progress: Arc<Progress>,
        total: usize,
        to_go_on: &'static str,
    ) -> Result<Interruptible, Failure> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let handle = signals.handle();
        let (state, place) = (Arc::clone(&self.state), self.partial.directory().to_owned());
        thread::spawn(move || {
            let Some(signal) = signals.forever().next() else { return };
            // Held to the end of the program: no run is kept after the count is told.
            let state = locked(&state);
            progress.clear();
            complain(&Failure::Usage(match state.count {
                0 => {
                    // Nothing is lost that this would not say again.
                    let _ = fs::remove_dir_all(&place);
                    format!("interrupted before the first of {total} runs has ended: nothing is kept")
                }
                kept => format!("interrupted: {kept} of {total} runs are kept; {to_go_on} goes on"),
            }));
            // If the signal cannot end the program, the runs go on.
            let _ = emulate_default_handler(signal);
            drop(state);
        });
        Ok(Interruptible(handle))
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Explains signals as long as it lives.
pub(super) struct Interruptible(Handle);

impl Drop for Interruptible {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Digest of this program: another one could give other results.
pub(crate) fn own_digest() -> Result<Digest, Failure> {
    let read = || -> io::Result<_> { fs::read(std::env::current_exe()?) };
    let bytes = read().map_err(|error| Failure::Usage(format!("this program: {}", io_sentence(&error))))?;
    Ok(Digest::of_bytes(&bytes))
}

/// The refusal, with what can be done.
pub(crate) fn refused(error: &WriteError) -> Failure {
    let hint = match error {
        WriteError::Exists { .. } => "; --force replaces it",
        WriteError::Unfinished { .. } => "; --resume goes on with it, --force starts anew",
        WriteError::OtherInputs { .. } | WriteError::Key { .. } => "; --force without --resume starts anew",
        _ => "",
    };
    Failure::Usage(format!("{error}{hint}"))
}
