//! A recording: counters, files and events of the kernel while something else runs. Nothing of the host is changed.

use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

use order9_journal::{DIRECTORY, exclusive};
use order9_units::Nanos;
use order9_workloads::Requests;
use rustix::process::{Pid, Signal, kill_process};

use crate::cgroups::cgroup_files;
use crate::clock::ClockFile;
use crate::message::Message;
use crate::readings::{Readings, read_facts};
use crate::supervisor::{LOOK, SuperviseError, Witness, failed, tell_files, tell_reading};
use crate::traces::{REQUEST, Traces};

/// Name of the instance of tracefs: another one than a bench has, which may be what is recorded.
const INSTANCE: &str = "order9-record";
/// Files that are kept over time. Whoever reads /proc/pagetypeinfo holds locks of zones meanwhile, and would disturb.
const MONITORED: [&str; 2] = ["/proc/buddyinfo", "/proc/zoneinfo"];
/// Time in which a command may end by itself after a signal that it has probably got, too, and after one from here.
const PATIENCE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(10)];

/// Recording of this host.
#[derive(Clone, Copy, Debug)]
pub struct Recorder<'a> {
    /// Time between two readings of the counters.
    pub every: Nanos,
    /// Tracepoints. Events of `mm_page_alloc` are counted by type and order, those of others are kept.
    pub events: &'a [String],
    /// Whether files of the control groups with most memory are kept, too, whose names are private data.
    pub cgroups: bool,
    /// Duration of the recording; `None` goes on until the command ends or somebody interrupts it.
    pub time: Option<Duration>,
    /// Set from outside: the recording is to end.
    pub interrupted: &'a AtomicBool,
}

/// End of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Whether somebody interrupted it.
    pub interrupted: bool,
    /// End of the command; `None` without one, and where it goes on.
    pub command: Option<ExitStatus>,
    /// Events that are known to be lost.
    pub lost: u64,
    /// Places at which an unknown number of events was lost.
    pub gaps: u64,
}

impl Recorder<'_> {
    /// Records until `command` ends, the time has passed, or somebody interrupts. The snapshots `start` and `end` are taken before the
    /// first and after the last reading.
    ///
    /// # Errors
    /// What kept the recording from starting.
    pub fn record(&self, command: Option<Command>, witness: &mut dyn Witness) -> Result<Recorded, SuperviseError> {
        let readings = Readings::open().map_err(failed("counters"))?;
        let facts = read_facts(0, None).map_err(failed("the machine's size"))?;
        // Tracefs may be mounted for the thread that reads it: a command gets none of that.
        let starter = command.map(Starter::new);
        let _lock = self.lock()?;
        let mut traces = Traces::start(INSTANCE, self.events, true)?;
        let counts = self.events.iter().any(|name| name.rsplit(':').next() == Some(REQUEST));
        let counters = readings.names().iter().cloned().chain(Requests::names().filter(|_| counts)).collect();
        witness.message(Message::Started { facts, counters, notes: readings.notes().to_vec() });
        witness.snapshot("start");
        let clock = ClockFile::start().map_err(failed("a clock"))?;
        tell_files(Nanos::ZERO, witness);
        // Events that came while memory and files were looked at belong to no interval.
        traces.forget();
        let files = monitored().chain(self.cgroups.then(cgroup_files).into_iter().flatten()).collect();
        let mut session = Session { readings, clock, traces, files };
        session.reading(witness);
        let mut child = starter.map(Starter::start).transpose()?;
        let status = self.listen(&mut session, child.as_mut(), witness);
        session.finish(witness);
        witness.snapshot("end");
        let interrupted = status.is_none() && self.interrupted.load(Ordering::Relaxed);
        let command = status.or_else(|| end(child.as_mut()?, interrupted));
        let end = End { interrupted, with_command: status.is_some(), goes_on: child.is_some() && command.is_none() };
        witness.message(Message::Note(end.sentence(command)));
        let (lost, gaps) = session.traces.losses();
        Ok(Recorded { interrupted, command, lost, gaps })
    }

    /// Events are one recording's at a time.
    fn lock(&self) -> Result<Option<File>, SuperviseError> {
        if self.events.is_empty() {
            return Ok(None);
        }
        let folder = Path::new(DIRECTORY);
        fs::create_dir_all(folder).map_err(failed(DIRECTORY))?;
        let lock = exclusive(&folder.join("record")).map_err(failed(DIRECTORY))?;
        lock.map(Some).ok_or(SuperviseError::Recording)
    }

    /// Reads until the end; how the command ended, if that was it.
    fn listen(
        &self,
        session: &mut Session,
        mut child: Option<&mut Child>,
        witness: &mut dyn Witness,
    ) -> Option<ExitStatus> {
        let begin = Instant::now();
        let every = Duration::from_nanos(self.every.get().max(1_000_000));
        let mut next = begin + every;
        loop {
            if self.interrupted.load(Ordering::Relaxed) || self.time.is_some_and(|time| begin.elapsed() >= time) {
                return None;
            }
            if let Some(Ok(Some(status))) = child.as_mut().map(|child| child.try_wait()) {
                return Some(status);
            }
            let now = Instant::now();
            if now >= next {
                session.reading(witness);
                next = (next + every).max(now);
            } else {
                session.traces.take(&session.clock, witness);
            }
            let end = self.time.map_or(next, |time| next.min(begin + time));
            sleep(LOOK.min(end.saturating_duration_since(Instant::now())).max(Duration::from_millis(1)));
        }
    }
}

