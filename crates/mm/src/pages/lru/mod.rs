//! LRU lists: pages of programs and files in the order in which reclaim looks at them, oldest at the tail.
//!
//! Key types: [`LruList`] (the five lists), [`ZoneLru`] (how many pages of a zone are on each). A list runs through the links
//! of the frame table, which a page in use has no other need for, and belongs to a node or, where
//! [`LruScope::Zone`] says so, to a zone. Sizes are kept by zone in either case; those of a node are their sum.
//! A page is on the list that its flags name from the moment it has an owner until it is freed; isolation takes it off and
//! leaves the flags, so that it goes back to where it was. What a page holds does not matter here, pins do not either.

mod check;
mod lock;
mod pressure;
mod sets;
pub(crate) mod uses;

use alloc::vec::Vec;

use order9_frames::{Flag, Idx, Word};
use order9_units::{NodeId, Pfn};

use crate::lru_list::{LruList, LruType};
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::NewAnon;
use crate::space::Owner;
use crate::workingset::Workingset;

pub(crate) use lock::LruLock;
pub use pressure::Pressure;

/// LRU pages of one zone, in frames, and where the lists they are on begin.
///
/// Frames with the flag `Lru` = frames on lists = sum of `sizes`; isolated LRU pages = sum of `isolated`; [`Mm::check`](crate::Mm::check)
/// recounts both.
#[derive(Clone, Copy)]
pub struct ZoneLru {
    first_list: Idx,
    pub(crate) sizes: [u64; LruList::COUNT],
    isolated: [u64; LruType::COUNT],
}

impl ZoneLru {
    pub(crate) const fn new(first_list: Idx) -> Self {
        Self { first_list, sizes: [0; LruList::COUNT], isolated: [0; LruType::COUNT] }
    }

    /// The sentinel of a list.
    pub(crate) const fn list(&self, list: LruList) -> Idx {
        self.first_list.plus(list.index() as u32)
    }

    /// Pages of the zone on a list: `nr_zone_inactive_anon` and so on.
    #[must_use]
    pub const fn pages(&self, list: LruList) -> u64 {
        self.sizes[list.index()]
    }

    /// Pages of the zone on the lists of files on disk.
    #[must_use]
    pub const fn file_pages(&self) -> u64 {
        self.pages(LruList::InactiveFile) + self.pages(LruList::ActiveFile)
    }

    /// Pages of the zone that reclaim or compaction has taken off a list, by type.
    #[must_use]
    pub const fn isolated(&self, of: LruType) -> u64 {
        self.isolated[of.index()]
    }
}

/// The LRU lists of all zones.
#[derive(Clone)]
pub struct LruState {
    /// By [`crate::ZoneId`].
    pub(crate) zones: Vec<ZoneLru>,
    /// Recent cost of scanning, by set of lists.
    pub(crate) pressure: Vec<Pressure>,
    /// Ages of the sets of lists.
    pub(crate) workingset: Workingset,
    /// Locks of the lists.
    pub(crate) lock: LruLock,
}

impl NewAnon {
    /// The list on which an anonymous page starts that is not mlocked.
    const fn list(self) -> LruList {
        match self {
            Self::Active => LruList::ActiveAnon,
            Self::Inactive => LruList::InactiveAnon,
        }
    }
}

impl LruState {
    /// Pages on a list of a node, those of its zones together: `nr_inactive_anon` and so on.
    #[must_use]
    pub(crate) fn lru_pages(&self, node: NodeId, list: LruList, phys: &PhysMem) -> u64 {
        let zones = phys.frames.zones().iter().filter(|zone| zone.node() == node);
        zones.map(|zone| self.zone_lru(zone.id()).pages(list)).sum()
    }

    /// LRU pages of one zone.
    #[must_use]
    pub fn zone_lru(&self, zone: crate::ZoneId) -> &ZoneLru {
        &self.zones[zone.index()]
    }

    /// LRU lists of the zone of a frame.
    #[inline]
    fn lru_around(&mut self, idx: Idx, phys: &PhysMem) -> &mut ZoneLru {
        &mut self.zones[phys.frames.zone_around(idx).index()]
    }

    /// Pages of a list, from the one that came last to the oldest; where zones have lists, those of `zone` alone.
    pub fn lru_list(&self, zone: crate::ZoneId, list: LruList, phys: &PhysMem) -> impl Iterator<Item = Pfn> {
        phys.frames.table().iter(self.zones[zone.index()].list(list)).map(|idx| phys.frames.pfn(idx))
    }

