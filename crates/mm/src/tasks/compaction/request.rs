//! Compaction on request of the administrator: every zone from end to end, for as much as can be gained.

use order9_units::{NodeId, ZoneKind};

use crate::compaction::run::control::{CompactControl, CompactTotals, Compactor};
use crate::env::Stall;
use crate::tasks::compaction::run::compact_zone;

/// Compacts every node: the effect of writing 1 to `vm.compact_memory`.
pub async fn compact_memory<E: Stall>(env: &E) {
    for node in env.with(|mm| mm.phys.frames.nodes().collect::<alloc::vec::Vec<_>>()) {
        compact_node(env, node).await;
    }
}

/// Compacts every zone of a node from end to end: the effect of writing to `/sys/devices/system/node/nodeN/compact`.
/// Returns the frames and entries that all runs looked at.
pub async fn compact_node<E: Stall>(env: &E, node: NodeId) -> CompactTotals {
    let mut totals = CompactTotals::default();
    for zone in env.with(|mm| mm.phys.zones_up_to(node, ZoneKind::Movable)) {
        let run = CompactControl::new(Compactor::Request, zone, None, ZoneKind::Movable);
        let Ok(id) = env.with(|mm| mm.compact_begin(run)) else { continue };
        let end = compact_zone(env, id).await;
        env.with(|mm| {
            // By an oversight of some releases, what earlier zones took counts once more.
            if mm.phys.policy.compaction.compact_memory_totals_accumulate {
                mm.phys.counters.compact_migrate_scanned += totals.migrate_scanned;
                mm.phys.counters.compact_free_scanned += totals.free_scanned;
            }
        });
        totals.migrate_scanned += end.totals.migrate_scanned;
        totals.free_scanned += end.totals.free_scanned;
        if env.task().oom_victim {
            break;
        }
    }
    totals
}