/// A recording that goes on.
struct Session {
    readings: Readings,
    clock: ClockFile,
    traces: Traces,
    /// Paths of files that are kept over time.
    files: Vec<String>,
}

impl Session {
    fn reading(&mut self, witness: &mut dyn Witness) {
        // Events and counters of one time.
        self.traces.take(&self.clock, witness);
        tell_reading(&self.readings, &self.clock, self.traces.requests(), witness);
        // A control group that is gone has an empty file from then on: there are always the same ones.
        let read = |path: &String| (path.clone(), fs::read_to_string(path).unwrap_or_default());
        let files = self.files.iter().map(read).collect();
        witness.message(Message::Monitored { at: self.clock.now(), files });
    }

    fn finish(&mut self, witness: &mut dyn Witness) {
        self.reading(witness);
        self.traces.finish(&self.clock, witness);
        tell_files(self.clock.now(), witness);
    }
}

/// Files that this kernel has, those of its nodes included.
fn monitored() -> impl Iterator<Item = String> {
    let nodes = (0..).map(|node| format!("/sys/devices/system/node/node{node}/numastat"));
    let nodes = nodes.take_while(|path| Path::new(path).is_file());
    let files = MONITORED.iter().map(|path| (*path).to_owned()).filter(|path| File::open(path).is_ok());
    files.chain(nodes)
}

/// A thread that starts a command once it is told to, in the name space of mounts in which it was made.
struct Starter {
    name: String,
    go: Sender<()>,
    thread: JoinHandle<Option<io::Result<Child>>>,
}

impl Starter {
    fn new(mut command: Command) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        let (go, told) = channel();
        // Nobody tells it where the recording does not start.
        let thread = thread::spawn(move || told.recv().ok().map(|()| command.spawn()));
        Self { name, go, thread }
    }

    fn start(self) -> Result<Child, SuperviseError> {
        let Self { name, go, thread } = self;
        let refused = |error| SuperviseError::Command { name, error };
        let gone = || io::Error::other("the thread that starts it is gone");
        go.send(()).map_err(|_| gone()).and_then(|()| thread.join().ok().flatten().ok_or_else(gone)?).map_err(refused)
    }
}

/// Ends a command whose recording is over; `None` where it goes on nevertheless.
fn end(child: &mut Child, interrupted: bool) -> Option<ExitStatus> {
    if interrupted && let Some(status) = wait(child, PATIENCE[0]) {
        return Some(status);
    }
    let pid = Pid::from_raw(child.id().cast_signed())?;
    // A command that has ended meanwhile is waited for all the same.
    let _ = kill_process(pid, Signal::TERM);
    wait(child, PATIENCE[1])
}

