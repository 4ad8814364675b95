//! Files: page cache, tmpfs, a filesystem's dentries and inodes.

use order9_frames::Request;
use order9_units::{Nanos, NodeId, Pages, Pfn};

use crate::Mm;
use crate::fs_cache::{Filesystem, FsError, FsStep, Stage};
use crate::mempolicy::SpaceTask;
use crate::page_cache::{Added, CachedPage, DirtyLimits, DropPagecache, File, FileId, FileWrite, WritePending};
use crate::shmem::{MountId, ShmemHole, ShmemPage, TmpfsOptions};
use crate::shrinker::{DropSlab, ShrinkStep};
use crate::space::{Errno, NO_CPU, SpaceId};
use crate::swap::SlotId;

impl Mm {
    /// Pages of a file that are in memory; `None` where none are.
    #[must_use]
    pub fn file(&self, id: FileId) -> Option<&File> {
        self.pages.cache.file(id).ok()
    }

    /// Pages that disks do not have yet: of the machine, or of a node.
    #[must_use]
    pub fn write_pending(&self, node: Option<NodeId>) -> WritePending {
        self.pages.cache.write_pending(node, &self.phys)
    }

    /// Frees the next pages of a file from `index` on, about a thousand places together, as [`Mm::truncate`] to `index` and
    /// [`Mm::fs_unlink`] would; says whether there were any. With this, whoever ends a large file lets others run before
    /// either does the rest. What the file holds there is lost from then on.
    pub fn truncate_step(&mut self, id: FileId, index: u64, cpu: usize) -> bool {
        self.pages.truncate_step(id, index, cpu, &mut self.phys)
    }

    /// Limits of dirty memory of the machine: shares of the memory that could be dirty, or what was set.
    #[must_use]
    pub fn dirty_limits(&self) -> DirtyLimits {
        self.pages.lru.dirty_limits(&self.phys)
    }

    /// The page at `index` of a file, or `None` where it has none in memory.
    #[must_use]
    pub fn file_page(&self, id: FileId, index: u64) -> Option<Pfn> {
        self.pages.cache.file_page(id, index, &self.phys)
    }

    /// Adds the page or large folio just allocated to a file on disk whose inode is in memory; the caller reads into it and then calls
    /// [`Mm::end_page_read`]. Until then it is locked: neither written nor reclaimed. It starts inactive.
    ///
    /// # Errors
    /// [`FsError::NoSuchFile`], [`FsError::NotCached`] without inode, [`FsError::BeyondEnd`]; the page is still the caller's
    /// then.
    ///
    /// # Panics
    /// If `page` is no page that was just allocated, or none of a size that fits at `index`.
    pub fn add_to_page_cache(&mut self, id: FileId, index: u64, page: Pfn, cpu: usize) -> Result<Added, FsError> {
        self.pages.add_to_page_cache(id, index, page, cpu, &mut self.phys)
    }

    /// Ends the read of `pages` pages from `index` on, each of which [`Mm::add_to_page_cache`] added for it. Pages that the
    /// file has lost meanwhile are freed.
    pub fn end_page_read(&mut self, id: FileId, index: u64, pages: Pages, cpu: usize) {
        self.pages.end_page_read(id, index, pages, cpu, &mut self.phys);
    }

    /// Writes to the page at `index` at the time `now`, if it is in memory and not being read; says what was found.
    pub fn write_page(&mut self, id: FileId, index: u64, now: Nanos) -> CachedPage {
        self.pages.write_pages(id, index, 1, now, &mut self.phys).0
    }

    /// Ends a write. Pages changed meanwhile are still dirty; pages that the file has lost are freed.
    ///
    /// # Panics
    /// If a page of it is not being written.
    pub fn file_written(&mut self, write: &FileWrite, now: Nanos, cpu: usize) {
        self.pages.file_written(write, now, cpu, &mut self.phys);
    }

    /// Ends the write of an inode; of a file removed meanwhile nothing is left to end.
    ///
    /// # Panics
    /// If the inode is not being written.
    pub fn inode_written(&mut self, id: FileId) {
        self.pages.inode_written(id, &self.phys);
    }

