//! The supervisor: starts a program, reads counters while it runs, keeps the machine from harm, and hands on what it hears.

use std::fs;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use order9_journal::{Journal, JournalError};
use order9_trace::InstanceError;
use order9_units::Nanos;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::{Deserialize, Serialize};

use crate::clock::ClockFile;
use crate::files;
use crate::job::Job;
use crate::message::{MESSAGE_MAX, Message, StopKind};
use crate::readings::{Readings, kib, read_facts};
use crate::traces::Traces;

/// Hears what a run says.
pub trait Witness {
    /// Takes a message.
    fn message(&mut self, message: Message);

    /// All processes of the run stand still, for the state of memory to be kept under this name.
    fn snapshot(&mut self, name: &str);
}

/// Limits that a supervisor sets to a program.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// Set from outside: the run is to end.
    pub interrupted: &'a AtomicBool,
    /// Whether the machine is one that others need: the program ends before memory runs out.
    pub guards_machine: bool,
    /// The longest time that a run may take.
    pub time: Option<Duration>,
}

/// End of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Supervised {
    /// The program came to its end.
    Completed,
    /// The program ended before its time.
    Stopped(StopKind, String),
    /// The supervisor ended the program: it had taken too much, or too long.
    Ended(String),
    /// The run was interrupted from outside.
    Interrupted,
}

/// Reason for which a run did not start.
#[derive(Debug, thiserror::Error)]
pub enum SuperviseError {
    /// A setting does not take its value.
    #[error(transparent)]
    Setting(#[from] JournalError),
    /// Events that were asked for cannot be had.
    #[error(transparent)]
    Events(#[from] InstanceError),
    /// Another instance has the events.
    #[error("another order9 records events of this host: wait for its end, or record without --events")]
    Recording,
    /// A command does not start.
    #[error("{name}: {error}")]
    Command {
        /// Name of its program.
        name: String,
        /// The error of the system.
        error: io::Error,
    },
    /// A call of the system failed.
    #[error("{what}: {error}")]
    System {
        /// The attempt.
        what: &'static str,
        /// The error of the system.
        error: io::Error,
    },
}

pub(crate) fn failed(what: &'static str) -> impl Fn(io::Error) -> SuperviseError {
    move |error| SuperviseError::System { what, error }
}

/// Name of the instance of tracefs.
const INSTANCE: &str = "order9";
/// Time between two looks at the machine's memory.
pub(crate) const LOOK: Duration = Duration::from_millis(50);
/// Share of the last ten seconds, in percent, in which nobody could run for want of memory, that ends a program.
const FULL_MAX: f64 = 80.0;

/// Runs a job. `command` starts a process that calls [`program`](crate::program()) with its standard input and the file that its
/// last argument names; settings are changed by way of `journal` where the machine is to be as before afterwards.
///
/// # Errors
/// What kept the program from starting.
pub fn supervise(
    job: &Job,
    journal: Option<&Journal>,
    limits: Limits<'_>,
    command: Command,
    witness: &mut dyn Witness,
) -> Result<Supervised, SuperviseError> {
    // Without it the watch goes on, if slower where memory is short.
    let _ = mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE | MlockAllFlags::ONFAULT);
    for (path, value) in &job.settings {
        match journal {
            Some(journal) => journal.set(path, value)?,
            None => fs::write(path, value).map_err(|error| JournalError::File { path: path.into(), error })?,
        }
    }
    // Files that another one has left would count as taken.
    let left = job.files.as_deref().map(files::remove_left).unwrap_or_default();
    let readings = Readings::open().map_err(failed("counters"))?;
    let facts = read_facts(job.reserve, job.files.as_deref()).map_err(failed("the machine's size"))?;
    let (counters, notes) = (readings.names().to_vec(), readings.notes().to_vec());
    witness.message(Message::Started { facts, counters, notes });
    left.into_iter().for_each(|text| witness.message(Message::Note(text)));
    let mut watch = Watch::start(job, limits, readings, command)?;
    tell_files(Nanos::ZERO, witness);
    watch.reading(witness);
    let stopped = watch.listen(witness);
    let ended = watch.end();
    watch.traces.finish(&watch.clock, witness);
    tell_files(watch.clock.now(), witness);
    watch.reading(witness);
    let left = job.files.as_deref().map(|parent| files::remove_of(parent, watch.child.id())).unwrap_or_default();
    left.into_iter().for_each(|text| witness.message(Message::Note(text)));
    Ok(outcome(stopped, ended, watch.said))
}

/// Files of /proc that are kept from the begin and the end of a run.
const FILES: [&str; 5] = ["/proc/vmstat", "/proc/zoneinfo", "/proc/meminfo", "/proc/buddyinfo", "/proc/pagetypeinfo"];

pub(crate) fn tell_files(at: Nanos, witness: &mut dyn Witness) {
    for path in FILES {
        // What a kernel does not have, a guest without root for instance, is not there to be told.
        if let Ok(text) = fs::read_to_string(path) {
            witness.message(Message::File { at, path: path.to_owned(), text });
        }
    }
}

/// A run that goes on.
struct Watch<'a> {
    limits: Limits<'a>,
    every: Duration,
    reserve: u64,
    readings: Readings,
    clock: ClockFile,
    child: Child,
    group: Pid,
    socket: OwnedFd,
    begin: Instant,
    /// Reason of the program's end, in its own words.
    said: Option<Option<(StopKind, String)>>,
    traces: Traces,
}

