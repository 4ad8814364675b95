//! `hugealloc-unmovable`: a driver holds a part of every 2 MiB of memory. Fragmentation is high and compaction cannot lower
//! it: does proactive compaction leave off?
//!
//! After the second test of "mm: Proactive compaction" (linux-mm, 2020).

use order9_units::{Bytes, Nanos, Order};

use crate::demand::{Chosen, Demand, pages, part};
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::pattern::{FREED_PERCENT, PATTERN, Pattern};
use crate::spec::{SECOND, Spec};
use crate::sys::{ChildKind, KernelAlloc, KernelSize, Stop, Sys};
use crate::unit::UNIT;

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "hugealloc-unmovable",
    summary: "memory full of pages that cannot move: does compaction notice that it cannot win",
    description: "\
        A driver holds a part of every 2 MiB of memory for itself, which nobody can move: fragmentation is high, and \
        compaction cannot lower it. What the run shows is whether proactive compaction leaves off.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "madvise"), ("thp/defrag", "madvise")],
    counters_every: SECOND,
    is_long: false,
    demand,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "spare_percent",
        meaning: "share of memory that the driver leaves alone",
        kind: Kind::Count { min: 1, max: 99 },
        default: |_| Value::Count(3),
        default_text: "3",
    },
    FREED_PERCENT,
    PATTERN,
    Parameter {
        key: "watch",
        meaning: "time for which memory is left like this",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::new(300_000_000_000)),
        default_text: "5m",
    },
];

const MEASURES: &[Measure] = &[
    Measure {
        heading: "Blocks",
        operations: &[HELD],
        family: Family::Single("Ops"),
        better: Better::Higher,
        unit: Unit::HugePages,
        decimals: 0,
        main: &[(HELD, Figure::Mean)],
    },
    Measure {
        heading: "Memory",
        operations: &[FREE],
        family: Family::Single("Ops"),
        better: Better::Higher,
        unit: Unit::Gibibytes,
        decimals: 2,
        main: &[],
    },
];

const HELD: &str = "2M hugepages held in part";
const FREE: &str = "Memory free";

fn demand(of: &Chosen<'_>) -> Demand {
    let steps = pages(part(of.facts.room().get(), 100 - of.count("spare_percent")));
    Demand { time: of.time("watch"), steps, ..Demand::default() }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("prepare");
    let chosen = parameters.clone();
    let driver = sys.spawn(ChildKind::Kernel, "hugealloc", move |sys| async move { hold(&sys, &chosen).await }).await?;
    sys.wait(driver).await?.result?;
    sys.snapshot("fragmented");
    sys.phase("watch");
    sys.sleep(parameters.time("watch")).await
}

/// The driver: takes nearly all memory as huge pages and frees a part of each.
async fn hold<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let spare = Bytes::new(sys.facts().memory.get() / 100 * parameters.count("spare_percent"));
    let mut blocks = Vec::new();
    while sys.memory().free > spare + UNIT {
        match sys.kernel_alloc(KernelAlloc::new(KernelSize::Block(Order::PAGEBLOCK))).await? {
            Some(block) => blocks.push(block),
            None => break,
        }
    }
    let mut pattern =
        Pattern::new(parameters.word("pattern"), parameters.count("freed_percent"), sys.seed("hugealloc pattern"));
    for block in &blocks {
        for run in pattern.next_unit() {
            sys.kernel_free_pages(*block, run).await?;
        }
    }
    sys.count(HELD, blocks.len() as f64);
    sys.count(FREE, sys.memory().free.get() as f64);
    Ok(())
}
