//! Runs on this host.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use order9_live::{JOURNAL_DIRECTORY, Job, Journal, Limits, SuperviseError, Supervised, supervise};
use order9_record::{ExtraFile, Run};
use order9_units::{Bytes, CounterMeaning};

use crate::here::Here;

/// A run on this host, and the snapshots that it asked for.
pub struct Benched {
    /// The run.
    pub run: Run,
    /// Snapshots, as files of a run directory.
    pub snapshots: Vec<ExtraFile>,
    /// Whether somebody interrupted it.
    pub interrupted: bool,
}

/// Reason for which a run did not start.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The path of this program is not known, which starts itself again.
    #[error("this program cannot start itself: {0}")]
    NoProgram(std::io::Error),
    /// The supervisor could not start it.
    #[error(transparent)]
    Supervise(#[from] SuperviseError),
}

/// Memory of a host with so much that a program must leave available: a sixteenth, at least 256 MiB.
#[must_use]
pub fn reserve_of(memory: Bytes) -> Bytes {
    Bytes::new((memory.get() / 16).max(256 << 20))
}

/// Runs `job` on this host as the column `title`. `program` is the argument with which this program, started again, runs
/// [`program`](order9_live::program()).
///
/// # Errors
/// What kept the run from starting.
pub fn bench(
    job: &Job,
    title: &str,
    journal: &Journal,
    interrupted: &AtomicBool,
    program: &str,
    meaning: &dyn Fn(&str) -> Option<CounterMeaning>,
) -> Result<Benched, BenchError> {
    let mut command = Command::new(std::env::current_exe().map_err(BenchError::NoProgram)?);
    command.arg(program);
    let mut here = Here::new(title, job.seed, meaning);
    let limits = Limits { interrupted, guards_machine: true, time: None };
    let end = supervise(job, Some(journal), limits, command, &mut here)?;
    let interrupted = end == Supervised::Interrupted;
    Ok(Benched { run: here.collector.finish(end), snapshots: here.snapshots, interrupted })
}

/// The directory of a host's journal.
#[must_use]
pub fn journal_directory() -> &'static Path {
    Path::new(JOURNAL_DIRECTORY)
}
