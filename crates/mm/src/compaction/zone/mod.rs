//! State that a zone keeps between runs: cached positions of the scanners, deferral and skip hints.

pub(crate) mod deferral;
pub(crate) mod scanner_positions;
pub(crate) mod selective_reset;
pub(crate) mod skip_hints;

use order9_units::{Order, Pfn, PfnRange};

use crate::compaction::zone::deferral::Deferral;
use crate::migrate_reason::MigrateMode;

/// Cached positions and failures of earlier runs over a zone. All start at 0; a run that starts at a position outside the
/// zone repairs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ZoneCompaction {
    /// Cached start of the migration scanner: of asynchronous runs, and of others.
    pub(in crate::compaction) cached_migrate: [Pfn; 2],
    /// Cached start of the free scanner.
    pub(in crate::compaction) cached_free: Pfn,
    /// First and last pageblock worth scanning, as found by the last selective reset.
    pub(in crate::compaction) init_migrate: Pfn,
    pub(in crate::compaction) init_free: Pfn,
    /// kswapd resets the skip hints of the zone before it sleeps.
    pub(in crate::compaction) blockskip_flush: bool,
    /// Deferral for requests from the zone's node, and for those from other nodes if the policy counts these apart.
    pub(in crate::compaction) deferral: [Deferral; 2],
}

/// Index of the cached position of a mode.
pub(in crate::compaction) const fn cached_slot(mode: MigrateMode) -> usize {
    match mode {
        MigrateMode::Async => 0,
        MigrateMode::SyncLight | MigrateMode::Sync => 1,
    }
}

impl ZoneCompaction {
    /// Advances the cached start of the migration scanner: runs in `mode` need not come back below `pfn`.
    pub(in crate::compaction) fn advance_migrate(&mut self, mode: MigrateMode, pfn: Pfn) {
        self.cached_migrate[0] = self.cached_migrate[0].max(pfn);
        if mode != MigrateMode::Async {
            self.cached_migrate[1] = self.cached_migrate[1].max(pfn);
        }
    }

    /// Advances the cached start of the free scanner, downwards: runs need not come back above `pfn`.
    pub(crate) fn advance_free(&mut self, pfn: Pfn) {
        self.cached_free = self.cached_free.min(pfn);
    }

    /// Whether the free scanner, which comes down from the end of the zone, has passed `pfn`.
    pub(crate) fn has_free_scanner_passed(&self, span: PfnRange, pfn: Pfn) -> bool {
        // A scanner that has not started yet stands at frame 0, which may be in the zone.
        let has_started = self.cached_free > Pfn::new(0) && span.contains(self.cached_free);
        has_started && pfn.align_down(Order::PAGEBLOCK) > self.cached_free
    }

    /// Resets the cached positions to the ends of the zone.
    pub(crate) fn reset_cached(&mut self, span: PfnRange) {
        self.cached_migrate = [span.start; 2];
        self.cached_free = last_pageblock(span);
    }
}

/// Start of the last pageblock of a span.
pub(in crate::compaction) fn last_pageblock(span: PfnRange) -> Pfn {
    Pfn::new(span.end.get() - 1).align_down(Order::PAGEBLOCK)
}

#[cfg(test)]
mod tests {
    use order9_units::Pages;

    use super::*;

    #[test]
    fn what_lies_above_the_block_of_the_free_scanner_is_behind_it() {
        let span = PfnRange::of(Pfn::new(0), Pages::new(4096));
        let mut zone = ZoneCompaction::default();
        let passed = |zone: &ZoneCompaction| {
            [0, 1023, 1024, 1535, 1536, 4095].map(|pfn| zone.has_free_scanner_passed(span, Pfn::new(pfn)))
        };
        assert_eq!(passed(&zone), [false; 6], "it has not started");
        zone.reset_cached(span);
        assert_eq!(passed(&zone), [false; 6], "it starts at the end");
        zone.advance_free(Pfn::new(1024));
        assert_eq!(passed(&zone), [false, false, false, false, true, true]);
        assert!(
            !zone.has_free_scanner_passed(PfnRange::of(Pfn::new(2048), Pages::new(2048)), Pfn::new(4095)),
            "it is repaired first"
        );
    }
}
