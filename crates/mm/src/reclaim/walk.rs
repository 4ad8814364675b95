//! Walks from the tail of an LRU list over pages that help a run, and how reclaim learns whether a page is in use.

use order9_frames::Idx;
use order9_units::ZoneKind;

use crate::lru_list::LruList;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Prot, PteFlag};
use crate::trace::Tracer;

/// A walk: pages of zones above `highest` go to the head of the list on the way, each at most once.
pub(super) struct Walk {
    sentinel: Idx,
    list: LruList,
    highest: ZoneKind,
    /// The first page passed over.
    first_skipped: Option<Idx>,
    /// Pages passed over.
    pub(super) skipped: u64,
}

impl Walk {
    pub(super) const fn new(sentinel: Idx, list: LruList, highest: ZoneKind) -> Self {
        Self { sentinel, list, highest, first_skipped: None, skipped: 0 }
    }
}

/// Accesses by way of the mappings of a page since they were last asked for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Uses {
    pub(crate) young: u32,
    /// One of them through an executable mapping.
    pub(crate) executable: bool,
}

impl UsedPages {
    /// The oldest page of the list that helps; the caller takes it off or moves it away.
    pub(super) fn oldest(&mut self, walk: &mut Walk, phys: &mut PhysMem<impl Tracer>) -> Option<Idx> {
        loop {
            let idx = phys.frames.table().last(walk.sentinel)?;
            if walk.first_skipped == Some(idx) {
                return None;
            }
            phys.work.lru_scanned += 1;
            let kind = phys.frames.zones()[phys.frames.zone_around(idx).index()].kind();
            if kind <= walk.highest {
                return Some(idx);
            }
            walk.first_skipped.get_or_insert(idx);
            let frames = phys.frames.word(idx).frames();
            walk.skipped += frames;
            phys.counters.pgskip[kind.index()] += frames;
            self.move_lru(idx, walk.list, phys);
        }
    }

    /// Counts the mappings by which a page was accessed, and forgets the accesses.
    pub(crate) fn take_uses(&mut self, idx: Idx, phys: &mut PhysMem<impl Tracer>) -> Uses {
        phys.work.rmap_walks += 1;
        if phys.frames.word(idx).is_compound() {
            return self.take_huge_uses(idx, phys);
        }
        let mut uses = Uses::default();
        for &at in &*self.mappings_of(idx, phys) {
            let space = self.living(at.space);
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
