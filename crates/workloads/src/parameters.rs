//! Parameters of a workload, and their chosen values.

use std::collections::BTreeMap;
use std::fmt;

use order9_units::{Bytes, Nanos};

use crate::cpus::Cpus;
use crate::mempolicy::{GENERAL, Mempolicy};
use crate::sys::Facts;
use crate::trace::Recording;
use crate::workload::Workload;

/// A parameter of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Name in scenario files and on the command line.
    pub key: &'static str,
    /// Meaning of the parameter, in words.
    pub meaning: &'static str,
    /// Values that the parameter takes.
    pub kind: Kind,
    /// The value it has on a machine if nobody chooses one.
    pub default: fn(&Facts) -> Value,
    /// The default in words.
    pub default_text: &'static str,
}

/// Values that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An amount of memory, at least this.
    Bytes {
        /// Least value.
        min: Bytes,
    },
    /// A number in a range.
    Count {
        /// Least value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// A list of numbers, each in a range, at least one.
    Counts {
        /// Least value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// A length of time, at most [`Self::TIME_MAX`].
    Time,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A memory policy.
    Mempolicy,
    /// CPUs.
    Cpus,
    /// A recording.
    Recording,
}

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// An amount of memory.
    Bytes(Bytes),
    /// A number.
    Count(u64),
    /// A list of numbers.
    Counts(Vec<u64>),
    /// A length of time.
    Time(Nanos),
    /// A word.
    Word(&'static str),
    /// A memory policy.
    Mempolicy(Mempolicy),
    /// CPUs.
    Cpus(Cpus),
    /// A recording.
    Recording(Recording),
}

/// A value for every parameter of a workload, and for those of all workloads that were chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters(BTreeMap<&'static str, Value>);

impl Kind {
    /// The longest time.
    pub const TIME_MAX: Nanos = Nanos::new(3650 * 24 * 3600 * 1_000_000_000);

    /// Whether `value` is one of those.
    #[must_use]
    pub fn admits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Bytes { min }, Value::Bytes(bytes)) => *bytes >= min,
            (Self::Count { min, max }, Value::Count(count)) => (min..=max).contains(count),
            (Self::Counts { min, max }, Value::Counts(counts)) => {
                !counts.is_empty() && counts.iter().all(|count| (min..=max).contains(count))
            }
            (Self::Time, Value::Time(time)) => *time <= Self::TIME_MAX,
            (Self::Word(words), Value::Word(word)) => words.contains(word),
            (Self::Mempolicy, Value::Mempolicy(_))
            | (Self::Cpus, Value::Cpus(_))
            | (Self::Recording, Value::Recording(_)) => true,
            _ => false,
        }
    }

    /// The accepted values, in words.
    #[must_use]
    pub fn expected(self) -> String {
        match self {
            Self::Bytes { min } => format!("an amount of memory such as \"4G\", at least {} bytes", min.get()),
            Self::Count { min, max: u64::MAX } => format!("a number from {min} on"),
            Self::Count { min, max } => format!("a number from {min} to {max}"),
            Self::Counts { min, max } => format!("numbers from {min} to {max}"),
            Self::Time => "a length of time such as \"10s\" or \"500ms\", at most 3650 days".to_owned(),
            Self::Mempolicy => Mempolicy::EXPECTED.to_owned(),
            Self::Cpus => Cpus::EXPECTED.to_owned(),
            Self::Recording => Recording::EXPECTED.to_owned(),
            Self::Word(words) => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or "),
        }
    }
}

impl Parameters {
    /// The memory policy that was chosen.
    #[must_use]
    pub fn mempolicy(&self) -> Option<Mempolicy> {
        self.0.values().find_map(|value| if let Value::Mempolicy(policy) = value { Some(*policy) } else { None })
    }

    /// The CPUs that were chosen.
    #[must_use]
    pub fn cpus(&self) -> Option<&Cpus> {
        self.0.values().find_map(|value| if let Value::Cpus(cpus) = value { Some(cpus) } else { None })
    }

