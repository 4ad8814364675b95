//! Runs that have ended are kept beside the place of the run directory, until that is written: an experiment that is
//! interrupted goes on where it was.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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
    /// Number of runs that are kept.
    count: Arc<AtomicUsize>,
    failed: Mutex<Option<WriteError>>,
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
        let count = Arc::new(AtomicUsize::new(kept.len()));
        let mut left = Left::default();
        for kept in kept {
            left.finished.inputs.get_or_insert(kept.inputs);
            left.finished.runs.push(kept.run);
            left.files.extend(kept.files);
        }
        Ok((Self { partial, count, failed: Mutex::default() }, left))
    }

    /// Keeps a run. After a failure nothing more is kept.
    pub(super) fn keep(&self, inputs: &Inputs, run: &Run, files: &[ExtraFile]) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_none() {
            *failed = self.partial.keep(inputs, run, files).err();
            self.count.fetch_add(usize::from(failed.is_none()), Ordering::Relaxed);
        }
    }

    /// A run could not start: where none has ended before, nothing is left behind.
    pub(super) fn give_up(self) {
        if self.count.load(Ordering::Relaxed) == 0 {
            // The refusal that follows says more than that a folder could not be removed.
            let _ = self.partial.remove();
        }
    }

    /// Closes the place of the kept runs once all runs have ended.
    ///
    /// # Errors
    /// The first error in keeping a run.
    pub(super) fn finish(self) -> Result<Partial, Failure> {
        let failed = self.failed.into_inner().unwrap_or_else(PoisonError::into_inner);
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
        let (count, place) = (Arc::clone(&self.count), self.partial.directory().to_owned());
        thread::spawn(move || {
            let Some(signal) = signals.forever().next() else { return };
            progress.clear();
            complain(&Failure::Usage(match count.load(Ordering::Relaxed) {
                0 => {
                    // Nothing is lost that this would not say again.
                    let _ = fs::remove_dir_all(&place);
                    format!("interrupted before the first of {total} runs has ended: nothing is kept")
                }
                kept => format!("interrupted: {kept} of {total} runs are kept; {to_go_on} goes on"),
            }));
            // If the signal cannot end the program, the runs go on.
            let _ = emulate_default_handler(signal);
        });
        Ok(Interruptible(handle))
    }
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
