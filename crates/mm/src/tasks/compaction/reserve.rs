//! kcompactd fills the reserves of huge pages of its node, as far as that is cheap.

use order9_frames::ZoneId;
use order9_units::{NodeId, ZoneKind};

use crate::compaction::run::control::{CompactControl, Compactor};
use crate::env::{CompactResult, Stall};
use crate::tasks::compaction::run::compact_zone;

/// Fills the reserves of the zones of `node` up to `class`, as far as that is cheap. Each run makes one huge page out of
/// the pageblock that is cheapest by then.
pub(crate) async fn fill_reserves<E: Stall>(env: &E, node: NodeId, class: ZoneKind) {
    for zone in env.with(|mm| mm.phys.zones_up_to(node, class)) {
        loop {
            split_for_reserve(env, zone).await;
            if !env.with(|mm| mm.phys.may_fill_reserve(zone)) {
                break;
            }
            let run = CompactControl::new(Compactor::Reserve, zone, None, class);
            let Ok(id) = env.with(|mm| mm.compact_begin(run)) else { break };
            let end = compact_zone(env, id).await;
            env.with(|mm| mm.phys.count_daemon_scans(end.totals));
            if end.result != CompactResult::Success {
                break;
            }
        }
        env.with(|mm| mm.phys.daemons.taken[zone.index()] = 0);
    }
}

/// Splits huge pages that are mapped in part, as long as `zone` lacks pages to fill its reserve.
async fn split_for_reserve<E: Stall>(env: &E, zone: ZoneId) {
    while env.with(|mm| mm.pages.huge.may_split_for_reserve(zone, &mm.phys)) {
        if env.with(|mm| mm.phys.policy.compaction.gives_way) {
            env.make_way().await;
        }
        let (freed, _) = env.with(|mm| mm.pages.split_partially_mapped(mm.phys.frames.zone(zone).node(), &mut mm.phys));
        env.spend().await;
        if freed == 0 {
            return;
        }
    }
}
