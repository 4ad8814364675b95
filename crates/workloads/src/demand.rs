//! Least demand of a run, known before it starts: a run that cannot end is refused before it fills a host.
//!
//! Key type: [`Demand`], a lower bound. All arithmetic saturates, since parameters may be anything that their kinds admit.

use order9_units::{Bytes, Nanos, PAGE_SIZE};

use crate::parameters::Parameters;
use crate::sys::Facts;

/// Least memory, disk space and time that a run takes if nothing ends it before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// The most memory that one process maps at once.
    pub mapped: Bytes,
    /// Bytes that its files hold together at one time.
    pub files: Bytes,
    /// Accesses to pages and files: what the time of the host goes by.
    pub steps: u64,
    /// Duration of the run in virtual time.
    pub time: Nanos,
}

/// A request that fails has looked at a block of pages at least.
pub(crate) const FAILURE_STEPS: u64 = 512;
/// Least virtual time of a read of a block, or of an allocation of the kernel.
pub(crate) const CALL: Nanos = Nanos::new(1000);

impl Demand {
    /// Memory that is mapped and touched so often.
    pub(crate) fn of_memory(size: u64, times: u64) -> Self {
        Self { mapped: Bytes::new(size), steps: pages(size).saturating_mul(times), ..Self::default() }
    }

    /// Adds `files` bytes of files to the demand.
    pub(crate) fn beside(self, files: u64) -> Self {
        Self { files: Bytes::new(files), steps: self.steps.saturating_add(pages(files)), ..self }
    }
}

/// Parameters, and the machine.
pub(crate) struct Chosen<'a> {
    pub(crate) parameters: &'a Parameters,
    pub(crate) facts: &'a Facts,
}

impl Chosen<'_> {
    pub(crate) fn bytes(&self, key: &str) -> u64 {
        self.parameters.bytes(key).get()
    }

    pub(crate) fn count(&self, key: &str) -> u64 {
        self.parameters.count(key)
    }

    pub(crate) fn time(&self, key: &str) -> Nanos {
        self.parameters.time(key)
    }

    pub(crate) fn rounds(&self) -> u64 {
        self.parameters.counts("threads").len() as u64
    }

    /// Pages of memory that is filled before anything is measured.
    pub(crate) fn filled(&self) -> u64 {
        pages(part(self.facts.room().get(), self.count("fill_percent")))
    }

    /// Bytes of the many small files that are written and read beside a program.
    pub(crate) fn file_load(&self) -> u64 {
        part(self.facts.room().get(), self.count("files_percent"))
    }
}

/// Number of base pages that hold `bytes`.
pub(crate) const fn pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE_SIZE.get())
}

/// `percent` percent of `of`.
pub(crate) fn part(of: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::parameters::{Kind, Value};
    use crate::workload::Workload;

    fn facts() -> Facts {
        let memory = Bytes::from_gib(16);
        Facts { memory, cpus: 8, nodes: vec![memory], disk: Some(Bytes::from_gib(256)), available: None }
    }

    #[test]
    fn demands_are_those_of_the_sizes_that_were_chosen() {
        let chosen = BTreeMap::from([("size", Value::Bytes(Bytes::from_gib(10))), ("loops", Value::Count(3))]);
        let parameters = Parameters::new(Workload::Usemem, &chosen, &facts()).expect("they are admitted");
        let demand = Workload::Usemem.demand(&parameters, &facts());
        assert_eq!((demand.mapped, demand.files), (Bytes::from_gib(8), Bytes::from_gib(2)));
        assert_eq!(demand.steps, (2 << 20) * 3 * 7 * 5, "pages, loops, iterations, and numbers of threads");
    }

    #[test]
    fn whatever_is_admitted_has_a_demand() {
        for workload in Workload::ALL {
            for parameter in workload.spec().parameters.iter().chain(crate::GENERAL) {
                let ends = match parameter.kind {
                    Kind::Bytes { min } => vec![Value::Bytes(min), Value::Bytes(Bytes::new(u64::MAX))],
                    Kind::Count { min, max } => vec![Value::Count(min), Value::Count(max)],
                    Kind::Counts { min, max } => vec![Value::Counts(vec![min]), Value::Counts(vec![max; 3])],
                    Kind::Time => vec![Value::Time(Nanos::ZERO), Value::Time(Kind::TIME_MAX)],
                    Kind::Word(words) => words.iter().map(|word| Value::Word(word)).collect(),
                    Kind::Mempolicy => vec![Value::Mempolicy(crate::Mempolicy::DEFAULT)],
                    Kind::Cpus => vec![Value::Cpus(crate::Cpus::All)],
                    Kind::Recording => vec![Value::Recording(crate::Recording::example())],
                };
                for value in ends {
                    let chosen = BTreeMap::from([(parameter.key, value)]);
                    let parameters = Parameters::new(workload, &chosen, &facts()).expect("an end of the range");
                    let demand = workload.demand(&parameters, &facts());
                    let is_bounded = demand.time <= Kind::TIME_MAX || workload == Workload::HugetlbGrow;
                    assert!(is_bounded, "{} {}: {demand:?}", workload.name(), parameter.key);
                }
            }
        }
    }
}
