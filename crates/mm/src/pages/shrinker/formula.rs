//! Number of objects that one call of a shrinker looks at, and number that it leaves for later calls.
//!
//! The rules as published, with `D` for work put off earlier, `delta` for what this call adds, `total` for what it does:
//! up to 5.12, `total = D + delta`, but at most half of what can be freed while `delta` is below a quarter of it, and at most
//! twice of it; from 5.13 on `D` is scaled by the priority first. Work comes in batches; less than a batch is put off.
//! Change logs: "mm: Track actual nr_scanned during shrink_slab()" (4.14), "mm: use sc->priority for slab shrink targets"
//! (4.16), "mm: slowly shrink slabs with a relatively small number of objects" (4.19, reverted in 5.0), "mm: zero-seek
//! shrinkers" (4.20), "mm: vmscan: shrink deferred objects proportional to priority" (5.13).

use crate::policy::{ReclaimPolicy, SlabDeferred, SlabTarget};

/// Worth of a shrinker's objects, and their number in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShrinkerCost {
    /// I/O that it takes to make an object again; Linux' `DEFAULT_SEEKS` is 2, and 0 is none.
    pub seeks: u64,
    /// Objects looked at in one go; Linux' `SHRINK_BATCH` is 128.
    pub batch: u64,
}

/// Counts of the pass over LRU lists that this shrinking belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LruScan {
    /// Pages scanned.
    pub scanned: u64,
    /// Pages that could have been.
    pub eligible: u64,
}

/// One call of a shrinker: how far it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShrinkPlan {
    /// Objects that can be freed; at least one.
    pub freeable: u64,
    /// Work put off by earlier calls, in objects.
    pub deferred: u64,
    /// Objects that this call adds.
    pub delta: u64,
    /// Objects that are left to look at.
    pub total: u64,
    /// Objects looked at.
    pub scanned: u64,
    batch: u64,
}

impl ShrinkPlan {
    /// Plans a call at `priority`, 12 for the least effort to 0 for the most.
    #[must_use]
    pub fn new(
        cost: ShrinkerCost,
        freeable: u64,
        deferred: u64,
        priority: u8,
        lru: LruScan,
        policy: &ReclaimPolicy,
    ) -> Self {
        let mut delta = delta(cost, freeable, priority, lru, policy.slab_target);
        if policy.slab_small_caches {
            delta = delta.max(freeable.min(cost.batch));
        }
        let limit = freeable.saturating_mul(2);
        let total = match policy.slab_deferred {
            SlabDeferred::Scaled => deferred.checked_shr(priority.into()).unwrap_or(0).saturating_add(delta),
            _ if delta < freeable / 4 => deferred.saturating_add(delta).min(freeable / 2),
            _ => deferred.saturating_add(delta),
        };
        Self { freeable, deferred, delta, total: total.min(limit), scanned: 0, batch: cost.batch.max(1) }
    }

    /// Objects of the next batch; `None` when the rest is left for later.
    #[must_use]
    pub fn next_batch(&self) -> Option<u64> {
        (self.total >= self.batch || self.total >= self.freeable)
            .then_some(self.batch.min(self.total))
            .filter(|&n| n > 0)
    }

    /// Counts a batch of `objects` as done.
    pub const fn done(&mut self, objects: u64) {
        self.total -= objects;
        self.scanned += objects;
    }

    /// Work put off for later calls.
    #[must_use]
    pub fn left_over(&self, rule: SlabDeferred) -> u64 {
        let planned = self.deferred.saturating_add(self.delta).saturating_sub(self.scanned);
        match rule {
            SlabDeferred::Capped => self.total,
            SlabDeferred::Planned => planned,
            SlabDeferred::Scaled => planned.min(self.freeable.saturating_mul(2)),
        }
    }
}

