//! Sharing of a pass between the LRU lists: which lists are too short to take from, and how many pages of each are
//! scanned.
//!
//! Key types: [`BalanceView`] (input of the decision), [`ScanBalance`] (the verdict). Nothing here changes state.

use crate::lru::Pressure;
use crate::lru_list::{LruList, LruType};
use crate::policy::{BalanceRule, ReclaimPolicy};
use crate::reclaimer::CHUNK;

/// Pages per GiB, as a power of two.
const GIB_SHIFT: u32 = 18;
/// Weight that swappiness and its complement share.
const SWAPPINESS_SUM: u64 = 200;

/// Ratio of active to inactive pages that a pair of lists of `pages` together may have.
#[must_use]
pub const fn inactive_ratio(pages: u64) -> u64 {
    let ratio = (10 * (pages >> GIB_SHIFT)).isqrt();
    if ratio == 0 { 1 } else { ratio }
}

/// Input of the decision.
#[derive(Clone, Copy, Debug)]
pub struct BalanceView {
    /// Pages on each list.
    pub sizes: [u64; LruList::COUNT],
    /// Free pages of the node.
    pub free: u64,
    /// High marks of the node's zones together.
    pub high: u64,
    /// 12 at the start of a run, 0 at its most thorough.
    pub priority: u8,
    /// `vm.swappiness`.
    pub swappiness: u64,
    /// There is swap space, full or not.
    pub has_swap: bool,
    /// Pages that can still be swapped out; 0 also where the run may not swap.
    pub swap_free: u64,
    /// Refaults have made pages active since the last run, so that inactive file pages count as too few.
    pub file_refaults: bool,
    /// kswapd looks whether lists that count as unreclaimable still are: where the priority makes nothing of all of them, a
    /// few pages of each are scanned.
    pub polls: bool,
    /// Recent cost of the lists.
    pub pressure: Pressure,
}

/// Lists that a pass scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanBalance {
    /// Lists of file pages only.
    FileOnly,
    /// The anonymous ones.
    AnonOnly,
    /// All, as far as they are long.
    Equal,
    /// All, each type by its share.
    Shares {
        /// Share of anonymous pages.
        anon: u64,
        /// Share of pages of files.
        file: u64,
        /// Denominator of the shares.
        of: u64,
    },
}

impl BalanceView {
    /// Ratio of active to inactive pages of a type that is allowed; 0 allows no active page.
    #[must_use]
    pub const fn ratio(&self, of: LruType, policy: &ReclaimPolicy) -> u64 {
        match of {
            LruType::File if self.file_refaults => 0,
            LruType::File if !policy.file_ratio => 1,
            _ => inactive_ratio(self.sizes[of.inactive().index()] + self.sizes[of.active().index()]),
        }
    }

    /// Whether a type has too few inactive pages, so that active ones are aged.
    #[must_use]
    pub const fn inactive_is_low(&self, of: LruType, policy: &ReclaimPolicy) -> bool {
        let (inactive, active) = (self.sizes[of.inactive().index()], self.sizes[of.active().index()]);
        match of {
            LruType::Anon if !self.has_swap => false,
            _ => inactive * self.ratio(of, policy) < active,
        }
    }

    /// Lists that a pass scans.
    #[must_use]
    pub fn decide(&self, policy: &ReclaimPolicy) -> ScanBalance {
        let inactive = |of: LruType| self.sizes[of.inactive().index()] >> self.priority;
        let ample = |of| !self.inactive_is_low(of, policy) && inactive(of) > 0;
        let file = self.sizes[LruList::InactiveFile.index()] + self.sizes[LruList::ActiveFile.index()];
        match () {
            () if self.swap_free == 0 => ScanBalance::FileOnly,
            () if self.priority == 0 && self.swappiness > 0 => ScanBalance::Equal,
            () if file + self.free <= self.high && ample(LruType::Anon) => ScanBalance::AnonOnly,
            () if ample(LruType::File) => ScanBalance::FileOnly,
            () => self.shares(policy.balance),
        }
    }

