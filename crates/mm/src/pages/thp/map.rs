//! Huge pages come to have mappings and lose them: counts, levels, and what happens to pages nobody maps any more.

use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::Order;

use super::file_map::SHMEM_RSS;
use super::{HugePage, NR};
use crate::lru_list::LruList;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::pages::lru::uses::Uses;
use crate::phys::PhysMem;
use crate::space::{Huge, Mapping, Owner, Prot, PteFlag, Rmap, Rss, SpaceId, Spaces, Vma, Vpn, VpnRange, Zap};
use crate::thp::HugeMemory;

/// Pages that a huge mapping of anonymous memory adds to a space.
pub(super) const HUGE_RSS: Rss = Rss { anon_pages: NR as u64, shmem_pages: 0, file_pages: 0 };

impl UsedPages {
    /// Makes a fresh huge page the anonymous one of a mapping, the first page of which is `at`.
    pub(super) fn adopt_huge(&mut self, head: Idx, at: Mapping, locked: bool, phys: &mut PhysMem) {
        self.huge.make_room_for_huge(phys);
        self.adopt_anon(head, Owner::Huge, locked, phys);
        self.huge.page_mut(head).pmds.push(at);
        self.levels.anon += u64::from(NR);
        self.levels.anon_thps += 1;
        if phys.policy.thp.shrink_underused && phys.settings.thp.shrink_underused {
            self.huge.enqueue(head, false, phys);
        }
    }

    /// A huge mapping is gone: a page that only base mappings are left of waits for its split, one without any is freed.
    pub(super) fn unmap_huge(&mut self, at: Mapping, head: Idx, cpu: usize, phys: &mut PhysMem) {
        self.forget_pmd(at, head, phys);
        let page = self.huge.page(head);
        let last = page.pmds.is_empty();
        let unmapped = last && page.mapped < NR; // A huge mapping shows 2 MiB.
        let freed_at_once = page.mapped == 0;
        if unmapped && (!freed_at_once || phys.policy.thp.queue_full_unmap) {
            self.huge.queue_deferred(head, phys);
        }
        self.free_if_unmapped(head, cpu, phys);
    }

    /// Takes a huge mapping off the list, and what it counted for off the levels.
    pub(super) fn forget_pmd(&mut self, at: Mapping, head: Idx, phys: &PhysMem) {
        let page = self.huge.page_mut(head);
        let place = page.pmds.iter().position(|&pmd| pmd == at).expect("the page has this mapping");
        page.pmds.swap_remove(place);
        if page.pmds.is_empty() {
            let (no_longer, levels) = (u64::from(NR - page.mapped), &mut self.levels);
            if self.rmap.owner(head) == Owner::Huge {
                levels.anon_thps -= 1;
                levels.anon -= no_longer;
            } else {
                levels.shmem_pmdmapped -= 1;
                *self.rmap.mapped_of(head, phys) -= no_longer;
            }
        }
    }

    /// A single mapping of a base page is gone. A huge page that is mapped in part from now on waits for its split.
    pub(crate) fn unmap_subpage(&mut self, at: Mapping, idx: Idx, cpu: usize, phys: &mut PhysMem) -> Rss {
        let small = self.small_head(idx, phys);
        let rss = self.unmap_part(at, idx, cpu, phys);
        if let Some(head) = small {
            self.queue_if_partial(head, phys);
        }
        rss
    }

    /// The first frame of the huge page of less than 2 MiB that `idx` is part of.
    #[inline]
    pub(crate) fn small_head(&self, idx: Idx, phys: &PhysMem) -> Option<Idx> {
        self.rmap.huge_head(idx, phys).filter(|&head| phys.frames.word(head).order() < Order::PAGEBLOCK)
    }

    /// Puts a huge page of less than 2 MiB in the deferred split queue if it is still there and mapped in part.
    pub(crate) fn queue_if_partial(&mut self, head: Idx, phys: &mut PhysMem) {
        let page = self.huge.page(head);
        let is_partial = page.mapped > 0 && u64::from(page.mapped) < phys.frames.word(head).frames();
        if is_partial && !phys.frames.word(head).has(PageFlag::SwapCache) {
            self.huge.queue_deferred(head, phys);
        }
    }

