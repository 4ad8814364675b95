//! Single decisions of reclaim, as functions of what they depend on.

use order9_frames::Gfp;
use order9_units::Order;

use crate::lru_list::LruType;
use crate::policy::{ContinueRule, NewAnon};

/// Verdict on a page at the tail of an inactive list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// Take it.
    Reclaim,
    /// Take it unless it is dirty.
    ReclaimClean,
    /// Give it another round on the inactive list.
    Keep,
    /// The page is in use and goes to the active list.
    Activate,
}

/// Judges a page by use: `young` mappings accessed it since the last look, `referenced` remembers one access before, and
/// `executable` mappings of files count more. Where anonymous pages start on the active list (`new_anon`), one access
/// takes them back to it; where they start on the inactive one, they need two, as pages of files do (5.9, "mm/vmscan:
/// protect the workingset on anonymous LRU"). Returns the verdict and the new value of `referenced`.
#[must_use]
pub const fn check_references(
    young: u32,
    of: LruType,
    referenced: bool,
    executable: bool,
    new_anon: NewAnon,
) -> (Reference, bool) {
    match (young, of, referenced) {
        (0, LruType::File, true) => (Reference::ReclaimClean, false),
        (0, ..) => (Reference::Reclaim, false),
        (_, LruType::Anon, _) if matches!(new_anon, NewAnon::Active) => (Reference::Activate, false),
        (1, LruType::File, false) if executable => (Reference::Activate, true),
        (1, _, false) => (Reference::Keep, true),
        (1, _, true) | (2.., ..) => (Reference::Activate, true),
    }
}

/// State of reclaim for a block larger than a page after a pass over a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The block wanted.
    pub order: Order,
    /// As in a run: 12 at its start, 0 at its most thorough.
    pub priority: u8,
    /// Free frames that compaction wants for the block, beyond the mark.
    pub gap: u64,
    /// Pages reclaimed by this pass.
    pub reclaimed: u64,
    /// Pages scanned by this pass.
    pub scanned: u64,
    /// Pages reclaimed by the run.
    pub reclaimed_in_all: u64,
    /// Inactive pages of files and, while swap is free, anonymous ones.
    pub inactive: u64,
    /// Compaction could start in a zone that may serve.
    pub suitable: bool,
    /// `__GFP_RETRY_MAYFAIL`, `__GFP_REPEAT` before.
    pub retry_may_fail: bool,
}

/// Below this priority reclaim works for compaction even if the order is not costly.
const COMPACTION_PRIORITY: u8 = 10;

impl Progress {
    /// Whether another pass over the same node should follow, so that compaction has something to work with.
    #[must_use]
    pub fn should_continue(&self, rule: ContinueRule) -> bool {
        let for_compaction =
            self.order > Order::ZERO && (self.order.is_costly() || self.priority < COMPACTION_PRIORITY);
        let gap = self.gap;
        match rule {
            _ if !for_compaction => false,
            ContinueRule::GapFirst => {
                let stuck = self.reclaimed == 0 && (self.scanned == 0 || !self.retry_may_fail);
                let short = self.reclaimed_in_all < gap && self.inactive > gap;
                !stuck && (short || !self.suitable)
            }
            ContinueRule::SuitableFirst => self.reclaimed > 0 && !self.suitable && self.inactive > gap,
        }
    }
}

/// Whether a task must wait for kswapd before it reclaims: `free` pages of the zones up to Normal that have any to reclaim
/// are at most half of their min marks `min`, boosts included.
#[must_use]
pub const fn throttles_direct_reclaim(free: u64, min: u64) -> bool {
    min > 0 && free <= min / 2
}

