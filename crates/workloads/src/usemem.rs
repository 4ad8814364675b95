//! `usemem`: streams through file and anonymous memory that together fit into memory, so that any swapping or direct
//! reclaim is a mistake of the kernel. On NUMA one node overflows long before the machine does.
//!
//! Two processes run at the same time with as many threads each: one passes over private memory, storing to every page,
//! the other reads a file that all its threads map from the beginning. Measured is what `/usr/bin/time` shows around both.

use order9_units::{Bytes, Nanos, PAGE_SIZE};

use crate::access::{ACCESS, Accesses};
use crate::demand::{Chosen, Demand, part};
use crate::ladder::thread_ladder;
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{Access, Area, ChildKind, Ended, FileId, Mapping, Of, Stop, Sys, Times, synced_file};
use crate::unit::UNIT;

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "usemem",
    summary: "streams through file and anonymous memory that together fit: any stall is a mistake",
    description: "\
        Two processes run at the same time with as many threads each. One passes over private memory and stores to every \
        page; the other reads a file that all its threads map from the beginning. Together they fit into memory, so that \
        any swapping or direct reclaim is a mistake of the kernel; on NUMA one node overflows long before the machine \
        does. With all of it anonymous there is one process alone. Measured is what `/usr/bin/time` shows around both: user, system and elapsed time, and faults.",
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
        meaning: "memory used in all",
        kind: Kind::Bytes { min: UNIT },
        default: |facts| Value::Bytes(Bytes::new(facts.room().get() / 5 * 4)),
        default_text: "4/5 of memory",
    },
    Parameter {
        key: "anon_percent",
        meaning: "share of the size that is anonymous; the rest is a file, which a second process reads",
        kind: Kind::Count { min: 1, max: 100 },
        default: |_| Value::Count(80),
        default_text: "80",
    },
    Parameter {
        key: "loops",
        meaning: "passes of every thread over its memory",
        kind: Kind::Count { min: 1, max: 1_000_000 },
        default: |_| Value::Count(30),
        default_text: "30",
    },
    Parameter {
        key: "iterations",
        meaning: "repetitions for each number of threads",
        kind: Kind::Count { min: 1, max: 1_000_000 },
        default: |_| Value::Count(7),
        default_text: "7",
    },
    Parameter {
        key: "threads",
        meaning: "numbers of threads per process, one after the other",
        kind: Kind::Counts { min: 1, max: 4096 },
        default: |facts| Value::Counts(thread_ladder(1, u64::from(facts.cpus))),
        default_text: "steps from 1 to the number of CPUs",
    },
];

/// The second name is spelled as mmtests has it.
const MEASURES: &[Measure] = &[TIMES, ACCESS[0], ACCESS[1]];

const TIMES: Measure = Measure {
    heading: "",
    operations: &["System", "Elapsd"],
    family: Family::Samples,
    better: Better::Lower,
    unit: Unit::Seconds,
    decimals: 2,
    main: &[("System", Figure::Mean), ("Elapsd", Figure::Mean)],
};

/// Bytes of the file beyond those that are read.
const FILE_EXTRA: Bytes = Bytes::new(32 << 20);

/// About how long a shell takes to start a program (`fork+/bin/sh` of lmbench): by then the one before has its threads.
/// Where both began in one instant, their threads would come up in turns, and each program's on a node of its own.
const BETWEEN_PROGRAMS: Nanos = Nanos::new(1_000_000);

/// Work of one process.
#[derive(Clone, Copy)]
struct Share {
    threads: u64,
    /// Bytes of each thread.
    bytes: Bytes,
    loops: u64,
}

fn demand(of: &Chosen<'_>) -> Demand {
    let size = of.bytes("size");
    let anon = part(size, of.count("anon_percent"));
    let passes = of.count("loops").saturating_mul(of.count("iterations")).saturating_mul(of.rounds());
    Demand { files: Bytes::new(size - anon), ..Demand::of_memory(anon, passes) }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let size = parameters.bytes("size").get();
    let anon_percent = parameters.count("anon_percent");
    let share = |percent: u64| (u128::from(size) * u128::from(percent) / 100) as u64;
    let (anon, file_bytes) = (share(anon_percent), share(100 - anon_percent));
    sys.phase("prepare");
    let file = match file_bytes {
        0 => None,
        bytes => Some(synced_file(sys, Bytes::new(bytes) + FILE_EXTRA).await?),
    };
    for &threads in parameters.counts("threads") {
        sys.phase(&format!("threads-{threads}"));
        let share = |bytes| Share { threads, bytes: whole_pages(bytes / threads), loops: parameters.count("loops") };
        let accesses = Accesses::new(sys)?;
        for _ in 0..parameters.count("iterations") {
            let cached = file.map(|file| (file, share(file_bytes)));
            measure(sys, share(anon), cached, &accesses).await?;
        }
        accesses.report(sys, &format!("-{threads}"));
    }
    sys.phase("clean-up");
    match file {
        Some(file) => sys.remove_file(file).await,
        None => Ok(()),
    }
}

/// Rounds down, but not to nothing.
fn whole_pages(bytes: u64) -> Bytes {
    Bytes::new((bytes / PAGE_SIZE.get()).max(1) * PAGE_SIZE.get())
}

/// Runs the processes once: the second one where there is a file to be read.
async fn measure<S: Sys>(
    sys: &S,
    anon: Share,
    cached: Option<(FileId, Share)>,
    accesses: &Accesses,
) -> Result<(), Stop> {
    let start = sys.now();
    let own = accesses.clone();
    let body = move |sys| pass_over(sys, Of::Anon, anon, Some(own));
    let mut children = vec![sys.spawn(ChildKind::Process, "usemem-anon", body).await?];
    if let Some((file, share)) = cached {
        sys.sleep(BETWEEN_PROGRAMS).await?;
        let of_file = Of::File(file, Bytes::ZERO);
        let body = move |sys| pass_over(sys, of_file, share, None);
        children.push(sys.spawn(ChildKind::Process, "usemem-file", body).await?);
    }
    let mut times = Times::default();
    for child in children {
        let Ended { times: used, result } = sys.wait(child).await?;
        result?;
        times = times + used;
    }
    sys.sample(&format!("System-{}", anon.threads), times.system);
    sys.sample(&format!("Elapsd-{}", anon.threads), sys.now() - start);
    Ok(())
}

/// One process: every thread maps memory of its own and passes over it; how fast it is then goes to `accesses`.
async fn pass_over<S: Sys>(sys: S, of: Of, share: Share, accesses: Option<Accesses>) -> Result<(), Stop> {
    let mut threads = Vec::new();
    for _ in 0..share.threads {
        let accesses = accesses.clone();
        let body = move |sys| pass(sys, of, share, accesses);
        threads.push(sys.spawn(ChildKind::Thread, "usemem", body).await?);
    }
    for thread in threads {
        sys.wait(thread).await?.result?;
    }
    Ok(())
}

async fn pass<S: Sys>(sys: S, of: Of, share: Share, accesses: Option<Accesses>) -> Result<(), Stop> {
    let area: Area = sys.mmap(Mapping { length: share.bytes, of }).await?;
    let access = if of == Of::Anon { Access::Write } else { Access::Read };
    for _ in 0..share.loops {
        sys.touch(area, access).await?;
    }
    match accesses {
        Some(accesses) => accesses.measure(&sys, area).await,
        None => Ok(()),
    }
}