    /// Need of a write by a system call, or of `fallocate`, for the hole at `index` of a tmpfs file, which
    /// [`Mm::shmem_page`] has found there, by `task` on `cpu`. No mapping advises it.
    ///
    /// # Errors
    /// `ENOSPC` where the mount is full.
    pub fn shmem_hole(
        &mut self,
        task: impl Into<SpaceTask>,
        file: FileId,
        index: u64,
        cpu: usize,
    ) -> Result<ShmemHole, Errno> {
        self.pages.shmem_hole(task, file, index, cpu, &mut self.phys)
    }

    /// Says that no huge page could be had for a hole; what to ask for instead.
    pub fn shmem_refused(&mut self, hole: &ShmemHole) -> ShmemHole {
        self.pages.shmem_refused(hole, &mut self.phys)
    }

    /// Fills a hole with the page just allocated for it, zeroed; frees that where there is no such hole any more, or no
    /// room for it: the caller looks again.
    ///
    /// # Errors
    /// `EBADF` where the file is not open, `EFBIG` beyond its size; the page is still the caller's then.
    ///
    /// # Panics
    /// If `page` is not what was asked for, or was not just allocated.
    pub fn fill_shmem_hole(&mut self, hole: &ShmemHole, page: Pfn, cpu: usize) -> Result<(), Errno> {
        self.pages.fill_shmem_hole(hole, page, cpu, &mut self.phys)
    }

    /// Creates a file of `size` without pages and opens it, as `memfd_create` and `ftruncate` do.
    ///
    /// # Errors
    /// `EFBIG` above 128 TiB, `EAGAIN` after 2^28 files.
    pub fn create_file(&mut self, size: Pages) -> Result<FileId, Errno> {
        self.pages.create_file(size, &self.phys)
    }

    /// Creates a file on a mount of tmpfs. The file begins with the `mpol=` of the mount, within the cpuset of `creator` if
    /// there is one.
    ///
    /// # Errors
    /// Errors of `create_file`, and `ENOENT` where there is no such mount.
    pub fn create_file_on(&mut self, mount: MountId, size: Pages, creator: Option<SpaceId>) -> Result<FileId, Errno> {
        self.pages.create_file_on(mount, size, creator, &self.phys)
    }

    /// Closes a tmpfs file: it goes with its last mapping, or at once if there is none.
    ///
    /// # Errors
    /// `EBADF` where it is not open.
    pub fn close_file(&mut self, id: FileId, cpu: usize) -> Result<(), Errno> {
        self.pages.close_file(id, cpu, &mut self.phys)
    }

    /// Gives a tmpfs file the page just allocated, zeroed, at `index`, as a write or `fallocate` does. If it has one there by
    /// now, in memory or in swap, or its mount is full, the new one is freed.
    ///
    /// # Errors
    /// `EBADF` where the file is not open, `EFBIG` beyond its size; the page is still the caller's then.
    ///
    /// # Panics
    /// If `page` is not a single page that was just allocated.
    pub fn add_file_page(&mut self, id: FileId, index: u64, page: Pfn, cpu: usize) -> Result<(), Errno> {
        self.pages.add_file_page(id, index, page, cpu, &mut self.phys)
    }

    /// Sets the size of an open file. Pages beyond it are unmapped everywhere, private copies included, and freed; what was
    /// to be written of them no longer is.
    ///
    /// # Errors
    /// `EBADF` where the file is not open, `EFBIG` above 128 TiB.
    pub fn truncate(&mut self, id: FileId, size: Pages, cpu: usize) -> Result<(), Errno> {
        self.pages.truncate(id, size, cpu, &mut self.phys)
    }

    /// Frees `pages` pages of an open file from `index` on, as `FALLOC_FL_PUNCH_HOLE` does: the size stays, and so do
    /// private copies.
    ///
    /// # Errors
    /// `EBADF` where the file is not open.
    pub fn punch_hole(&mut self, id: FileId, index: u64, pages: Pages, cpu: usize) -> Result<(), Errno> {
        self.pages.punch_hole(id, index, pages, cpu, &mut self.phys)
    }

    /// Mounts tmpfs.
    ///
    /// # Errors
    /// `EINVAL` for another `huge=` than `ShmemHuge::Never` where the kernel has no huge pages of tmpfs, and for an
    /// `mpol=` that it does not have, or with nodes without memory; `EAGAIN` after 2^16 mounts.
    pub fn mount_tmpfs(&mut self, options: impl Into<TmpfsOptions>) -> Result<MountId, Errno> {
        self.pages.cache.mount_tmpfs(options, &self.phys)
    }

