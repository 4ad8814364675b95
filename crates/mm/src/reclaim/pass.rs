//! One pass over a set of LRU lists, in bounded steps: chunks of all lists in turn until their budgets are used up.

use core::array;

use order9_units::Pages;

use super::balance::BalanceView;
use super::control::{DEF_PRIORITY, ReclaimId, Reclaimer};
use crate::lru::{LruList, LruType};
use crate::trace::Tracer;
use crate::zone::ZoneId;
use crate::{Mm, Zone};

/// Pages of a list that a step looks at; Linux' SWAP_CLUSTER_MAX.
pub(super) const CHUNK: u64 = 32;
/// The lists of a pass, in its order.
const LISTS: [LruList; 4] = [LruList::InactiveAnon, LruList::ActiveAnon, LruList::InactiveFile, LruList::ActiveFile];

/// A pass under way.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    /// A zone that the set of lists serves.
    pub(super) zone: ZoneId,
    view: BalanceView,
    targets: [u64; LISTS.len()],
    left: [u64; LISTS.len()],
    /// The next list.
    at: usize,
    reclaimed_before: u64,
    /// Budgets were cut already, or must not be.
    cut: bool,
}

/// What a step of a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReclaimStep {
    /// Active pages were aged, or inactive ones isolated, which the next step deals with.
    Scanned,
    /// So many isolated pages were freed; the others are back on a list.
    Reclaimed(Pages),
    /// The lists are through.
    Done,
}

impl<T: Tracer> Mm<T> {
    /// Begins a pass of the run over the lists that hold pages of `zone`: those of its node or its own, by policy.
    ///
    /// # Panics
    /// If the run has ended.
    pub fn begin_lru_pass(&mut self, id: ReclaimId, zone: ZoneId) {
        let run = self.reclaim.run(id);
        let (priority, may_swap, reclaimed_before) = (run.priority, run.may_swap, run.nr_reclaimed);
        let cut = run.by == Reclaimer::Direct && priority == DEF_PRIORITY;
        let set = self.lru_set(zone);
        let sizes = self.lru_sizes(zone);
        self.reclaim.pressure[set].fade(&sizes);
        let of_node = |of: fn(&Zone) -> u64| self.served_with(zone).map(of).sum();
        let view = BalanceView {
            sizes,
            free: of_node(|zone| zone.free),
            high: of_node(|zone| zone.watermarks.high + zone.boost),
            priority,
            swappiness: self.settings.swappiness,
            has_swap: self.swap_total() > Pages::ZERO,
            swap_free: if may_swap { self.swap_free().get() } else { 0 },
            file_refaults: false,
            pressure: self.reclaim.pressure[set],
        };
        let targets = view.targets(&self.policy.reclaim);
        let pass = Pass { zone, view, targets, left: targets, at: 0, reclaimed_before, cut };
        self.reclaim.run(id).pass = Some(pass);
    }

    /// Advances the pass by at most a chunk, on behalf of `cpu`.
    ///
    /// # Panics
    /// If the run has ended.
    pub fn reclaim_step(&mut self, id: ReclaimId, cpu: usize) -> ReclaimStep {
        let run = self.reclaim.run(id);
        if !run.isolated.is_empty() {
            let isolated = core::mem::take(&mut run.isolated);
            return ReclaimStep::Reclaimed(Pages::new(self.reclaim_chunk(id, isolated, cpu)));
        }
        let Some(mut pass) = run.pass.take() else { return ReclaimStep::Done };
        let (reclaimed, goal) = (run.nr_reclaimed - pass.reclaimed_before, run.nr_to_reclaim);
        pass.view.sizes = self.lru_sizes(pass.zone);
        while let Some((list, pages)) = pass.next_chunk(reclaimed, goal) {
            let of = LruType::of(list);
            if list == of.inactive() {
                self.isolate_chunk(id, &pass, list, pages);
            } else if pass.view.inactive_is_low(of, &self.policy.reclaim) {
                self.age_chunk(id, &pass, list, pages);
            } else {
                continue; // Nothing was touched.
            }
            self.reclaim.run(id).pass = Some(pass);
            return ReclaimStep::Scanned;
        }
        if pass.view.inactive_is_low(LruType::Anon, &self.policy.reclaim) {
            self.age_chunk(id, &pass, LruList::ActiveAnon, CHUNK);
        }
        ReclaimStep::Done
    }

    /// The set of lists that holds pages of `zone`.
    pub(super) fn lru_set(&self, zone: ZoneId) -> usize {
        self.policy.reclaim.lru.set(zone.index(), self.zones[zone.index()].node)
    }

    /// Zones whose pages are on the same lists.
    fn served_with(&self, zone: ZoneId) -> impl Iterator<Item = &Zone> {
        let set = self.lru_set(zone);
        self.zones.iter().filter(move |other| self.lru_set(other.id) == set)
    }

    /// Pages on each list of the set that serves `zone`.
    pub(super) fn lru_sizes(&self, zone: ZoneId) -> [u64; LruList::COUNT] {
        array::from_fn(|list| self.served_with(zone).map(|zone| zone.lru_pages(LruList::ALL[list])).sum())
    }
}

impl Pass {
    /// The list to look at next and how many pages of it; `None` when the pass is through.
    fn next_chunk(&mut self, reclaimed: u64, goal: u64) -> Option<(LruList, u64)> {
        loop {
            if self.at == LISTS.len() {
                self.at = 0;
                if reclaimed >= goal && !self.cut && !self.cut_budgets() {
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

    /// Enough is reclaimed: the type with less left is done, and the other goes on only until it has come as far. Says
    /// whether anything is left.
    fn cut_budgets(&mut self) -> bool {
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
        self.cut = true;
        true
    }
}
