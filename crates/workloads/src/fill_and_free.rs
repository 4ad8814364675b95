//! `fill-and-free`: touches memory in order and gives part of it back by a pattern, so that what stays lies spread over all
//! pageblocks. Repeated, it ages memory.

use order9_units::{Bytes, Nanos};

use crate::demand::Demand;
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::pattern::{FREED_PERCENT, PATTERN, Pattern, part};
use crate::spec::{SECOND, Spec};
use crate::sys::{Access, Advice, Mapping, Stop, Sys};
use crate::unit::UNIT;

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "fill-and-free",
    summary: "fills memory and frees it by a pattern: ages memory",
    description: "\
        Touches memory in order and gives part of every 2 MiB back by a pattern, so that what stays lies spread over all \
        pageblocks. Repeated, it ages memory. Measured are the times that touching and giving back take.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "madvise")],
    counters_every: SECOND,
    is_long: false,
    demand: |of| Demand { time: of.time("hold"), ..Demand::of_memory(of.bytes("size"), of.count("rounds")) },
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "size",
        meaning: "memory to fill",
        kind: Kind::Bytes { min: UNIT },
        default: |facts| Value::Bytes(Bytes::new(facts.room().get() / 10 * 9)),
        default_text: "9/10 of memory",
    },
    FREED_PERCENT,
    PATTERN,
    Parameter {
        key: "rounds",
        meaning: "number of times that memory is filled and freed",
        kind: Kind::Count { min: 1, max: 1_000_000 },
        default: |_| Value::Count(1),
        default_text: "1",
    },
    Parameter {
        key: "hold",
        meaning: "time for which the remaining memory is kept in the end",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::ZERO),
        default_text: "0s",
    },
];

const MEASURES: &[Measure] = &[Measure {
    heading: "",
    operations: &["Fill", "Free"],
    family: Family::Samples,
    better: Better::Lower,
    unit: Unit::Seconds,
    decimals: 2,
    main: &[("Fill", Figure::Mean), ("Free", Figure::Mean)],
}];

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let length = Bytes::new(parameters.bytes("size").get() / UNIT.get() * UNIT.get());
    let seed = sys.seed("fill-and-free");
    let mut pattern = Pattern::new(parameters.word("pattern"), parameters.count("freed_percent"), seed);
    sys.phase("measure");
    let area = sys.mmap(Mapping::anon(length)).await?;
    for _ in 0..parameters.count("rounds") {
        let start = sys.now();
        sys.touch(area, Access::Write).await?;
        let filled = sys.now();
        for unit in (0..length.get()).step_by(UNIT.get() as usize) {
            let unit = area.part(Bytes::new(unit), UNIT);
            for run in pattern.next_unit() {
                sys.madvise(part(unit, run), Advice::DontNeed).await?;
            }
        }
        sys.sample("Fill", filled - start);
        sys.sample("Free", sys.now() - filled);
    }
    sys.phase("hold");
    sys.sleep(parameters.time("hold")).await
}
