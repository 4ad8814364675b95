//! Benchmarks of where huge pages come from on machines with several nodes: a program that is bound to one node touches
//! memory slot by slot, and then uses it.
//!
//! Shared here: which node is home, and the tables of all of them. After the cases of the thread of "mm: thp: relax
//! __GFP_THISNODE for MADV_HUGEPAGE mappings" (linux-mm, 2018).

pub(crate) mod access_latency;
mod bystander;
pub(crate) mod fragmented_fault;
pub(crate) mod larger_than_node;
pub(crate) mod pinned_guest;
mod region;
pub(crate) mod worth;

use order9_units::{Bytes, NodeId};

use crate::cpus::chosen_of;
use crate::demand::part;
use crate::measure::{Better, Family, Figure, Measure, Unit};
use crate::mempolicy::{MemoryMode, Mempolicy};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::sys::{Facts, Stop, Sys};
use crate::thp::FAULTS;

/// Whether the program asks for huge pages.
const MADVISE: Parameter = Parameter {
    key: "madvise",
    meaning: "whether the memory that is measured is advised MADV_HUGEPAGE",
    kind: Kind::Word(&["no", "yes"]),
    default: |_| Value::Word("yes"),
    default_text: "yes",
};

/// Latencies of slots.
const SLOT_LATENCIES: Measure = FAULTS[0];

/// Page size and place of slots, in percent of all slots.
pub(crate) const SLOTS: Measure = Measure {
    heading: "Slots",
    operations: &["huge-local", "huge-remote", "base-local", "base-remote"],
    family: Family::Single("Percentage"),
    better: Better::Higher,
    unit: Unit::Percent,
    decimals: 2,
    main: &[("huge-local", Figure::Mean), ("huge-remote", Figure::Mean), ("base-remote", Figure::Mean)],
};

/// Time to touch the region and then load so many million words of it.
pub(crate) const TOTAL: Measure = Measure {
    heading: "Touching All, and Million Loads",
    operations: &["total"],
    family: Family::Single("Elapsed"),
    better: Better::Lower,
    unit: Unit::Seconds,
    decimals: 3,
    main: &[],
};

/// Loads after which what was got has paid, against base pages at home.
pub(crate) const BREAK_EVEN: Measure = Measure {
    heading: "Break-Even with Base Pages at Home",
    operations: &["break-even"],
    family: Family::Single("Ops"),
    better: Better::Lower,
    unit: Unit::MillionAccesses,
    decimals: 2,
    main: &[],
};

/// Mean latency of the slots of each eighth of the region.
const POSITIONS: Measure = Measure {
    heading: "Fault Latencies by Eighth of the Region",
    operations: &["eighth"],
    family: Family::Single("Mean"),
    better: Better::Lower,
    unit: Unit::Microseconds,
    decimals: 2,
    main: &[],
};

/// The first node that has CPUs, of those that were chosen: programs of these benchmarks run there.
pub(crate) fn home<S: Sys>(sys: &S, parameters: &Parameters) -> NodeId {
    nodes(sys).find(|&node| !chosen_of(sys, parameters, sys.cpus_of(node)).is_empty()).unwrap_or_default()
}

/// The nodes of the machine.
fn nodes<S: Sys>(sys: &S) -> impl Iterator<Item = NodeId> + use<S> {
    (0..sys.facts().nodes.len() as u16).map(NodeId)
}

/// Binds this thread to the first CPU of a node; without effect where the node has none.
async fn bind_to<S: Sys>(sys: &S, node: NodeId) -> Result<(), Stop> {
    match sys.cpus_of(node).first() {
        Some(&cpu) => sys.set_affinity(&[cpu]).await,
        None => Ok(()),
    }
}

/// Makes this process take its memory on a node: bound to its first CPU or, where it has none, by a memory policy that what it
/// starts inherits.
async fn live_on<S: Sys>(sys: &S, node: NodeId) -> Result<(), Stop> {
    if sys.cpus_of(node).is_empty() {
        let only = std::iter::once(node).collect();
        return sys.set_mempolicy(Mempolicy::new(MemoryMode::Bind, only)).await;
    }
    bind_to(sys, node).await
}

/// Memory of the smallest node: regions are sized by it.
pub(crate) fn node_memory(facts: &Facts) -> Bytes {
    facts.nodes.iter().copied().min().unwrap_or(facts.memory)
}

/// `percent` percent of `bytes`.
fn percent_of(bytes: Bytes, percent: u64) -> Bytes {
    Bytes::new(part(bytes.get(), percent))
}
