//! Huge pages that reach beyond the end of their file: split when memory is short, or their mount full, which frees
//! what lies beyond.

use order9_frames::Idx;
use order9_units::Pages;

use super::MountId;
use super::huge::huge_index;
use crate::page_cache::FileId;
use crate::page_cache::PageCache;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

impl PageCache {
    /// Puts a file in the list of those whose last page may be split, unless it is there.
    pub(super) fn queue_for_shrink(&mut self, id: FileId) {
        let list = &mut self.mounts.shrinklist;
        if !list.contains(&id) {
            list.push_back(id);
        }
    }

    pub(super) fn forget_for_shrink(&mut self, id: FileId) {
        self.mounts.shrinklist.retain(|&other| other != id);
    }

    /// Files whose last huge page may be split.
    #[must_use]
    pub fn shmem_shrinkable(&self) -> u64 {
        self.mounts.shrinklist.len() as u64
    }
}

impl UsedPages {
    /// A file that was truncated may end within a huge page now.
    pub(super) fn queue_if_longer(&mut self, id: FileId, phys: &PhysMem) {
        if self.last_huge_page(id, phys).is_some() {
            self.cache.queue_for_shrink(id);
        }
    }

    /// The huge page that reaches beyond the end of a file.
    fn last_huge_page(&self, id: FileId, phys: &PhysMem) -> Option<Idx> {
        let size = self.cache.files.size(id).map_or(0, Pages::get);
        let last = self.cache.file(id).ok()?.page(huge_index(size)).filter(|_| size != huge_index(size))?;
        self.rmap.file_folio_head(last, phys)
    }

    /// Splits the last page of the first such file if it reaches beyond the end; where that is refused, the file goes to the
    /// end of the list. Says whether a page was split.
    pub(crate) fn shrink_shmem(&mut self, cpu: usize, phys: &mut PhysMem) -> bool {
        let first = self.cache.mounts.shrinklist.pop_front();
        first.is_some_and(|id| self.shrink_file(id, cpu, phys))
    }

    /// Shrinks the first file of a mount.
    pub(super) fn shrink_mount(&mut self, mount: MountId, cpu: usize, phys: &mut PhysMem) -> bool {
        let first = self.cache.mounts.shrinklist.iter().position(|&id| self.cache.files.mount_of(id) == Some(mount));
        let first = first.and_then(|at| self.cache.mounts.shrinklist.remove(at));
        first.is_some_and(|id| self.shrink_file(id, cpu, phys))
    }

    /// Splits the last page of a file that was taken off the list.
    fn shrink_file(&mut self, id: FileId, cpu: usize, phys: &mut PhysMem) -> bool {
        let Some(head) = self.last_huge_page(id, phys) else { return false };
        let split = self.split_huge_page(phys.frames.pfn(head), cpu, phys).is_ok();
        if !split {
            self.cache.mounts.shrinklist.push_back(id);
        }
        split
    }
}
