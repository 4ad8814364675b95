//! Direct compaction: a task that needs a block compacts the zones that may serve it, one after the other.

use order9_frames::{Request, Search, ZoneRef};

use crate::compact_result::CompactResult;
use crate::compaction::Compaction;
use crate::compaction::run::control::Compactor;
use crate::migrate_reason::MigrateMode;
use crate::phys::PhysMem;

impl Compaction {
    /// Updates the deferral of a zone by the result of a run; returns whether the other zones of the zonelist are left
    /// out.
    pub(crate) fn record_zone_result(
        &mut self,
        search: &Search,
        zone: ZoneRef,
        by: Compactor,
        result: CompactResult,
        phys: &mut PhysMem,
    ) -> bool {
        let Request { order, node, .. } = search.request;
        let asker = phys.asker(zone.zone, node);
        let fragmented = matches!(result, CompactResult::Complete | CompactResult::PartialSkipped);
        if result == CompactResult::Success {
            self.compaction_defer_reset(zone.zone, order, asker, false, phys);
            return true;
        }
        if fragmented && by.mode() != MigrateMode::Async {
            self.defer_compaction(zone.zone, order, asker, phys);
        }
        fragmented && phys.policy.compaction.stop_at_fragmented_remote && zone.node != search.preferred.node
    }
}
