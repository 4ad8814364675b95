//! Pages come to have mappings and lose them: counts, owners, and what happens to a page nobody maps any more.

use alloc::vec::Vec;

use order9_frames::{Flag, Idx};
use order9_units::{Order, Pfn};

use super::pte::{Pte, PteFlag, PteKind};
use super::{Mapping, Owner, Rss, Space, SpaceId};
use crate::addr::{Vpn, VpnRange};
use crate::page_cache::FileId;
use crate::page_cache::PageCache;
use crate::page_flags::{PageFlag, PageWord};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Rmap;
use crate::space::Spaces;

/// A CPU that has no per-CPU lists.
pub(crate) const NO_CPU: usize = usize::MAX;

/// Pages of a range to unmap.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zap {
    /// All.
    All,
    /// Pages of files; copies that belong to the space alone stay.
    FilePages,
}

/// Changes that unmapping pages made.
#[derive(Default)]
struct Zapped {
    entries: u64,
    /// Entries of them that showed parts of huge pages.
    parts: u64,
    rss: Rss,
    swap_pages: u64,
    /// Pages of locked mappings that others still show.
    locked: Vec<Idx>,
    /// Huge pages of less than 2 MiB that have lost entries in the slot at hand.
    small: Vec<Idx>,
}

impl PhysMem {
    /// The frame of a single page that the caller has just allocated.
    #[inline]
    pub(crate) fn fresh(&self, pfn: Pfn) -> Idx {
        self.fresh_block(pfn, Order::ZERO)
    }

    /// The first frame of a block that the caller has just allocated.
    #[inline]
    pub(crate) fn fresh_block(&self, pfn: Pfn, order: Order) -> Idx {
        let (idx, word) = self.frames.live(pfn).unwrap_or_else(|error| panic!("a page was handed in, but {error}"));
        let unused = word.order() == order && word.can_free();
        assert!(unused, "{pfn:?} is no block of order {order:?} that nobody uses");
        idx
    }

    /// The first frame of a page or large folio of a file that the caller has just allocated.
    #[inline]
    pub(crate) fn fresh_folio(&self, pfn: Pfn) -> Idx {
        let order = self.frames.live(pfn).map_or(Order::ZERO, |(_, word)| word.order());
        assert!(order <= Order::PAGEBLOCK, "{pfn:?} is larger than a file can use");
        self.fresh_block(pfn, order)
    }

    /// Frees a page that was allocated for a fault and is not needed after all.
    pub(crate) fn free_fresh(&mut self, idx: Idx, cpu: usize) {
        let word = self.frames.word(idx);
        self.frames.free_block(idx, word, cpu);
    }
}

impl Rmap {
    /// Makes fresh pages the owner's; those of programs and files then go on an LRU list.
    #[inline]
    pub(crate) fn adopt(&mut self, idx: Idx, owner: Owner, phys: &mut PhysMem) {
        let word = phys.frames.word(idx).with(Flag::Owned, true);
        phys.frames.set(idx, word);
        self.set(idx, owner);
    }
}

impl UsedPages {
    /// Ends the use of a page by its owner: it is freed, unless a pin, isolation, or a read or write under way keeps it.
    #[inline]
    pub(crate) fn disown(&mut self, idx: Idx, cpu: usize, phys: &mut PhysMem) {
        let word = phys.frames.word(idx);
        if word.is_held() {
            self.rmap.set(idx, Owner::Kept);
            self.munlock_page(idx, phys);
            return;
        }
        self.rmap.set(idx, Owner::Nobody);
        let was_on_lru = word.has(PageFlag::Lru);
        if was_on_lru {
            self.lru.unlink_lru(idx, word, phys);
            self.lru.batch_lru(idx, phys);
        }
        let word = word.unused();
        phys.frames.set(idx, word);
        phys.frames.free_block(idx, word, cpu);
        if was_on_lru && word.is_single() {
            phys.trace_free_batched(idx);
        }
    }

    /// Frees a page without owner, straight to the buddy lists, once nothing keeps it any more.
    pub(crate) fn free_if_kept(&mut self, idx: Idx, phys: &mut PhysMem) {
        self.free_if_kept_by(idx, NO_CPU, phys);
    }

    /// Frees a page on behalf of `cpu` that nobody but the caller keeps.
    pub(crate) fn free_if_kept_by(&mut self, idx: Idx, cpu: usize, phys: &mut PhysMem) {
        if self.rmap.owner(idx) == Owner::Kept {
            self.disown(idx, cpu, phys);
        }
    }