    /// A program has read or written the page at `pfn` by a system call (`mark_page_accessed`): the first time it is
    /// remembered, the second time the page becomes active. Pages on no list, and unevictable ones, are only remembered.
    pub(crate) fn mark_accessed(&mut self, pfn: Pfn, phys: &mut PhysMem) {
        let Ok((idx, word)) = phys.frames.live(pfn) else { return };
        if !word.has(PageFlag::Referenced) {
            phys.frames.set(idx, word.with(PageFlag::Referenced, word.is_lru_page()));
        } else if word.has(PageFlag::Lru) && !word.has(PageFlag::Active) && !word.has(PageFlag::Unevictable) {
            phys.frames.set(idx, word.with(PageFlag::Referenced, false));
            self.workingset_activation(idx, phys);
            self.move_lru(idx, word.lru_type().active(), phys);
            self.batch_lru(idx, phys);
            phys.counters.pgactivate += word.order().pages().get();
        }
    }

    /// Puts a page that is on no list at the head of the one its flags name.
    pub(crate) fn link_lru(&mut self, idx: Idx, word: Word, phys: &mut PhysMem) {
        let lru = self.lru_around(idx, phys);
        let list = word.lru_list();
        lru.sizes[list.index()] += word.frames();
        let list = lru.list(list);
        phys.frames.table_mut().push_head(list, idx);
        phys.frames.set(idx, word.with(PageFlag::Lru, true));
    }

    /// Takes a page off its list; its word is the caller's to change.
    #[inline]
    pub(crate) fn unlink_lru(&mut self, idx: Idx, word: Word, phys: &mut PhysMem) {
        let lru = self.lru_around(idx, phys);
        lru.sizes[word.lru_list().index()] -= word.frames();
        phys.frames.table_mut().unlink(idx);
    }

    /// Moves a page to the head of a list of its type; an isolated one goes there when it is put back.
    pub(crate) fn move_lru(&mut self, idx: Idx, list: LruList, phys: &mut PhysMem) {
        let word = phys.frames.word(idx);
        if word.has(PageFlag::Lru) {
            self.unlink_lru(idx, word, phys);
            self.link_lru(idx, word.with_list(list), phys);
        } else {
            phys.frames.set(idx, word.with_list(list));
        }
    }

    /// Makes a page that reclaim has waited for the oldest of its inactive list, even if that made it active meanwhile; says
    /// whether it did, which is not so if the page is isolated, unevictable, or dirty again.
    pub(crate) fn rotate_lru(&mut self, idx: Idx, phys: &mut PhysMem) -> bool {
        let word = phys.frames.word(idx);
        let moves = word.has(PageFlag::Lru) && !word.has(PageFlag::Unevictable) && !word.has(PageFlag::Dirty);
        if moves {
            let list = word.lru_type().inactive();
            self.unlink_lru(idx, word, phys);
            let lru = self.lru_around(idx, phys);
            lru.sizes[list.index()] += word.frames();
            let word = word.with_list(list);
            let list = lru.list(list);
            phys.frames.table_mut().push_tail(list, idx);
            phys.frames.set(idx, word);
            self.batch_lru(idx, phys);
            phys.counters.pgrotated += word.frames();
        }
        moves
    }

    /// Makes a page of a file the next that reclaim takes, since somebody wanted to drop it and could not
    /// (`deactivate_file_page`): the oldest of its inactive list at once, or, while it is dirty or being written, when its
    /// next write is done.
    pub(crate) fn deactivate_file_page(&mut self, idx: Idx, phys: &mut PhysMem) {
        let word = phys.frames.word(idx);
        if !word.has(PageFlag::Lru) || word.has(PageFlag::Unevictable) {
            return;
        }
        phys.counters.pgdeactivate += if word.has(PageFlag::Active) { word.frames() } else { 0 };
        if word.has(PageFlag::Dirty) || word.has(PageFlag::Writeback) {
            phys.frames.set(idx, word.with(PageFlag::Reclaim, true).with(PageFlag::Referenced, false));
            self.move_lru(idx, word.lru_type().inactive(), phys);
            self.batch_lru(idx, phys);
        } else {
            phys.frames.set(idx, word.with(PageFlag::Referenced, false));
            self.rotate_lru(idx, phys);
        }
    }

    /// Marks an allocation as isolated and, if it is an LRU page, takes it off its list.
    pub(crate) fn isolate_lru(&mut self, idx: Idx, phys: &mut PhysMem) {
        let word = phys.frames.word(idx);
        if word.has(PageFlag::Lru) {
            self.unlink_lru(idx, word, phys);
            self.count_isolated(idx, word, u64::wrapping_add, phys);
        }
        phys.frames.reword(idx, word, word.with(PageFlag::Lru, false).with(Flag::Isolated, true));
    }

