//! Messages of a run: from a program to its supervisor, and from there to whoever keeps the results.

use std::io;

use order9_units::Nanos;
use order9_workloads::{Stop, Times};
use serde::{Deserialize, Serialize};

/// News of a run, in the order in which they happened in one process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Message {
    /// The machine, its counters and the price of reading the clock: the first message, sent once.
    Started {
        /// Size of the machine.
        facts: Facts,
        /// Names of the counters, in the order of readings.
        counters: Vec<String>,
        /// Counters that are missing, a sentence each.
        notes: Vec<String>,
    },
    /// Time that passes between two readings of the clock, which every sample was rid of.
    ClockPrice(Nanos),
    /// Measured values.
    Samples {
        /// Operations of these samples.
        operations: Vec<(String, Unit)>,
        /// The samples, in order.
        samples: Vec<Sample>,
    },
    /// A phase begins.
    Phase {
        /// Time of the begin.
        at: Nanos,
        /// Name of the phase.
        name: String,
        /// Counters at that time.
        counters: Vec<u64>,
    },
    /// A program wants the state of memory kept. Its process has stopped until that is done.
    Snapshot {
        /// Name of the snapshot.
        name: String,
        /// The process.
        pid: i32,
    },
    /// A file of /proc, as it was.
    File {
        /// Time of the reading.
        at: Nanos,
        /// Path of the file.
        path: String,
        /// Text of the file.
        text: String,
    },
    /// Counters at a time.
    Reading {
        /// Time of the reading.
        at: Nanos,
        /// Values of the counters.
        counters: Vec<u64>,
    },
    /// Events of tracepoints.
    Events(Vec<Traced>),
    /// A sentence that a reader of the results needs.
    Note(String),
    /// The program came to its end.
    Ended {
        /// Time of the end.
        at: Nanos,
        /// CPU time of all its processes.
        times: (Nanos, Nanos),
        /// Reason of an end before its time.
        stop: Option<(StopKind, String)>,
    },
    /// Files of /proc and /sys that are read over and over, always the same ones.
    Monitored {
        /// Time of the reading.
        at: Nanos,
        /// Path and text of each.
        files: Vec<(String, String)>,
    },
}

/// An event of a tracepoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traced {
    /// Time of the event.
    pub at: Nanos,
    /// CPU on which it happened.
    pub cpu: u32,
    /// Task that it happened to.
    pub pid: u32,
    /// Name of that task, if the task is still there.
    pub comm: String,
    /// Name of the tracepoint.
    pub name: String,
    /// Fields of the event: `key=value`, with blanks between.
    pub fields: String,
}

/// Size of a machine. The same as [`order9_workloads::Facts`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// `MemTotal` in bytes.
    pub memory: u64,
    /// Logical CPUs.
    pub cpus: u32,
    /// Memory of each node in bytes.
    pub nodes: Vec<u64>,
    /// Bytes free on the disk that holds files; `None` where they live on tmpfs.
    pub disk: Option<u64>,
    /// `MemAvailable` at the start, less what is kept back, in bytes.
    pub available: u64,
    /// Release of the kernel, without what its builders added.
    pub kernel: String,
}

/// Kinds of early ends that results tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StopKind {
    /// Memory had run out, or was about to.
    Memory,
    /// A stop of another kind.
    Other,
}

impl StopKind {
    /// The kind of a stop.
    #[must_use]
    pub const fn of(stop: &Stop) -> Self {
        match stop {
            Stop::Killed { .. } | Stop::OutOfMemory(_) => Self::Memory,
            Stop::Refused { .. } | Stop::Signal { .. } => Self::Other,
        }
    }
}

/// Unit of the samples of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Nanoseconds.
    Nanos,
    /// Things per second.
    PerSecond,
    /// Percent of a whole.
    Percent,
    /// A number of things.
    Count,
}

/// One measured value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Place of its operation in the message.
    pub operation: u32,
    /// Time at which it was taken.
    pub at: Nanos,
    /// The value.
    pub value: f64,
}

/// The longest message, in bytes: what a socket takes at once by default.
pub(crate) const MESSAGE_MAX: usize = 192 << 10;

impl Message {
    /// The message as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        rmp_serde::to_vec(self).expect("numbers and texts can be written to memory")
    }

    /// The message that `bytes` hold.
    ///
    /// # Errors
    /// Where they hold none.
    pub fn from_bytes(bytes: &[u8]) -> io::Result<Self> {
        rmp_serde::from_slice(bytes).map_err(io::Error::other)
    }

    /// The end of a program.
    pub(crate) fn ended(at: Nanos, times: Times, result: &Result<(), Stop>) -> Self {
        let stop = result.as_ref().err().map(|stop| (StopKind::of(stop), stop.to_string()));
        Self::Ended { at, times: (times.user, times.system), stop }
    }
}

impl Facts {
    /// As a workload asks for them.
    #[must_use]
    pub fn for_workloads(&self) -> order9_workloads::Facts {
        use order9_units::Bytes;
        order9_workloads::Facts {
            memory: Bytes::new(self.memory),
            cpus: self.cpus,
            nodes: self.nodes.iter().map(|&node| Bytes::new(node)).collect(),
            disk: self.disk.map(Bytes::new),
            available: Some(Bytes::new(self.available)),
        }
    }
}
