//! State that all threads of a process share, and all processes of a run: files by number, the record, children, barriers.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use order9_units::Nanos;
use order9_workloads::{Ended, Spread};
use rustix::net::{SendFlags, send};

use crate::clock::Clock;
use crate::job::Job;
use crate::message::{Facts, Message, Sample, Unit};
use crate::readings::Readings;
use crate::space::Space;

/// Samples that are kept before they are sent: sending takes longer than taking one.
const BATCH: usize = 2048;

/// State that is the same for all processes of a run.
pub(crate) struct Run {
    pub(crate) job: Job,
    pub(crate) facts: Facts,
    pub(crate) clock: Clock,
    /// Time that passes between two readings of the clock.
    pub(crate) clock_price: Nanos,
    /// The supervisor's end of it hears messages.
    pub(crate) socket: OwnedFd,
    pub(crate) readings: Readings,
    /// Directory with a file, or a link to one, for each number.
    pub(crate) files: PathBuf,
    /// Directory with a directory for each mount.
    pub(crate) mounts: PathBuf,
}

/// A process of the run, with its threads.
pub(crate) struct Process {
    pub(crate) run: Arc<Run>,
    pub(crate) name: String,
    pub(crate) space: Space,
    state: Mutex<State>,
    barrier: Condvar,
}

/// All that a fork copies.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) record: Record,
    pub(crate) children: Vec<Child>,
    /// Open files by their numbers.
    pub(crate) open: BTreeMap<u32, Arc<File>>,
    /// Rings that pin areas, by the address where an area starts.
    pub(crate) pins: BTreeMap<u64, OwnedFd>,
    /// Pages of the kernel's that pipes hold.
    pub(crate) pipes: Vec<Option<(OwnedFd, OwnedFd)>>,
    pub(crate) spread: Spread,
    /// Waiting threads and finished rounds of each barrier.
    barriers: BTreeMap<String, (u64, u64)>,
    /// Numbers of threads of each name that were started.
    names: BTreeMap<String, u64>,
}

/// A child that somebody may wait for.
pub(crate) enum Child {
    Thread(std::thread::JoinHandle<Ended>),
    Process {
        pid: i32,
        name: String,
        report: OwnedFd,
    },
    /// Sign that somebody has waited for it.
    Gone,
}

/// Samples that were not sent yet.
#[derive(Default)]
pub(crate) struct Record {
    operations: Vec<(String, Unit)>,
    samples: Vec<Sample>,
}

impl Process {
    pub(crate) fn new(run: Arc<Run>, name: String, space: Space, state: State) -> Self {
        Self { run, name, space, state: Mutex::new(state), barrier: Condvar::new() }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        // A thread that panics ends the process.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until `threads` threads wait at the barrier of this name.
    pub(crate) fn wait_at(&self, name: &str, threads: u64) {
        let mut state = self.state();
        let (waiting, rounds) = state.barriers.entry(name.to_owned()).or_default();
        *waiting += 1;
        let round = *rounds;
        if *waiting >= threads {
            (*waiting, *rounds) = (0, round + 1);
            drop(state);
            self.barrier.notify_all();
            return;
        }
        let waits = |state: &mut State| state.barriers[name].1 == round;
        drop(self.barrier.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn record(&self, operation: &str, unit: Unit, value: f64) {
        let at = self.run.clock.now();
        let mut state = self.state();
        let record = &mut state.record;
        let known = record.operations.iter().position(|(name, _)| name == operation);
        let operation = known.unwrap_or_else(|| {
            record.operations.push((operation.to_owned(), unit));
            record.operations.len() - 1
        });
        record.samples.push(Sample { operation: operation as u32, at, value });
        if record.samples.len() >= BATCH {
            record.send(&self.run);
        }
    }

    /// Sends the samples that were kept.
    pub(crate) fn flush(&self) {
        self.state().record.send(&self.run);
    }
}

impl State {
    /// Number of a new thread called `name` among those that this process knows of.
    pub(crate) fn nth(&mut self, name: &str) -> u64 {
        let count = self.names.entry(name.to_owned()).or_default();
        *count += 1;
        *count - 1
    }

    /// The state of a child at its start.
    pub(crate) fn of_child(&self) -> Self {
        Self { spread: self.spread, names: self.names.clone(), ..Self::default() }
    }
}

impl Record {
    pub(crate) fn send(&mut self, run: &Run) {
        if self.samples.is_empty() {
            return;
        }
        let operations = std::mem::take(&mut self.operations);
        let samples = std::mem::replace(&mut self.samples, Vec::with_capacity(BATCH));
        run.say(&Message::Samples { operations, samples });
    }
}

impl Run {
    /// Tells the supervisor. A run whose supervisor is gone ends.
    pub(crate) fn say(&self, message: &Message) {
        if send(&self.socket, &message.to_bytes(), SendFlags::NOSIGNAL).is_err() {
            crate::raw::exit_now(1);
        }
    }
}