    /// A single mapping of a base page is gone. The caller looks whether a huge page of less than 2 MiB is mapped in part now,
    /// since entries go in batches.
    pub(crate) fn unmap_part(&mut self, at: Mapping, idx: Idx, cpu: usize, phys: &mut PhysMem) -> Rss {
        let (head, place) = (phys.head_of(idx), self.rmap.of_subpage(idx));
        let last = match self.rmap.owner(place) {
            Owner::Anon(_) => {
                self.rmap.set(place, Owner::Nobody);
                true
            }
            Owner::Shared { .. } => {
                self.rmap.unshare(place, at);
                false
            }
            owner => unreachable!("{at:?} maps a base page of a huge page that is {owner:?}"),
        };
        let page = self.huge.page_mut(head);
        page.ptes -= 1;
        page.mapped -= u32::from(last);
        if last && page.pmds.is_empty() {
            self.levels.anon -= 1;
            let word = phys.frames.word(head);
            if word.order() == Order::PAGEBLOCK && !word.has(PageFlag::SwapCache) {
                self.huge.queue_deferred(head, phys);
            }
        }
        self.free_if_unmapped(head, cpu, phys);
        Rss { anon_pages: 1, ..Rss::default() }
    }

    /// Another mapping of a base page, the first by itself or one more.
    pub(crate) fn map_subpage(&mut self, at: Mapping, idx: Idx, phys: &PhysMem) {
        let place = self.rmap.of_subpage(idx);
        let first = self.rmap.owner(place) == Owner::Nobody;
        match first {
            true => self.rmap.set(place, Owner::Anon(at)),
            false => self.rmap.share(place, at),
        }
        let page = self.huge.page_mut(phys.head_of(idx));
        page.ptes += 1;
        page.mapped += u32::from(first);
        if first && page.pmds.is_empty() {
            self.levels.anon += 1;
        }
    }

    /// Frees a huge page that nobody maps any more; a pin or isolation keeps it until it ends, and swap as long as an entry
    /// names a slot of it.
    fn free_if_unmapped(&mut self, head: Idx, cpu: usize, phys: &mut PhysMem) {
        if self.huge.is_huge_page_mapped(head) {
            return;
        }
        self.huge.leave_queue(head, phys);
        match phys.frames.word(head).has(PageFlag::SwapCache) {
            true => self.drop_huge_if_useless(head, cpu, phys),
            false => self.disown_huge(head, cpu, phys),
        }
    }

    /// Ends the use of a huge page that nothing leads to any more.
    pub(crate) fn disown_huge(&mut self, head: Idx, cpu: usize, phys: &mut PhysMem) {
        self.huge.take_page(head);
        self.disown(head, cpu, phys);
    }

    /// Mappings of a base page of a huge page: by its own entries and as part of huge ones.
    pub(crate) fn subpage_mappings(&self, idx: Idx, phys: &PhysMem) -> Vec<Mapping> {
        let head = phys.head_of(idx);
        let offset = u64::from(idx.0 - head.0);
        let part = |at: &Mapping| Mapping { vpn: Vpn::new(at.vpn.get() + offset), ..*at };
        let mut mappings: Vec<Mapping> = self.huge.page(head).pmds.iter().map(part).collect();
        mappings.extend(self.rmap.own_mappings(idx));
        mappings
    }

    /// Number of mappings of a base page of a huge page.
    pub(crate) fn subpage_mapcount(&self, idx: Idx, phys: &PhysMem) -> u32 {
        self.huge.page(phys.head_of(idx)).pmds.len() as u32 + self.rmap.subpage_mappings(idx)
    }

    /// Whether a locked mapping shows the whole page: single mappings do not keep a huge page of 2 MiB unevictable. A smaller
    /// one stays if each of its base pages has a locked mapping.
    pub(crate) fn is_huge_mlocked(&self, head: Idx, phys: &PhysMem) -> bool {
        let is_locked = |at: &Mapping| {
            let vma = self.spaces.get(at.space).ok().and_then(|space| space.vmas.find(at.vpn));
            vma.is_some_and(|vma| vma.locked)
        };
        let is_small = phys.frames.word(head).order() < Order::PAGEBLOCK;
        let each = || phys.parts(head).all(|idx| self.mappings_of(idx, phys).iter().any(is_locked));
        self.huge.page(head).pmds.iter().any(is_locked) || is_small && each()
    }

