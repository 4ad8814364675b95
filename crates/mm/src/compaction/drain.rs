//! Frames that pages have left go to per-CPU lists, where they do not merge: a run returns them once it is past them.

use order9_units::{Order, Pfn};

use super::control::CompactControl;
use crate::Mm;
use crate::policy::DrainMark;
use crate::trace::Tracer;
use crate::zone::ZoneId;

impl<T: Tracer> Mm<T> {
    /// Remembers that a run whose scanner stood at `start` has isolated something.
    pub(super) fn note_isolated(&self, run: &mut CompactControl, start: Pfn) {
        match self.policy.compaction.drain_mark {
            DrainMark::LowestIsolated => {} // The scan itself has noted it.
            DrainMark::IterationStart => run.last_migrated = Some(start),
            DrainMark::BlockStart => {
                let zone_start = self.zone(run.zone).span.start;
                let before = Pfn::new(run.migrate_pfn.get().saturating_sub(1)).align_down(Order::PAGEBLOCK);
                run.last_migrated = Some(before.max(zone_start));
            }
        }
    }

    /// Returns what the task's CPU has cached, if the run has left the range that pages have moved from.
    pub(super) fn drain_if_past(&mut self, run: &mut CompactControl) {
        let Some(from) = run.last_migrated else { return };
        if run.order.is_none() || from >= run.range_start(run.migrate_pfn) {
            return;
        }
        self.drain_local(run.zone, run.signs.cpu);
        run.last_migrated = None;
    }

    fn drain_local(&mut self, zone: ZoneId, cpu: usize) {
        let is_filled = self.zones[zone.index()].pcps.get(cpu).is_some_and(|pcp| pcp.count() > 0);
        if is_filled {
            self.drain_pcp(zone, cpu, u64::MAX);
        }
    }
}