    /// Accounts that `mapping` no longer maps the page; says what the space has fewer of.
    #[inline]
    pub(super) fn unmap_page(&mut self, mapping: Mapping, idx: Idx, cpu: usize, phys: &mut PhysMem) -> Rss {
        match self.rmap.owner(idx) {
            Owner::File { file, .. } => {
                self.count_file_mapping(idx, u32::wrapping_sub, phys);
                self.cache.rss_of_page(file)
            }
            _ if phys.frames.word(idx).is_compound() => self.unmap_subpage(mapping, idx, cpu, phys),
            Owner::Anon(_) => {
                self.levels.anon -= 1;
                if phys.frames.word(idx).has(PageFlag::SwapCache) {
                    self.leave_in_swap_cache(idx, cpu, phys);
                } else {
                    self.disown(idx, cpu, phys);
                }
                Rss { anon_pages: 1, ..Rss::default() }
            }
            Owner::Shared { .. } => {
                self.rmap.unshare(idx, mapping);
                Rss { anon_pages: 1, ..Rss::default() }
            }
            owner => unreachable!("{mapping:?} maps a page that is {owner:?}"),
        }
    }

    /// Takes the right to write a page of a file off every entry, so that the next write is noticed.
    pub(crate) fn write_protect(&mut self, idx: Idx, phys: &mut PhysMem) {
        let mappings = self.mappings_of(idx, phys);
        for at in &*mappings {
            let table = self.spaces.living(at.space).table.table_mut(at.vpn).expect("the page is mapped there");
            let pte = table.get(at.vpn);
            table.set(at.vpn, pte.with(PteFlag::Write, false).with(PteFlag::Dirty, false));
        }
        phys.work.rmap_walks += 1;
        phys.work.ptes_set += mappings.len() as u64;
        phys.work.tlb_flushes += u64::from(!mappings.is_empty());
    }

    /// Unmaps a page of a file wherever it is mapped; the next access faults.
    pub(crate) fn unmap_everywhere(&mut self, idx: Idx, phys: &mut PhysMem) {
        self.replace_everywhere(idx, |_| Pte::NONE, NO_CPU, phys);
    }

    /// Puts another entry wherever a page is mapped, on behalf of `cpu`.
    pub(crate) fn replace_everywhere(&mut self, idx: Idx, entry: fn(Pte) -> Pte, cpu: usize, phys: &mut PhysMem) {
        let mappings = self.mappings_of(idx, phys);
        for &at in &*mappings {
            let table = self.spaces.living(at.space).table.table_mut(at.vpn).expect("the page is mapped there");
            table.set(at.vpn, entry(table.get(at.vpn)));
            let gone = self.unmap_page(at, idx, cpu, phys);
            self.spaces.living(at.space).rss -= gone;
        }
        phys.work.ptes_cleared += mappings.len() as u64;
        phys.work.tlb_flushes += u64::from(!mappings.is_empty());
    }

    /// Unmaps the pages of `range`, on behalf of `cpu`; mappings and page tables stay.
    ///
    /// Bounded by the range: to unmap much without keeping others waiting, call it slot by slot.
    pub(crate) fn zap(&mut self, id: SpaceId, range: VpnRange, which: Zap, cpu: usize, phys: &mut PhysMem) {
        self.zap_huge(id, range, which, cpu, phys);
        if which == Zap::All {
            self.zap_hugetlb(id, range, cpu, phys);
        }
        let (mut zapped, mut cleared) = (Zapped::default(), Vec::new());
        let mut rest = range;
        while self.clear_next(id, &mut rest, which, &mut cleared) {
            zapped.entries += cleared.len() as u64;
            for (vpn, pte) in cleared.drain(..) {
                self.zap_entry(Mapping { space: id, vpn }, pte, &mut zapped, cpu, phys);
            }
            zapped.small.drain(..).for_each(|head| self.queue_if_partial(head, phys));
        }
        let space = self.spaces.living(id);
        space.rss -= zapped.rss;
        space.swap_pages -= zapped.swap_pages;
        phys.work.ptes_cleared += zapped.entries - zapped.parts;
        phys.work.huge_parts_unmapped += zapped.parts;
        phys.work.tlb_flushes += u64::from(zapped.entries > 0);
        zapped.locked.into_iter().for_each(|idx| self.munlock_page(idx, phys));
    }

    /// Clears the entries of the first slot that meets `rest` and has a table, and adds them to `cleared`; says whether there
    /// was one, behind which `rest` goes on.
    fn clear_next(&mut self, id: SpaceId, rest: &mut VpnRange, which: Zap, cleared: &mut Vec<(Vpn, Pte)>) -> bool {
        let range = *rest;
        let Some((slot, table)) = self.spaces.living(id).table.next_table_mut(rest) else { return false };
        if table.used > 0 {
            for vpn in slot.intersect(range).iter() {
                let pte = table.get(vpn);
                let of_file = || pte.idx().is_some_and(|idx| matches!(self.rmap.owner(idx), Owner::File { .. }));
                if !pte.is_none() && (which == Zap::All || of_file()) {
                    table.set(vpn, Pte::NONE);
                    cleared.push((vpn, pte));
                }
            }
        }
        true
    }

