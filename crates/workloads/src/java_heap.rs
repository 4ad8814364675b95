//! `java-heap`: a process that wants all its memory at once and huge starts in fragmented memory. After the test of "mm:
//! Proactive compaction" (linux-mm, 2020): a Java heap with `-XX:+UseTransparentHugePages -XX:+AlwaysPreTouch`.

use order9_units::{Bytes, Nanos};

use crate::access::{ACCESS, Accesses};
use crate::demand::{Chosen, Demand};
use crate::hugealloc;
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::pattern::{FREED_PERCENT, PATTERN};
use crate::spec::{SECOND, Spec};
use crate::sys::{Access, Advice, ChildKind, Ended, Mapping, Stop, Sys};
use crate::unit::UNIT;

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "java-heap",
    summary: "one process wants all its memory at once and huge, in fragmented memory",
    description: "\
        A process wants all its memory at once and huge, as a Java heap that is touched before use, and starts in \
        fragmented memory. Measured are how long that takes, and how fast the heap is then.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "madvise"), ("thp/defrag", "madvise")],
    counters_every: SECOND,
    is_long: false,
    demand,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "heap",
        meaning: "memory of the process",
        kind: Kind::Bytes { min: UNIT },
        default: |facts| Value::Bytes(Bytes::new(facts.room().get() / 1024 * 700)),
        default_text: "700/1024 of memory",
    },
    hugealloc::FILL_PERCENT,
    FREED_PERCENT,
    PATTERN,
    Parameter {
        key: "pause",
        meaning: "pause before the process starts",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::ZERO),
        default_text: "0s",
    },
];

const START: Measure = Measure {
    heading: "Start",
    operations: &["User", "System", "Elapsed"],
    family: Family::Single("Duration"),
    better: Better::Lower,
    unit: Unit::Seconds,
    decimals: 2,
    main: &[("Elapsed", Figure::Mean)],
};

const MEASURES: &[Measure] = &[START, ACCESS[0], ACCESS[1]];

fn demand(of: &Chosen<'_>) -> Demand {
    let heap = Demand::of_memory(of.bytes("heap"), 1);
    Demand { time: of.time("pause"), steps: heap.steps.saturating_add(of.filled()), ..heap }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("prepare");
    hugealloc::fragment(sys, parameters, Bytes::ZERO).await?;
    sys.snapshot("fragmented");
    sys.phase("pause");
    sys.sleep(parameters.time("pause")).await?;
    sys.phase("measure");
    let (start, heap) = (sys.now(), parameters.bytes("heap"));
    let accesses = Accesses::new(sys)?;
    let own = accesses.clone();
    let body = move |sys: S| async move { touch_heap(&sys, heap, &own).await };
    let java = sys.spawn(ChildKind::Process, "java", body).await?;
    let Ended { times, result } = sys.wait(java).await?;
    result?;
    sys.sample("User", times.user);
    sys.sample("System", times.system);
    sys.sample("Elapsed", sys.now() - start);
    accesses.report(sys, "");
    Ok(())
}

async fn touch_heap<S: Sys>(sys: &S, length: Bytes, accesses: &Accesses) -> Result<(), Stop> {
    let heap = sys.mmap(Mapping::anon(length)).await?;
    sys.madvise(heap, Advice::HugePage).await?;
    sys.touch(heap, Access::Write).await?;
    accesses.measure(sys, heap).await
}
