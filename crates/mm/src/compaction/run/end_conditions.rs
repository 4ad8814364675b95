//! End conditions of a run, tested before each of its rounds (`compact_finished`).

use order9_frames::fallbacks;
use order9_units::metrics::{external_fragmentation, proactive_thresholds, weighted_score};
use order9_units::{Migratetype, Order, Pages};

use crate::compact_result::CompactResult;
use crate::compaction::Compaction;
use crate::compaction::run::control::{CompactControl, Compactor};
use crate::migrate_reason::MigrateMode;
use crate::phys::PhysMem;
use crate::trace::{CompactEvent, Event};

/// Verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compaction) enum Finished {
    /// The run goes on.
    Continue,
    /// The run goes on: no block of the wanted order is free.
    NoSuitablePage,
    Over(CompactResult),
}

impl Finished {
    const fn name(self) -> &'static str {
        match self {
            Self::Continue => "continue",
            Self::NoSuitablePage => "no_suitable_page",
            Self::Over(result) => result.name(),
        }
    }
}

impl Compaction {
    /// Verdict on the run (`compact_finished`), traced.
    pub(in crate::compaction) fn compact_finished(&mut self, run: &mut CompactControl, phys: &mut PhysMem) -> Finished {
        let finished = self.run_finished(run, phys);
        let (zone, order) = (phys.frames.zone(run.zone), run.order);
        let (node, kind) = (zone.node(), zone.kind());
        phys.trace(|| Event::Compaction(CompactEvent::Finished { node, zone: kind, order, status: finished.name() }));
        finished
    }

    fn run_finished(&mut self, run: &mut CompactControl, phys: &PhysMem) -> Finished {
        let late = phys.policy.compaction.contention_finish_block;
        let gives_up = run.contended || run.context.fatal;
        if gives_up && !late {
            return Finished::Over(CompactResult::Contended);
        }
        if run.scanners_met() {
            return Finished::Over(self.scanners_met(run, phys));
        }
        let judged = match run.order {
            _ if run.by == Compactor::Proactive => phys.finished_by_score(run),
            None => return Finished::Continue,
            Some(order) => phys.finished_by_lists(run, order),
        };
        match judged {
            Finished::NoSuitablePage | Finished::Continue if gives_up && phys.may_stop_here(run) => {
                Finished::Over(CompactResult::Contended)
            }
            judged => judged,
        }
    }

    fn scanners_met(&mut self, run: &CompactControl, phys: &PhysMem) -> CompactResult {
        let (span, of) = (phys.frames.zone(run.zone).span(), &mut self.zones[run.zone.index()]);
        of.reset_cached(span);
        // kswapd will forget the hints: without other traces of a run, it is known that there is demand.
        of.blockskip_flush |= run.by.is_direct();
        if run.whole_zone { CompactResult::Complete } else { CompactResult::PartialSkipped }
    }
}

impl PhysMem {
    /// Whether a run that gives up may stop where it stands; some releases finish the pageblock first.
    fn may_stop_here(&self, run: &CompactControl) -> bool {
        run.order.is_none()
            || !self.policy.compaction.finish_block_always
            || run.migrate_pfn.is_aligned(Order::PAGEBLOCK)
    }

    /// Verdict by the free lists: the run is over once a block of the wanted order is free, or one that the wanted type
    /// may claim.
    pub(in crate::compaction) fn finished_by_lists(&self, run: &mut CompactControl, order: Order) -> Finished {
        let aligned = run.migrate_pfn.is_aligned(Order::PAGEBLOCK);
        if self.policy.compaction.finish_block_always {
            if !aligned {
                return Finished::Continue;
            }
        } else if run.finishing_block {
            if !aligned {
                return Finished::Continue;
            }
            run.finishing_block = false;
        }
        let zone = self.frames.zone(run.zone);
        if self.frames.settings().defrag_mode && run.by == Compactor::Kcompactd {
            return match self.is_high_in_blocks(zone, order, run.class) {
                true => Finished::Over(CompactResult::Success),
                false => Finished::NoSuitablePage,
            };
        }
        let movable = run.migratetype == Migratetype::Movable;
        for order in order.to(Order::MAX) {
            let own = zone.has_block_of(run.migratetype, order);
            if own || movable && zone.has_block_of(Migratetype::Cma, order) {
                return Finished::Over(CompactResult::Success);
            }
            // Half the order of a pageblock is enough to take it over; what cannot move takes over always.
            let claims = order.get() >= Order::PAGEBLOCK.get() / 2 || !movable || !self.frames.groups_mobility();
            if claims && fallbacks(run.migratetype).iter().any(|&mt| zone.has_block_of(mt, order)) {
                if movable || run.mode == MigrateMode::Async || aligned {
                    return Finished::Over(CompactResult::Success);
                }
                // The pageblock will be taken over: it is better to empty it first.
                run.finishing_block = true;
                return Finished::Continue;
            }
        }
        Finished::NoSuitablePage
    }

    /// Verdict by the fragmentation score of the zone, for proactive compaction.
    pub(in crate::compaction) fn finished_by_score(&self, run: &CompactControl) -> Finished {
        let zone = self.frames.zone(run.zone);
        if !self.daemons.kswapd[zone.node().index()].asleep {
            return Finished::Over(CompactResult::PartialSkipped);
        }
        let (low, _) = proactive_thresholds(self.settings.compaction_proactiveness);
        let score = self.zone_score(run.zone, self.policy.compaction.proactive_zone_weighted);
        if score > low { Finished::Continue } else { Finished::Over(CompactResult::Success) }
    }

    /// Fragmentation of a zone for huge pages, in percent; weighted, the zone's share of the score of its node.
    pub(in crate::compaction) fn zone_score(&self, zone: crate::ZoneId, weighted: bool) -> u64 {
        let zone = self.frames.zone(zone);
        let free = zone.areas().map(|area| area.total());
        if !weighted {
            return external_fragmentation(&free, Order::PAGEBLOCK);
        }
        let of_node = self.frames.zones().iter().filter(|other| other.node() == zone.node());
        let present = of_node.map(|other| other.present()).sum();
        weighted_score(&free, Pages::new(zone.present()), Pages::new(present))
    }
}