    /// A locked mapping shows the page now. A huge page stays evictable unless that is its only mapping; one of tmpfs, unless
    /// all its mappings are huge; a smaller one, and a folio of a file, unless locked mappings show all of it.
    pub(crate) fn mlock_huge(&mut self, head: Idx, phys: &mut PhysMem) {
        if phys.frames.word(head).order() < Order::PAGEBLOCK {
            if !phys.frames.word(head).has(PageFlag::Unevictable) && self.is_huge_mlocked(head, phys) {
                self.lru.move_lru(head, LruList::Unevictable, phys);
            }
            return;
        }
        let (page, is_anon) = (self.huge.page(head), self.rmap.huge_head(head, phys).is_some());
        let only = page.ptes == 0 && if is_anon { page.pmds.len() == 1 } else { !page.pmds.is_empty() };
        if only && !phys.frames.word(head).has(PageFlag::Unevictable) {
            self.lru.move_lru(head, LruList::Unevictable, phys);
        }
    }

    /// Counts the mappings of memory by which a huge page or folio was accessed, each once however many of its pages it shows, and
    /// forgets the accesses.
    pub(crate) fn take_huge_uses(&mut self, head: Idx, phys: &PhysMem) -> Uses {
        let mut by: Vec<ShownBy> = Vec::new();
        let Self { spaces, huge: pages, .. } = self;
        for &at in &pages.page(head).pmds {
            let huge = spaces.living(at.space).table.huge_mut(at.vpn).expect("the page has this mapping");
            let young = huge.pte.has(PteFlag::Young);
            huge.pte = huge.pte.with(PteFlag::Young, false);
            note_shown(spaces, at, young, &mut by);
        }
        if self.huge.page(head).ptes > 0 {
            for idx in phys.parts(head) {
                for &at in self.mappings_of(idx, phys).iter() {
                    let Some(table) = self.spaces.living(at.space).table.table_mut(at.vpn) else { continue };
                    let pte = table.get(at.vpn);
                    table.set(at.vpn, pte.with(PteFlag::Young, false));
                    note_shown(&self.spaces, at, pte.has(PteFlag::Young), &mut by);
                }
            }
        }
        let used = || by.iter().filter(|shown| shown.young);
        Uses {
            young: used().count() as u32,
            executable: used().any(|shown| shown.vma.prot.has(Prot::EXEC)),
            locked_in_part: by.iter().any(|shown| shown.vma.locked),
        }
    }

    /// Gives a child the huge mapping of a slot, in the place of the empty table that it was given for this.
    pub(crate) fn fork_huge(&mut self, parent: SpaceId, child: SpaceId, slot: VpnRange, phys: &mut PhysMem) {
        let from = self.spaces.living(parent).table.huge_mut(slot.start).expect("the parent has a huge mapping");
        from.pte = from.pte.with(PteFlag::Write, false);
        let pte = from.pte.with(PteFlag::Young, false);
        let to = self.spaces.living(child);
        let deposit = to.table.remove(slot.start).expect("the child has a table");
        to.table.install_huge(slot.start, Huge { pte, deposit: Some(deposit) });
        match pte.idx() {
            Some(head) => {
                to.rss += HUGE_RSS;
                self.huge.page_mut(head).pmds.push(Mapping { space: child, vpn: slot.start });
            }
            None => self.hold_huge_zero(child, phys),
        }
        phys.work.ptes_set += 1;
    }

    /// Moves the huge mapping of a slot to another, empty one.
    pub(crate) fn move_huge(&mut self, id: SpaceId, slot: VpnRange, target: Vpn, phys: &mut PhysMem) {
        let table = &mut self.spaces.living(id).table;
        let huge = table.remove_huge(slot.start).expect("the slot has a huge mapping");
        table.install_huge(target, huge);
        let [from, to] = [slot.start, target].map(|vpn| Mapping { space: id, vpn });
        if let Some(deposit) = huge.deposit {
            self.rmap.set(deposit, Owner::PageTable(to));
        }
        if let Some(head) = huge.head() {
            let pmds = &mut self.huge.page_mut(head).pmds;
            *pmds.iter_mut().find(|at| **at == from).expect("the page has this mapping") = to;
        }
        phys.work.ptes_cleared += 1;
        phys.work.ptes_set += 1;
        phys.work.tlb_flushes += 1;
        if let Some(tags) = &mut self.tags {
            tags.relocate(id, slot, target);
        }
    }

