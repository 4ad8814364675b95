//! Pages of tmpfs go to swap and come back.
//!
//! Reclaim takes an unused page out of its file: the page moves to the swap cache, and the file names its slot where the page
//! was. Whoever accesses the place moves the page back if it is still in memory, or has it read; the slot is free then. Linux
//! waits where a page is wanted back that is still being written; here the write goes on beside its use, and the slot is
//! freed when it ends. All pages of tmpfs are taken for written: Linux drops those that were only ever read.

use order9_frames::Idx;
use order9_units::Pfn;

use crate::page_cache::FileId;
use crate::page_cache::PageCache;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{NO_CPU, Owner};
use crate::swap::SlotId;

/// Content of a place of a tmpfs file, for a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShmemPage {
    /// A page.
    Present(Pfn),
    /// Nothing, which reads as zeros; a write needs a page ([`Mm::shmem_hole`](crate::Mm::shmem_hole)).
    Hole,
    /// This slot of swap: allocate a page, read the slot into it, hand it to [`Mm::shmem_swap_in`](crate::Mm::shmem_swap_in), and look again.
    Swapped(SlotId),
}

impl UsedPages {
    /// Takes an unmapped page of a tmpfs file out of it, into the swap cache; says whether there was a slot for it.
    pub(crate) fn shmem_to_swap(&mut self, idx: Idx, phys: &mut PhysMem) -> bool {
        let Owner::File { file, index } = self.rmap.owner(idx) else { unreachable!("the page is of a file") };
        if !self.swap.add_to_swap(idx, phys) {
            return false;
        }
        let slot = self.swap.of(idx);
        self.cache.files.take_to_swap(file, index, slot);
        self.swap.slot(slot).entries += 1;
        self.levels.shmem -= 1;
        self.rmap.set(idx, Owner::SwapCache);
        true
    }

    /// The page at a place of a file; one of tmpfs is moved back from the swap cache.
    pub(crate) fn shown_at(&mut self, id: FileId, index: u64, phys: &mut PhysMem) -> Option<Idx> {
        let file = self.cache.file(id).ok()?;
        file.page(index).or_else(|| self.shmem_from_swap_cache(id, index, phys))
    }

    fn shmem_from_swap_cache(&mut self, id: FileId, index: u64, phys: &mut PhysMem) -> Option<Idx> {
        let slot = self.cache.swapped_at(id, index)?;
        let idx = self.swap.page(slot)?;
        self.swap.note_swap_cache_hit(slot, phys);
        self.cache.file_mut(id).insert(index, idx);
        self.rmap.set(idx, Owner::File { file: id, index });
        self.levels.shmem += 1;
        self.drop_swap_entry(slot, NO_CPU, phys);
        Some(idx)
    }

    /// Page at `index` of a tmpfs file, for a read or write by a system call. A page that was swapped out and is still in
    /// memory
    /// is the file's again.
    pub(crate) fn shmem_page(&mut self, id: FileId, index: u64, phys: &mut PhysMem) -> ShmemPage {
        match (self.shown_at(id, index, phys), self.cache.swapped_at(id, index)) {
            (Some(idx), _) => ShmemPage::Present(phys.frames.pfn(idx)),
            (None, Some(slot)) => ShmemPage::Swapped(slot),
            (None, None) => ShmemPage::Hole,
        }
    }

    /// Takes the page just allocated, into which `slot` was read for the place `index` of a tmpfs file; frees it if that
    /// place is not in this slot any more, or somebody else has read it.
    pub(crate) fn shmem_swap_in(
        &mut self,
        id: FileId,
        index: u64,
        slot: SlotId,
        page: Pfn,
        cpu: usize,
        phys: &mut PhysMem,
    ) {
        let idx = phys.fresh(page);
        if self.cache.swapped_at(id, index) == Some(slot) && self.swap.page(slot).is_none() {
            self.finish_swap_in(slot, idx, phys);
            self.shmem_from_swap_cache(id, index, phys);
        } else {
            phys.free_fresh(idx, cpu);
        }
    }

    /// Frees the slots of the places `[index, end)` of a tmpfs file.
    pub(crate) fn forget_swapped(&mut self, id: FileId, index: u64, end: u64, cpu: usize, phys: &mut PhysMem) {
        while let Some((at, slot)) = self.cache.file(id).ok().and_then(|file| file.first_swapped(index, end)) {
            self.cache.files.forget_swapped(id, at);
            self.cache.uncharge(id, 1);
            self.drop_swap_entry(slot, cpu, phys);
        }
    }
}

impl PageCache {
    /// The slot that a place of a tmpfs file names.
    pub(crate) fn swapped_at(&self, id: FileId, index: u64) -> Option<SlotId> {
        if self.files.is_on_disk(id) {
            return None;
        }
        self.file(id).ok()?.swapped(index)
    }
}
