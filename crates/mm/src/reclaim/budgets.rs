//! Budgets of a pass: how many pages of each list it looks at, and how it ends once enough is reclaimed.
//!
//! A run that has to reclaim 32 pages may have budgets of millions. "mm: vmscan: obey proportional scanning requirements for kswapd" (LKML,
//! 2013), "mm: vmscan: fix extreme overreclaim and swap floods" (2022).

use crate::lru_list::LruList;
use crate::reclaimer::CHUNK;

/// The lists of a pass, in its order.
const LISTS: [LruList; 4] = [LruList::InactiveAnon, LruList::ActiveAnon, LruList::InactiveFile, LruList::ActiveFile];

/// Pages that a pass may still look at, by list.
#[derive(Clone, Debug)]
pub(super) struct Budgets {
    targets: [u64; LISTS.len()],
    left: [u64; LISTS.len()],
    /// The next list.
    at: usize,
    /// The budgets are used up, although enough is reclaimed.
    goes_on: bool,
    /// The pass ends in the round after its budgets were cut.
    stops_at_goal: bool,
}

impl Budgets {
    /// Budgets of a pass that looks at `targets` pages, all of them where it `goes_on`.
    pub(super) const fn new(targets: [u64; LISTS.len()], goes_on: bool, stops_at_goal: bool) -> Self {
        Self { targets, left: targets, at: 0, goes_on, stops_at_goal }
    }

    /// The list to look at next and how many pages of it, where `reclaimed` of `goal` pages are reclaimed; `None` when the pass is
    /// through.
    pub(super) fn next_chunk(&mut self, reclaimed: u64, goal: u64) -> Option<(LruList, u64)> {
        loop {
            if self.at == LISTS.len() {
                self.at = 0;
                if reclaimed >= goal && !self.goes_on && !self.cut() {
                    return None;
                }
            }
            // What is left for active anonymous pages alone does not keep a pass going.
            if self.at == 0 && [0, 2, 3].into_iter().all(|list| self.left[list] == 0) {
                return None;
            }
            let at = self.at;
            self.at += 1;
            let pages = self.left[at].min(CHUNK);
            if pages > 0 {
                self.left[at] -= pages;
                return Some((LISTS[at], pages));
            }
        }
    }

    /// Enough is reclaimed: the type with less left is done, and the other goes on until it has come as far, or for another round. Says
    /// whether both had anything left.
    fn cut(&mut self) -> bool {
        let [anon, file] = [self.left[0] + self.left[1], self.left[2] + self.left[3]];
        if anon == 0 || file == 0 {
            return false;
        }
        let (ended, going, left) = if file > anon { (0, 2, anon) } else { (2, 0, file) };
        let percent_left = left * 100 / (self.targets[ended] + self.targets[ended + 1] + 1);
        self.left[ended..ended + 2].fill(0);
        for list in going..going + 2 {
            let done = self.targets[list] - self.left[list];
            self.left[list] = (self.targets[list] * (100 - percent_left) / 100).saturating_sub(done);
        }
        self.goes_on = !self.stops_at_goal;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of each list that a pass looks at which has reclaimed enough after so many chunks.
    fn looked_at(mut budgets: Budgets, enough_after: u64) -> [u64; LISTS.len()] {
        let (mut pages, mut chunks) = ([0; LISTS.len()], 0);
        while let Some((list, chunk)) = budgets.next_chunk(chunks, enough_after) {
            pages[LISTS.iter().position(|of| *of == list).expect("a list of the pass")] += chunk;
            chunks += 1;
        }
        pages
    }

    #[test]
    fn all_budgets_are_used_up_until_enough_is_reclaimed() {
        let targets = [100, 50, 1000, 40];
        for (goes_on, enough_after) in [(false, u64::MAX), (true, 0)] {
            for stops_at_goal in [false, true] {
                assert_eq!(looked_at(Budgets::new(targets, goes_on, stops_at_goal), enough_after), targets);
            }
        }
        assert_eq!(looked_at(Budgets::new([0, 500, 0, 0], false, false), u64::MAX), [0; 4], "active pages alone");
    }

    #[test]
    fn both_types_are_looked_at_in_proportion_once_enough_is_reclaimed() {
        // After a round of 32 pages each 168 of 232 anonymous ones are left, 72 %: of files 28 % are looked at.
        let budgets = |stops| Budgets::new([200, 32, 10_000, 2000], false, stops);
        assert_eq!(looked_at(budgets(false), 4), [32, 32, 2800, 560]);
        // Enough also of this round, and neither type has all that it wants.
        assert_eq!(looked_at(budgets(true), 4), [32, 32, 64, 64]);
    }

    #[test]
    fn a_type_alone_ends_with_the_round_in_which_enough_is_reclaimed() {
        for stops_at_goal in [false, true] {
            assert_eq!(looked_at(Budgets::new([0, 0, 1000, 1000], false, stops_at_goal), 2), [0, 0, 32, 32]);
        }
    }

    #[test]
    fn the_type_with_less_left_ends() {
        assert_eq!(looked_at(Budgets::new([1000, 0, 100, 0], false, false), 2), [330, 0, 32, 0]);
    }
}