/// Whether so many pages are `isolated` beside those of the inactive list that a task should sleep before it isolates more.
/// Tasks that may start I/O and enter filesystems wait sooner, so that they cannot hold up those that may not.
#[must_use]
pub const fn too_many_isolated(isolated: u64, inactive: u64, gfp: Gfp) -> bool {
    let may_wait_for_anyone = gfp.has(Gfp::IO) && gfp.has(Gfp::FS);
    isolated > if may_wait_for_anyone { inactive / 8 } else { inactive }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_at_the_tail() {
        use Reference::{Activate, Keep, Reclaim, ReclaimClean};
        for (young, of, referenced, executable, verdict) in [
            (1, LruType::File, true, false, (Activate, true)),
            (2, LruType::File, false, false, (Activate, true)),
            (1, LruType::File, false, true, (Activate, true)),
            (1, LruType::File, false, false, (Keep, true)),
            (0, LruType::File, true, false, (ReclaimClean, false)),
            (0, LruType::File, false, false, (Reclaim, false)),
            (0, LruType::Anon, false, false, (Reclaim, false)),
            (0, LruType::Anon, true, false, (Reclaim, false)),
        ] {
            for new_anon in [NewAnon::Active, NewAnon::Inactive] {
                let found = check_references(young, of, referenced, executable, new_anon);
                assert_eq!(found, verdict, "{young} young, {of:?}, {referenced}, {executable}, {new_anon:?}");
            }
        }
        // Pages of programs: one access is enough up to 5.8, and two are needed from 5.9 on, whatever is executed.
        for (young, referenced, up_to_5_8, from_5_9) in [
            (1, false, (Activate, false), (Keep, true)),
            (1, true, (Activate, false), (Activate, true)),
            (2, false, (Activate, false), (Activate, true)),
            (3, true, (Activate, false), (Activate, true)),
        ] {
            for (executable, new_anon, verdict) in [
                (false, NewAnon::Active, up_to_5_8),
                (false, NewAnon::Inactive, from_5_9),
                (true, NewAnon::Inactive, from_5_9),
            ] {
                let found = check_references(young, LruType::Anon, referenced, executable, new_anon);
                assert_eq!(found, verdict, "{young} young, {referenced}, {executable}, {new_anon:?}");
            }
        }
    }

    #[test]
    fn reclaim_for_compaction_goes_on_by_release() {
        use ContinueRule::{GapFirst, SuitableFirst};
        let huge = Progress {
            order: Order::PAGEBLOCK,
            priority: 12,
            gap: 1024,
            reclaimed: 32,
            scanned: 32,
            reclaimed_in_all: 32,
            inactive: 1025,
            suitable: true,
            retry_may_fail: false,
        };
        for (progress, gap_first, suitable_first) in [
            (huge, true, false),
            (Progress { suitable: false, ..huge }, true, true),
            (Progress { inactive: 1024, ..huge }, false, false),
            (Progress { inactive: 1024, suitable: false, ..huge }, true, false),
            (Progress { reclaimed_in_all: 1024, ..huge }, false, false),
            (Progress { reclaimed: 0, suitable: false, ..huge }, false, false),
            (Progress { reclaimed: 0, retry_may_fail: true, ..huge }, true, false),
            (Progress { reclaimed: 0, scanned: 0, retry_may_fail: true, ..huge }, false, false),
            (Progress { order: Order::ZERO, ..huge }, false, false),
            (Progress { order: Order::new(3).unwrap(), suitable: false, ..huge }, false, false),
            (Progress { order: Order::new(3).unwrap(), gap: 16, priority: 9, suitable: false, ..huge }, true, true),
        ] {
            let found = [GapFirst, SuitableFirst].map(|rule| progress.should_continue(rule));
            assert_eq!(found, [gap_first, suitable_first], "{progress:?}");
        }
    }

    #[test]
    fn direct_reclaim_waits_below_half_of_the_min_marks() {
        assert!(throttles_direct_reclaim(500, 1000) && throttles_direct_reclaim(500, 1001));
        assert!(!throttles_direct_reclaim(501, 1000) && !throttles_direct_reclaim(0, 0));
    }

    #[test]
    fn tasks_that_may_wait_for_anyone_leave_most_of_the_list_to_others() {
        let too_many = |isolated, inactive, gfp| too_many_isolated(isolated, inactive, gfp);
        assert!(too_many(13, 100, Gfp::GFP_KERNEL) && !too_many(12, 100, Gfp::GFP_KERNEL));
        assert!(too_many(101, 100, Gfp::GFP_NOFS) && !too_many(100, 100, Gfp::GFP_NOFS));
    }
}
