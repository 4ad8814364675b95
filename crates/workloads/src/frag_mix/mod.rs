//! `frag-mix`: memory is fragmented to a chosen degree by a chosen mix of causes, whose number is known exactly since the
//! workload makes them; an aggressor goes on at a chosen rate while a driver asks for huge pages.
//!
//! Three causes, each of which keeps a 2 MiB block from being a huge page in its own way: memory of the kernel, which
//! nobody can move; pinned pages of a program; other pages of programs, which compaction can move.

mod aggressor;
mod causes;
mod driver;

use order9_units::Nanos;

use crate::demand::{CALL, Chosen, Demand};
use crate::driver::{DRIVER, Driver};
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{ChildKind, Facts, Stop, Sys};

const PERCENT: Kind = Kind::Count { min: 0, max: 100 };

/// Memory that is in use already is as fragmented as it is.
fn unless_in_use(facts: &Facts, percent: u64) -> Value {
    Value::Count(if facts.starts_in_use() { 0 } else { percent })
}

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "frag-mix",
    summary: "huge pages under steady fragmentation of a chosen degree and mix",
    description: "\
        Fragments memory to a chosen degree by a chosen mix of causes, whose number is known exactly since the workload \
        makes them: memory of the kernel, which nobody can move; pinned pages of a program; other pages of programs, \
        which compaction can move. An aggressor goes on at a chosen rate while a driver asks for huge pages.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "always")],
    counters_every: SECOND,
    is_long: false,
    demand,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "unmovable_percent",
        meaning: "share of all 2 MiB blocks that get one page of the kernel",
        kind: PERCENT,
        default: |facts| unless_in_use(facts, 20),
        default_text: "20, or 0 where memory is in use at the start",
    },
    Parameter {
        key: "pinned_percent",
        meaning: "share of the program's 2 MiB units of which one page is pinned",
        kind: PERCENT,
        default: |facts| unless_in_use(facts, 5),
        default_text: "5, or 0 where memory is in use at the start",
    },
    Parameter {
        key: "fill_percent",
        meaning: "share of the memory then free that the program fills",
        kind: PERCENT,
        default: |facts| unless_in_use(facts, 90),
        default_text: "90, or 0 where memory is in use at the start",
    },
    Parameter {
        key: "advised",
        meaning: "whether the program's memory is advised MADV_NOHUGEPAGE, and so comes in base pages whatever thp/enabled says",
        kind: Kind::Word(&["nohugepage", "no"]),
        default: |_| Value::Word("nohugepage"),
        default_text: "nohugepage",
    },
    Parameter {
        key: "freed_percent",
        meaning: "share of the program's pages that it gives back, anywhere",
        kind: PERCENT,
        default: |_| Value::Count(50),
        default_text: "50",
    },
    Parameter {
        key: "rate",
        meaning: "kernel allocations of the aggressor per second; 0 is no aggressor",
        kind: Kind::Count { min: 0, max: 10_000_000 },
        default: |_| Value::Count(1000),
        default_text: "1000",
    },
    Parameter {
        key: "lifetime",
        meaning: "mean lifetime of the aggressor's allocations",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::new(5_000_000_000)),
        default_text: "5s",
    },
    Parameter {
        key: "kept_percent",
        meaning: "share of the aggressor's allocations that it never frees",
        kind: PERCENT,
        default: |_| Value::Count(1),
        default_text: "1",
    },
    Parameter {
        key: "interval",
        meaning: "time between two huge pages that the driver asks for",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::new(10_000_000)),
        default_text: "10ms",
    },
    Parameter {
        key: "held",
        meaning: "time for which the driver keeps a huge page",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::new(10_000_000_000)),
        default_text: "10s",
    },
    Parameter {
        key: "duration",
        meaning: "time for which the driver asks",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::new(60_000_000_000)),
        default_text: "60s",
    },
    DRIVER,
];

const MEASURES: &[Measure] = &[
    Measure {
        heading: "Latencies",
        operations: &[driver::GOT, driver::REFUSED],
        family: Family::Percentiles,
        better: Better::Lower,
        unit: Unit::Microseconds,
        decimals: 2,
        main: &[(driver::GOT, Figure::Median), (driver::GOT, Figure::P95)],
    },
    Measure {
        heading: "Success",
        operations: &[driver::SUCCESS],
        family: Family::Single("Ops"),
        better: Better::Higher,
        unit: Unit::Percent,
        decimals: 2,
        main: &[(driver::SUCCESS, Figure::Mean)],
    },
    Measure {
        heading: "Ground truth",
        operations: &[causes::UNMOVABLE, causes::PINNED, causes::CLEAN],
        family: Family::Single("Ops"),
        better: Better::Lower,
        unit: Unit::HugePages,
        decimals: 0,
        main: &[],
    },
    Measure {
        heading: "Aggressor",
        operations: &[aggressor::ALLOCATED, aggressor::KEPT],
        family: Family::Single("Ops"),
        better: Better::Lower,
        unit: Unit::Pages,
        decimals: 0,
        main: &[],
    },
];

fn demand(of: &Chosen<'_>) -> Demand {
    let duration = of.time("duration");
    let seconds = duration.get().div_ceil(SECOND.get());
    let asked = duration.get() / of.time("interval").max(CALL).get();
    let steps = seconds.saturating_mul(of.count("rate")).saturating_add(asked).saturating_add(of.filled());
    Demand { steps, time: duration.max(of.time("interval")), ..Demand::default() }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("prepare");
    causes::make(sys, parameters).await?;
    sys.snapshot("fragmented");
    sys.phase("measure");
    let end = sys.now() + parameters.time("duration");
    let chosen = parameters.clone();
    let aggressor =
        sys.spawn(ChildKind::Kernel, "aggressor", move |sys| async move { aggressor::run(&sys, &chosen, end).await });
    let chosen = parameters.clone();
    let kind = Driver::of(parameters).child_kind();
    let driver = sys.spawn(kind, "driver", move |sys| async move { driver::run(&sys, &chosen, end).await });
    let (aggressor, driver) = (aggressor.await?, driver.await?);
    sys.wait(driver).await?.result?;
    sys.wait(aggressor).await?.result?;
    sys.snapshot("end");
    Ok(())
}
