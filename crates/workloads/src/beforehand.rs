//! Requests to the kernel before a program starts, as an administrator makes them: caches are dropped, nodes are compacted.
//!
//! The requests are parameters of every workload, so that each can be seen with and without them.

use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::sys::{DropCaches, Stop, Sys};

/// Phase of the requests, which comes before those of the program.
pub const BEFOREHAND: &str = "beforehand";

/// The parameter that drops caches.
pub(crate) const DROP_FIRST: Parameter = Parameter {
    key: "drop_first",
    meaning: "caches that are dropped before the program starts, as vm.drop_caches takes them: page cache (1), slab (2), both (3)",
    kind: Kind::Count { min: 1, max: 3 },
    default: |_| Value::Count(1),
    default_text: "none",
};

/// The parameter that compacts nodes, after caches were dropped.
pub(crate) const COMPACT_FIRST: Parameter = Parameter {
    key: "compact_first",
    meaning: "nodes that are compacted before the program starts, one after the other",
    kind: Kind::Counts { min: 0, max: NODE_MAX },
    default: |_| Value::Counts(vec![0]),
    default_text: "none",
};

/// The largest number of a node (`MAX_NUMNODES` of the largest configuration).
const NODE_MAX: u64 = 1023;

/// Makes the requests that were chosen.
pub(crate) async fn prepare_as_chosen<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    let (drop, nodes) = (parameters.chosen_count(DROP_FIRST.key), parameters.chosen_counts(COMPACT_FIRST.key));
    if drop.is_none() && nodes.is_empty() {
        return Ok(());
    }
    sys.phase(BEFOREHAND);
    if let Some(what) = drop {
        let what = [DropCaches::Pages, DropCaches::Slab, DropCaches::All][what as usize - 1];
        sys.drop_caches(what).await?;
    }
    for &node in nodes {
        // The kind of the parameter has the range of nodes.
        sys.compact(Some(order9_units::NodeId(node as u16))).await?;
    }
    sys.phase("program");
    Ok(())
}