    /// Unmaps what a cleared entry showed.
    fn zap_entry(&mut self, at: Mapping, pte: Pte, zapped: &mut Zapped, cpu: usize, phys: &mut PhysMem) {
        if let Some(slot) = pte.slot() {
            self.drop_swap_entry(slot, cpu, phys);
            zapped.swap_pages += 1;
        }
        if let Some(idx) = pte.idx() {
            zapped.parts += u64::from(phys.frames.word(idx).is_compound());
            match self.small_head(idx, phys) {
                Some(head) => {
                    if zapped.small.last() != Some(&head) {
                        zapped.small.push(head);
                    }
                    zapped.rss += self.unmap_part(at, idx, cpu, phys);
                }
                None => zapped.rss += self.unmap_page(at, idx, cpu, phys),
            }
            if phys.frames.word(phys.page_of(idx)).has(PageFlag::Unevictable) {
                zapped.locked.push(idx); // Whether it stays so is a matter of all its mappings.
            }
        }
    }

    /// Gives the slot of `vpn` a page table in the fresh page `idx`.
    pub(super) fn install_table(&mut self, id: SpaceId, vpn: Vpn, idx: Idx, phys: &mut PhysMem) {
        self.count_page_table(id, vpn, idx, phys);
        self.spaces.living(id).table.install(vpn.slot().start, idx);
    }

    /// Makes a fresh page a page table of the space, for the slot of `vpn`.
    pub(crate) fn count_page_table(&mut self, id: SpaceId, vpn: Vpn, idx: Idx, phys: &mut PhysMem) {
        self.rmap.adopt(idx, Owner::PageTable(Mapping { space: id, vpn: vpn.slot().start }), phys);
        self.spaces.living(id).page_tables += 1;
        self.levels.page_tables += 1;
        phys.work.page_tables_allocated += 1;
    }

    /// Frees the frame of a page table that no slot has any more.
    pub(crate) fn free_page_table(&mut self, id: SpaceId, idx: Idx, cpu: usize, phys: &mut PhysMem) {
        self.spaces.living(id).page_tables -= 1;
        self.levels.page_tables -= 1;
        self.disown(idx, cpu, phys);
    }

    /// Frees the page tables of slots that meet `range` and have no mapping left.
    pub(super) fn free_tables(&mut self, id: SpaceId, range: VpnRange, cpu: usize, phys: &mut PhysMem) {
        self.free_tables_if(id, range, |space, slot| space.vmas.first_within(slot).is_none(), cpu, phys);
    }

    /// Frees the page tables of slots that lie in `range` as a whole and of which no entry is set.
    pub(super) fn free_empty_tables(&mut self, id: SpaceId, range: VpnRange, cpu: usize, phys: &mut PhysMem) {
        let is_empty = |space: &Space, slot: VpnRange| {
            slot.intersect(range) == slot && space.table.table(slot.start).is_some_and(|table| table.used == 0)
        };
        phys.work.ptes_cleared += self.free_tables_if(id, range, is_empty, cpu, phys);
    }

    /// Frees the page tables of slots that meet `range` and of which `is_gone` holds; says how many.
    fn free_tables_if(
        &mut self,
        id: SpaceId,
        range: VpnRange,
        is_gone: impl Fn(&Space, VpnRange) -> bool,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> u64 {
        let (mut rest, mut freed) = (range, 0);
        while let Some(slot) = self.spaces.living(id).table.next_table(&mut rest) {
            let space = self.spaces.living(id);
            if is_gone(space, slot) {
                let idx = space.table.remove(slot.start).expect("the slot has a table");
                self.free_page_table(id, idx, cpu, phys);
                freed += 1;
            }
        }
        freed
    }

    /// Maps a page of a file, by a mapping that is `locked` or not; returns the entry.
    pub(crate) fn map_file_page(&mut self, id: SpaceId, idx: Idx, locked: bool, phys: &mut PhysMem) -> Pte {
        let Owner::File { file, .. } = self.rmap.owner(idx) else { unreachable!("the page is of a file") };
        self.count_file_mapping(idx, u32::wrapping_add, phys);
        let rss = self.cache.rss_of_page(file);
        self.spaces.living(id).rss += rss;
        if locked {
            self.mlock_page(idx, phys);
        }
        Pte::present(idx)
    }
}

impl PageCache {
    /// Increase of the figures of a space that maps a page of a file.
    fn rss_of_page(&self, file: FileId) -> Rss {
        match self.files.is_on_disk(file) {
            true => Rss { file_pages: 1, ..Rss::default() },
            false => Rss { shmem_pages: 1, ..Rss::default() },
        }
    }
}

impl Spaces {
    /// Entry at `mapping`, as seen by checks and views.
    pub(crate) fn pte_kind(&self, mapping: Mapping) -> PteKind {
        self.get(mapping.space).map_or(PteKind::None, |space| space.table.get(mapping.vpn).kind())
    }
}