    /// Unmaps the huge mappings of `range`, or those of files alone. Those of slots that it covers only in part are split
    /// first.
    pub(crate) fn zap_huge(&mut self, id: SpaceId, range: VpnRange, which: Zap, cpu: usize, phys: &mut PhysMem) {
        let mut rest = range;
        while let Some((slot, huge)) = self.spaces.living(id).table.next_huge(&mut rest) {
            if which == Zap::FilePages && !self.rmap.is_of_file(huge, phys) {
                continue;
            }
            if slot.intersect(range) == slot {
                self.zap_huge_slot(id, slot, cpu, phys);
            } else {
                self.split_pmd(id, slot.start, phys);
            }
        }
    }

    pub(super) fn zap_huge_slot(&mut self, id: SpaceId, slot: VpnRange, cpu: usize, phys: &mut PhysMem) {
        let huge = self.spaces.living(id).table.remove_huge(slot.start).expect("the slot has a huge mapping");
        if let Some(deposit) = huge.deposit {
            self.free_page_table(id, deposit, cpu, phys);
        }
        if let Some(head) = huge.head() {
            let at = Mapping { space: id, vpn: slot.start };
            if self.rmap.is_of_file(huge, phys) {
                self.spaces.living(id).rss -= SHMEM_RSS;
                self.forget_pmd(at, head, phys);
            } else {
                self.spaces.living(id).rss -= HUGE_RSS;
                self.unmap_huge(at, head, cpu, phys);
            }
            self.munlock_page(head, phys);
        } else {
            self.huge.release_huge_zero(phys);
        }
        phys.work.ptes_cleared += 1;
        phys.work.tlb_flushes += 1;
    }
}

/// A mapping of memory that shows a page, or part of it.
struct ShownBy {
    space: SpaceId,
    vma: Vma,
    /// The page was accessed by it.
    young: bool,
}

/// Notes the mapping of memory that an entry lies in.
fn note_shown(spaces: &Spaces, at: Mapping, young: bool, by: &mut Vec<ShownBy>) {
    let has = |shown: &&mut ShownBy| shown.space == at.space && shown.vma.range.contains(at.vpn);
    if let Some(known) = by.iter_mut().find(has) {
        known.young |= young;
    } else if let Some(&vma) = spaces.get(at.space).ok().and_then(|space| space.vmas.find(at.vpn)) {
        by.push(ShownBy { space: at.space, vma, young });
    }
}

impl HugeMemory {
    pub(crate) fn make_room_for_huge(&mut self, phys: &PhysMem) {
        if self.pages.is_empty() {
            self.pages.resize(phys.frames.blocks().len(), HugePage::UNMAPPED);
        }
    }

    /// Base pages of a huge page that somebody maps.
    pub(crate) fn huge_anon_pages(&self, head: Idx) -> u64 {
        let page = self.page(head);
        u64::from(if page.pmds.is_empty() { page.mapped } else { NR })
    }

    /// Whether every base page of a huge page is mapped once at most, so that whoever maps one may write to it in place.
    pub(crate) fn is_huge_exclusive(&self, head: Idx) -> bool {
        let page = self.page(head);
        match page.pmds.len() {
            0 => page.ptes == page.mapped,
            1 => page.ptes == 0,
            _ => false,
        }
    }
}

impl Rmap {
    /// Mappings of a base page of a huge page by itself.
    pub(crate) fn own_mappings(&self, idx: Idx) -> Vec<Mapping> {
        match self.owner(self.of_subpage(idx)) {
            Owner::Anon(at) => alloc::vec![at],
            Owner::Shared { first, .. } => self.chain(first).collect(),
            _ => Vec::new(),
        }
    }
}