/// Number of objects that one call adds.
fn delta(cost: ShrinkerCost, freeable: u64, priority: u8, lru: LruScan, target: SlabTarget) -> u64 {
    if cost.seeks == 0 {
        return freeable / 2;
    }
    match target {
        SlabTarget::Priority => freeable.checked_shr(priority.into()).unwrap_or(0).saturating_mul(4) / cost.seeks,
        SlabTarget::ScanShare => {
            // A pass that scanned nothing still shrinks a little.
            let scanned = if lru.scanned == 0 { 32 } else { lru.scanned };
            let share = u128::from(scanned) * 4 / u128::from(cost.seeks) * u128::from(freeable);
            u64::try_from(share / (u128::from(lru.eligible) + 1)).unwrap_or(u64::MAX)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    const COST: ShrinkerCost = ShrinkerCost { seeks: 2, batch: 1024 };
    const MILLION: u64 = 1_000_000;

    fn rules(slab_target: SlabTarget, slab_small_caches: bool, slab_deferred: SlabDeferred) -> ReclaimPolicy {
        ReclaimPolicy { slab_target, slab_small_caches, slab_deferred, ..Policy::default().reclaim }
    }

    fn planned() -> ReclaimPolicy {
        rules(SlabTarget::Priority, false, SlabDeferred::Planned)
    }

    /// Numbers of objects that one call scans and puts off.
    fn call(freeable: u64, deferred: u64, priority: u8, policy: &ReclaimPolicy) -> (u64, u64) {
        let mut plan = ShrinkPlan::new(COST, freeable, deferred, priority, LruScan::default(), policy);
        while let Some(batch) = plan.next_batch() {
            plan.done(batch);
        }
        (plan.scanned, plan.left_over(policy.slab_deferred))
    }

    #[test]
    fn calls_too_small_for_a_batch_are_put_off_until_they_make_one() {
        let mut deferred = 0;
        let calls = [(); 4].map(|()| {
            let (scanned, left) = call(MILLION, deferred, 12, &planned());
            deferred = left;
            (scanned, left)
        });
        assert_eq!(calls, [(0, 488), (0, 976), (1_024, 440), (0, 928)]);
    }

    #[test]
    fn lower_priorities_scan_more() {
        assert_eq!(call(MILLION, 0, 6, &planned()), (30_720, 530));
        assert_eq!(call(MILLION, 0, 0, &planned()).0, 1_999_872);
    }

    #[test]
    fn small_caches_were_scanned_whole_in_one_release() {
        let with_floor = rules(SlabTarget::Priority, true, SlabDeferred::Planned);
        assert_eq!(call(100, 0, 12, &planned()), (0, 0));
        assert_eq!(call(100, 0, 12, &with_floor), (100, 0));
        assert_eq!(call(5_000, 0, 12, &with_floor), (1_024, 0));
    }

    #[test]
    fn objects_without_io_are_halved() {
        let cost = ShrinkerCost { seeks: 0, batch: 128 };
        let plan = ShrinkPlan::new(cost, 1_000, 0, 12, LruScan::default(), &planned());
        assert_eq!((plan.delta, plan.total), (500, 500));
    }

    #[test]
    fn before_priorities_the_share_of_the_lru_that_was_scanned_counted() {
        let old = rules(SlabTarget::ScanShare, false, SlabDeferred::Capped);
        let plan = |scanned, eligible| ShrinkPlan::new(COST, MILLION, 0, 12, LruScan { scanned, eligible }, &old);
        assert_eq!(plan(1_000, 999_999).delta, 2_000);
        assert_eq!(plan(0, 999_999).delta, 64, "nothing scanned counts as 32 pages");
    }

    #[test]
    fn put_off_work_is_capped_kept_or_scaled() {
        // Ten times more is put off than can be freed, and the call adds little: half of what can be freed is done.
        let of = |deferred| call(10_240, 102_400, 12, &rules(SlabTarget::Priority, false, deferred));
        assert_eq!(of(SlabDeferred::Capped), (5_120, 0));
        assert_eq!(of(SlabDeferred::Planned), (5_120, 97_284));
        assert_eq!(of(SlabDeferred::Scaled), (0, 20_480), "a 4096th of it is 25, and twice the objects is kept");
        let urgent = rules(SlabTarget::Priority, false, SlabDeferred::Scaled);
        assert_eq!(call(10_240, 102_400, 0, &urgent).0, 20_480);
    }

    #[test]
    fn put_off_work_keeps_its_bounds() {
        for rule in [SlabDeferred::Capped, SlabDeferred::Planned, SlabDeferred::Scaled] {
            for freeable in [1, 127, 4_096, MILLION, u64::MAX / 2] {
                for deferred in [0, 1, MILLION, u64::MAX] {
                    for priority in 0..=12 {
                        let policy = rules(SlabTarget::Priority, false, rule);
                        let plan = ShrinkPlan::new(COST, freeable, deferred, priority, LruScan::default(), &policy);
                        let bounded = plan.left_over(rule) <= freeable.saturating_mul(2);
                        assert!(bounded || rule == SlabDeferred::Planned, "{plan:?}");
                        assert!(plan.total <= freeable.saturating_mul(2), "{plan:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn calls_that_add_a_quarter_of_what_can_be_freed_do_all_that_was_put_off() {
        // An eighth at two seeks counts twice: a quarter. More than twice the objects is never done.
        assert_eq!(call(10_240, 102_400, 3, &planned()).0, 20_480);
        assert_eq!(call(10_240, 102_400, 4, &planned()).0, 5_120, "an eighth adds little");
    }
}
