//! `thpscale`: threads touch memory for the first time where huge pages can be had by direct compaction only. After the
//! thpscale configuration of mmtests.

use order9_units::{Bytes, PAGE_SIZE};

use super::tally::Tally;
use super::{FAULTS, MADVISE, fill_units};
use crate::access::{ACCESS, Accesses};
use crate::demand::{Chosen, Demand};
use crate::ladder::thread_ladder;
use crate::measure::Measure;
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{Access, Advice, Area, ChildKind, DropCaches, Facts, FileId, Mapping, Of, Stop, Sys, synced_file};
use crate::unit::{UNIT, map_units};

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "thpscale",
    summary: "faults of huge pages by more and more threads where compaction has to make them",
    description: "\
        Threads touch memory for the first time, 2 MiB by 2 MiB, where huge pages can be had by direct compaction only. \
        Measured are the latencies of faults and how many of them became huge.",
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
        meaning: "memory that all threads together map and fill first",
        kind: Kind::Bytes { min: PER_THREAD },
        default: |facts| Value::Bytes(default_size(facts)),
        default_text: "8/10 of memory",
    },
    Parameter {
        key: "threads",
        meaning: "numbers of threads, one after another",
        kind: Kind::Counts { min: 1, max: 1024 },
        default: |facts| Value::Counts(thread_ladder(1, threads_max(facts))),
        default_text: "a ladder from 1 to 4 for each CPU, at most 32, and at most 1 for each 4 MiB of 8/10 of memory",
    },
    MADVISE,
];

const MEASURES: &[Measure] = &[FAULTS[0], FAULTS[1], ACCESS[0], ACCESS[1]];

/// A thread maps and fills two units first, so that one is left for it to measure.
const PER_THREAD: Bytes = Bytes::new(2 * UNIT.get());

fn default_size(facts: &Facts) -> Bytes {
    Bytes::new(facts.room().get() / 10 * 8)
}

fn threads_max(facts: &Facts) -> u64 {
    let fit = default_size(facts).get() / PER_THREAD.get();
    (4 * u64::from(facts.cpus)).min(32).min(fit).max(1)
}

/// Bytes of the file beyond those that are read.
const FILE_EXTRA: Bytes = Bytes::new(16 << 20);

/// State that all threads of one count share.
#[derive(Clone)]
struct Round {
    file: FileId,
    threads: u64,
    /// Bytes that a thread maps first.
    share: u64,
    /// Number of units that a thread touches in the end.
    units: u64,
    advice: Option<Advice>,
    tally: Tally,
    accesses: Accesses,
}

fn demand(of: &Chosen<'_>) -> Demand {
    let size = of.bytes("size");
    let memory = Demand::of_memory(size, of.rounds());
    Demand { files: Bytes::new(size), steps: memory.steps.saturating_mul(2), ..memory }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let size = parameters.bytes("size").get();
    sys.phase("prepare");
    let file = synced_file(sys, Bytes::new(size) + FILE_EXTRA).await?;
    for &threads in parameters.counts("threads") {
        sys.phase(&format!("threads-{threads}"));
        sys.drop_caches(DropCaches::All).await?;
        let share = (size / threads / UNIT.get()).max(1) * UNIT.get();
        let units = size / threads / UNIT.get() / 2;
        let advice = (parameters.word("madvise") == "yes").then_some(Advice::HugePage);
        let (tally, accesses) = (Tally::new(sys)?, Accesses::new(sys)?);
        let round = Round { file, threads, share, units, advice, tally, accesses };
        measure(sys, &round).await?;
        round.tally.report(sys, threads);
        round.accesses.report(sys, &format!("-{threads}"));
    }
    sys.phase("clean-up");
    sys.remove_file(file).await
}

/// Runs all threads once, in a process of their own.
async fn measure<S: Sys>(sys: &S, round: &Round) -> Result<(), Stop> {
    let round = round.clone();
    let process = sys.spawn(ChildKind::Process, "thpscale", move |sys| threads(sys, round)).await?;
    sys.wait(process).await?.result
}

async fn threads<S: Sys>(sys: S, round: Round) -> Result<(), Stop> {
    let mut children = Vec::new();
    for number in 0..round.threads {
        let round = round.clone();
        children.push(sys.spawn(ChildKind::Thread, "thpscale", move |sys| thread(sys, round, number)).await?);
    }
    for child in children {
        sys.wait(child).await?.result?;
    }
    Ok(())
}

async fn thread<S: Sys>(sys: S, round: Round, number: u64) -> Result<(), Stop> {
    let start = sys.now();
    let first = sys.mmap(Mapping::anon(Bytes::new(round.share))).await?;
    sys.fill(first).await?;
    punch(&sys, first).await?;
    let (mapped, area) = map_units(&sys, Bytes::new(round.share / 2), round.advice).await?;
    sys.sample("anoninit", sys.now() - start);
    let start = sys.now();
    let of = Of::File(round.file, Bytes::new(round.share * number));
    let length = Bytes::new(round.share / 4 / PAGE_SIZE.get() * PAGE_SIZE.get());
    let file = sys.mmap(Mapping { length, of }).await?;
    sys.touch(file, Access::Read).await?;
    sys.sample("fileinit", sys.now() - start);
    sys.barrier("units", round.threads).await?;
    fill_units(&sys, area, round.units, round.threads, &round.tally).await?;
    round.accesses.measure(&sys, area).await?;
    sys.munmap(file).await?;
    sys.munmap(first).await?;
    sys.munmap(mapped).await
}

/// Unmaps the first half of each 2 MiB of which half is left.
async fn punch<S: Sys>(sys: &S, area: Area) -> Result<(), Stop> {
    let half = UNIT.get() / 2;
    let end = area.start + area.length.get();
    let mut unit = area.start.next_multiple_of(UNIT.get());
    while unit + half <= end {
        sys.munmap(Area { start: unit, length: Bytes::new(half) }).await?;
        unit += UNIT.get();
    }
    Ok(())
}
