//! One pass over a set of LRU lists, in bounded steps: chunks of all lists in turn until their budgets are used up.

use order9_frames::ZoneId;
use order9_units::Pages;

use crate::Zone;
use crate::compaction::Compaction;
use crate::lru_list::{LruList, LruType};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::reclaim::balance::BalanceView;
use crate::reclaim::budgets::Budgets;
use crate::reclaim::control::{DEF_PRIORITY, Reclaim, ReclaimControl};
use crate::reclaim::decide::too_many_isolated;
use crate::reclaimer::{CHUNK, PassStats, Reclaimer};
use crate::trace::Event;

/// A pass under way.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    /// A zone that the set of lists serves.
    pub(super) zone: ZoneId,
    pub(super) set: usize,
    view: BalanceView,
    budgets: Budgets,
    reclaimed_before: u64,
    /// List and number of pages to scan next, once the caller has waited.
    waiting: Option<(LruList, u64)>,
}

/// Result of a step of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReclaimStep {
    /// Active pages were aged, or inactive ones isolated, which the next step deals with.
    Scanned,
    /// Number of isolated pages that were freed; the others are back on a list.
    Reclaimed(Pages),
    /// Others hold so many isolated pages that the inactive list is short: the caller sleeps, by Linux 100 ms, and goes on.
    /// Nothing was done. If it does not help, the run gives up this chunk.
    TooManyIsolated,
    /// The lists are through.
    Done,
}

impl Reclaim {
    /// Advances the pass of a run by at most a chunk, on behalf of `cpu`.
    pub(crate) fn step(
        &self,
        run: &mut ReclaimControl,
        cpu: usize,
        phys: &mut PhysMem,
        pages: &mut UsedPages,
        compaction: &Compaction,
    ) -> ReclaimStep {
        if run.chunk.isolated.is_empty() {
            return pages.scan_step(run, phys);
        }
        ReclaimStep::Reclaimed(Pages::new(self.reclaim_chunk(run, cpu, phys, pages, compaction)))
    }
}

impl UsedPages {
    /// Begins a pass of the run over the lists that hold pages of `zone`.
    pub(crate) fn begin_pass(&mut self, run: &mut ReclaimControl, zone: ZoneId, phys: &PhysMem) {
        let set = phys.lru_set(zone);
        let view = self.balance_view(run, zone, set, phys);
        let rules = &phys.policy.reclaim;
        let goes_on = run.by != Reclaimer::Kswapd && run.priority == DEF_PRIORITY;
        let budgets = Budgets::new(view.targets(rules), goes_on, rules.stops_at_goal);
        let reclaimed_before = run.nr_reclaimed;
        if !run.sets.contains(&set) {
            run.sets.push(set);
        }
        run.stats = PassStats::default();
        run.pass = Some(Pass { zone, set, view, budgets, reclaimed_before, waiting: None });
    }

    /// Puts pages back that a run still holds as it ends, and lets its sets of lists settle.
    pub(crate) fn end_passes(&mut self, run: &mut ReclaimControl, phys: &mut PhysMem) {
        for idx in run.chunk.isolated.drain(..) {
            self.lru.putback_lru(idx, phys);
            self.free_if_kept(idx, phys);
        }
        run.sets.iter().for_each(|&set| self.lru.workingset.settle(set));
    }

    /// Input for the sharing of a pass over the set of lists of `zone`.
    fn balance_view(&mut self, run: &ReclaimControl, zone: ZoneId, set: usize, phys: &PhysMem) -> BalanceView {
        let sizes = self.lru.lru_sizes(set, phys);
        self.lru.pressure[set].fade(&sizes);
        let of_set = |of: fn(&Zone) -> u64| phys.zones_of_set(set).map(of).sum();
        BalanceView {
            sizes,
            free: of_set(|zone| zone.free()),
            high: of_set(|zone| zone.watermarks().high + zone.boost()),
            priority: run.priority,
            swappiness: run.swappiness.unwrap_or(phys.settings.swappiness),
            has_swap: self.swap.swap_total() > Pages::ZERO,
            swap_free: if run.may_swap { self.swap.swap_free().get() } else { 0 },
            file_refaults: self.lru.workingset.has_file_refaults(set),
            polls: run.by == Reclaimer::Kswapd && self.is_unreclaimable(zone, phys),
            pressure: self.lru.pressure[set],
        }
    }

    /// Takes or ages the next chunk of a list.
    fn scan_step(&mut self, run: &mut ReclaimControl, phys: &mut PhysMem) -> ReclaimStep {
        let Some(mut pass) = run.pass.take() else { return ReclaimStep::Done };
        let (reclaimed, goal) = (run.nr_reclaimed - pass.reclaimed_before, run.nr_to_reclaim);
        pass.view.sizes = self.lru.lru_sizes(pass.set, phys);
        let mut waited = pass.waiting.is_some();
        while let Some((list, pages)) = pass.waiting.take().or_else(|| pass.budgets.next_chunk(reclaimed, goal)) {
            let of = LruType::of(list);
            let inactive = list == of.inactive();
            if inactive && self.is_throttled(run, &pass, of, phys) {
                if core::mem::take(&mut waited) {
                    continue; // It did not help.
                }
                pass.waiting = Some((list, pages));
                run.pass = Some(pass);
                return ReclaimStep::TooManyIsolated;
            }
            if !inactive && !run.force_deactivate && !phys.inactive_is_low(run, &pass, of) {
                run.skipped_deactivate = true;
                continue; // Nothing was touched.
            }
            if inactive {
                self.isolate_chunk(run, &pass, list, pages, phys);
            } else {
                self.age_chunk(run, &pass, list, pages, phys);
            }
            run.pass = Some(pass);
            return ReclaimStep::Scanned;
        }
        if phys.inactive_is_low(run, &pass, LruType::Anon) {
            self.age_chunk(run, &pass, LruList::ActiveAnon, CHUNK, phys);
        }
        ReclaimStep::Done
    }

    fn is_throttled(&self, run: &ReclaimControl, pass: &Pass, of: LruType, phys: &PhysMem) -> bool {
        let isolated = phys.zones_of_set(pass.set).map(|zone| self.lru.zone_lru(zone.id()).isolated(of)).sum();
        run.by != Reclaimer::Kswapd && too_many_isolated(isolated, pass.view.sizes[of.inactive().index()], run.gfp)
    }
}

impl PhysMem {
    fn inactive_is_low(&mut self, run: &ReclaimControl, pass: &Pass, of: LruType) -> bool {
        let sizes = &pass.view.sizes;
        let (node, rules) = (self.frames.zone(pass.zone).node(), &self.policy.reclaim);
        self.frames.watch_mut().trace.event(|| Event::InactiveListIsLow {
            node,
            class: run.reclaim_idx,
            inactive: sizes[of.inactive().index()],
            active: sizes[of.active().index()],
            ratio: pass.view.ratio(of, rules),
            of,
        });
        pass.view.inactive_is_low(of, &self.policy.reclaim)
    }
}
