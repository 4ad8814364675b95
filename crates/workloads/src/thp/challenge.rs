//! `thpchallenge`: threads touch memory for the first time beside a load that fills memory with page cache and slab that
//! stay in use. After the thpchallenge configurations of mmtests.

use order9_units::Bytes;

use super::file_load::{self, Running};
use super::{FAULTS, LOCALITY, MADVISE, Tally, fill_units};
use crate::access::{ACCESS, Accesses};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::sys::{Advice, ChildKind, Facts, Stop, Sys};
use crate::unit::{UNIT, map_units};
use crate::workload::Measure;

pub(crate) const DESCRIPTION: &str = "\
    Threads touch memory for the first time, 2 MiB by 2 MiB, beside a load that fills memory with page cache and \
    slab that stay in use. Measured are the latencies of faults and how many of them became huge.";

pub(crate) const PARAMETERS: &[Parameter] = &[
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
        meaning: "what goes on at the same time: nothing, or readers of many small files",
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

pub(crate) const MEASURES: &[Measure] = &[FAULTS[0], FAULTS[1], LOCALITY, ACCESS[0], ACCESS[1]];

/// Mappings grow in steps of this.
const STEP: u64 = 8 << 20;

fn threads_for(facts: &Facts) -> u64 {
    let per_node = u64::from(facts.cpus) / facts.nodes.len().max(1) as u64;
    (per_node.saturating_sub(4) / 4).max(1)
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
        let (tally, accesses) = (Tally::default(), Accesses::default());
        let (own, size) = ((tally.clone(), accesses.clone()), parameters.bytes("size").get());
        let advice = (parameters.word("madvise") == "yes").then_some(Advice::HugePage);
        let body = move |sys: S| async move { all_threads(&sys, threads, size, advice, &own).await };
        let process = sys.spawn(ChildKind::Process, "thpchallenge", body).await?;
        sys.wait(process).await?.result?;
        tally.report(sys, threads);
        tally.report_locality(sys, threads);
        accesses.report(sys, &format!("-{threads}"));
    }
    sys.phase("clean-up");
    match load {
        Some(load) => load.stop(sys).await,
        None => Ok(()),
    }
}

async fn all_threads<S: Sys>(
    sys: &S,
    threads: u64,
    size: u64,
    advice: Option<Advice>,
    sums: &(Tally, Accesses),
) -> Result<(), Stop> {
    let mut children = Vec::new();
    for _ in 0..threads {
        let (tally, accesses) = sums.clone();
        let body = move |sys: S| async move {
            let (_, area) = map_units(&sys, Bytes::new((size / threads).next_multiple_of(STEP)), advice).await?;
            sys.barrier("units", threads).await?;
            fill_units(&sys, area, size / threads / UNIT.get() / 2, threads, &tally).await?;
            accesses.measure(&sys, area).await
        };
        children.push(sys.spawn(ChildKind::Thread, "thpchallenge", body).await?);
    }
    for child in children {
        sys.wait(child).await?.result?;
    }
    Ok(())
}

/// Writes all files; readers then run as long again before anything is measured.
async fn start_load<S: Sys>(sys: &S, bytes: Bytes) -> Result<Running<S::Child>, Stop> {
    sys.phase("write");
    let start = sys.now();
    let load = file_load::write(sys, bytes).await?;
    sys.phase("warm-up");
    let took = sys.now() - start;
    let load = load.read(sys).await?;
    sys.sleep(took).await?;
    Ok(load)
}
