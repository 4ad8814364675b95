//! `vm-larger-than-node`: a guest larger than a node starts beside a program that fills half of that node, while other nodes
//! are free. Does the kernel swap, or go on elsewhere?
//!
//! After the report behind "mm: thp: relax __GFP_THISNODE for MADV_HUGEPAGE mappings" (linux-mm, 2018).

use order9_units::Bytes;

use super::bystander::{Bystander, LOSS};
use super::region::{Region, Wanted};
use super::worth::BaseAtHome;
use super::{BREAK_EVEN, MADVISE, POSITIONS, SLOT_LATENCIES, SLOTS, TOTAL, bind_to, home, node_memory, percent_of};
use crate::access::ACCESS;
use crate::demand::Demand;
use crate::measure::Measure;
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::spec::{SECOND, Spec};
use crate::sys::{ChildKind, Facts, Stop, Sys};
use crate::unit::UNIT;

/// The workload, but for its program [`run`].
pub(crate) const WORKLOAD: Spec = Spec {
    name: "vm-larger-than-node",
    summary: "a guest larger than its node while others are free: does it swap, go on elsewhere, or take base pages",
    description: "\
        A guest that is larger than a node starts there, its thread bound to one CPU, and touches its memory slot by slot. \
        A bystander fills part of the node before, lies idle, and touches its memory again in the end. Measured are the \
        latencies of slots, what they became and where they lie, what using them costs, and what the bystander lost.",
    parameters: PARAMETERS,
    measures: MEASURES,
    settings: |_| &[("thp/enabled", "always"), ("thp/defrag", "madvise")],
    counters_every: SECOND,
    is_long: false,
    demand: |of| Demand::of_memory(of.bytes("size"), 1),
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        key: "size",
        meaning: "memory of the guest",
        kind: Kind::Bytes { min: UNIT },
        default: |facts| Value::Bytes(guest(facts)),
        default_text: "1.5 nodes, at most 8/10 of memory less 6/10 of a node",
    },
    Parameter {
        key: "bystander_percent",
        meaning: "memory of the bystander, in percent of the node; 0 is none",
        kind: Kind::Count { min: 0, max: 100 },
        default: |_| Value::Count(50),
        default_text: "50",
    },
    Parameter {
        key: "cache_percent",
        meaning: "page cache of a program on the node, in percent of the node; pages without room there lie on other nodes",
        kind: Kind::Count { min: 0, max: 6400 },
        default: |_| Value::Count(10),
        default_text: "10",
    },
    Parameter {
        key: "pinned",
        meaning: "whether each slot is pinned for good once it was touched, as for a device that is assigned to the guest",
        kind: Kind::Word(&["no", "yes"]),
        default: |_| Value::Word("no"),
        default_text: "no",
    },
    MADVISE,
];

const MEASURES: &[Measure] = &[SLOT_LATENCIES, SLOTS, TOTAL, LOSS[0], LOSS[1], BREAK_EVEN, POSITIONS, ACCESS[0]];

/// One and a half nodes, as far as that leaves a fifth of what is free beside the bystander and the page cache.
fn guest(facts: &Facts) -> Bytes {
    let node = node_memory(facts);
    let beside = percent_of(node, 60);
    let free = Bytes::new(facts.room().get().saturating_sub(beside.get()));
    percent_of(node, 150).min(percent_of(free, 80)).max(UNIT)
}

pub(crate) async fn run<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    sys.phase("prepare");
    let home_node = home(sys, parameters);
    let node = node_memory(&sys.facts());
    let base = BaseAtHome::measure(sys, home_node).await?;
    let cache = percent_of(node, parameters.count("cache_percent"));
    bind_to(sys, home_node).await?;
    let file = if cache > Bytes::ZERO { Some(sys.create_file(cache).await?) } else { None };
    let beside = percent_of(node, parameters.count("bystander_percent"));
    let bystander = if beside > Bytes::ZERO { Some(Bystander::start(sys, home_node, beside).await?) } else { None };
    sys.phase("guest");
    let wanted = Wanted {
        size: parameters.bytes("size"),
        madvise: parameters.word("madvise") == "yes",
        pinned: parameters.word("pinned") == "yes",
    };
    let body = move |sys: S| async move {
        bind_to(&sys, home_node).await?;
        let region = Region::touch(&sys, wanted).await?;
        region.slots.report_slots(&sys, "");
        region.report_positions(&sys);
        region.report_use(&sys, base).await?;
        sys.snapshot("touched");
        Ok(())
    };
    let guest = sys.spawn(ChildKind::Process, "guest", body).await?;
    sys.wait(guest).await?.result?;
    sys.phase("bystander");
    if let Some(bystander) = bystander {
        bystander.finish(sys).await?;
    }
    match file {
        Some(file) => sys.remove_file(file).await,
        None => Ok(()),
    }
}