    fn shares(&self, rule: BalanceRule) -> ScanBalance {
        let weights = [self.swappiness, SWAPPINESS_SUM.saturating_sub(self.swappiness)];
        let Pressure { scanned, rotated, cost } = self.pressure;
        let ([anon, file], rest) = match rule {
            BalanceRule::Rotation => ([0, 1].map(|of| weights[of] * (scanned[of] + 1) / (rotated[of] + 1)), 1),
            BalanceRule::RefaultCost => {
                let sum: u64 = cost.iter().sum();
                let costs = cost.map(|cost| sum + cost);
                let total = costs.iter().sum::<u64>() + 1;
                ([0, 1].map(|of| weights[of] * total / (costs[of] + 1)), 0)
            }
        };
        ScanBalance::Shares { anon, file, of: anon + file + rest }
    }

    /// Pages to scan on each of the four lists of evictable pages.
    #[must_use]
    pub fn targets(&self, policy: &ReclaimPolicy) -> [u64; 4] {
        let balance = self.decide(policy);
        let targets = self.targets_of(balance, |size| size >> self.priority);
        match self.polls && targets == [0; 4] {
            true => self.targets_of(balance, |size| size.min(CHUNK)),
            false => targets,
        }
    }

    fn targets_of(&self, balance: ScanBalance, depth: impl Fn(u64) -> u64) -> [u64; 4] {
        let types = [LruType::Anon, LruType::Anon, LruType::File, LruType::File];
        core::array::from_fn(|list| {
            let size = depth(self.sizes[list]);
            match (balance, types[list]) {
                (ScanBalance::FileOnly, LruType::Anon) | (ScanBalance::AnonOnly, LruType::File) => 0,
                (ScanBalance::FileOnly | ScanBalance::AnonOnly | ScanBalance::Equal, _) => size,
                (ScanBalance::Shares { anon, of, .. }, LruType::Anon) => (size * anon).div_ceil(of.max(1)),
                (ScanBalance::Shares { file, of, .. }, LruType::File) => (size * file).div_ceil(of.max(1)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Policy;

    const GIB: u64 = 1 << GIB_SHIFT;

    fn view() -> BalanceView {
        BalanceView {
            sizes: [1000, 2000, 1000, 20_000, 0],
            free: 10_000,
            high: 1000,
            priority: 2,
            swappiness: 60,
            has_swap: true,
            swap_free: 1,
            file_refaults: false,
            polls: false,
            pressure: Pressure::default(),
        }
    }

    fn policy(balance: BalanceRule) -> ReclaimPolicy {
        ReclaimPolicy { balance, ..Policy::default().reclaim }
    }

    #[test]
    fn ratios_of_memory_sizes() {
        for (gib, ratio) in [(0, 1), (1, 3), (10, 10), (100, 31), (1024, 101)] {
            assert_eq!(inactive_ratio(gib * GIB), ratio, "{gib} GiB");
        }
    }

    #[test]
    fn inactive_lists_are_low_by_the_ratio_of_their_pair() {
        let policy = policy(BalanceRule::Rotation);
        let low = |of, inactive, active, has_swap, policy: &ReclaimPolicy| {
            let sizes = [inactive, active, inactive, active, 0];
            BalanceView { sizes, has_swap, ..view() }.inactive_is_low(of, policy)
        };
        let (inactive, active) = (GIB / 4, GIB * 3 / 4); // A pair of one GiB may be 1:3.
        assert!(!low(LruType::File, inactive, active, true, &policy));
        assert!(low(LruType::File, inactive, active + 1, true, &policy));
        assert!(low(LruType::Anon, inactive, active + 1, true, &policy));
        assert!(!low(LruType::Anon, inactive, active + 1, false, &policy), "nothing to age for without swap");
        let half = ReclaimPolicy { file_ratio: false, ..policy };
        assert!(
            low(LruType::File, inactive, inactive + 1, true, &half)
                && !low(LruType::File, inactive, inactive, true, &half)
        );
        assert!(BalanceView { file_refaults: true, ..view() }.inactive_is_low(LruType::File, &half));
    }

    #[test]
    fn the_first_rule_that_matches_decides() {
        let policy = policy(BalanceRule::Rotation);
        let decide = |view: BalanceView| view.decide(&policy);
        assert_eq!(decide(BalanceView { swap_free: 0, ..view() }), ScanBalance::FileOnly);
        assert_eq!(decide(BalanceView { priority: 0, ..view() }), ScanBalance::Equal);
        let scarce = BalanceView { sizes: [2000, 1000, 100, 100, 0], free: 800, ..view() };
        assert_eq!(decide(scarce), ScanBalance::AnonOnly);
        assert_eq!(decide(BalanceView { sizes: [2000, 1000, 4000, 100, 0], ..view() }), ScanBalance::FileOnly);
        assert_eq!(decide(view()), ScanBalance::Shares { anon: 60, file: 140, of: 201 });
    }

    #[test]
    fn types_found_in_use_or_costly_are_scanned_less() {
        let pressure = Pressure { scanned: [99, 99], rotated: [49, 0], cost: [300, 100] };
        let view = BalanceView { pressure, ..view() };
        // By rotation: 60 * 100 / 50 and 140 * 100 / 1.
        let shares = ScanBalance::Shares { anon: 120, file: 14_000, of: 14_121 };
        assert_eq!(view.decide(&policy(BalanceRule::Rotation)), shares);
        // By cost: 400 in all, so 700 and 500 count: 60 * 1201 / 701 and 140 * 1201 / 501.
        let shares = ScanBalance::Shares { anon: 102, file: 335, of: 437 };
        assert_eq!(view.decide(&policy(BalanceRule::RefaultCost)), shares);
        assert_eq!(view.targets(&policy(BalanceRule::RefaultCost)), [59, 117, 192, 3833]);
    }

    #[test]
    fn lists_that_count_as_unreclaimable_are_polled_however_short() {
        let policy = policy(BalanceRule::Rotation);
        let short = BalanceView { sizes: [0, 0, 3000, 20, 0], swap_free: 0, priority: 12, ..view() };
        assert_eq!(short.targets(&policy), [0; 4]);
        assert_eq!(BalanceView { polls: true, ..short }.targets(&policy), [0, 0, 32, 20]);
        let long = BalanceView { sizes: [0, 0, 8192, 20, 0], polls: true, ..short };
        assert_eq!(long.targets(&policy), [0, 0, 2, 0], "the priority makes something of one");
    }

    #[test]
    fn old_pressure_fades() {
        let mut pressure = Pressure::default();
        pressure.note_scan(LruType::Anon, 751, 100);
        pressure.note_scan(LruType::File, 10, 10);
        pressure.fade(&view().sizes);
        assert_eq!((pressure.scanned, pressure.rotated), ([375, 10], [50, 10]));
        pressure.note_cost(LruType::Anon, 100, 1000);
        pressure.note_cost(LruType::File, 200, 1000);
        assert_eq!(pressure.cost, [50, 100]);
    }

    #[test]
    fn files_are_scanned_where_they_are_few_but_anonymous_pages_are_not_ample() {
        // A quarter of three anonymous pages is none.
        let scarce = BalanceView { sizes: [3, 1, 100, 100, 0], free: 800, ..view() };
        assert_eq!(scarce.decide(&policy(BalanceRule::Rotation)), ScanBalance::FileOnly);
    }

    #[test]
    fn without_swappiness_the_most_thorough_pass_has_no_share_for_anonymous_pages_either() {
        let last = BalanceView { priority: 0, swappiness: 0, ..view() };
        let shares = ScanBalance::Shares { anon: 0, file: 200, of: 201 };
        assert_eq!(last.decide(&policy(BalanceRule::Rotation)), shares);
    }
}