    /// Ends the isolation of an allocation: an LRU page goes to the head of the list its flags name.
    pub(crate) fn putback_lru(&mut self, idx: Idx, phys: &mut PhysMem) {
        let word = self.end_isolation(idx, phys);
        if word.is_lru_page() {
            self.link_lru(idx, word, phys);
        }
    }

    /// Ends the isolation of an allocation that goes on no list; its word then.
    pub(crate) fn end_isolation(&mut self, idx: Idx, phys: &mut PhysMem) -> Word {
        let isolated = phys.frames.word(idx);
        let word = isolated.with(Flag::Isolated, false);
        phys.frames.reword(idx, isolated, word);
        if word.is_lru_page() {
            self.count_isolated(idx, word, u64::wrapping_sub, phys);
        }
        word
    }

    /// A page that was lazily freeable is in use again: isolated, it becomes an active one of the anonymous lists.
    pub(crate) fn no_longer_lazy(&mut self, idx: Idx, phys: &mut PhysMem) {
        let word = phys.frames.word(idx);
        self.count_isolated(idx, word, u64::wrapping_sub, phys);
        let word = word.with_list(LruList::ActiveAnon).with(PageFlag::LazyFree, false);
        phys.frames.set(idx, word);
        self.count_isolated(idx, word, u64::wrapping_add, phys);
    }

    fn count_isolated(&mut self, idx: Idx, word: Word, change: fn(u64, u64) -> u64, phys: &PhysMem) {
        let isolated = &mut self.lru_around(idx, phys).isolated[word.lru_type().index()];
        *isolated = change(*isolated, word.frames());
    }
}

impl UsedPages {
    /// Makes a page the anonymous one of a mapping, on the list where such pages start.
    #[inline]
    pub(crate) fn adopt_anon(&mut self, idx: Idx, owner: Owner, locked: bool, phys: &mut PhysMem) {
        let list = phys.list_of_new_anon(locked);
        self.adopt_page(idx, owner, list, phys);
    }

    /// Makes a fresh page the owner's and puts it on a list.
    #[inline]
    pub(crate) fn adopt_page(&mut self, idx: Idx, owner: Owner, list: LruList, phys: &mut PhysMem) {
        self.rmap.set(idx, owner);
        self.balancing.forget_user(idx);
        let word = phys.frames.word(idx).adopted(list);
        let lru = self.lru.lru_around(idx, phys);
        lru.sizes[list.index()] += word.frames();
        let list = lru.list(list);
        phys.frames.table_mut().push_head(list, idx);
        phys.frames.set(idx, word);
        self.lru.batch_lru(idx, phys);
    }

    /// A locked mapping shows the page now: reclaim must leave it alone.
    #[inline]
    pub(crate) fn mlock_page(&mut self, idx: Idx, phys: &mut PhysMem) {
        if phys.frames.word(idx).is_compound() {
            return self.mlock_huge(phys.head_of(idx), phys);
        }
        if !phys.frames.word(idx).has(PageFlag::Unevictable) {
            self.lru.move_lru(idx, LruList::Unevictable, phys);
        }
    }

    /// A mapping shows the page no longer or is no longer locked: unless another locked one does, reclaim may have the page.
    #[inline]
    pub(crate) fn munlock_page(&mut self, idx: Idx, phys: &mut PhysMem) {
        let idx = phys.page_of(idx);
        let word = phys.frames.word(idx);
        if word.has(PageFlag::Unevictable) && !self.is_mlocked(idx, phys) {
            self.lru.move_lru(idx, word.lru_type().inactive(), phys);
        }
    }

    /// Whether a locked mapping shows the page.
    pub(crate) fn is_mlocked(&self, idx: Idx, phys: &PhysMem) -> bool {
        if phys.frames.word(idx).is_compound() {
            return self.is_huge_mlocked(phys.head_of(idx), phys);
        }
        self.mappings_of(idx, phys).iter().any(|at| {
            let vma = self.spaces.get(at.space).ok().and_then(|space| space.vmas.find(at.vpn));
            vma.is_some_and(|vma| vma.locked)
        })
    }
}

impl PhysMem {
    /// The list on which an anonymous page starts.
    #[inline]
    pub(crate) const fn list_of_new_anon(&self, locked: bool) -> LruList {
        if locked { LruList::Unevictable } else { self.policy.reclaim.new_anon.list() }
    }

    /// The list that the page at `pfn` is on, or returns to once it is no longer isolated; `None` if it is no LRU page.
    #[must_use]
    pub fn lru_of(&self, pfn: Pfn) -> Option<LruList> {
        let (_, word) = self.frames.live(pfn).ok()?;
        word.is_lru_page().then(|| word.lru_list())
    }
}

#[cfg(test)]
mod tests;
