//! What a run is bound to take, known before it starts: so that what cannot end is refused, and does not fill a host instead.
//!
//! Key type: [`Demand`], a lower bound. All arithmetic saturates, since parameters may be anything that their kinds admit.

use order9_units::{Bytes, Nanos, PAGE_SIZE};

use crate::numa::node_memory;
use crate::parameters::Parameters;
use crate::sys::Facts;
use crate::workload::Workload;

/// What a run takes at least, if nothing ends it before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// The most memory that one process maps at once.
    pub mapped: Bytes,
    /// What its files hold together at once.
    pub files: Bytes,
    /// Accesses to pages and files: what the time of the host goes by.
    pub steps: u64,
    /// How long it lasts in its own time.
    pub time: Nanos,
}

/// The machine for which the rates of `uptime` are given, and the pages that it touches there in a second.
const UPTIME_RATED: u64 = 16 << 30;
const UPTIME_PAGES_PER_SECOND: u64 = 4000;
const DAY_SECONDS: u64 = 24 * 3600;
const SECOND: u64 = 1_000_000_000;
/// A request that fails has looked at a block of pages at least.
const FAILURE_STEPS: u64 = 512;
/// What a read of a block, or an allocation of the kernel, takes at least in virtual time.
const CALL: Nanos = Nanos::new(1000);

impl Workload {
    /// What a run with these parameters takes at least.
    #[must_use]
    pub fn demand(self, parameters: &Parameters, facts: &Facts) -> Demand {
        let of = Chosen { parameters, facts };
        match self {
            Self::Usemem => of.usemem(),
            Self::FillAndFree => {
                let size = of.bytes("size");
                Demand { time: of.time("hold"), ..Demand::of_memory(size, of.count("rounds")) }
            }
            Self::FragMix => of.frag_mix(),
            Self::HugeAlloc => {
                let steps = of.filled().saturating_add(of.count("failures").saturating_mul(FAILURE_STEPS));
                Demand { time: of.time("pause").max(of.time("interval")), steps, ..Demand::default() }
            }
            Self::HugetlbGrow => {
                let tries = of.count("tries");
                let time = of.time("pause").get().saturating_mul(tries - 1);
                let steps = of.filled().saturating_add(tries.saturating_mul(FAILURE_STEPS));
                Demand { time: Nanos::new(time), steps, ..Demand::default() }
            }
            Self::HugeAllocUnmovable => {
                let steps = pages(part(of.facts.room().get(), 100 - of.count("spare_percent")));
                Demand { time: of.time("watch"), steps, ..Demand::default() }
            }
            Self::Idle => Demand { time: of.time("time"), ..Demand::default() },
            Self::JavaHeap => {
                let heap = Demand::of_memory(of.bytes("heap"), 1);
                Demand { time: of.time("pause"), steps: heap.steps.saturating_add(of.filled()), ..heap }
            }
            Self::Stutter => of.stutter(),
            Self::ThpChallenge => {
                let files = if of.parameters.word("load") == "fio" { of.file_load() } else { 0 };
                Demand::of_memory(of.bytes("size"), of.rounds()).beside(files)
            }
            Self::ThpFioscale => Demand::of_memory(of.bytes("size"), 1).beside(of.file_load()),
            Self::ThpScale => of.thpscale(),
            Self::FsMark => of.fsmark(),
            Self::StreamReader => of.stream_reader(),
            Self::Uptime => of.uptime(),
            Self::NumaAccessLatency => Demand::of_memory(of.bytes("size"), 2 * of.facts.nodes.len() as u64),
            Self::FragmentedNodeFault => {
                Demand { time: of.time("khugepaged"), ..Demand::of_memory(of.bytes("size"), 1) }
            }
            Self::VmLargerThanNode => Demand::of_memory(of.bytes("size"), 1),
            Self::PinnedGuest => of.pinned_guest(),
        }
    }
}

impl Demand {
    /// Memory that is mapped and touched so often.
    fn of_memory(size: u64, times: u64) -> Self {
        Self { mapped: Bytes::new(size), steps: pages(size).saturating_mul(times), ..Self::default() }
    }

    /// The same beside files of so many bytes together.
    fn beside(self, files: u64) -> Self {
        Self { files: Bytes::new(files), steps: self.steps.saturating_add(pages(files)), ..self }
    }
}

/// Parameters, and the machine.
struct Chosen<'a> {
    parameters: &'a Parameters,
    facts: &'a Facts,
}

