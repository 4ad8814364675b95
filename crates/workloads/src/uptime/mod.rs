//! `uptime`: a mixed server for days. Jobs of different lifetimes come and go, so that memory fragments where unmovable and
//! long-lived pages mix with everything else. Its memory at the end of each day is kept as a snapshot, from which every
//! other workload can start.
//!
//! One file for each kind of component: [`database`], [`services`], [`requests`], [`kernel`] (and network), [`files`] (with
//! logs and backup), [`builds`]. Each has a random stream of its own, so that none changes with another. What happens when
//! is [`agenda`]'s matter. Definition and decisions: docs/workloads.md.

mod agenda;
mod builds;
mod database;
mod files;
mod kernel;
mod requests;
mod services;

use std::future::Future;

use order9_units::{Bytes, Nanos, PAGE_SIZE};

use crate::access::ACCESS;
use crate::demand::{Chosen, Demand, pages, part};
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{Access, Advice, Area, ChildKind, Mapping, Stop, Sys, sleep_until};

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "uptime",
    summary: "a mixed server for days: the aging of memory",
    description: "\
        A mixed server for days, to age memory as servers do: a database with huge pages, services that grow and shrink, \
        short requests, network buffers, files, logs, a nightly backup, builds, and memory that the kernel keeps. Sizes \
        and rates go by the memory of the machine. Measured is each nightly restart of the database: the latency of \
        every 2 MiB, the share of them that became huge pages, and the time of the whole fill. The state of memory at \
        the end of each day is kept as a snapshot.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "always"), ("thp/defrag", "madvise")],
    counters_every: Nanos::new(600_000_000_000),
    is_long: true,
    demand,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "days",
        meaning: "days for which the server runs",
        kind: Kind::Count { min: 1, max: 3650 },
        default: |_| Value::Count(7),
        default_text: "7",
    },
    Parameter {
        key: "rate_percent",
        meaning: "factor of all rates",
        kind: Kind::Count { min: 1, max: 100_000 },
        default: |_| Value::Count(100),
        default_text: "100",
    },
    Parameter {
        key: "files_percent",
        meaning: "size of all files that are read, in percent of memory",
        kind: Kind::Count { min: 1, max: 10_000 },
        default: |_| Value::Count(150),
        default_text: "150",
    },
];

const MEASURES: &[Measure] = &[
    Measure {
        heading: "Latency of 2 MiB at restart of day",
        operations: &["unit"],
        family: Family::Quantiles,
        better: Better::Lower,
        unit: Unit::Microseconds,
        decimals: 2,
        main: &[("unit", Figure::Median), ("unit", Figure::P95)],
    },
    Measure {
        heading: "Percentage of 2 MiB at restart of day",
        operations: &["huge", "local"],
        family: Family::Samples,
        better: Better::Higher,
        unit: Unit::Percent,
        decimals: 2,
        main: &[("huge", Figure::Mean)],
    },
    Measure {
        heading: "Restart of day",
        operations: &["restart"],
        family: Family::Samples,
        better: Better::Lower,
        unit: Unit::Seconds,
        decimals: 2,
        main: &[("restart", Figure::Mean)],
    },
    ACCESS[0],
    ACCESS[1],
];

const HOUR: Nanos = Nanos::new(3_600_000_000_000);
const DAY: Nanos = Nanos::new(24 * HOUR.get());
/// The machine that rates are given for, and the pages that are touched there in a second.
const RATED: Bytes = Bytes::new(16 << 30);
const PAGES_PER_SECOND: u64 = 4000;
/// Time that components go on after the last state was kept: that state is of a server at work.
const AFTERWARDS: Nanos = Nanos::new(1_000_000_000);

/// State that all components share.
#[derive(Clone, Copy, Debug)]
struct Server {
    /// Midnight before the first day.
    start: Nanos,
    days: u64,
    /// Time at which components stop.
    end: Nanos,
    /// Memory of the machine, as far as it is there for the server.
    memory: Bytes,
    /// Factor of all rates.
    scale: f64,
}

