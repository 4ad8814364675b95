//! Splitting: of a huge mapping into single ones, which never fails, and of a huge page into base pages, which a pin forbids.

use alloc::boxed::Box;
use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::Pfn;

use super::subpages;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Errno, Mapping, NO_CPU, Owner, SpaceId, Table, Vpn};

impl UsedPages {
    /// Splits the huge mapping of the slot of `vpn`, if there is one, into single mappings: the page table was kept for it. A
    /// page of a file is unmapped there. Where the policy splits the page of a program with its mapping, it does, unless
    /// somebody holds the page.
    pub(crate) fn split_pmd(&mut self, id: SpaceId, vpn: Vpn, phys: &mut PhysMem) {
        let Some(huge) = self.spaces.living(id).table.huge(vpn) else { return };
        self.split_entry(id, vpn, phys);
        let together = |&head: &Idx| {
            let page = phys.frames.word(head);
            phys.policy.thp.split_page_with_pmd
                && self.rmap.huge_head(head, phys).is_some()
                && Self::can_split(page, false)
        };
        if let Some(head) = huge.head().filter(together) {
            self.split_head(head, NO_CPU, phys).expect("nobody holds the page");
        }
    }

    /// Splits the huge mapping of the slot of `vpn` alone, if there is one.
    pub(super) fn split_entry(&mut self, id: SpaceId, vpn: Vpn, phys: &mut PhysMem) {
        let Some(huge) = self.spaces.living(id).table.huge(vpn) else { return };
        phys.counters.thp_split_pmd += 1;
        if self.rmap.is_of_file(huge, phys) {
            self.zap_huge_slot(id, vpn.slot(), NO_CPU, phys);
        } else {
            self.pmd_to_table(id, vpn, phys);
        }
    }

    /// Splits every huge mapping of the page that starts at `head`.
    pub(super) fn split_entries(&mut self, head: Idx, phys: &mut PhysMem) {
        while let Some(&at) = self.huge.page(head).pmds.last() {
            self.split_entry(at.space, at.vpn, phys);
        }
    }

    /// Splits the huge mapping of a slot that an edge of a mapping is about to cut at `edge`.
    pub(crate) fn split_pmd_at_edge(&mut self, id: SpaceId, edge: Vpn, phys: &mut PhysMem) {
        if edge != edge.slot().start {
            self.split_pmd(id, edge, phys);
        }
    }

    /// Puts single mappings in the place of the huge one of the slot of `vpn`.
    pub(super) fn pmd_to_table(&mut self, id: SpaceId, vpn: Vpn, phys: &mut PhysMem) {
        let slot = vpn.slot();
        let huge = self.spaces.living(id).table.huge(vpn).expect("the slot has a huge mapping");
        let mut table = Box::new(Table::new(huge.deposit.expect("private memory keeps a table for the split")));
        slot.iter().for_each(|vpn| {
            table.set(vpn, huge.base(vpn).answered());
        });
        self.spaces.living(id).table.split(vpn, table);
        if let Some(head) = huge.head() {
            for (idx, vpn) in subpages(head).zip(slot.iter()) {
                self.map_subpage(Mapping { space: id, vpn }, idx, phys);
            }
            self.forget_pmd(Mapping { space: id, vpn: slot.start }, head, phys);
            self.munlock_page(head, phys);
        } else {
            self.huge.release_huge_zero(phys);
        }
        phys.work.pmds_split += 1;
        phys.work.tlb_flushes += 1;
    }

    /// Splits the huge page of a program or file that starts at `pfn` into base pages, those that nobody maps, or that lie
    /// beyond the end of the file, being freed on behalf of `cpu`.
    ///
    /// # Errors
    /// `EBUSY` where it is pinned, isolated or being written, `EINVAL` where no such huge page starts; nothing has changed then.
    pub fn split_huge_page(&mut self, pfn: Pfn, cpu: usize, phys: &mut PhysMem) -> Result<(), Errno> {
        let starts = |&idx: &Idx| self.rmap.folio_head(idx, phys) == Some(idx);
        let head = phys.frames.idx(pfn).filter(starts).ok_or(Errno::Einval)?;
        self.split_head(head, cpu, phys)
    }