    /// Changes options of a mount, `huge=` for pages to come: what is huge stays so; `mpol=` for files to
    /// come, where `mpol=default` leaves the one that there is. A refused call changes nothing.
    ///
    /// # Errors
    /// `EINVAL` as [`Mm::mount_tmpfs`], where there is no such mount, for a `size=` below what its files hold, and for any but
    /// 0 of a mount that had no limit.
    pub fn remount_tmpfs(&mut self, mount: MountId, options: impl Into<TmpfsOptions>) -> Result<(), Errno> {
        self.pages.cache.remount_tmpfs(mount, options, &self.phys)
    }

    /// Page at `index` of a tmpfs file, for a read or write by a system call. A page that was swapped out and is still in
    /// memory
    /// is the file's again.
    pub fn shmem_page(&mut self, id: FileId, index: u64) -> ShmemPage {
        self.pages.shmem_page(id, index, &mut self.phys)
    }

    /// Takes the page just allocated, into which `slot` was read for the place `index` of a tmpfs file; frees it if that
    /// place is not in this slot any more, or somebody else has read it.
    ///
    /// # Panics
    /// If `page` is not a single page that was just allocated.
    pub fn shmem_swap_in(&mut self, id: FileId, index: u64, slot: SlotId, page: Pfn, cpu: usize) {
        self.pages.shmem_swap_in(id, index, slot, page, cpu, &mut self.phys);
    }

    /// Mounts the filesystem of the machine: creates the caches of dentries, of its inodes and of what it keeps beside them, and
    /// registers its shrinkers.
    ///
    /// # Errors
    /// [`FsError::Mounted`] or [`FsError::Cache`].
    pub fn mount(&mut self, kind: impl Into<Filesystem>) -> Result<(), FsError> {
        self.pages.mount(kind.into(), &self.phys)
    }

    /// A file of `size` on disk, of which nothing is in memory yet. One that a program creates is dirty once it is open: see
    /// `UsedPages::mark_inode_dirty`.
    ///
    /// # Errors
    /// [`FsError::NotMounted`], [`FsError::TooManyFiles`] or [`FsError::TooLarge`].
    pub fn fs_create(&mut self, size: Pages) -> Result<FileId, FsError> {
        self.pages.fs_create(size, &self.phys)
    }

    /// Opens a file with pages straight from the fast path; where that fails, the slow path has to find what is needed.
    pub fn fs_open_fast(&mut self, id: FileId, asked: &Request) -> FsStep {
        self.fs_bring_fast(id, Stage::Open, asked)
    }

    /// Takes what the filesystem keeps of a file from a stage of its life on, as [`fs_open_fast`](Self::fs_open_fast) does.
    pub fn fs_bring_fast(&mut self, id: FileId, stage: Stage, asked: &Request) -> FsStep {
        self.pages.fs_bring_fast(id, stage, asked, &mut self.phys)
    }

    /// Removes a file that is not open or mapped, on behalf of `cpu`: its pages, inode and dentry are freed; what was to be
    /// written no longer is. What is being read or written stays allocated until that ends.
    ///
    /// # Errors
    /// [`FsError::Open`], [`FsError::NoSuchFile`] or [`FsError::NotMounted`].
    pub fn fs_unlink(&mut self, id: FileId, cpu: usize) -> Result<(), FsError> {
        self.pages.fs_unlink(id, cpu, &mut self.phys)
    }

    /// Drops all pages of files on disk that can be dropped, to the end, as [`tasks::drop_pagecache`](crate::tasks::drop_pagecache)
    /// does in steps.
    pub fn drop_pagecache(&mut self) {
        let mut run = DropPagecache::new(NO_CPU, &mut self.phys);
        while run.step(&mut self.pages, &mut self.phys).is_none() {}
    }

    /// Drops all slab that can be dropped, to the end, as [`tasks::drop_slab`](crate::tasks::drop_slab) does in steps.
    pub fn drop_slab(&mut self) {
        let mut run = DropSlab::new(NO_CPU, &mut self.phys);
        while run.step(&mut self.pages, &mut self.phys) == ShrinkStep::Progress {}
    }
}
