//! `hugetlb-grow`: an administrator asks for a pool of huge pages, gets fewer, and asks again. How many does each try give,
//! and how long does it take?

use order9_units::{Bytes, Nanos};

use crate::demand::{Chosen, Demand, FAILURE_STEPS};
use crate::hugealloc;
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::pattern::{FREED_PERCENT, PATTERN};
use crate::spec::{SECOND, Spec};
use crate::sys::{DropCaches, PoolFile, Stop, Sys};
use crate::unit::UNIT;

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "hugetlb-grow",
    summary: "an administrator wants a hugetlb pool in fragmented memory: the gain of each try",
    description: "\
        Writes a number of huge pages to vm.nr_hugepages in fragmented memory, and writes it again while the kernel has \
        made fewer. Measured are the time of every try and the huge pages that it gave.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "madvise"), ("thp/defrag", "madvise")],
    counters_every: SECOND,
    is_long: false,
    demand,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "size",
        meaning: "size of the wanted pool",
        kind: Kind::Bytes { min: UNIT },
        default: |facts| Value::Bytes(Bytes::new(facts.room().get() / 2).max(UNIT)),
        default_text: "1/2 of memory",
    },
    Parameter {
        key: "tries",
        meaning: "largest number of times that the size is written",
        kind: Kind::Count { min: 1, max: 1000 },
        default: |_| Value::Count(5),
        default_text: "5",
    },
    Parameter {
        key: "pause",
        meaning: "time between two tries",
        kind: Kind::Time,
        default: |_| Value::Time(Nanos::new(1_000_000_000)),
        default_text: "1s",
    },
    Parameter {
        key: "drop_caches",
        meaning: "whether 3 is written to vm.drop_caches before each try but the first",
        kind: Kind::Word(&["no", "yes"]),
        default: |_| Value::Word("no"),
        default_text: "no",
    },
    Parameter {
        key: "compact",
        meaning: "whether 1 is written to vm.compact_memory before each try but the first",
        kind: Kind::Word(&["no", "yes"]),
        default: |_| Value::Word("no"),
        default_text: "no",
    },
    Parameter {
        key: "file",
        meaning: "the file of /proc/sys/vm that is written: the second obeys the memory policy of the writer",
        kind: Kind::Word(&["nr_hugepages", "nr_hugepages_mempolicy"]),
        default: |_| Value::Word("nr_hugepages"),
        default_text: "nr_hugepages",
    },
    hugealloc::FILL_PERCENT,
    FREED_PERCENT,
    PATTERN,
];

const MEASURES: &[Measure] = &[
    Measure {
        heading: "Time of each try",
        operations: &["try"],
        family: Family::Single("Elapsed"),
        better: Better::Lower,
        unit: Unit::Milliseconds,
        decimals: 2,
        main: &[("try", Figure::Mean)],
    },
    Measure {
        heading: "Gained by each try",
        operations: &["gained"],
        family: Family::Single("Ops"),
        better: Better::Higher,
        unit: Unit::HugePages,
        decimals: 0,
        main: &[],
    },
    Measure {
        heading: "Pool",
        operations: &[POOL, ASKED],
        family: Family::Single("Ops"),
        better: Better::Higher,
        unit: Unit::HugePages,
        decimals: 0,
        main: &[(POOL, Figure::Mean)],
    },
    Measure {
        heading: "Success",
        operations: &[SUCCESS],
        family: Family::Single("Ops"),
        better: Better::Higher,
        unit: Unit::Percent,
        decimals: 2,
        main: &[],
    },
];

const POOL: &str = "Huge pages in the pool";
const ASKED: &str = "Huge pages asked for";
const SUCCESS: &str = "Share of what was asked for";

fn demand(of: &Chosen<'_>) -> Demand {
    let tries = of.count("tries");
    let time = of.time("pause").get().saturating_mul(tries - 1);
    let steps = of.filled().saturating_add(tries.saturating_mul(FAILURE_STEPS));
    Demand { time: Nanos::new(time), steps, ..Demand::default() }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("prepare");
    hugealloc::fragment(sys, parameters, Bytes::ZERO).await?;
    sys.snapshot("fragmented");
    sys.phase("measure");
    let asked = parameters.bytes("size").get() / UNIT.get();
    let file = match parameters.word("file") {
        "nr_hugepages_mempolicy" => PoolFile::NrHugepagesMempolicy,
        _ => PoolFile::NrHugepages,
    };
    let mut pool = 0;
    for nth in 1..=parameters.count("tries") {
        if nth > 1 {
            help(sys, parameters).await?;
        }
        let start = sys.now();
        let reached = sys.set_nr_hugepages(file, asked).await?;
        sys.sample(&format!("try-{nth}"), sys.now() - start);
        sys.count(&format!("gained-{nth}"), reached.saturating_sub(pool) as f64);
        pool = reached;
        if pool >= asked {
            break;
        }
    }
    sys.snapshot("end");
    sys.count(POOL, pool as f64);
    sys.count(ASKED, asked as f64);
    sys.percent(SUCCESS, 100.0 * pool as f64 / asked as f64);
    Ok(())
}

/// Waits, and does what administrators do before they try again.
async fn help<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.sleep(parameters.time("pause")).await?;
    if parameters.word("drop_caches") == "yes" {
        sys.drop_caches(DropCaches::All).await?;
    }
    if parameters.word("compact") == "yes" {
        sys.compact(None).await?;
    }
    Ok(())
}