impl Chosen<'_> {
    fn bytes(&self, key: &str) -> u64 {
        self.parameters.bytes(key).get()
    }

    fn count(&self, key: &str) -> u64 {
        self.parameters.count(key)
    }

    fn time(&self, key: &str) -> Nanos {
        self.parameters.time(key)
    }

    fn rounds(&self) -> u64 {
        self.parameters.counts("threads").len() as u64
    }

    /// Pages of memory that is filled before anything is measured.
    fn filled(&self) -> u64 {
        pages(part(self.facts.room().get(), self.count("fill_percent")))
    }

    fn usemem(&self) -> Demand {
        let size = self.bytes("size");
        let anon = part(size, self.count("anon_percent"));
        let passes = self.count("loops").saturating_mul(self.count("iterations")).saturating_mul(self.rounds());
        Demand { files: Bytes::new(size - anon), ..Demand::of_memory(anon, passes) }
    }

    fn frag_mix(&self) -> Demand {
        let duration = self.time("duration");
        let seconds = duration.get().div_ceil(SECOND);
        let asked = duration.get() / self.time("interval").max(CALL).get();
        let steps = seconds.saturating_mul(self.count("rate")).saturating_add(asked).saturating_add(self.filled());
        Demand { steps, time: duration.max(self.time("interval")), ..Demand::default() }
    }

    fn stutter(&self) -> Demand {
        let (hog, file, probe) = (self.bytes("hog"), self.bytes("file"), self.bytes("probe"));
        let copies = self.count("copies");
        let copied = pages(file).saturating_mul(2).saturating_add(pages(hog)).saturating_mul(copies);
        Demand {
            mapped: Bytes::new(hog.max(probe)),
            files: Bytes::new(file.saturating_mul(2)),
            steps: copied.saturating_add(pages(probe)),
            ..Demand::default()
        }
    }

    /// Bytes of the many small files that are written and read beside a program.
    fn file_load(&self) -> u64 {
        part(self.facts.room().get(), self.count("files_percent"))
    }

    fn thpscale(&self) -> Demand {
        let size = self.bytes("size");
        let memory = Demand::of_memory(size, self.rounds());
        Demand { files: Bytes::new(size), steps: memory.steps.saturating_mul(2), ..memory }
    }

    fn fsmark(&self) -> Demand {
        let files =
            self.count("processes").saturating_mul(self.count("files")).saturating_mul(self.count("iterations"));
        let size = self.bytes("file_size");
        let pages = pages(size).max(1);
        Demand {
            files: Bytes::new(files.saturating_mul(pages).saturating_mul(PAGE_SIZE.get())),
            steps: files.saturating_mul(pages),
            ..Demand::default()
        }
    }

    fn stream_reader(&self) -> Demand {
        let (readers, of_file) = (self.count("readers"), self.bytes("file_size"));
        let files = self.bytes("size").max(of_file.saturating_mul(readers));
        let burst = self.bytes("kernel");
        let time = self.time("time");
        let calls = (time.get() / (10 * CALL.get())).saturating_mul(readers);
        Demand { mapped: Bytes::new(burst), files: Bytes::new(files), steps: pages(files).saturating_add(calls), time }
    }

    fn pinned_guest(&self) -> Demand {
        let node = node_memory(self.facts).get();
        let sizes = self.parameters.counts("sizes").iter().map(|&percent| part(node, percent));
        let steps = sizes.clone().map(pages).fold(0, u64::saturating_add);
        Demand { steps, ..Demand::of_memory(sizes.max().unwrap_or(0), 1) }
    }

    fn uptime(&self) -> Demand {
        let (room, days) = (self.facts.room().get(), self.count("days"));
        let scale = |number: u64| (u128::from(number) * u128::from(room) / u128::from(UPTIME_RATED)) as u64;
        let of_day = DAY_SECONDS * scale(UPTIME_PAGES_PER_SECOND) / 100 * self.count("rate_percent");
        let files = part(room, self.count("files_percent"));
        Demand {
            files: Bytes::new(files),
            steps: of_day.saturating_mul(days).saturating_add(pages(files)),
            time: Nanos::new((DAY_SECONDS * SECOND).saturating_mul(days)),
            ..Demand::default()
        }
    }
}

const fn pages(bytes: u64) -> u64 {
    bytes.div_ceil(PAGE_SIZE.get())
}

/// So many percent.
pub(crate) fn part(of: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(of) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::parameters::{Kind, Value};

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
            for parameter in workload.parameters().iter().chain(crate::GENERAL) {
                let ends = match parameter.kind {
                    Kind::Bytes { min } => vec![Value::Bytes(min), Value::Bytes(Bytes::new(u64::MAX))],
                    Kind::Count { min, max } => vec![Value::Count(min), Value::Count(max)],
                    Kind::Counts { min, max } => vec![Value::Counts(vec![min]), Value::Counts(vec![max; 3])],
                    Kind::Time => vec![Value::Time(Nanos::ZERO), Value::Time(Kind::TIME_MAX)],
                    Kind::Word(words) => words.iter().map(|word| Value::Word(word)).collect(),
                    Kind::Mempolicy => vec![Value::Mempolicy(crate::Mempolicy::DEFAULT)],
                    Kind::Cpus => vec![Value::Cpus(crate::Cpus::All)],
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
