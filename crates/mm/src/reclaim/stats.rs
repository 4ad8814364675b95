//! Counts of a pass, and the conclusions of kswapd about a set of LRU lists.
//!
//! Key types: [`PassStats`] (counts of one pass), [`ReclaimFlags`] (conclusions that hold until the lists are balanced
//! again).

use order9_frames::ZoneId;

use crate::phys::PhysMem;
use crate::reclaim::Reclaim;
use crate::reclaimer::PassStats;

/// Conclusions of kswapd about a set of LRU lists since it was last balanced: `PGDAT_WRITEBACK` and so on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReclaimFlags {
    /// A pass met nothing but pages under writeback: a page that comes round again before its write has ended stalls kswapd.
    pub writeback: bool,
    /// All dirty pages of a pass were those of congested devices: direct reclaim waits for up to 100 ms.
    pub congested: bool,
    /// All file pages of a pass were dirty, and nobody wrote them: kswapd may write file pages.
    pub dirty: bool,
}

impl ReclaimFlags {
    /// Flags after a pass of kswapd. No flag is cleared before the node is balanced.
    #[must_use]
    pub const fn after(self, pass: &PassStats) -> Self {
        Self {
            writeback: self.writeback || pass.writeback > 0 && pass.writeback == pass.taken,
            congested: self.congested || pass.dirty > 0 && pass.dirty == pass.congested,
            dirty: self.dirty || pass.file_taken > 0 && pass.unqueued_dirty == pass.file_taken,
        }
    }
}

impl Reclaim {
    /// Flags of the set of lists that serves `zone`: of its node or, by policy, its own.
    #[must_use]
    pub fn reclaim_flags(&self, zone: ZoneId, phys: &PhysMem) -> ReclaimFlags {
        self.flags[phys.lru_set(zone)]
    }

    /// Sets them: kswapd after a pass, by [`ReclaimFlags::after`], and to the default once the node is balanced.
    pub fn set_reclaim_flags(&mut self, zone: ZoneId, flags: ReclaimFlags, phys: &PhysMem) {
        let set = phys.lru_set(zone);
        self.flags[set] = flags;
    }

    /// Whether the queue of the disks that file pages are written to is full, as whoever runs them sees it.
    pub fn set_congested(&mut self, congested: bool) {
        self.congested = congested;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: ReclaimFlags = ReclaimFlags { writeback: false, congested: false, dirty: false };

    #[test]
    fn flags_follow_from_what_a_pass_met() {
        let met = PassStats { taken: 32, file_taken: 32, ..PassStats::default() };
        for (pass, flags) in [
            (PassStats::default(), NONE),
            (met, NONE),
            (PassStats { dirty: 32, writeback: 31, ..met }, NONE),
            (PassStats { dirty: 32, writeback: 32, ..met }, ReclaimFlags { writeback: true, ..NONE }),
            (PassStats { dirty: 5, congested: 5, ..met }, ReclaimFlags { congested: true, ..NONE }),
            (PassStats { dirty: 32, unqueued_dirty: 32, ..met }, ReclaimFlags { dirty: true, ..NONE }),
            (PassStats { dirty: 32, unqueued_dirty: 31, ..met }, NONE),
        ] {
            assert_eq!(NONE.after(&pass), flags, "{pass:?}");
            assert_eq!(flags.after(&PassStats::default()), flags, "an idle pass takes nothing back");
        }
    }

    #[test]
    fn flushers_are_needed_where_all_is_dirty_and_nobody_writes() {
        let met = PassStats { taken: 32, dirty: 32, unqueued_dirty: 32, ..PassStats::default() };
        assert!(met.is_all_unqueued() && !PassStats { taken: 33, ..met }.is_all_unqueued());
        assert!(!PassStats::default().is_all_unqueued() && !met.stalls_kswapd());
    }
}
