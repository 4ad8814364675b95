//! `pinned-guest`: guests of growing size with a device assigned start one after the other; every slot is pinned for good as
//! soon as it was touched. Beyond a node, reclaim and compaction of that node can free nothing.
//!
//! After the measurements of guests with vfio in the thread of "mm: thp: relax __GFP_THISNODE for MADV_HUGEPAGE mappings"
//! (linux-mm, 2018): 30, 34, 38 and 42 GiB on nodes of 32 GiB.

use order9_units::Bytes;

use super::region::{Region, Wanted};
use super::{MADVISE, SLOT_LATENCIES, SLOTS, bind_to, home, node_memory, percent_of};
use crate::demand::{Chosen, Demand, pages, part};
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{ChildKind, Stop, Sys};
use crate::unit::UNIT;

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "pinned-guest",
    summary: "guests with a device assigned, up to more than a node: the effect of pinned memory on reclaim",
    description: "\
        Guests of growing size start one after the other on one node, each in a process whose thread is bound to one CPU. Every \
        slot is pinned for good as soon as it was touched, as for a device that is assigned to the guest. Measured are the \
        time to start, and what slots became and where they lie.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "always"), ("thp/defrag", "madvise")],
    counters_every: SECOND,
    is_long: false,
    demand,
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "sizes",
        meaning: "memory of the guests, in percent of a node, one after another",
        kind: Kind::Counts { min: 1, max: 10_000 },
        default: |facts| Value::Counts(sizes(facts.nodes.len())),
        default_text: "94, 106, 119, 131, or 50, 70 where there is but one node",
    },
    MADVISE,
];

const MEASURES: &[Measure] = &[
    Measure {
        heading: "Start of the Guest",
        operations: &["start"],
        family: Family::Single("Elapsed"),
        better: Better::Lower,
        unit: Unit::Seconds,
        decimals: 3,
        main: &[("start", Figure::Mean)],
    },
    SLOTS,
    SLOT_LATENCIES,
];

fn sizes(nodes: usize) -> Vec<u64> {
    if nodes > 1 { vec![94, 106, 119, 131] } else { vec![50, 70] }
}

fn demand(of: &Chosen<'_>) -> Demand {
    let node = node_memory(of.facts).get();
    let sizes = of.parameters.counts("sizes").iter().map(|&percent| part(node, percent));
    let steps = sizes.clone().map(pages).fold(0, u64::saturating_add);
    Demand { steps, ..Demand::of_memory(sizes.max().unwrap_or(0), 1) }
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let home_node = home(sys, parameters);
    let node = node_memory(&sys.facts());
    let madvise = parameters.word("madvise") == "yes";
    for &percent in parameters.counts("sizes") {
        sys.phase(&format!("guest-{percent}"));
        let size = percent_of(node, percent).max(UNIT);
        let body = move |sys: S| async move { start(&sys, size, percent, madvise).await };
        bind_to(sys, home_node).await?;
        let guest = sys.spawn(ChildKind::Process, "guest", body).await?;
        sys.wait(guest).await?.result?;
    }
    Ok(())
}

/// The guest: bound like its parent.
async fn start<S: Sys>(sys: &S, size: Bytes, percent: u64, madvise: bool) -> Result<(), Stop> {
    let region = Region::touch(sys, Wanted { size, madvise, pinned: true }).await?;
    sys.sample(&format!("start-{percent}"), region.time);
    region.slots.report_slots(sys, &format!("-{percent}"));
    sys.snapshot(&format!("guest-{percent}"));
    Ok(())
}
