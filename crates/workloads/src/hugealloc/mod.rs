//! `hugealloc`: a driver allocates 2 MiB blocks one after another in memory that a program has fragmented. None is free, but
//! nearly everything can be moved: how long does each take, and how many are there?
//!
//! After the test of proactive compaction ("mm: Proactive compaction", linux-mm, 2020): memory is filled, three quarters of
//! every 2 MiB of it are freed, and a kernel thread allocates until it fails.

pub(crate) mod unmovable;

use order9_units::{Bytes, Nanos};

use crate::demand::{Chosen, Demand, FAILURE_STEPS, pages};
use crate::driver::{DRIVER, Driver};
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::pattern::{FREED_PERCENT, PATTERN, Pattern, part};
use crate::spec::{SECOND, Spec};
use crate::sys::{Access, Advice, Mapping, Stop, Sys};
use crate::unit::UNIT;

/// Share of memory that is filled before it is fragmented.
pub(crate) const FILL_PERCENT: Parameter = Parameter {
    key: "fill_percent",
    meaning: "share of the free memory that the program fills, while more than 1/64 of memory is available; 0 leaves it alone",
    kind: Kind::Count { min: 0, max: 100 },
    default: |facts| Value::Count(if facts.starts_in_use() { 0 } else { 94 }),
    default_text: "94, or 0 where memory is in use at the start",
};

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "hugealloc",
    summary: "the kernel takes huge pages where none is free but nearly all memory is movable",
    description: "\
        A program fills memory and gives most of every 2 MiB back; then the kernel allocates 2 MiB blocks one after \
        another until it fails. None is free, but nearly everything can be moved. Measured is how long each takes.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "madvise"), ("thp/defrag", "madvise")],
    counters_every: SECOND,
    is_long: false,
    demand,
};

const PARAMETERS: &[Parameter] = &[
    FILL_PERCENT,
    Parameter {
        key: "size",
        meaning: "memory that the program fills instead of a share, while more than 1/64 of memory is available; 0 leaves it to fill_percent",
        kind: Kind::Bytes { min: Bytes::ZERO },
        default: |_| Value::Bytes(Bytes::ZERO),
        default_text: "0",
    },
    DRIVER,
    FREED_PERCENT,
    PATTERN,
    Parameter {
        key: "compact",
        meaning: "whether 1 is written to vm.compact_memory before the pause",
        kind: Kind::Word(&["no", "yes"]),
        default: |_| Value::Word("no"),
        default_text: "no",
    },
    Parameter {
        key: "pause",
        meaning: "pause before the driver starts",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::ZERO),
        default_text: "0s",
    },
    Parameter {
        key: "interval",
        meaning: "rest of the driver after each block",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::ZERO),
        default_text: "0s",
    },
    Parameter {
        key: "failures",
        meaning: "failures in a row after which the driver ends, 1 ms apart",
        kind: Kind::Count { min: 1, max: 1_000_000 },
        default: |_| Value::Count(100),
        default_text: "100",
    },
];

const MEASURES: &[Measure] = &[
    Measure {
        heading: "Latencies",
        operations: &["alloc"],
        family: Family::Percentiles,
        better: Better::Lower,
        unit: Unit::Microseconds,
        decimals: 2,
        main: &[("alloc", Figure::Median), ("alloc", Figure::P95)],
    },
    Measure {
        heading: "Blocks",
        operations: &[ALLOCATED],
        family: Family::Single("Ops"),
        better: Better::Higher,
        unit: Unit::HugePages,
        decimals: 0,
        main: &[(ALLOCATED, Figure::Mean)],
    },
    Measure {
        heading: "Memory",
        operations: &[MEMORY, FREE, FREED],
        family: Family::Single("Ops"),
        better: Better::Higher,
        unit: Unit::Gibibytes,
        decimals: 2,
        main: &[],
    },
    Measure {
        heading: "Yield",
        operations: &[SHARE],
        family: Family::Single("Ops"),
        better: Better::Higher,
        unit: Unit::Percent,
        decimals: 2,
        main: &[],
    },
];

const ALLOCATED: &str = "2M hugepages allocated";
const MEMORY: &str = "Memory allocated";
const FREE: &str = "Memory free at start";
const FREED: &str = "Memory freed meanwhile";
const SHARE: &str = "Share of free memory allocated";

