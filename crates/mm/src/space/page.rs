//! Pages come to have mappings and lose them: counts, owners, and what happens to a page nobody maps any more.

use alloc::vec::Vec;

use order9_frames::{Flag, Idx};
use order9_units::{Order, Pfn};

use super::addr::{Vpn, VpnRange};
use super::pte::{Pte, PteFlag, PteKind};
use super::table::Table;
use super::{Mapping, Owner, Rss, SpaceId};
use crate::Mm;
use crate::page_cache::FileId;
use crate::page_flags::{PageFlag, PageWord};
use crate::trace::Tracer;

/// A CPU that has no per-CPU lists.
pub(crate) const NO_CPU: usize = usize::MAX;

/// Which pages of a range to unmap.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zap {
    /// All.
    All,
    /// Those of files; copies that belong to the space alone stay.
    FilePages,
}

/// What unmapping pages changed.
#[derive(Default)]
struct Zapped {
    entries: u64,
    rss: Rss,
    swap_pages: u64,
    /// Pages of locked mappings that others still show.
    locked: Vec<Idx>,
}

impl<T: Tracer> Mm<T> {
    /// The frame of a single page that the caller has just allocated.
    #[inline]
    pub(crate) fn fresh(&self, pfn: Pfn) -> Idx {
        self.fresh_block(pfn, Order::ZERO)
    }

    /// The first frame of a block that the caller has just allocated.
    #[inline]
    pub(crate) fn fresh_block(&self, pfn: Pfn, order: Order) -> Idx {
        let (idx, word) = self.frames.live(pfn).unwrap_or_else(|error| panic!("a page was handed in, but {error}"));
        let unused = word.order() == order && word.is_releasable();
        assert!(unused, "{pfn:?} is no block of order {order:?} that nobody uses");
        idx
    }

    /// Makes fresh pages the owner's; those of programs and files then go on an LRU list.
    #[inline]
    pub(crate) fn adopt(&mut self, idx: Idx, owner: Owner) {
        let word = self.frames.word(idx).with(Flag::Owned, true);
        self.frames.set(idx, word);
        self.user.rmap.set(idx, owner);
    }

    /// Ends the use of a page by its owner: it is freed, unless a pin, isolation, or a read or write under way keeps it.
    #[inline]
    pub(crate) fn disown(&mut self, idx: Idx, cpu: usize) {
        let word = self.frames.word(idx);
        if word.is_held() {
            self.user.rmap.set(idx, Owner::Kept);
            self.munlock_page(idx);
            return;
        }
        self.user.rmap.set(idx, Owner::Nobody);
        if word.has(PageFlag::Lru) {
            self.unlink_lru(idx, word);
            self.batch_lru(idx);
        }
        let word = word.unused();
        self.frames.set(idx, word);
        self.frames.free_block(idx, word, cpu);
    }

    /// Frees a page without owner, straight to the buddy lists, once nothing keeps it any more.
    pub(crate) fn free_if_kept(&mut self, idx: Idx) {
        self.free_if_kept_by(idx, NO_CPU);
    }

    /// The same on behalf of `cpu`.
    pub(crate) fn free_if_kept_by(&mut self, idx: Idx, cpu: usize) {
        if self.user.rmap.owner(idx) == Owner::Kept {
            self.disown(idx, cpu);
        }
    }

    /// Frees a page that was allocated for a fault and is not needed after all.
    pub(crate) fn free_fresh(&mut self, idx: Idx, cpu: usize) {
        let word = self.frames.word(idx);
        self.frames.free_block(idx, word, cpu);
    }

    /// Accounts that `mapping` no longer maps the page; says what the space has fewer of.
    #[inline]
    pub(super) fn unmap_page(&mut self, mapping: Mapping, idx: Idx, cpu: usize) -> Rss {
        match self.user.rmap.owner(idx) {
            Owner::File { file, .. } => {
                self.count_file_mapping(idx, u32::wrapping_sub);
                self.rss_of_page(file)
            }
            _ if self.frames.word(idx).is_compound() => self.unmap_subpage(mapping, idx, cpu),
            Owner::Anon(_) => {
                self.user.levels.anon -= 1;
                if self.frames.word(idx).has(PageFlag::SwapCache) {
                    self.leave_in_swap_cache(idx, cpu);
                } else {
                    self.disown(idx, cpu);
                }
                Rss { anon_pages: 1, ..Rss::default() }
            }
            Owner::Shared { .. } => {
                self.user.rmap.unshare(idx, mapping);
                Rss { anon_pages: 1, ..Rss::default() }
            }
            owner => unreachable!("{mapping:?} maps a page that is {owner:?}"),
        }
    }

    /// What a space that maps a page of a file has more of.
    fn rss_of_page(&self, file: FileId) -> Rss {
        match self.user.files.is_on_disk(file) {
            true => Rss { file_pages: 1, ..Rss::default() },
            false => Rss { shmem_pages: 1, ..Rss::default() },
        }
    }

    /// Takes the right to write a page of a file off every entry, so that the next write is noticed.
    pub(crate) fn write_protect(&mut self, idx: Idx) {
        let mappings = self.mappings_of(idx);
        for at in &*mappings {
            let table = self.user.living(at.space).table.table_mut(at.vpn).expect("the page is mapped there");
            let pte = table.get(at.vpn);
            table.set(at.vpn, pte.with(PteFlag::Write, false).with(PteFlag::Dirty, false));
        }
        self.work.rmap_walks += 1;
        self.work.ptes_set += mappings.len() as u64;
        self.work.tlb_flushes += u64::from(!mappings.is_empty());
    }

