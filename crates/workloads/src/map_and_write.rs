//! `map-and-write`: a program maps memory, advises it or not, and writes it 2 MiB after 2 MiB, in memory as it is. How much of it
//! becomes huge, and how long does a fault take? The question that comes before every program which wants huge pages.

use order9_units::{Bytes, Nanos};

use crate::access::{ACCESS, Accesses};
use crate::demand::Demand;
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{Access, Advice, Stop, Sys};
use crate::thp::MADVISE;
use crate::unit::{UNIT, map_units, touch_first};

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "map-and-write",
    summary: "a program maps memory and writes it: how much becomes huge, how long a fault takes",
    description: "\
        A program maps memory, advises it MADV_HUGEPAGE or not, and writes it 2 MiB after 2 MiB. Memory and settings are as \
        they were: nothing is filled or fragmented before. It stops where no memory is available any more, before others \
        are swapped out or killed for it. Measured are the first fault of each 2 MiB, the share that became huge, and \
        the speed of the memory.",
    parameters: PARAMETERS,
    measures: &[FAULTS, SHARE, MEMORY_WRITTEN, ACCESS[0], ACCESS[1]],
    settings: |_| &[],
    counters_every: SECOND,
    is_long: false,
    demand: |of| Demand { time: of.time("pause").max(of.time("hold")), ..Demand::of_memory(of.bytes("size"), 1) },
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "size",
        meaning: "memory to write",
        kind: Kind::Bytes { min: UNIT },
        default: |facts| Value::Bytes(Bytes::new(facts.room().get() / 2)),
        default_text: "1/2 of memory",
    },
    MADVISE,
    Parameter {
        key: "pause",
        meaning: "pause before the program starts, for what daemons do meanwhile",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::ZERO),
        default_text: "0s",
    },
    Parameter {
        key: "hold",
        meaning: "time for which the memory is kept once it is written",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::ZERO),
        default_text: "0s",
    },
];

const FAULTS: Measure = Measure {
    heading: "Fault Latencies",
    operations: &[HUGE, BASE],
    family: Family::Percentiles,
    better: Better::Lower,
    unit: Unit::Microseconds,
    decimals: 2,
    main: &[(HUGE, Figure::Median), (HUGE, Figure::P95)],
};

const SHARE: Measure = Measure {
    heading: "Percentage Huge",
    operations: &[SHARE_HUGE],
    family: Family::Single("Percentage"),
    better: Better::Higher,
    unit: Unit::Percent,
    decimals: 2,
    main: &[(SHARE_HUGE, Figure::Mean)],
};

const MEMORY_WRITTEN: Measure = Measure {
    heading: "Memory",
    operations: &[WRITTEN],
    family: Family::Single("Ops"),
    better: Better::Higher,
    unit: Unit::Gibibytes,
    decimals: 2,
    main: &[],
};

/// First fault of a unit that became huge.
const HUGE: &str = "fault-huge";
/// First fault of a unit that became base pages, vain efforts for a huge page included.
const BASE: &str = "fault-base";
const SHARE_HUGE: &str = "huge";
const WRITTEN: &str = "Memory written";

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("pause");
    sys.sleep(parameters.time("pause")).await?;
    sys.phase("write");
    let units = parameters.bytes("size").get() / UNIT.get();
    let advice = (parameters.word(MADVISE.key) == "yes").then_some(Advice::HugePage);
    let (_, area) = map_units(sys, Bytes::new(units * UNIT.get()), advice).await?;
    let (mut written, mut huge) = (0, 0);
    // Asking what is available takes no part of a latency.
    while written < units && sys.memory().available >= UNIT {
        let unit = area.part(Bytes::new(written * UNIT.get()), UNIT);
        let (latency, is_huge) = touch_first(sys, unit).await?;
        sys.sample(if is_huge { HUGE } else { BASE }, latency);
        sys.touch(unit, Access::Write).await?;
        (written, huge) = (written + 1, huge + u64::from(is_huge));
    }
    sys.count(WRITTEN, (written * UNIT.get()) as f64);
    sys.percent(SHARE_HUGE, 100.0 * huge as f64 / written.max(1) as f64);
    sys.phase("hold");
    sys.sleep(parameters.time("hold")).await?;
    sys.phase("use");
    let accesses = Accesses::new(sys)?;
    accesses.measure(sys, area).await?;
    accesses.report(sys, "");
    Ok(())
}
