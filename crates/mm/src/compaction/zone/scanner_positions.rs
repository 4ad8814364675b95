//! Start positions of the scanners of a run.

use crate::compaction::Compaction;
use crate::compaction::run::control::CompactControl;
use crate::compaction::zone::{cached_slot, last_pageblock};
use crate::migrate_reason::MigrateMode;
use crate::phys::PhysMem;
use crate::policy::SkipReset;

impl Compaction {
    /// Places the scanners of a run at the ends of its zone, or at the cached positions.
    pub(crate) fn place_scanners(&mut self, run: &mut CompactControl, phys: &PhysMem) {
        let selective = phys.policy.compaction.skip_reset == SkipReset::Selective;
        let syncs = phys.policy.compaction.sync_cached_unusable;
        let (span, cached) = (phys.frames.zone(run.zone).span(), &mut self.zones[run.zone.index()]);
        if run.whole_zone {
            (run.migrate_pfn, run.free_pfn) = (span.start, last_pageblock(span));
        } else {
            if !span.contains(cached.cached_free) {
                cached.cached_free = last_pageblock(span);
            }
            if !span.contains(cached.cached_migrate[cached_slot(run.mode)]) {
                cached.cached_migrate = [span.start; 2];
            }
            (run.migrate_pfn, run.free_pfn) = (cached.cached_migrate[cached_slot(run.mode)], cached.cached_free);
            // What the run is called in the end; a selective reset knows better where the zone begins to be of use.
            run.whole_zone =
                if selective { run.migrate_pfn <= cached.init_migrate } else { run.migrate_pfn == span.start };
        }
        run.update_cached =
            syncs && run.mode == MigrateMode::Async && cached.cached_migrate[0] == cached.cached_migrate[1];
    }
}