    /// The chosen values, and defaults for all others.
    ///
    /// # Errors
    /// The first parameter with a value that it does not take.
    pub fn new(workload: Workload, chosen: &BTreeMap<&str, Value>, facts: &Facts) -> Result<Self, &'static Parameter> {
        let value = |parameter: &'static Parameter| {
            let value = chosen.get(parameter.key).cloned().unwrap_or_else(|| (parameter.default)(facts));
            if parameter.kind.admits(&value) { Ok((parameter.key, value)) } else { Err(parameter) }
        };
        let general = GENERAL.iter().filter(|parameter| chosen.contains_key(parameter.key));
        workload.spec().parameters.iter().chain(general).map(value).collect::<Result<_, _>>().map(Self)
    }

    /// Every parameter with its value, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> + Clone {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    pub(crate) fn bytes(&self, key: &str) -> Bytes {
        match &self.0[key] {
            Value::Bytes(bytes) => *bytes,
            other => unreachable!("{key} is an amount of memory, not {other}"),
        }
    }

    pub(crate) fn count(&self, key: &str) -> u64 {
        match &self.0[key] {
            Value::Count(count) => *count,
            other => unreachable!("{key} is a number, not {other}"),
        }
    }

    pub(crate) fn counts(&self, key: &str) -> &[u64] {
        match &self.0[key] {
            Value::Counts(counts) => counts,
            other => unreachable!("{key} is a list of numbers, not {other}"),
        }
    }

    pub(crate) fn time(&self, key: &str) -> Nanos {
        match &self.0[key] {
            Value::Time(time) => *time,
            other => unreachable!("{key} is a length of time, not {other}"),
        }
    }

    pub(crate) fn recording(&self, key: &str) -> &Recording {
        match &self.0[key] {
            Value::Recording(recording) => recording,
            other => unreachable!("{key} is a recording, not {other}"),
        }
    }

    /// The word of a parameter of all workloads, where it was chosen.
    pub(crate) fn chosen_word(&self, key: &str) -> Option<&'static str> {
        self.0.contains_key(key).then(|| self.word(key))
    }

    /// The number of a parameter of all workloads, where it was chosen.
    pub(crate) fn chosen_count(&self, key: &str) -> Option<u64> {
        self.0.contains_key(key).then(|| self.count(key))
    }

    /// The amount of memory of a parameter of all workloads, where it was chosen.
    pub(crate) fn chosen_bytes(&self, key: &str) -> Option<Bytes> {
        self.0.contains_key(key).then(|| self.bytes(key))
    }

    /// The recording of a parameter of all workloads, where it was chosen.
    pub(crate) fn chosen_recording(&self, key: &str) -> Option<&Recording> {
        self.0.contains_key(key).then(|| self.recording(key))
    }

    /// The numbers of a parameter of all workloads; none where it was not chosen.
    pub(crate) fn chosen_counts(&self, key: &str) -> &[u64] {
        if self.0.contains_key(key) { self.counts(key) } else { &[] }
    }

    pub(crate) fn word(&self, key: &str) -> &'static str {
        match &self.0[key] {
            Value::Word(word) => word,
            other => unreachable!("{key} is a word, not {other}"),
        }
    }
}

/// Writes the value as a scenario file has it: bytes and nanoseconds in full.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "\"{}\"", bytes.get()),
            Self::Count(count) => count.fmt(f),
            Self::Counts(counts) => f.debug_list().entries(counts).finish(),
            Self::Time(time) => write!(f, "\"{}ns\"", time.get()),
            Self::Word(word) => write!(f, "\"{word}\""),
            Self::Mempolicy(policy) => write!(f, "\"{policy}\""),
            Self::Cpus(cpus) => write!(f, "\"{cpus}\""),
            Self::Recording(recording) => write!(f, "\"{recording}\""),
        }
    }
}