impl Server {
    fn new(start: Nanos, memory: Bytes, days: u64, rate: f64) -> Self {
        let end = start + Nanos::new(DAY.get() * days) + AFTERWARDS;
        Self { start, days, end, memory, scale: rate * memory.get() as f64 / RATED.get() as f64 }
    }

    /// Time since midnight at `at`.
    fn time_of_day(&self, at: Nanos) -> Nanos {
        Nanos::new((at - self.start).get() % DAY.get())
    }

    /// A time of a day, counted from 0.
    fn at(&self, day: u64, time_of_day: Nanos) -> Nanos {
        self.start + Nanos::new(DAY.get() * day) + time_of_day
    }
}

fn demand(of: &Chosen<'_>) -> Demand {
    let (room, days) = (of.facts.room().get(), of.count("days"));
    let scale = |number: u64| (u128::from(number) * u128::from(room) / u128::from(RATED.get())) as u64;
    let of_day = DAY.get() / SECOND.get() * scale(PAGES_PER_SECOND) / 100 * of.count("rate_percent");
    let files = part(room, of.count("files_percent"));
    Demand {
        files: Bytes::new(files),
        steps: of_day.saturating_mul(days).saturating_add(pages(files)),
        time: Nanos::new(DAY.get().saturating_mul(days)),
        ..Demand::default()
    }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let memory = sys.facts().room();
    sys.phase("prepare");
    let set = files::make(sys, Bytes::new(memory.get() / 100 * parameters.count("files_percent"))).await?;
    let rate = parameters.count("rate_percent") as f64 / 100.0;
    let server = Server::new(sys.now(), memory, parameters.count("days"), rate);
    sys.phase("day-1");
    let mut components = vec![
        start(sys, "database", move |sys| database::run(sys, server)).await?,
        start(sys, "requests", move |sys| requests::run(sys, server)).await?,
        start(sys, "network", move |sys| kernel::network(sys, server)).await?,
        start(sys, "kernel", move |sys| kernel::run(sys, server)).await?,
        start(sys, "logs", move |sys| files::append(sys, server)).await?,
        start(sys, "builds", move |sys| builds::run(sys, server)).await?,
    ];
    for number in 0..services::SERVICES {
        components.push(start(sys, "services", move |sys| services::run(sys, server, number)).await?);
    }
    let read = set.clone();
    components.push(start(sys, "files", move |sys| files::read(sys, server, read)).await?);
    components.push(start(sys, "backup", move |sys| files::back_up(sys, server, set)).await?);
    watch(sys, &server).await?;
    for component in components {
        sys.wait(component).await?.result?;
    }
    Ok(())
}

/// Keeps the state of memory at the end of each day.
async fn watch<S: Sys>(sys: &S, server: &Server) -> Result<(), Stop> {
    for day in 1..=server.days {
        sleep_until(sys, server.at(day, Nanos::ZERO)).await?;
        sys.snapshot(&format!("day-{day}"));
        let next = if day < server.days { format!("day-{}", day + 1) } else { "end".to_owned() };
        sys.phase(&next);
    }
    Ok(())
}

/// Starts a component as a process of its own.
async fn start<S: Sys, B, F>(sys: &S, name: &str, body: B) -> Result<S::Child, Stop>
where
    B: FnOnce(S) -> F + Send + 'static,
    F: Future<Output = Result<(), Stop>> + 'static,
{
    sys.spawn(ChildKind::Process, name, body).await
}

/// Private memory in base pages, all of it there.
async fn base_pages<S: Sys>(sys: &S, pages: u64) -> Result<Area, Stop> {
    let area = sys.mmap(Mapping::anon(Bytes::new(pages * PAGE_SIZE.get()))).await?;
    sys.madvise(area, Advice::NoHugePage).await?;
    sys.touch(area, Access::Write).await?;
    Ok(area)
}

/// A process that was killed for memory is started anew by whoever started it; anything else is a mistake.
fn unless_killed(result: Result<(), Stop>) -> Result<(), Stop> {
    match result {
        Err(Stop::Killed { .. }) => Ok(()),
        result => result,
    }
}
