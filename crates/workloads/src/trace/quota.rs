//! From what a kernel counted in an interval to what a program does in it: [`Quota`].
//!
//! Counters say how much was allocated, not by whom. Pages whose user is known come first: huge faults, growth of the page cache, requests
//! by type and order where events were counted. Faults take what is left of movable pages, and the kernel the rest.

use order9_units::Order;

use super::recording::{Interval, Requests};

/// Pages of a huge page.
pub(super) const HUGE: u64 = Order::PAGEBLOCK.pages().get();

/// Work of an interval, in pages unless it says otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Quota {
    /// Huge pages that programs get, in number.
    pub(super) huge: u64,
    /// Faults in memory that might be huge and got base pages, in number.
    pub(super) fallbacks: u64,
    /// Other faults that get a page.
    pub(super) base: u64,
    /// Faults that get no page of their own, in number.
    pub(super) plain: u64,
    /// Pages of files that programs write.
    pub(super) written: u64,
    /// Pages of files that programs read.
    pub(super) read: u64,
    /// Unmovable requests of the kernel, in number by order.
    pub(super) unmovable: [u64; Order::COUNT],
    /// Reclaimable requests of the kernel, in number by order.
    pub(super) reclaimable: [u64; Order::COUNT],
    /// Base pages of programs that are given back.
    pub(super) base_freed: u64,
    /// Huge pages that are given back, in number.
    pub(super) huge_freed: u64,
    /// Pages of files that are removed.
    pub(super) file_freed: u64,
    /// Memory of the kernel that is freed.
    pub(super) kernel_freed: u64,
}

/// `level` more than `by`, or nothing.
fn plus(by: u64, level: i64) -> u64 {
    by.saturating_add_signed(level)
}

/// `by` less than `level` is more: what has to go so that `by` new ones make the level grow by that.
fn minus(by: u64, level: i64) -> u64 {
    by.saturating_add_signed(level.saturating_neg())
}

impl Quota {
    pub(super) fn of(interval: &Interval) -> Self {
        let Interval {
            faults,
            huge,
            fallbacks,
            allocated,
            freed,
            anon,
            anon_huge,
            file,
            evicted,
            dirtied,
            requests,
            ..
        } = interval;
        let Requests { unmovable, movable, reclaimable } = requests;
        let has_requests = [unmovable, movable, reclaimable].into_iter().flatten().any(|&count| count > 0);
        let [unmovable_pages, movable_pages, reclaimable_pages] =
            [unmovable, movable, reclaimable].map(Requests::pages);
        let huge_pages = huge * HUGE;
        let cached = plus(*evicted, *file).min(allocated.saturating_sub(huge_pages));
        // Without events anybody may have asked for what is left.
        let others = if has_requests { movable_pages.min(*allocated) } else { *allocated };
        let others = others.saturating_sub(huge_pages + cached);
        let single = faults.saturating_sub(*huge).min(others);
        let fallbacks = (*fallbacks).min(single);
        // Movable pages that no fault got are those of files that were gone again.
        let passing = if has_requests { others - single } else { 0 };
        let cached = cached + passing;
        let written = (*dirtied).min(cached);
        let tables = tables(*huge, single);
        let known = if has_requests {
            movable_pages.max(huge_pages + single + cached) + unmovable_pages + reclaimable_pages
        } else {
            huge_pages + single + cached
        };
        let mut unmovable = *unmovable;
        unmovable[0] = (unmovable[0] + allocated.saturating_sub(known)).saturating_sub(tables);
        let anon_freed = minus(huge_pages + single, *anon);
        let huge_freed = minus(*huge, *anon_huge).min(anon_freed / HUGE);
        let file_freed = minus(cached, *file);
        Self {
            huge: *huge,
            fallbacks,
            base: single - fallbacks,
            plain: faults.saturating_sub(huge + single),
            written,
            read: cached - written,
            unmovable,
            reclaimable: *reclaimable,
            base_freed: anon_freed - huge_freed * HUGE,
            huge_freed,
            // The lab's own reclaim frees what reclaim freed.
            file_freed: file_freed.saturating_sub(*evicted),
            kernel_freed: freed.saturating_sub(anon_freed + file_freed + tables),
        }
    }

