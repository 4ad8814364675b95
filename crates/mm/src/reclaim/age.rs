//! Ageing: pages move from the active to the inactive list of their type; and how reclaim learns whether one is in use.

use super::control::ReclaimId;
use super::pass::Pass;
use crate::Mm;
use crate::frame::Idx;
use crate::lru::{LruList, LruType};
use crate::space::{Prot, PteFlag};
use crate::trace::Tracer;
use crate::zone::ZoneId;

/// Accesses by way of the mappings of a page since they were last asked for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Uses {
    pub(crate) young: u32,
    /// One of them through an executable mapping.
    pub(crate) executable: bool,
}

impl<T: Tracer> Mm<T> {
    /// Moves up to `pages` pages from the tail of an active list to the inactive one, in use or not; executable pages of
    /// files that are in use stay.
    pub(super) fn age_chunk(&mut self, id: ReclaimId, pass: &Pass, list: LruList, pages: u64) {
        let of = LruType::of(list);
        let (mut scanned, mut deactivated, mut rotated) = (0, 0, 0);
        let mut skipped = None;
        while scanned < pages
            && let Some(idx) = self.oldest_for(id, pass.zone, list, &mut skipped)
        {
            let frames = self.frames.word(idx).frames();
            scanned += frames;
            let uses = self.take_uses(idx);
            rotated += if uses.young > 0 { frames } else { 0 };
            if of == LruType::File && uses.executable {
                self.move_lru(idx, of.active());
            } else {
                self.move_lru(idx, of.inactive());
                deactivated += frames;
            }
        }
        self.counters.pgrefill += scanned;
        self.counters.pgdeactivate += deactivated;
        let set = self.lru_set(pass.zone);
        self.reclaim.pressure[set].note_scan(of, scanned, rotated);
    }

    /// The oldest page of a list in a zone that helps the run. Pages of higher zones on the way go to the head, each at
    /// most once: `skipped` is the first of them.
    pub(super) fn oldest_for(
        &mut self,
        id: ReclaimId,
        zone: ZoneId,
        list: LruList,
        skipped: &mut Option<Idx>,
    ) -> Option<Idx> {
        let sentinel = self.zones[zone.index()].lru.list(list);
        let highest = self.reclaim.run(id).reclaim_idx;
        loop {
            let idx = self.frames.last(sentinel)?;
            if *skipped == Some(idx) {
                return None;
            }
            self.work.lru_scanned += 1;
            let kind = self.zones[self.blocks[idx.block()].zone.index()].kind;
            if kind <= highest {
                return Some(idx);
            }
            skipped.get_or_insert(idx);
            self.counters.pgskip[kind.index()] += self.frames.word(idx).frames();
            self.move_lru(idx, list);
        }
    }

    /// Counts the mappings by which a page was accessed, and forgets the accesses.
    pub(crate) fn take_uses(&mut self, idx: Idx) -> Uses {
        self.work.rmap_walks += 1;
        let mut uses = Uses::default();
        for at in self.mappings_of(idx) {
            let space = self.user.living(at.space);
            let Some(table) = space.table.table_mut(at.vpn) else { continue };
            let pte = table.get(at.vpn);
            if pte.has(PteFlag::Young) {
                table.set(at.vpn, pte.with(PteFlag::Young, false));
                uses.young += 1;
                uses.executable |= space.vmas.find(at.vpn).is_some_and(|vma| vma.prot.has(Prot::EXEC));
            }
        }
        uses
    }
}
