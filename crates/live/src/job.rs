//! The order to a program: which workload, with which parameters, where.

use std::collections::BTreeMap;
use std::path::PathBuf;

use order9_units::{Bytes, Nanos};
use order9_workloads::{Cpus, GENERAL, Kind, Mempolicy, Parameters, Recording, Value, Workload};
use serde::{Deserialize, Serialize};

use crate::message::Facts;

/// One run of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Name of the workload.
    pub workload: String,
    /// Every parameter.
    pub parameters: BTreeMap<String, WireValue>,
    /// Seed of the run.
    pub seed: u64,
    /// Settings that are written before the start, by path, in this order.
    pub settings: Vec<(String, String)>,
    /// Directory for files; `None` puts them on a tmpfs of their own.
    pub files: Option<PathBuf>,
    /// Time between two readings of the counters.
    pub every: Nanos,
    /// Memory that the program must leave available, in bytes.
    pub reserve: u64,
    /// Whether the state of memory is kept where the workload asks for it.
    pub keeps_snapshots: bool,
    /// Tracepoints whose events are kept.
    pub events: Vec<String>,
    /// Journal in which a program that changes a setting writes first what the setting was; `None` in a guest, which nobody needs
    /// afterwards.
    pub journal: Option<PathBuf>,
}

/// A value of a parameter, as it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WireValue {
    /// Bytes.
    Bytes(u64),
    /// A number.
    Count(u64),
    /// Numbers.
    Counts(Vec<u64>),
    /// Nanoseconds.
    Time(u64),
    /// One of the words of the parameter.
    Word(String),
    /// A memory policy in numactl's words.
    Mempolicy(String),
    /// CPUs in taskset's words.
    Cpus(String),
    /// A recording in its words.
    Recording(String),
}

impl From<&Value> for WireValue {
    fn from(value: &Value) -> Self {
        match value {
            Value::Bytes(bytes) => Self::Bytes(bytes.get()),
            Value::Count(count) => Self::Count(*count),
            Value::Counts(counts) => Self::Counts(counts.clone()),
            Value::Time(time) => Self::Time(time.get()),
            Value::Word(word) => Self::Word((*word).to_owned()),
            Value::Mempolicy(policy) => Self::Mempolicy(policy.to_string()),
            Value::Cpus(cpus) => Self::Cpus(cpus.to_string()),
            Value::Recording(recording) => Self::Recording(recording.to_string()),
        }
    }
}

impl WireValue {
    fn value(&self, kind: Kind) -> Option<Value> {
        let value = match (self, kind) {
            (Self::Bytes(bytes), _) => Value::Bytes(Bytes::new(*bytes)),
            (Self::Count(count), _) => Value::Count(*count),
            (Self::Counts(counts), _) => Value::Counts(counts.clone()),
            (Self::Time(time), _) => Value::Time(Nanos::new(*time)),
            (Self::Word(word), Kind::Word(words)) => Value::Word(words.iter().find(|known| *known == word)?),
            (Self::Word(_), _) => return None,
            (Self::Mempolicy(text), _) => Value::Mempolicy(Mempolicy::parse(text)?),
            (Self::Cpus(text), _) => Value::Cpus(Cpus::parse(text)?),
            (Self::Recording(text), _) => Value::Recording(Recording::parse(text).ok()?),
        };
        kind.admits(&value).then_some(value)
    }
}

impl Job {
    /// The workload and its parameters.
    ///
    /// # Errors
    /// What is not known here: the two sides are of different versions.
    pub fn load(&self, facts: &Facts) -> Result<(Workload, Parameters), String> {
        let workload =
            Workload::by_name(&self.workload).ok_or_else(|| format!("there is no workload {}", self.workload))?;
        let known = || workload.spec().parameters.iter().chain(GENERAL);
        let mut chosen = BTreeMap::new();
        for (key, value) in &self.parameters {
            let refused = || format!("{} takes no {key} of {value:?}", self.workload);
            let parameter = known().find(|parameter| parameter.key == key).ok_or_else(refused)?;
            chosen.insert(parameter.key, value.value(parameter.kind).ok_or_else(refused)?);
        }
        let parameters = Parameters::new(workload, &chosen, &facts.for_workloads());
        let refused = |parameter: &order9_workloads::Parameter| {
            format!("{}: expected {} here", parameter.key, parameter.kind.expected())
        };
        parameters.map(|parameters| (workload, parameters)).map_err(refused)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_arrive_as_they_were_sent() {
        let facts = Facts {
            memory: 8 << 30,
            cpus: 4,
            nodes: vec![8 << 30],
            disk: None,
            available: 6 << 30,
            kernel: "6.18".to_owned(),
        };
        for workload in Workload::ALL {
            let all =
                Parameters::new(workload, &BTreeMap::new(), &facts.for_workloads()).expect("defaults are admitted");
            let parameters = all.iter().map(|(key, value)| (key.to_owned(), WireValue::from(value))).collect();
            let job = Job {
                workload: workload.name().to_owned(),
                parameters,
                seed: 1,
                settings: Vec::new(),
                files: None,
                every: Nanos::new(1),
                reserve: 0,
                keeps_snapshots: false,
                events: Vec::new(),
                journal: None,
            };
            let bytes = rmp_serde::to_vec(&job).expect("it can be written");
            let arrived: Job = rmp_serde::from_slice(&bytes).expect("it can be read");
            assert_eq!(arrived.load(&facts), Ok((workload, all)));
        }
    }

    #[test]
    fn what_is_not_known_is_named() {
        let mut job = Job {
            workload: "idle".to_owned(),
            parameters: BTreeMap::from([("pattern".to_owned(), WireValue::Word("odd".to_owned()))]),
            seed: 1,
            settings: Vec::new(),
            files: None,
            every: Nanos::new(1),
            reserve: 0,
            keeps_snapshots: false,
            events: Vec::new(),
            journal: None,
        };
        let facts = Facts { memory: 1, cpus: 1, nodes: vec![1], disk: None, available: 1, kernel: String::new() };
        let says = |job: &Job| job.load(&facts).expect_err("it is refused");
        assert_eq!(says(&job), "idle takes no pattern of Word(\"odd\")");
        job.workload = "idel".to_owned();
        assert_eq!(says(&job), "there is no workload idel");
    }
}