    /// The part `nth` of `of` equal ones; all parts together are the whole.
    pub(super) fn part(&self, nth: u64, of: u64) -> Self {
        let part = |count: u64| {
            let until = |nth: u64| u64::try_from(u128::from(count) * u128::from(nth) / u128::from(of));
            until(nth + 1).unwrap_or(u64::MAX) - until(nth).unwrap_or(u64::MAX)
        };
        Self {
            huge: part(self.huge),
            fallbacks: part(self.fallbacks),
            base: part(self.base),
            plain: part(self.plain),
            written: part(self.written),
            read: part(self.read),
            unmovable: self.unmovable.map(part),
            reclaimable: self.reclaimable.map(part),
            base_freed: part(self.base_freed),
            huge_freed: part(self.huge_freed),
            file_freed: part(self.file_freed),
            kernel_freed: part(self.kernel_freed),
        }
    }

    /// Accesses to pages and requests, together.
    pub(super) fn steps(&self) -> u64 {
        let requests = self.unmovable.iter().chain(&self.reclaimable).sum::<u64>();
        (self.huge * HUGE) + self.fallbacks + self.base + self.plain + self.written + self.read + requests
    }
}

/// Page tables that come with so many faults, which the replay has of its own.
fn tables(huge: u64, single: u64) -> u64 {
    huge + single / HUGE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::recording::Recording;

    fn interval() -> Interval {
        Interval { length: crate::spec::SECOND, ..Interval::default() }
    }

    #[test]
    fn without_events_faults_get_pages_as_far_as_there_are_any() {
        let quota =
            Quota::of(&Interval { faults: 100, huge: 1, allocated: 700, freed: 80, anon: 550, file: 40, ..interval() });
        let Quota { huge, base, plain, read, unmovable, base_freed, file_freed, kernel_freed, .. } = quota;
        assert_eq!((huge, base, plain, read), (1, 99, 0, 40));
        assert_eq!(unmovable[0], 700 - 512 - 99 - 40 - 1, "the rest, without a page table");
        assert_eq!((base_freed, file_freed, kernel_freed), (512 + 99 - 550, 0, 80 - 61 - 1));
        let quota = Quota::of(&Interval { faults: 100, allocated: 30, ..interval() });
        assert_eq!((quota.base, quota.plain, quota.unmovable[0]), (30, 70, 0));
    }

    #[test]
    fn with_events_the_kernel_gets_what_it_asked_for() {
        let mut requests = Requests::default();
        (requests.movable[0], requests.unmovable[0], requests.unmovable[2], requests.reclaimable[1]) = (50, 20, 3, 4);
        let quota = Quota::of(&Interval { faults: 90, allocated: 95, requests, ..interval() });
        assert_eq!((quota.base, quota.plain), (50, 40));
        assert_eq!((quota.unmovable[0], quota.unmovable[2], quota.reclaimable[1]), (20 + 5, 3, 4), "5 were lost");
        let mut requests = Requests::default();
        requests.movable[0] = 50;
        let quota = Quota::of(&Interval { faults: 10, allocated: 50, freed: 50, dirtied: 7, requests, ..interval() });
        assert_eq!((quota.base, quota.written, quota.read, quota.file_freed), (10, 7, 33, 40));
    }

    #[test]
    fn levels_that_fall_are_given_back() {
        let quota =
            Quota::of(&Interval { freed: 2000, anon: -1100, anon_huge: -2, file: -300, evicted: 100, ..interval() });
        assert_eq!((quota.base_freed, quota.huge_freed), (1100 - 2 * HUGE, 2));
        assert_eq!((quota.file_freed, quota.kernel_freed), (200, 600), "reclaim frees 100 by itself");
    }

    #[test]
    fn parts_are_the_whole_and_odd_counts_do_not_overflow() {
        let quota = Quota::of(&Recording::example().intervals()[0]);
        let sum = |of: fn(&Quota) -> u64| (0..7).map(|nth| of(&quota.part(nth, 7))).sum::<u64>();
        assert_eq!(sum(|quota| quota.base), quota.base);
        assert_eq!(sum(|quota| quota.unmovable[1]), quota.unmovable[1]);
        assert_eq!(sum(|quota| quota.kernel_freed), quota.kernel_freed);
        let most = 1 << 32;
        let all = [most; Order::COUNT];
        let requests = Requests { unmovable: all, movable: all, reclaimable: all };
        let full = Interval {
            length: crate::spec::SECOND,
            faults: most,
            huge: most,
            fallbacks: most,
            allocated: most,
            freed: most,
            anon: -(most as i64),
            anon_huge: most as i64,
            file: most as i64,
            evicted: most,
            dirtied: most,
            requests,
        };
        let _ = Quota::of(&full).steps();
        let _ = Quota::of(&Interval { requests: Requests::default(), anon: 1 << 32, file: -(1 << 32), ..full }).steps();
    }
}