/// Waits for the end of a command, but not for ever.
fn wait(child: &mut Child, patience: Duration) -> Option<ExitStatus> {
    let until = Instant::now() + patience;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => sleep(Duration::from_millis(10)),
            _ => return None,
        }
    }
}

/// Reason of an end.
#[derive(Clone, Copy)]
struct End {
    interrupted: bool,
    with_command: bool,
    /// Whether there is a command that did not end when it was asked to.
    goes_on: bool,
}

impl End {
    fn sentence(self, command: Option<ExitStatus>) -> String {
        let why = match (self.with_command, self.interrupted) {
            (true, _) => "with its command",
            (false, true) => "by a signal",
            (false, false) => "after the time that was asked for",
        };
        let command = match command.map(|status| (status.code(), status.signal())) {
            Some((Some(code), _)) => format!("; the command ended with exit status {code}"),
            Some((None, Some(signal))) => format!("; signal {signal} ended the command"),
            _ if self.goes_on => "; the command goes on, though it was asked to end".to_owned(),
            _ => String::new(),
        };
        format!("the recording ended {why}{command}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps what is said.
    #[derive(Default)]
    struct Keeper {
        messages: Vec<Message>,
        snapshots: Vec<String>,
    }

    impl Witness for Keeper {
        fn message(&mut self, message: Message) {
            self.messages.push(message);
        }

        fn snapshot(&mut self, name: &str) {
            self.snapshots.push(name.to_owned());
        }
    }

    fn recorded(time: Option<Duration>, interrupted: bool, command: Option<Command>) -> (Recorded, Keeper) {
        let interrupted = AtomicBool::new(interrupted);
        let every = Nanos::new(20_000_000);
        let recorder = Recorder { every, events: &[], cgroups: false, time, interrupted: &interrupted };
        let mut keeper = Keeper::default();
        let recorded = recorder.record(command, &mut keeper).expect("counters can be read by anybody");
        (recorded, keeper)
    }

    fn shell(line: &str) -> Option<Command> {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        Some(command)
    }

    fn notes(keeper: &Keeper) -> Vec<&str> {
        let notes = keeper.messages.iter().filter_map(|message| match message {
            Message::Note(note) => Some(note.as_str()),
            _ => None,
        });
        notes.collect()
    }

    #[test]
    fn a_recording_has_both_ends_and_what_is_between() {
        let (recorded, keeper) = recorded(Some(Duration::from_millis(100)), false, None);
        assert_eq!((recorded.interrupted, recorded.command), (false, None));
        assert_eq!(keeper.snapshots, ["start", "end"]);
        assert!(matches!(keeper.messages[0], Message::Started { .. }));
        let readings = keeper.messages.iter().filter(|message| matches!(message, Message::Reading { .. })).count();
        assert!((2..=8).contains(&readings), "{readings}");
        assert_eq!(notes(&keeper), ["the recording ended after the time that was asked for"]);
    }

    #[test]
    fn a_command_ends_its_recording_or_is_ended_by_it() {
        let (ended, keeper) = recorded(None, false, shell("exit 3"));
        assert_eq!((ended.command.and_then(|status| status.code()), ended.interrupted), (Some(3), false));
        assert_eq!(notes(&keeper), ["the recording ended with its command; the command ended with exit status 3"]);
        let (ended, keeper) = recorded(Some(Duration::from_millis(50)), false, shell("exec sleep 60"));
        assert_eq!(ended.command.and_then(|status| status.signal()), Some(Signal::TERM.as_raw()));
        assert_eq!(
            notes(&keeper),
            ["the recording ended after the time that was asked for; signal 15 ended the command"]
        );
        let (ended, _) = recorded(None, true, shell("exec sleep 60"));
        assert!(ended.interrupted && ended.command.is_some());
    }

    #[test]
    fn a_command_that_does_not_start_is_an_error() {
        let interrupted = AtomicBool::new(false);
        let recorder =
            Recorder { every: Nanos::new(1), events: &[], cgroups: false, time: None, interrupted: &interrupted };
        let error = recorder.record(Some(Command::new("/no/such/program")), &mut Keeper::default());
        let error = error.expect_err("nothing starts").to_string();
        assert!(error.starts_with("/no/such/program: No such file"), "{error}");
    }
}
