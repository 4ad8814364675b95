//! Runs of a workload, as a command on a host makes them: settings come back at the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use order9_live::{JOURNAL_DIRECTORY, Job, Journal, Limits, Message, Supervised, Witness, read_frame, supervise};

use super::{Changes, start};
use crate::work::PROGRAM;

/// Argument with which this file is a run: its job comes from the standard input.
pub(super) const RUN: &str = "run";
/// Time that the program of a run which was killed has to end.
const ENDS: Duration = Duration::from_secs(20);

/// Runs the job as a command on a host does, but hears nothing of what the program says.
pub(super) fn main() -> Result<(), String> {
    let job: Job = read_frame(std::io::stdin()).map_err(|error| format!("no job came: {error}"))?;
    let (journal, _) = Journal::open(Path::new(JOURNAL_DIRECTORY)).map_err(|error| error.to_string())?;
    let limits = Limits { interrupted: &AtomicBool::new(false), guards_machine: true, time: None };
    let mut command = Command::new("/proc/self/exe");
    command.arg(PROGRAM);
    let end = supervise(&job, Some(&journal), limits, command, &mut Deaf).map_err(|error| error.to_string());
    journal.restore().map_err(|error| error.to_string())?;
    match end? {
        Supervised::Completed => Ok(()),
        end => Err(format!("{end:?}")),
    }
}

/// Hears nothing.
struct Deaf;

impl Witness for Deaf {
    fn message(&mut self, _: Message) {}

    fn snapshot(&mut self, _: &str) {}
}

/// Runs of a job.
pub(super) struct Run {
    job: Job,
    journal: PathBuf,
}

impl Run {
    pub(super) fn new(job: &Job) -> Self {
        let journal = Path::new(JOURNAL_DIRECTORY).join("undo");
        Self { job: Job { journal: Some(journal.clone()), ..job.clone() }, journal }
    }
}

impl Changes for Run {
    fn start(&self) -> Result<Child, String> {
        start(RUN, &self.job)
    }

    /// A program ends behind its supervisor.
    fn wait(&self) -> Result<(), String> {
        let until = Instant::now() + ENDS;
        while programs() > 0 {
            if Instant::now() > until {
                return Err(format!("a program runs {} s after its supervisor was killed", ENDS.as_secs()));
            }
            sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    fn take_back(&self) -> Result<(), String> {
        Journal::open(Path::new(JOURNAL_DIRECTORY)).map(|_| ()).map_err(|error| error.to_string())
    }

    fn way_back(&self) -> Option<PathBuf> {
        self.journal.exists().then(|| self.journal.clone())
    }
}

/// Programs that run, and children of a supervisor that have yet to become programs: they have its files open, its lock too.
fn programs() -> usize {
    let is_program = |path: &Path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        let word = line.split(|&byte| byte == 0).nth(1);
        [PROGRAM, RUN].iter().any(|own| word == Some(own.as_bytes()))
    };
    fs::read_dir("/proc").into_iter().flatten().flatten().filter(|entry| is_program(&entry.path())).count()
}