impl<'a> Watch<'a> {
    fn start(job: &Job, limits: Limits<'a>, readings: Readings, mut command: Command) -> Result<Self, SuperviseError> {
        let traces = Traces::start(INSTANCE, &job.events, false)?;
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let (socket, theirs) = pair.map_err(|error| failed("a socket")(error.into()))?;
        let clock = ClockFile::start().map_err(failed("a clock"))?;
        let path = format!("/proc/{}/fd/{}", std::process::id(), clock.file().as_raw_fd());
        let child = command.arg(path).stdin(Stdio::from(theirs)).stdout(Stdio::null()).process_group(0).spawn();
        let child = child.map_err(failed("the program"))?;
        // The command holds the other end as long as it lives, and the socket would never end.
        drop(command);
        let group = Pid::from_raw(child.id().cast_signed()).expect("a process has a number");
        let order = rmp_serde::to_vec(job).expect("numbers and texts can be written to memory");
        send(&socket, &order, SendFlags::NOSIGNAL).map_err(|error| failed("the order")(error.into()))?;
        let every = Duration::from_nanos(job.every.get().max(1_000_000));
        let begin = Instant::now();
        let reserve = job.reserve;
        Ok(Self { limits, every, reserve, readings, clock, child, group, socket, begin, said: None, traces })
    }

    /// Hands on messages until the program's end; what ended it from here.
    fn listen(&mut self, witness: &mut dyn Witness) -> Option<Supervised> {
        let mut buffer = vec![0; MESSAGE_MAX];
        let mut next = Instant::now() + self.every;
        loop {
            let now = Instant::now();
            if now >= next {
                self.reading(witness);
                next = (next + self.every).max(now);
            }
            self.traces.take(&self.clock, witness);
            if let Some(harm) = self.harm() {
                return Some(harm);
            }
            let wait = LOOK.min(next.saturating_duration_since(now)).max(Duration::from_millis(1));
            let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(wait.subsec_nanos()) };
            let mut ready = [PollFd::new(&self.socket, PollFlags::IN)];
            if !matches!(poll(&mut ready, Some(&timeout)), Ok(1..)) {
                continue;
            }
            match recv(self.socket.as_fd(), &mut buffer[..], RecvFlags::empty()) {
                Ok((length, _)) if length > 0 => self.heard(&buffer[..length], witness),
                _ => return None,
            }
        }
    }

    fn heard(&mut self, bytes: &[u8], witness: &mut dyn Witness) {
        match Message::from_bytes(bytes) {
            Ok(Message::Snapshot { name, pid }) => self.snapshot(&name, pid, witness),
            Ok(message) => {
                if let Message::Ended { stop, .. } = &message {
                    self.said = Some(stop.clone());
                }
                witness.message(message);
            }
            Err(error) => witness.message(Message::Note(format!("a message of the program was lost: {error}"))),
        }
    }

    /// Lets memory be looked at while nobody of the run moves.
    fn snapshot(&mut self, name: &str, pid: i32, witness: &mut dyn Witness) {
        let has_stopped = || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(')').is_some_and(|(_, rest)| rest.trim_start().starts_with(['T', 'Z']))
        };
        let until = Instant::now() + Duration::from_secs(1);
        while !has_stopped() && Instant::now() < until {
            sleep(Duration::from_millis(1));
        }
        // A group that is gone needs no stop; the look is then at what it left.
        let _ = kill_process_group(self.group, Signal::STOP);
        // Events of before have the clock of before.
        self.traces.take(&self.clock, witness);
        if let Err(error) = self.clock.hold(|| witness.snapshot(name)) {
            witness.message(Message::Note(format!("the time of the snapshot {name} is part of the run: {error}")));
        }
        let _ = kill_process_group(self.group, Signal::CONT);
    }

    /// Reason for which the program has to end now.
    fn harm(&self) -> Option<Supervised> {
        if self.limits.interrupted.load(Ordering::Relaxed) {
            return Some(Supervised::Interrupted);
        }
        if let Some(time) = self.limits.time.filter(|time| self.begin.elapsed() > *time) {
            return Some(Supervised::Ended(format!("the run was to take {} s at most", time.as_secs())));
        }
        if !self.limits.guards_machine {
            return None;
        }
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let available = kib(&meminfo, "MemAvailable:").unwrap_or(u64::MAX);
        if available < self.reserve / 2 {
            let why = format!(
                "{} MiB of memory were available still, and {} have to be",
                available >> 20,
                self.reserve >> 21
            );
            return Some(Supervised::Ended(why));
        }
        let full = full_pressure(&fs::read_to_string("/proc/pressure/memory").unwrap_or_default())?;
        let why = || format!("for {full:.0} % of ten seconds nobody on this machine could run for want of memory");
        (full > FULL_MAX).then(|| Supervised::Ended(why()))
    }

    fn reading(&self, witness: &mut dyn Witness) {
        tell_reading(&self.readings, &self.clock, [], witness);
    }

    /// Ends all that is left of the program.
    fn end(&mut self) -> io::Result<ExitStatus> {
        // A program that has said its last word needs a moment to leave by itself.
        let until = Instant::now() + Duration::from_secs(if self.said.is_some() { 10 } else { 0 });
        while Instant::now() < until {
            if let Some(status) = self.child.try_wait()? {
                let _ = kill_process_group(self.group, Signal::KILL);
                return Ok(status);
            }
            sleep(Duration::from_millis(2));
        }
        let _ = kill_process_group(self.group, Signal::KILL);
        self.child.wait()
    }
}

