//! Digests: 128 bits that are equal where results are equal.
//!
//! What a digest covers, and the byte encoding, are described in docs/runs.md; a change there is a new [`VERSION`].

use std::fmt;
use std::io::{self, Read};
use std::str::FromStr;

use order9_units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::{Event, Monitor, Outcome, ProcFile, Run};

/// First string of the encoding of a run.
const VERSION: &str = "order9 run 1";

/// XXH3 of 128 bits with seed 0, printed as 32 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
pub struct Digest(u128);

/// A text that is no digest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no digest: expected 32 hexadecimal digits in lower case")]
pub struct ParseDigestError(String);

impl Digest {
    /// The digest of `bytes` as they are, for the contents of a file.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self(xxh3_128(bytes))
    }

    /// The digest of all that `input` gives, which is not held.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn of_reader(mut input: impl Read) -> io::Result<Self> {
        let mut hasher = Xxh3::new();
        let mut buffer = vec![0; 1 << 16];
        loop {
            match input.read(&mut buffer) {
                Ok(0) => return Ok(Self::of_hasher(&hasher)),
                Ok(length) => hasher.update(&buffer[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn of_hasher(hasher: &Xxh3) -> Self {
        Self(hasher.digest128())
    }

    /// The digest of several cells: of policy, seed and digest of each, in order.
    pub(crate) fn of_cells<'a>(cells: impl ExactSizeIterator<Item = (&'a str, u64, Digest)>) -> Self {
        let mut encoder = Encoder::default();
        encoder.list(cells, |encoder, (policy, seed, digest)| {
            encoder.text(policy);
            encoder.number(seed);
            encoder.0.update(&digest.0.to_le_bytes());
        });
        Self::of_hasher(&encoder.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Digest {
    type Err = ParseDigestError;
    fn from_str(text: &str) -> Result<Self, ParseDigestError> {
        let digits = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let number = if digits { u128::from_str_radix(text, 16).ok() } else { None };
        number.map(Self).ok_or_else(|| ParseDigestError(text.to_owned()))
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = ParseDigestError;
    fn try_from(text: String) -> Result<Self, ParseDigestError> {
        text.parse()
    }
}

impl Run {
    /// Digest of everything in this run: each field of [`Run`], traces included.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut encoder = Encoder::default();
        encoder.text(VERSION);
        encoder.run(self);
        Digest::of_hasher(&encoder.0)
    }
}

/// Canonical bytes: numbers of 8 bytes, little endian; texts and lists behind their length.
#[derive(Default)]
struct Encoder(Xxh3);

impl Encoder {
    fn number(&mut self, number: u64) {
        self.0.update(&number.to_le_bytes());
    }

    fn time(&mut self, time: Nanos) {
        self.number(time.get());
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.0.update(text.as_bytes());
    }

    fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut item: impl FnMut(&mut Self, T)) {
        self.number(items.len() as u64);
        for each in items {
            item(self, each);
        }
    }

    fn numbers(&mut self, numbers: &[u64]) {
        self.list(numbers.iter(), |this, &number| this.number(number));
    }

    fn run(&mut self, run: &Run) {
        self.text(&run.policy);
        self.number(run.seed);
        self.list(run.operations.iter(), |this, operation| {
            this.text(&operation.name);
            this.text(operation.unit.name());
        });
        self.list(run.samples.iter(), |this, sample| {
            this.number(sample.operation.index() as u64);
            this.time(sample.at);
            this.number(sample.value.to_bits());
        });
        self.list(run.phases.iter(), |this, phase| {
            this.text(&phase.name);
            this.time(phase.begin);
            this.time(phase.end);
            this.numbers(&phase.at_begin);
            this.numbers(&phase.at_end);
        });
        self.list(run.counters.times.iter(), |this, &time| this.time(time));
        self.list(run.counters.columns.iter(), |this, column| {
            this.text(&column.name);
            this.numbers(&column.values);
        });
        self.time(run.durations.user);
        self.time(run.durations.system);
        self.time(run.durations.elapsed);
        self.outcome(&run.outcome);
        self.list(run.notes.iter(), |this, note| this.text(note));
        self.list(run.traces.events.iter(), Self::event);
        self.number(u64::from(run.traces.cpus));
        self.list(run.traces.begin.iter(), Self::proc_file);
        self.list(run.traces.end.iter(), Self::proc_file);
        self.list(run.traces.monitors.iter(), Self::monitor);
        self.time(run.traces.uptime);
        self.time(run.traces.idle);
    }

    fn outcome(&mut self, outcome: &Outcome) {
        self.number(match outcome {
            Outcome::Completed => 0,
            Outcome::OutOfMemory { .. } => 1,
            Outcome::Stalled { .. } => 2,
            Outcome::Failed { .. } => 3,
        });
        self.text(outcome.message().unwrap_or_default());
    }

    fn event(&mut self, event: &Event) {
        self.time(event.at);
        self.number(u64::from(event.cpu));
        self.text(&event.comm);
        self.number(u64::from(event.pid));
        self.text(&event.name);
        self.text(&event.fields);
    }

    fn proc_file(&mut self, file: &ProcFile) {
        self.text(&file.path);
        self.text(&file.content);
    }

    fn monitor(&mut self, monitor: &Monitor) {
        self.text(&monitor.name);
        self.list(monitor.readings.iter(), |this, reading| {
            this.time(reading.at);
            this.text(&reading.content);
        });
    }
}
