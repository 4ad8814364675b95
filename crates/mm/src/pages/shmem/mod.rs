//! Memory of tmpfs files, memfds and shared anonymous mappings: pages that belong to a file and live in memory and swap.
//!
//! Such a [`File`] is one of [`crate::page_cache`] without a disk. What it holds stays until it is truncated, punched out, or
//! the file goes with its last handle and mapping; unmapping alone never frees it. A page beyond the size cannot be had.
//! Pages are on the lists of anonymous memory, and go to swap as `swap` has it; which of them are huge is decided in `huge`,
//! by the options in `mount`,
//! where they lie at first in `mpol`, and how many there may be in `limit`.

mod hole;
mod huge;
mod limit;
mod mount;
mod mpol;
mod options;
mod place;
mod shrink;
mod swap;

pub use hole::ShmemHole;
pub use limit::Statfs;
pub(crate) use mount::Mounts;
pub use mount::{MountId, ShmemEnabled, ShmemHuge};
pub use mpol::MountPolicy;
pub use options::{TmpfsOptions, TmpfsSize};
pub use swap::ShmemPage;

use order9_frames::Idx;
use order9_units::{Pages, Pfn};

use crate::lru_list::LruList;
use crate::page_cache::PageCache;
use crate::page_cache::{File, FileId, Home, PAGES_MAX};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Errno, Owner, SpaceId, Zap};

impl PageCache {
    pub(crate) fn file(&self, id: FileId) -> Result<&File, Errno> {
        self.files.get(id)
    }

    /// A file of which the caller knows that something is in memory.
    pub(crate) fn file_mut(&mut self, id: FileId) -> &mut File {
        self.files.get_mut(id).expect("a file is in memory as long as it has pages, mappings or something to write")
    }
}

impl UsedPages {
    /// Creates a file of `size` without pages and opens it, as `memfd_create` and `ftruncate` do.
    pub(crate) fn create_file(&mut self, size: Pages, phys: &PhysMem) -> Result<FileId, Errno> {
        self.create_file_on(MountId::INTERNAL, size, None, phys)
    }

    /// Creates a file on a mount of tmpfs. The file begins with the `mpol=` of the mount, within the cpuset of `creator` if
    /// there is one.
    pub(crate) fn create_file_on(
        &mut self,
        mount: MountId,
        size: Pages,
        creator: Option<SpaceId>,
        phys: &PhysMem,
    ) -> Result<FileId, Errno> {
        if size > PAGES_MAX {
            return Err(Errno::Efbig);
        }
        self.cache.tmpfs_huge(mount).ok_or(Errno::Enoent)?;
        let id = self.cache.files.create(size, Home::Tmpfs(mount)).ok_or(Errno::Eagain)?;
        self.rmap.make_room(phys.frames.table().len());
        self.cache.files.ensure(id).open = true;
        self.begin_file_policy(id, mount, creator, phys);
        Ok(id)
    }

    /// Fails with `EBADF` unless the file is open.
    pub(crate) fn require_open(&self, id: FileId) -> Result<(), Errno> {
        let is_open = match self.cache.files.is_on_disk(id) {
            true => self.is_open_on_disk(id),
            false => self.cache.file(id)?.open,
        };
        if is_open { Ok(()) } else { Err(Errno::Ebadf) }
    }

    /// Closes a tmpfs file: it goes with its last mapping, or at once if there is none.
    pub(crate) fn close_file(&mut self, id: FileId, cpu: usize, phys: &mut PhysMem) -> Result<(), Errno> {
        let file = self.cache.files.get_mut(id).filter(|file| file.open).ok_or(Errno::Ebadf)?;
        file.open = false;
        self.drop_if_unused(id, cpu, phys);
        Ok(())
    }

    /// Gives a tmpfs file the page just allocated, zeroed, at `index`, as a write or `fallocate` does. If it has one there by
    /// now, in memory or in swap, or its mount is full, the new one is freed.
    pub(crate) fn add_file_page(
        &mut self,
        id: FileId,
        index: u64,
        page: Pfn,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        self.cache.files.get_mut(id).filter(|file| file.open).ok_or(Errno::Ebadf)?;
        if self.cache.files.size(id).is_none_or(|size| index >= size.get()) {
            return Err(Errno::Efbig);
        }
        let idx = phys.fresh(page);
        self.fill_hole(id, index, idx, cpu, phys);
        Ok(())
    }

    /// Puts a fresh page into a hole within a tmpfs file; frees it where there is none, or no room for it.
    pub(crate) fn fill_hole(&mut self, id: FileId, index: u64, idx: Idx, cpu: usize, phys: &mut PhysMem) {
        let is_beyond = self.cache.files.size(id).is_none_or(|size| index >= size.get());
        let is_there = |file: &File| file.page(index).is_some() || file.swapped(index).is_some();
        if is_beyond || self.cache.file(id).is_ok_and(is_there) || self.cache.room_for(id) == 0 {
            phys.free_fresh(idx, cpu);
            return;
        }
        self.adopt_page(idx, Owner::File { file: id, index }, LruList::InactiveAnon, phys);
        self.cache.file_mut(id).insert(index, idx);
        self.levels.shmem += 1;
        self.cache.charge(id, 1);
        self.clear_page(idx, phys);
    }

    /// Sets the size of an open file. Pages beyond it are unmapped everywhere, private copies included, and freed; what was
    /// to be written of them no longer is.
    pub(crate) fn truncate(&mut self, id: FileId, size: Pages, cpu: usize, phys: &mut PhysMem) -> Result<(), Errno> {
        if size > PAGES_MAX {
            return Err(Errno::Efbig);
        }
        self.require_open(id)?;
        if size < self.cache.files.set_size(id, size) {
            self.unmap_file_range(id, size.get(), u64::MAX, Zap::All, cpu, phys);
            self.evict(id, size.get(), u64::MAX, cpu, phys);
            self.queue_if_longer(id, phys);
        }
        Ok(())
    }

    /// Frees `pages` pages of an open file from `index` on, as `FALLOC_FL_PUNCH_HOLE` does: the size stays, and so do
    /// private copies.
    pub(crate) fn punch_hole(
        &mut self,
        id: FileId,
        index: u64,
        pages: Pages,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        self.require_open(id)?;
        self.punch_range(id, index, pages, cpu, phys);
        Ok(())
    }

    pub(crate) fn punch_range(&mut self, id: FileId, index: u64, pages: Pages, cpu: usize, phys: &mut PhysMem) {
        self.unmap_file_range(id, index, pages.get(), Zap::FilePages, cpu, phys);
        self.evict(id, index, pages.get(), cpu, phys);
    }

    /// Nobody maps a file any more: one of tmpfs that nobody has open ends, one on disk is no longer held open by mappings.
    pub(crate) fn drop_if_unused(&mut self, id: FileId, cpu: usize, phys: &mut PhysMem) {
        let Some(file) = self.cache.files.get(id).ok().filter(|file| file.mapped_by.is_empty()) else { return };
        if self.cache.files.is_on_disk(id) {
            self.close_by_mappings(id, phys);
        } else if !file.open {
            self.evict(id, 0, u64::MAX, cpu, phys);
            self.cache.forget_for_shrink(id);
            self.mempolicies.forget_file_policies(id);
            self.cache.files.remove(id);
        }
    }
}