/// Bytes that are filled between two looks at the available memory.
const STEP: Bytes = Bytes::new(256 << 20);

fn demand(of: &Chosen<'_>) -> Demand {
    let steps =
        of.filled().max(pages(of.bytes("size"))).saturating_add(of.count("failures").saturating_mul(FAILURE_STEPS));
    Demand { time: of.time("pause").max(of.time("interval")), steps, ..Demand::default() }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("prepare");
    fragment(sys, parameters, parameters.bytes("size")).await?;
    sys.snapshot("fragmented");
    let free = sys.memory().free;
    if parameters.word("compact") == "yes" {
        sys.phase("compact");
        sys.compact(None).await?;
    }
    sys.phase("pause");
    sys.sleep(parameters.time("pause")).await?;
    sys.phase("measure");
    let pace = Pace { interval: parameters.time("interval"), failures: parameters.count("failures") };
    let driver = Driver::of(parameters);
    let body = move |sys| async move { drive(&sys, driver, pace, free).await };
    let driver = sys.spawn(driver.child_kind(), "hugealloc", body).await?;
    sys.wait(driver).await?.result
}

/// Fills memory with base pages, `size` or the chosen share of what is free, and gives back a part of every 2 MiB; the rest stays until the
/// end.
pub(crate) async fn fragment<S: Sys>(sys: &S, parameters: &Parameters, size: Bytes) -> Result<(), Stop> {
    let share = sys.memory().free.get() / 100 * parameters.count("fill_percent");
    let fill = if size > Bytes::ZERO { size.get() } else { share };
    let length = Bytes::new(fill / UNIT.get() * UNIT.get());
    if length == Bytes::ZERO {
        return Ok(());
    }
    let area = sys.mmap(Mapping::anon(length)).await?;
    let spare = sys.facts().memory.get() / 64;
    let mut filled = Bytes::ZERO;
    while filled < length && sys.memory().available.get() > spare {
        let step = area.part(filled, STEP);
        sys.touch(step, Access::Write).await?;
        filled += step.length;
    }
    let mut pattern =
        Pattern::new(parameters.word("pattern"), parameters.count("freed_percent"), sys.seed("hugealloc pattern"));
    for offset in (0..filled.get()).step_by(UNIT.get() as usize) {
        let unit = area.part(Bytes::new(offset), UNIT);
        for run in pattern.next_unit() {
            // The published test unmaps them, which on a large machine exceeds vm.max_map_count; memory is the same.
            sys.madvise(part(unit, run), Advice::DontNeed).await?;
        }
    }
    Ok(())
}

/// Pauses of the driver after a block, and after a failure.
#[derive(Clone, Copy)]
struct Pace {
    interval: Nanos,
    failures: u64,
}

/// Pause of the driver after a failure that does not end it.
const RETRY: Nanos = Nanos::new(1_000_000);

/// The driver: allocates until it fails so many times in a row.
async fn drive<S: Sys>(sys: &S, driver: Driver, pace: Pace, free: Bytes) -> Result<(), Stop> {
    let (mut blocks, mut failures) = (0_u64, 0);
    while failures < pace.failures {
        let (block, time) = driver.take(sys).await?;
        if block.is_none() {
            failures += 1;
            if failures < pace.failures {
                sys.sleep(RETRY).await?;
            }
            continue;
        }
        sys.sample("alloc", time);
        (blocks, failures) = (blocks + 1, 0);
        if pace.interval > Nanos::ZERO {
            sys.sleep(pace.interval).await?;
        }
    }
    sys.snapshot("allocated");
    sys.count(ALLOCATED, blocks as f64);
    let memory = blocks * UNIT.get();
    // Memory that was dropped or swapped out since was not free at the start, but the driver could have it.
    let freed = (memory + sys.memory().free.get()).saturating_sub(free.get());
    sys.count(MEMORY, memory as f64);
    sys.count(FREE, free.get() as f64);
    if freed > 0 {
        sys.count(FREED, freed as f64);
    }
    sys.percent(SHARE, 100.0 * memory as f64 / (free.get() + freed).max(1) as f64);
    Ok(())
}
