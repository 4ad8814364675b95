//! Background compaction by kswapd in releases without kcompactd: the last part of kswapd's balancing.

use order9_frames::{AllocFlags, Mark};
use order9_units::{NodeId, Order, ZoneKind};

use crate::compaction::run::control::{CompactControl, Compactor};
use crate::compaction::zone::deferral::Asker;
use crate::env::Stall;
use crate::mm::Mm;
use crate::policy::Background;
use crate::tasks::compaction::run::compact_zone;

/// Compacts the zones of `node` up to `class`, unless one of them has a block of `order` above its low mark. kswapd calls
/// this after a pass that reclaimed enough.
pub(crate) async fn kswapd_compact<E: Stall>(env: &E, node: NodeId, order: Order, class: ZoneKind) {
    let zones = env.with(|mm| {
        let zones = mm.phys.zones_up_to(node, class);
        let has_block = |zone: &crate::ZoneId| mm.low_mark_ok(*zone, order, class);
        let idle = mm.phys.policy.compaction.background != Background::Kswapd || order == Order::ZERO;
        if idle || zones.iter().any(has_block) { alloc::vec::Vec::new() } else { zones }
    });
    for zone in zones {
        let begun = env.with(|mm| {
            let deferred = mm.compaction.compaction_deferred(zone, order, Asker::Local, &mut mm.phys);
            let run = CompactControl::new(Compactor::Kswapd, zone, Some(order), class);
            if deferred { None } else { mm.compact_begin(run).ok() }
        });
        if let Some(id) = begun {
            compact_zone(env, id).await;
        }
        env.with(|mm| {
            if mm.low_mark_ok(zone, order, class) {
                mm.compaction.compaction_defer_reset(zone, order, Asker::Local, false, &mut mm.phys);
            }
        });
        env.spend().await;
    }
}

impl Mm {
    fn low_mark_ok(&self, zone: crate::ZoneId, order: Order, class: ZoneKind) -> bool {
        self.phys.frames.zone(zone).watermark_ok(order, class, &AllocFlags::plain(Mark::Low), &self.phys.policy.frames)
    }
}