/// Reads all counters, behind which stand `others`.
pub(crate) fn tell_reading(
    readings: &Readings,
    clock: &ClockFile,
    others: impl IntoIterator<Item = u64>,
    witness: &mut dyn Witness,
) {
    match readings.read() {
        Ok(mut counters) => {
            counters.extend(others);
            witness.message(Message::Reading { at: clock.now(), counters });
        }
        Err(error) => witness.message(Message::Note(format!("a reading of the counters: {error}"))),
    }
}

/// `avg10` of the line `full` of /proc/pressure/memory.
fn full_pressure(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("full avg10="))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The end of a run, from what the supervisor did, how the process ended, and what it had said.
fn outcome(
    stopped: Option<Supervised>,
    ended: io::Result<ExitStatus>,
    said: Option<Option<(StopKind, String)>>,
) -> Supervised {
    match (stopped, said, ended) {
        (Some(stopped), _, _) => stopped,
        (None, Some(None), _) => Supervised::Completed,
        (None, Some(Some((kind, text))), _) => Supervised::Stopped(kind, text),
        (None, None, Ok(status)) => match status.signal() {
            Some(libc::SIGKILL) => Supervised::Stopped(
                StopKind::Memory,
                "the program was killed, as the kernel does where memory has run out".to_owned(),
            ),
            Some(signal) => Supervised::Stopped(StopKind::Other, format!("signal {signal} ended the program")),
            None => Supervised::Stopped(StopKind::Other, format!("the program did not start or broke off ({status})")),
        },
        (None, None, Err(error)) => Supervised::Stopped(StopKind::Other, format!("the program is gone: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_told_apart() {
        let status = |raw| Ok(ExitStatus::from_raw(raw));
        let stop = Some((StopKind::Memory, "memory has run out".to_owned()));
        assert_eq!(outcome(None, status(0), Some(None)), Supervised::Completed);
        assert_eq!(
            outcome(None, status(256), Some(stop)),
            Supervised::Stopped(StopKind::Memory, "memory has run out".to_owned())
        );
        let killed = outcome(None, status(libc::SIGKILL), None);
        assert!(matches!(killed, Supervised::Stopped(StopKind::Memory, _)), "{killed:?}");
        assert_eq!(outcome(Some(Supervised::Interrupted), status(0), Some(None)), Supervised::Interrupted);
        let broken = outcome(None, status(libc::SIGSEGV), None);
        assert_eq!(broken, Supervised::Stopped(StopKind::Other, "signal 11 ended the program".to_owned()));
    }

    #[test]
    fn pressure_is_that_of_everybody() {
        let text = "some avg10=91.00 avg60=0.00 avg300=0.00 total=5\nfull avg10=12.50 avg60=0.00 avg300=0.00 total=3\n";
        assert_eq!(full_pressure(text), Some(12.5));
    }
}
