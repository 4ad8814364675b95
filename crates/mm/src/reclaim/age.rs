//! Ageing: pages move from the active to the inactive list of their type.

use super::control::ReclaimControl;
use super::pass::Pass;
use super::walk::Walk;
use crate::Mm;
use crate::lru_list::{LruList, LruType};
use crate::page_flags::PageFlag;
use crate::trace::{Event, Tracer};

impl<T: Tracer> Mm<T> {
    /// Moves up to `pages` pages from the tail of an active list to the inactive one, in use or not; executable pages of
    /// files that are in use stay. They are marked as having been active, for when they come back after an eviction.
    pub(super) fn age_chunk(&mut self, run: &ReclaimControl, pass: &Pass, list: LruList, pages: u64) {
        let of = LruType::of(list);
        let (mut scanned, mut deactivated, mut referenced) = (0, 0, 0);
        let mut walk = Walk::new(self.lru.zones[pass.zone.index()].list(list), list, run.reclaim_idx);
        while scanned < pages
            && let Some(idx) = self.oldest(&mut walk)
        {
            let frames = self.frames.word(idx).frames();
            scanned += frames;
            let uses = self.take_uses(idx);
            referenced += if uses.young > 0 { frames } else { 0 };
            if of == LruType::File && uses.executable {
                self.move_lru(idx, of.active());
            } else {
                self.move_lru(idx, of.inactive());
                self.frames.set(idx, self.frames.word(idx).with(PageFlag::Workingset, true));
                deactivated += frames;
            }
        }
        // Once to take them off the active list, once to put them on one again.
        self.lock_lru(self.frames.zones()[pass.zone.index()].node(), 2);
        let zone = *self.frames.zone(pass.zone);
        self.counters.pgrefill.add(zone.kind(), scanned);
        self.counters.pgdeactivate += deactivated;
        self.trace(|| Event::LruShrinkActive {
            node: zone.node(),
            taken: scanned,
            active: scanned - deactivated,
            deactivated,
            referenced,
            priority: run.priority,
            of,
        });
        self.lru.pressure[pass.set].note_scan(of, scanned, referenced);
        self.note_scanned(pass.set, scanned);
        self.note_lru_cost(pass.set, of, referenced);
    }
}
