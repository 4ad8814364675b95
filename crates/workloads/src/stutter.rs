//! `stutter`: what a desktop user feels. A small program maps and touches memory again and again while memory is hogged and a
//! large file is copied. After the stutter configuration of mmtests.

use order9_units::{Bytes, Nanos, PAGE_SIZE};

use crate::demand::{Chosen, Demand, pages};
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{Access, ChildKind, DropCaches, FileId, Flag, Mapping, Measuring, Stop, Sys, synced_file};

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "stutter",
    summary: "maps and touches memory beside a hog and a large copy: the stalls that a desktop user feels",
    description: "\
        What a desktop user feels: a small program maps and touches memory again and again while another one hogs memory \
        and a large file is copied. Measured is how long each mapping takes.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "always")],
    counters_every: SECOND,
    is_long: false,
    demand,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "hog",
        meaning: "memory of the program that hogs it",
        kind: Kind::Bytes { min: MIB },
        default: |facts| Value::Bytes(Bytes::new(facts.room().get() / 4 * 3)),
        default_text: "3/4 of memory",
    },
    Parameter {
        key: "file",
        meaning: "size of the file that is copied",
        kind: Kind::Bytes { min: MIB },
        default: |facts| Value::Bytes(Bytes::new(facts.room().get() * 2)),
        default_text: "twice the memory",
    },
    Parameter {
        key: "copies",
        meaning: "number of copies",
        kind: Kind::Count { min: 1, max: 1000 },
        default: |_| Value::Count(5),
        default_text: "5",
    },
    Parameter {
        key: "probe",
        meaning: "memory that the probe maps and touches each time",
        kind: Kind::Bytes { min: PAGE_SIZE },
        default: |facts| Value::Bytes(Bytes::new((128 << 20).min(facts.room().get() / 8)).max(PAGE_SIZE)),
        default_text: "128M, at most 1/8 of memory",
    },
];

const MEASURES: &[Measure] = &[
    Measure {
        heading: "",
        operations: &["mmap"],
        family: Family::Quantiles,
        better: Better::Lower,
        unit: Unit::Milliseconds,
        decimals: 4,
        main: &[("mmap", Figure::Median), ("mmap", Figure::P95)],
    },
    Measure {
        heading: "Copies",
        operations: &["copy"],
        family: Family::Samples,
        better: Better::Higher,
        unit: Unit::MebibytesPerSecond,
        decimals: 2,
        main: &[("copy", Figure::Mean)],
    },
];

const MIB: Bytes = Bytes::new(1 << 20);
/// The probe's pause between two rounds.
const PAUSE: Nanos = Nanos::new(5_000_000);
/// Time between the start of the hogs and that of the copy.
const HEAD_START: Nanos = Nanos::new(10_000_000_000);
/// Bytes that are copied at once.
const BLOCK: Bytes = Bytes::new(2 << 20);

fn demand(of: &Chosen<'_>) -> Demand {
    let (hog, file, probe) = (of.bytes("hog"), of.bytes("file"), of.bytes("probe"));
    let copies = of.count("copies");
    let copied = pages(file).saturating_mul(2).saturating_add(pages(hog)).saturating_mul(copies);
    Demand {
        mapped: Bytes::new(hog.max(probe)),
        files: Bytes::new(file.saturating_mul(2)),
        steps: copied.saturating_add(pages(probe)),
        ..Demand::default()
    }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("prepare");
    let length = parameters.bytes("file");
    let source = synced_file(sys, length).await?;
    sys.drop_caches(DropCaches::All).await?;
    sys.phase("measure");
    let over = Flag::new(sys)?;
    let (seen, size) = (over.clone(), parameters.bytes("probe"));
    let body = move |sys: S| async move { probe(&sys, size, &seen).await };
    let probe = sys.spawn(ChildKind::Process, "stutter", body).await?;
    for _ in 0..parameters.count("copies") {
        copy_beside_hog(sys, source, length, parameters.bytes("hog")).await?;
    }
    over.raise();
    sys.wait(probe).await?.result?;
    sys.phase("clean-up");
    sys.remove_file(source).await
}

/// Maps, touches and unmaps, again and again; the time of a round includes what the pause before it took too long.
async fn probe<S: Sys>(sys: &S, size: Bytes, over: &Flag) -> Result<(), Stop> {
    let mut meter = Meter::default();
    let mut last = sys.now();
    while !over.is_up() {
        sys.sleep(PAUSE).await?;
        let area = sys.mmap(Mapping::anon(size)).await?;
        sys.touch(area, Access::Write).await?;
        sys.munmap(area).await?;
        let now = sys.now();
        let took = (now - last).get().saturating_sub(PAUSE.get());
        last = now;
        meter.count(sys, Nanos::new(took));
    }
    meter.flush(sys);
    Ok(())
}

/// Latencies below the pause are smoothed as the published program does: up to 1000 of them count as so many of their mean.
#[derive(Default)]
struct Meter {
    short: u64,
    sum: u64,
}

const SMOOTHED: u64 = 1000;

impl Meter {
    fn count<S: Measuring>(&mut self, sys: &S, latency: Nanos) {
        if latency >= PAUSE {
            self.flush(sys);
            sys.sample("mmap", latency);
            return;
        }
        self.short += 1;
        self.sum += latency.get();
        if self.short == SMOOTHED {
            self.flush(sys);
        }
    }

    fn flush<S: Measuring>(&mut self, sys: &S) {
        for _ in 0..self.short {
            sys.sample("mmap", Nanos::new(self.sum / self.short));
        }
        *self = Self::default();
    }
}

/// A hog takes its memory and keeps it while the file is copied.
async fn copy_beside_hog<S: Sys>(sys: &S, source: FileId, length: Bytes, hog: Bytes) -> Result<(), Stop> {
    let over = Flag::new(sys)?;
    let seen = over.clone();
    let size = Bytes::new(hog.get() / MIB.get() * MIB.get());
    let body = move |sys: S| async move { hold(&sys, size, &seen).await };
    let hog = sys.spawn(ChildKind::Process, "memory-hog", body).await?;
    sys.sleep(HEAD_START).await?;
    let start = sys.now();
    copy(sys, source, length).await?;
    // The published figure adds a second to the time.
    let seconds = (sys.now() - start).get() as f64 / 1e9 + 1.0;
    sys.rate("copy", length.get() as f64 / MIB.get() as f64 / seconds);
    over.raise();
    match sys.wait(hog).await?.result {
        // The kernel may kill a hog for memory; the published test only starts another one.
        Ok(()) | Err(Stop::Killed { .. }) => Ok(()),
        Err(stop) => Err(stop),
    }
}

async fn hold<S: Sys>(sys: &S, size: Bytes, over: &Flag) -> Result<(), Stop> {
    let area = sys.mmap(Mapping::anon(size)).await?;
    sys.touch(area, Access::Write).await?;
    while !over.is_up() {
        sys.sleep(Nanos::new(100_000_000)).await?;
    }
    sys.munmap(area).await
}

async fn copy<S: Sys>(sys: &S, source: FileId, length: Bytes) -> Result<(), Stop> {
    let target = sys.create().await?;
    sys.open(source).await?;
    let mut offset = Bytes::ZERO;
    while offset < length {
        let read = sys.read(source, offset, BLOCK).await?;
        sys.write(target, offset, read).await?;
        offset += read;
    }
    sys.close(source).await?;
    sys.fsync(target).await?;
    sys.close(target).await?;
    sys.remove_file(target).await
}
