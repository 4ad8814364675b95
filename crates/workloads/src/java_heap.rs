//! `java-heap`: a process that wants all its memory at once and huge starts in fragmented memory. After the test of "mm:
//! Proactive compaction" (linux-mm, 2020): a Java heap with `-XX:+UseTransparentHugePages -XX:+AlwaysPreTouch`.

use order9_units::{Bytes, Nanos};

use crate::hugealloc;
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::pattern::{FREED_PERCENT, PATTERN};
use crate::sys::{Access, Advice, ChildKind, Ended, Mapping, Stop, Sys};
use crate::unit::UNIT;
use crate::workload::{Better, Family, Measure, Unit};

pub(crate) const DESCRIPTION: &str = "\
    A process wants all its memory at once and huge, as a Java heap that is touched before use, and starts in \
    fragmented memory. Measured is how long that takes.";

pub(crate) const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "heap",
        meaning: "memory of the process",
        kind: Kind::Bytes { min: UNIT },
        default: |facts| Value::Bytes(Bytes::new(facts.memory.get() / 1024 * 700)),
        default_text: "700/1024 of memory",
    },
    hugealloc::FILL_PERCENT,
    FREED_PERCENT,
    PATTERN,
    Parameter {
        key: "pause",
        meaning: "how long nothing happens before the process starts",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::ZERO),
        default_text: "0s",
    },
];

pub(crate) const MEASURES: &[Measure] = &[Measure {
    heading: "Start",
    operations: &["User", "System", "Elapsed"],
    family: Family::Single("Duration"),
    better: Better::Lower,
    unit: Unit::Seconds,
    decimals: 2,
}];

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("prepare");
    hugealloc::fragment(sys, parameters).await?;
    sys.snapshot("fragmented");
    sys.phase("pause");
    sys.sleep(parameters.time("pause")).await?;
    sys.phase("measure");
    let (start, heap) = (sys.now(), parameters.bytes("heap"));
    let java = sys.spawn(ChildKind::Process, "java", move |sys| async move { touch_heap(&sys, heap).await }).await?;
    let Ended { times, result } = sys.wait(java).await?;
    result?;
    sys.sample("User", times.user);
    sys.sample("System", times.system);
    sys.sample("Elapsed", sys.now() - start);
    Ok(())
}

async fn touch_heap<S: Sys>(sys: &S, length: Bytes) -> Result<(), Stop> {
    let heap = sys.mmap(Mapping::anon(length)).await?;
    sys.madvise(heap, Advice::HugePage).await?;
    sys.touch(heap, Access::Write).await
}
