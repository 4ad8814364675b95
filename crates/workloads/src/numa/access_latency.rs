//! `numa-access-latency`: what a load takes from base pages and from huge pages of every node.
//!
//! On a machine of the lab these are inputs; a run shows that the machine is what its file says.

use order9_units::{Bytes, Nanos, NodeId};

use super::worth::mean_load;
use super::{bind_to, home, nodes};
use crate::access::LOADS;
use crate::demand::Demand;
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{Access, Advice, Stop, Sys, found_by};
use crate::unit::{UNIT, map_units};

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "numa-access-latency",
    summary: "loads from base and huge pages of every node: the price of memory of other nodes",
    description: "\
        Loads words at random, each after the one before, from base pages and from huge pages of every node, by a thread that \
        is bound to one CPU. Measured is what a load takes, and how that compares.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "always"), ("thp/defrag", "madvise")],
    counters_every: SECOND,
    is_long: false,
    demand: |of| Demand::of_memory(of.bytes("size"), 2 * of.facts.nodes.len() as u64),
};

const PARAMETERS: &[Parameter] = &[Parameter {
    key: "size",
    meaning: "memory that is loaded from on each node",
    kind: Kind::Bytes { min: UNIT },
    default: |facts| {
        Value::Bytes(Bytes::new(facts.room().get() / facts.nodes.len().max(1) as u64 / 4).clamp(UNIT, ONE_GIB))
    },
    default_text: "1/4 of a node, at most 1 GiB",
}];

/// Far more than caches hold.
const ONE_GIB: Bytes = Bytes::from_gib(1);

const MEASURES: &[Measure] = &[
    Measure {
        heading: "Access Latencies by Node",
        operations: &["base-node", "huge-node"],
        family: Family::Single("Mean"),
        better: Better::Lower,
        unit: Unit::Nanoseconds,
        decimals: 2,
        main: &[("base-node", Figure::Mean), ("huge-node", Figure::Mean)],
    },
    Measure {
        heading: "Access Latencies in Percent of Local Base Pages",
        operations: &["base-ratio", "huge-ratio"],
        family: Family::Single("Percentage"),
        better: Better::Lower,
        unit: Unit::Percent,
        decimals: 1,
        main: &[],
    },
];

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let size = parameters.bytes("size");
    let home_node = home(sys, parameters);
    let mut local_base = None;
    for (kind, advice) in [("base", Advice::NoHugePage), ("huge", Advice::HugePage)] {
        let others = nodes(sys).filter(|&node| node != home_node);
        for node in std::iter::once(home_node).chain(others) {
            sys.phase(&format!("{kind}-{}", node.0));
            let Some(load) = load_from(sys, home_node, node, size, advice).await? else { continue };
            sys.mean(&format!("{kind}-node-{}", node.0), Nanos::new((load * LOADS as f64) as u64), LOADS);
            let local: f64 = *local_base.get_or_insert(load);
            sys.percent(&format!("{kind}-ratio-{}", node.0), 100.0 * load / local);
        }
    }
    Ok(())
}

/// Time of a load from memory of `node`, in ns; `None` where that had none.
async fn load_from<S: Sys>(
    sys: &S,
    home_node: NodeId,
    node: NodeId,
    size: Bytes,
    advice: Advice,
) -> Result<Option<f64>, Stop> {
    let body = move |sys: S| async move {
        let (_, area) = map_units(&sys, size, Some(advice)).await?;
        bind_to(&sys, node).await?;
        sys.touch(area, Access::Write).await?;
        bind_to(&sys, home_node).await?;
        // A node without CPUs is no thread's own.
        let there = if sys.page_node(area).await? == node { area.pages() } else { sys.move_pages(area, node).await? };
        Ok(if there == area.pages() { [1, mean_load(&sys, area).await?.to_bits()] } else { [0; 2] })
    };
    let [is_there, load] = found_by(sys, "program", body).await?;
    Ok((is_there == 1).then_some(f64::from_bits(load)))
}
