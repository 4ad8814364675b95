//! Ageing: pages move from the active to the inactive list of their type.

use super::control::ReclaimControl;
use super::pass::Pass;
use super::walk::Walk;
use crate::lru_list::{LruList, LruType};
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::trace::Event;

impl UsedPages {
    /// Moves up to `pages` pages from the tail of an active list to the inactive one, in use or not; executable pages of
    /// files that are in use stay. They are marked as having been active, for when they come back after an eviction.
    pub(super) fn age_chunk(
        &mut self,
        run: &ReclaimControl,
        pass: &Pass,
        list: LruList,
        pages: u64,
        phys: &mut PhysMem,
    ) {
        let of = LruType::of(list);
        let (mut scanned, mut deactivated, mut referenced) = (0, 0, 0);
        // Once to take them off the active list, once to put them on one again.
        self.lru.lock.take(phys.frames.zones()[pass.zone.index()].node(), 2);
        let mut walk = Walk::new(self.lru.zones[pass.zone.index()].list(list), list, run.reclaim_idx);
        while scanned < pages
            && let Some(idx) = self.oldest(&mut walk, phys)
        {
            let frames = phys.frames.word(idx).frames();
            scanned += frames;
            let uses = self.take_uses(idx, phys);
            referenced += if uses.young > 0 { frames } else { 0 };
            if of == LruType::File && uses.executable {
                self.lru.move_lru(idx, of.active(), phys);
            } else {
                self.lru.move_lru(idx, of.inactive(), phys);
                phys.frames.set(idx, phys.frames.word(idx).with(PageFlag::Workingset, true));
                deactivated += frames;
            }
        }
        let zone = *phys.frames.zone(pass.zone);
        phys.counters.pgrefill.add(zone.kind(), scanned);
        phys.counters.pgdeactivate += deactivated;
        phys.trace(|| Event::LruShrinkActive {
            node: zone.node(),
            taken: scanned,
            active: scanned - deactivated,
            deactivated,
            referenced,
            priority: run.priority,
            of,
        });
        self.lru.pressure[pass.set].note_scan(of, scanned, referenced);
        phys.note_scanned(pass.set, scanned);
        self.lru.note_lru_cost(pass.set, of, referenced, phys);
    }
}