    /// Splits the huge page that starts at a frame.
    pub(super) fn split_head(&mut self, head: Idx, cpu: usize, phys: &mut PhysMem) -> Result<(), Errno> {
        self.split_unless_held(head, false, cpu, phys)
    }

    /// Splits a page that reclaim has isolated: all parts are isolated then.
    pub(crate) fn split_isolated(&mut self, head: Idx, cpu: usize, phys: &mut PhysMem) -> Result<(), Errno> {
        self.split_unless_held(head, true, cpu, phys)
    }

    fn split_unless_held(&mut self, head: Idx, isolated: bool, cpu: usize, phys: &mut PhysMem) -> Result<(), Errno> {
        let (word, is_folio) = (phys.frames.word(head), self.is_large_folio(head, phys));
        // Buffers of a dirty page cannot be given up.
        if !Self::can_split(word, isolated) || is_folio && word.has(PageFlag::Dirty) {
            self.huge.count_split(head, false, phys);
            return Err(Errno::Ebusy);
        }
        if is_folio {
            self.split_folio(head, cpu, phys);
            return Ok(());
        }
        if self.rmap.file_folio_head(head, phys).is_some() {
            self.split_file_page(head, cpu, phys);
            return Ok(());
        }
        phys.work.huge_parts_remapped += u64::from(self.huge.page(head).ptes);
        self.split_entries(head, phys);
        self.huge.leave_queue(head, phys);
        // Every mapping is taken away while the page comes apart, and put back.
        let ptes = u64::from(self.huge.page(head).ptes);
        phys.work.rmap_walks += 1;
        phys.work.ptes_cleared += ptes;
        phys.work.ptes_set += ptes;
        phys.work.tlb_flushes += 1;
        self.huge.count_split(head, true, phys);
        let (zeros, parts) = (self.huge.zeros_of(head, phys), phys.parts(head));
        self.take_apart(head, phys);
        let unmapped = |idx: &Idx| self.rmap.owner(*idx) == Owner::Nobody;
        let (unmapped, mapped): (Vec<Idx>, Vec<Idx>) = parts.partition(unmapped);
        phys.work.huge_parts_freed += unmapped.len() as u64;
        for idx in unmapped {
            match phys.frames.word(idx).has(PageFlag::SwapCache) {
                true => self.leave_in_swap_cache(idx, cpu, phys),
                false => self.disown(idx, cpu, phys),
            }
        }
        self.map_zeros_for(zeros, cpu, phys);
        let is_locked = |idx: &Idx| self.rmap.owner(*idx) != Owner::Nobody && self.is_mlocked(*idx, phys);
        let locked: Vec<Idx> = mapped.into_iter().filter(is_locked).collect();
        locked.into_iter().for_each(|idx| self.mlock_page(idx, phys));
        Ok(())
    }

    /// Makes base pages of a huge page or a large folio. On an LRU list they take its place, the first being the oldest.
    pub(crate) fn take_apart(&mut self, head: Idx, phys: &mut PhysMem) {
        let (word, parts) = (phys.frames.word(head), phys.parts(head));
        phys.frames.huge_block_ends(head, word.order());
        phys.work.huge_parts_split += word.frames();
        let word = word.single();
        if self.rmap.owner(head) == Owner::Huge {
            let first = self.rmap.of_subpage(head);
            let mappings = self.rmap.owner(first);
            self.rmap.set(first, Owner::Nobody);
            self.rmap.set(head, mappings);
        }
        for idx in parts.clone() {
            phys.frames.set(idx, word);
            self.balancing.copy_user(head, idx);
        }
        phys.frames.touch_blocks(head.block(), 1);
        if word.has(PageFlag::Lru) {
            for idx in parts.skip(1).collect::<Vec<_>>().into_iter().rev() {
                phys.frames.table_mut().push_before(head, idx);
            }
        }
        self.huge.take_page(head);
    }
}
