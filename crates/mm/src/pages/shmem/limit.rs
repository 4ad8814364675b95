//! Limit to the files of a mount: `size=`, the pages that count against it, and the ways to make room.
//!
//! Every page of a file counts, in memory or in swap; one of a huge page as much as any. A page counts once it is in its
//! file: a caller that allocates one looks for room before, and again with the page in hand. tmpfs(5).

use order9_units::Pages;

use super::MountId;
use crate::page_cache::FileId;
use crate::page_cache::PageCache;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

/// Huge pages that are tried to be split for a page that a full mount has no room for.
const TRIES: usize = 5;

/// Answer of statfs(2) for a mount: the figures that `df` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statfs {
    /// `f_blocks`: pages that all files may hold; 0 where there is no limit.
    pub blocks: Pages,
    /// `f_bfree`: those of them that they do not.
    pub free: Pages,
}

impl PageCache {
    /// Answer of statfs(2) for a mount; `None` where there is no such mount.
    #[must_use]
    pub fn statfs(&self, mount: MountId) -> Option<Statfs> {
        let mount = self.mounts.get(mount)?;
        Some(mount.limit.map_or_else(Statfs::default, |limit| Statfs { blocks: limit, free: limit - mount.used }))
    }

    /// Pages that a file of tmpfs can still get.
    pub(crate) fn room_for(&self, file: FileId) -> u64 {
        let mount = self.files.mount_of(file).and_then(|mount| self.mounts.get(mount));
        mount.and_then(|mount| Some(mount.limit? - mount.used)).map_or(u64::MAX, Pages::get)
    }

    /// `pages` pages that were not part of a file of tmpfs are now.
    pub(crate) fn charge(&mut self, file: FileId, pages: u64) {
        self.mount_used(file, |used| used + Pages::new(pages));
    }

    /// Takes pages of a file off the account of its mount.
    pub(crate) fn uncharge(&mut self, file: FileId, pages: u64) {
        self.mount_used(file, |used| used - Pages::new(pages));
    }

    fn mount_used(&mut self, file: FileId, change: impl FnOnce(Pages) -> Pages) {
        let mount = self.files.mount_of(file).expect("a file of tmpfs has a mount");
        let used = self.mounts.used(mount);
        *used = change(*used);
    }
}

impl UsedPages {
    /// Whether a file of tmpfs can get a page. On a full mount, huge pages that reach beyond the end of their file are split
    /// for it, on behalf of `cpu`.
    pub(crate) fn has_room(&mut self, file: FileId, cpu: usize, phys: &mut PhysMem) -> bool {
        if self.cache.room_for(file) > 0 {
            return true;
        }
        let mount = self.cache.files.mount_of(file).expect("only mounts of tmpfs are limited");
        (0..TRIES).any(|_| self.shrink_mount(mount, cpu, phys))
    }
}