    /// Unmaps a page of a file wherever it is mapped; the next access faults.
    pub(crate) fn unmap_everywhere(&mut self, idx: Idx) {
        self.replace_everywhere(idx, |_| Pte::NONE, NO_CPU);
    }

    /// Puts another entry wherever a page is mapped, on behalf of `cpu`.
    pub(crate) fn replace_everywhere(&mut self, idx: Idx, entry: fn(Pte) -> Pte, cpu: usize) {
        let mappings = self.mappings_of(idx);
        for &at in &*mappings {
            let table = self.user.living(at.space).table.table_mut(at.vpn).expect("the page is mapped there");
            table.set(at.vpn, entry(table.get(at.vpn)));
            let gone = self.unmap_page(at, idx, cpu);
            self.user.living(at.space).rss -= gone;
        }
        self.work.ptes_cleared += mappings.len() as u64;
        self.work.tlb_flushes += u64::from(!mappings.is_empty());
    }

    /// Unmaps the pages of `range`, on behalf of `cpu`; mappings and page tables stay.
    ///
    /// Bounded by the range: to unmap much without keeping others waiting, call it slot by slot.
    pub(crate) fn zap(&mut self, id: SpaceId, range: VpnRange, which: Zap, cpu: usize) {
        self.zap_huge(id, range, which, cpu);
        if which == Zap::All {
            self.zap_hugetlb(id, range, cpu);
        }
        let mut zapped = Zapped::default();
        let mut from = range.start;
        while let Some((slot, mut table)) = self.user.living(id).table.take_next(VpnRange::new(from, range.end)) {
            self.zap_table(&mut table, id, slot.intersect(range), which, &mut zapped, cpu);
            let space = self.user.living(id);
            space.table.put_back(slot.start, table);
            from = slot.end;
        }
        let space = self.user.living(id);
        space.rss -= zapped.rss;
        space.swap_pages -= zapped.swap_pages;
        self.work.ptes_cleared += zapped.entries;
        self.work.tlb_flushes += u64::from(zapped.entries > 0);
        zapped.locked.into_iter().for_each(|idx| self.munlock_page(idx));
    }

    fn zap_table(
        &mut self,
        table: &mut Table,
        space: SpaceId,
        range: VpnRange,
        which: Zap,
        zapped: &mut Zapped,
        cpu: usize,
    ) {
        if table.used == 0 {
            return;
        }
        for vpn in range.iter() {
            let pte = table.get(vpn);
            let spared = which == Zap::FilePages && !self.maps_file_page(pte);
            if pte.is_none() || spared {
                continue;
            }
            table.set(vpn, Pte::NONE);
            zapped.entries += 1;
            if let Some(slot) = pte.slot() {
                self.drop_swap_entry(slot, cpu);
                zapped.swap_pages += 1;
            }
            if let Some(idx) = pte.idx() {
                zapped.rss += self.unmap_page(Mapping { space, vpn }, idx, cpu);
                if self.frames.word(idx).has(PageFlag::Unevictable) {
                    zapped.locked.push(idx); // Its other mappings are found once the table is back in place.
                }
            }
        }
    }

    fn maps_file_page(&self, pte: Pte) -> bool {
        pte.idx().is_some_and(|idx| matches!(self.user.rmap.owner(idx), Owner::File { .. }))
    }

    /// Gives the slot of `vpn` a page table in the fresh page `idx`.
    pub(super) fn install_table(&mut self, id: SpaceId, vpn: Vpn, idx: Idx) {
        self.count_page_table(id, vpn, idx);
        self.user.living(id).table.install(vpn.slot().start, idx);
    }

    /// Makes a fresh page a page table of the space, for the slot of `vpn`.
    pub(crate) fn count_page_table(&mut self, id: SpaceId, vpn: Vpn, idx: Idx) {
        self.adopt(idx, Owner::PageTable(Mapping { space: id, vpn: vpn.slot().start }));
        self.user.living(id).page_tables += 1;
        self.user.levels.page_tables += 1;
        self.work.page_tables_allocated += 1;
    }

    /// Frees the frame of a page table that no slot has any more.
    pub(crate) fn free_page_table(&mut self, id: SpaceId, idx: Idx, cpu: usize) {
        self.user.living(id).page_tables -= 1;
        self.user.levels.page_tables -= 1;
        self.disown(idx, cpu);
    }

    /// Frees the page tables of slots that meet `range` and have no mapping left.
    pub(super) fn free_tables(&mut self, id: SpaceId, range: VpnRange, cpu: usize) {
        let mut from = range.start;
        while let Some((slot, _)) = self.user.living(id).table.next_table(from, range.end) {
            from = slot.end;
            let space = self.user.living(id);
            if space.vmas.first_within(slot).is_none() {
                let idx = space.table.remove(slot.start).expect("the slot has a table");
                self.free_page_table(id, idx, cpu);
            }
        }
    }

    /// Maps a page of a file, by a mapping that is `locked` or not; returns the entry.
    pub(super) fn map_file_page(&mut self, id: SpaceId, idx: Idx, locked: bool) -> Pte {
        let Owner::File { file, .. } = self.user.rmap.owner(idx) else { unreachable!("the page is of a file") };
        self.count_file_mapping(idx, u32::wrapping_add);
        let rss = self.rss_of_page(file);
        self.user.living(id).rss += rss;
        if locked {
            self.mlock_page(idx);
        }
        Pte::present(idx)
    }

    /// What is mapped at `mapping`, as seen by checks and views.
    pub(crate) fn pte_kind(&self, mapping: Mapping) -> PteKind {
        self.user.space(mapping.space).map_or(PteKind::None, |space| space.table.get(mapping.vpn).kind())
    }
}
