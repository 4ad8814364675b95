//! Collapse of tmpfs: the base pages of an aligned range of a file become one huge page.
//!
//! The range of the file counts, not what the page table shows of it. Pages leave all who map them; page tables of mappings
//! that could show the huge page as such go, so that the next fault maps it. LKML: "khugepaged: add support of collapse for
//! tmpfs/shmem pages" (2016).

use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::{Order, Pages, Pfn};

use super::collapse::{Collapse, CollapseFailure};
use super::rules::Collapser;
use super::{NR, subpages};
use crate::page_cache::FileId;
use crate::page_cache::PageCache;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{NO_CPU, SpaceId, Vma, VpnRange, Zap};

const HUGE: u64 = NR as u64;

impl PageCache {
    /// Whether what a mapping shows may be collapsed as pages of tmpfs, as far as advice does not matter.
    pub(super) fn is_congruent_shmem(&self, vma: &Vma, phys: &PhysMem) -> bool {
        let on_tmpfs = vma.kind.file().is_some_and(|file| !self.files.is_on_disk(file));
        on_tmpfs && phys.policy.thp.shmem && vma.offset % HUGE == vma.range.start.get() % HUGE
    }
}

impl UsedPages {
    /// Content of every place in an aligned range of a tmpfs file, if the range may be collapsed.
    pub(super) fn file_plan(
        &self,
        file: FileId,
        base: u64,
        by: Collapser,
        phys: &PhysMem,
    ) -> Result<Vec<Option<Idx>>, CollapseFailure> {
        let of = self.cache.file(file).map_err(|_| CollapseFailure::VmaCheck)?;
        let pages: Vec<Option<Idx>> = (base..base + HUGE).map(|index| of.page(index)).collect();
        let swapped = (base..base + HUGE).filter(|&index| of.swapped(index).is_some()).count() as u64;
        for &idx in pages.iter().flatten() {
            if self.rmap.file_folio_head(idx, phys).is_some() {
                return Err(CollapseFailure::PageCompound);
            }
            self.rmap.can_isolate(idx, phys)?;
            if phys.frames.word(idx).has(PageFlag::Writeback) {
                return Err(CollapseFailure::PageCount);
            }
        }
        let present = pages.iter().flatten().count() as u64;
        let limits = &phys.settings.thp.khugepaged;
        match by {
            Collapser::Khugepaged if swapped > limits.max_ptes_swap => Err(CollapseFailure::ExceedSwapPte),
            Collapser::Khugepaged if HUGE - present > limits.max_ptes_none => Err(CollapseFailure::ExceedNonePte),
            _ if present + swapped == 0 => Err(CollapseFailure::Truncated),
            _ => Ok(pages),
        }
    }

    /// Whether a slot already shows a huge page of its file, by single entries: these are unmapped where the release does
    /// that, so that a huge one can take their place.
    pub(super) fn is_huge_in_file(
        &mut self,
        id: SpaceId,
        slot: VpnRange,
        file: FileId,
        base: u64,
        phys: &mut PhysMem,
    ) -> bool {
        let head = self
            .cache
            .file(file)
            .ok()
            .and_then(|file| file.page(base))
            .and_then(|idx| self.rmap.file_folio_head(idx, phys));
        if head.is_none() || !phys.policy.thp.shmem_retract {
            return false;
        }
        self.zap(id, slot, Zap::FilePages, NO_CPU, phys);
        self.retract_table(id, slot, phys);
        true
    }

    /// Moves a range of a file into the huge page that was allocated for it; see [`Mm::collapse_finish`].
    pub(super) fn collapse_file_finish(
        &mut self,
        collapse: &Collapse,
        (file, base): (FileId, u64),
        page: Pfn,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<(), CollapseFailure> {
        let head = phys.fresh_block(page, Order::PAGEBLOCK);
        let in_swap = self.cache.file(file).is_ok_and(|file| file.first_swapped(base, base + HUGE).is_some());
        let plan = match in_swap {
            true => Err(CollapseFailure::PteNonPresent),
            false => self.file_plan(file, base, collapse.by(), phys),
        };
        let holes = |plan: &Vec<Option<Idx>>| plan.iter().filter(|page| page.is_none()).count() as u64;
        let plan = plan.and_then(|plan| match holes(&plan) <= self.cache.room_for(file) {
            true => Ok(plan),
            false => Err(CollapseFailure::Fail),
        });
        let pages = plan.inspect_err(|&failure| {
            phys.free_fresh(head, cpu);
            phys.count_scan_failure(failure);
        })?;
        phys.work.ranges_collapsed += 1;
        for (target, source) in subpages(head).zip(&pages) {
            match *source {
                Some(source) => {
                    self.collapse_page(source, target, phys);
                }
                None => {
                    phys.counters.collapse_filled += 1;
                    self.clear_huge_part(target, phys);
                }
            }
        }
        self.unmap_file_range(file, base, HUGE, Zap::FilePages, cpu, phys);
        for (index, idx) in (base..).zip(pages).filter_map(|(index, idx)| Some((index, idx?))) {
            self.take_from_file(file, index, None, phys);
            self.disown(idx, cpu, phys);
        }
        self.insert_huge_file_page(file, base, head, phys);
        self.retract_tables(file, base, phys);
        Ok(())
    }

    /// Takes away the empty page tables of slots that could show the huge page at `base` of a file.
    fn retract_tables(&mut self, file: FileId, base: u64, phys: &mut PhysMem) {
        let mut last = None;
        while let Some(at) = self.cache.file_mut(file).next_mapping(last) {
            last = Some(at);
            let Some(vma) = self.spaces.living(at.space).vmas.at(at.vpn).copied() else { continue };
            let shown = vma.pages_of(base, HUGE);
            if shown.len() == Pages::new(HUGE) && shown.start.slot() == shown {
                self.retract_table(at.space, shown, phys);
            }
        }
    }

    fn retract_table(&mut self, id: SpaceId, slot: VpnRange, phys: &mut PhysMem) {
        if self.spaces.living(id).table.table(slot.start).is_some_and(|table| table.used == 0) {
            let frame = self.spaces.living(id).table.remove(slot.start).expect("the slot has a table");
            self.free_page_table(id, frame, NO_CPU, phys);
            phys.work.tlb_flushes += 1;
        }
    }
}
