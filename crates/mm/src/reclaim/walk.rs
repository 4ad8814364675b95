//! Walks from the tail of an LRU list over pages that help a run.

use order9_frames::Idx;
use order9_units::ZoneKind;

use crate::lru_list::LruList;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

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

impl UsedPages {
    /// The oldest page of the list that helps; the caller takes it off or moves it away.
    #[inline]
    pub(super) fn oldest(&mut self, walk: &mut Walk, phys: &mut PhysMem) -> Option<Idx> {
        if walk.highest == ZoneKind::Movable {
            // All zones help, so that no page is passed over.
            let idx = phys.frames.table().last(walk.sentinel)?;
            self.lru.lock.count_scanned(1);
            return Some(idx);
        }
        self.oldest_below(walk, phys)
    }

    /// The oldest page of the list whose zone helps.
    #[inline(never)]
    fn oldest_below(&mut self, walk: &mut Walk, phys: &mut PhysMem) -> Option<Idx> {
        loop {
            let idx = phys.frames.table().last(walk.sentinel)?;
            if walk.first_skipped == Some(idx) {
                return None;
            }
            self.lru.lock.count_scanned(1);
            let kind = phys.frames.zones()[phys.frames.zone_around(idx).index()].kind();
            if kind <= walk.highest {
                return Some(idx);
            }
            walk.first_skipped.get_or_insert(idx);
            let frames = phys.frames.word(idx).frames();
            walk.skipped += frames;
            phys.counters.pgskip[kind.index()] += frames;
            self.lru.move_lru(idx, walk.list, phys);
        }
    }
}
