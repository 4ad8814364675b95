//! `thpchallenge`: threads touch memory for the first time beside a load that fills memory with page cache and slab that
//! stay in use. After the thpchallenge configurations of mmtests.

use order9_units::Bytes;

use super::beside_load::{STEP, Threads, start_load, threads_for};
use super::{FAULTS, LOCALITY, MADVISE};
use crate::access::ACCESS;
use crate::demand::{Chosen, Demand};
use crate::measure::Measure;
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{Advice, Stop, Sys};

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "thpchallenge",
    summary: "faults of huge pages beside page cache and slab that stay in use",
    description: "\
        Threads touch memory for the first time, 2 MiB by 2 MiB, beside a load that fills memory with page cache and \
        slab that stay in use. Measured are the latencies of faults and how many of them became huge.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "always")],
    counters_every: SECOND,
    is_long: false,
    demand,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "size",
        meaning: "working set, of which the threads together map all and touch half",
        kind: Kind::Bytes { min: Bytes::new(STEP) },
        default: |facts| Value::Bytes(Bytes::new(facts.room().get() / 10 * 8)),
        default_text: "8/10 of memory",
    },
    Parameter {
        key: "threads",
        meaning: "numbers of threads, one after another",
        kind: Kind::Counts { min: 1, max: 1024 },
        default: |facts| Value::Counts(vec![threads_for(facts)]),
        default_text: "a quarter of the CPUs of a node less four, at least 1",
    },
    Parameter {
        key: "load",
        meaning: "load at the same time: none, or readers of many small files",
        kind: Kind::Word(&["none", "fio"]),
        default: |_| Value::Word("fio"),
        default_text: "fio",
    },
    Parameter {
        key: "files_percent",
        meaning: "size of all files of the load, in percent of memory",
        kind: Kind::Count { min: 1, max: 1000 },
        default: |_| Value::Count(150),
        default_text: "150",
    },
    MADVISE,
];

const MEASURES: &[Measure] = &[FAULTS[0], FAULTS[1], LOCALITY, ACCESS[0], ACCESS[1]];

fn demand(of: &Chosen<'_>) -> Demand {
    let files = if of.parameters.word("load") == "fio" { of.file_load() } else { 0 };
    Demand::of_memory(of.bytes("size"), of.rounds()).beside(files)
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let load = match parameters.word("load") {
        "fio" => {
            let bytes = sys.facts().room().get() / 100 * parameters.count("files_percent");
            Some(start_load(sys, Bytes::new(bytes)).await?)
        }
        _ => None,
    };
    for &threads in parameters.counts("threads") {
        sys.phase(&format!("threads-{threads}"));
        let size = parameters.bytes("size");
        let advice = (parameters.word("madvise") == "yes").then_some(Advice::HugePage);
        let touched = Threads { name: "thpchallenge", count: threads, size, advice }.run(sys).await?;
        touched.tally.report(sys, threads);
        touched.tally.report_locality(sys, threads);
        touched.accesses.report(sys, &format!("-{threads}"));
    }
    sys.phase("clean-up");
    match load {
        Some(load) => load.stop(sys).await,
        None => Ok(()),
    }
}
