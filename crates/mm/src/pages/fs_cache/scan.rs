//! One batch of the superblock shrinker: unused dentries first, since a dentry keeps its inode, then unused inodes.

use order9_units::{NodeId, Pages};

use super::{FsCache, NONE};
use crate::page_cache::FileId;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

/// A batch under way: how many more dentries and inodes it looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FsScan {
    pub(super) node: NodeId,
    pub(super) dentries: u64,
    pub(super) inodes: u64,
    /// The file whose pages are being dropped, and the place in it.
    pub(super) invalidating: Option<(FileId, u64)>,
}

/// Result of a part of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanStep {
    /// The batch is done.
    Done,
    /// Pages of page cache were dropped, so many; there is more to do.
    Invalidated(u64),
}

/// Objects and pages that scanning freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shrunk {
    /// Objects.
    pub objects: u64,
    /// Frames: those of slabs that went back, and page cache dropped with inodes.
    pub pages: u64,
}

impl FsCache {
    /// Shares `objects` to look at out between dentries and inodes as they are on the lists of `node`, and one more of each.
    pub(crate) fn scan(&self, node: NodeId, objects: u64) -> FsScan {
        let (dentries, inodes) = self.unused(node);
        let share = |of: u64| (u128::from(objects) * u128::from(of) / u128::from(dentries + inodes + 1)) as u64 + 1;
        FsScan { node, dentries: share(dentries), inodes: share(inodes), invalidating: None }
    }
}

impl UsedPages {
    /// Goes on with a batch until it is done or some pages were dropped, on behalf of `cpu`.
    pub(crate) fn fs_scan(
        &mut self,
        scan: &mut FsScan,
        shrunk: &mut Shrunk,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> ScanStep {
        if let Some((file, index)) = scan.invalidating.take() {
            return self.invalidate_some(scan, file, index, shrunk, cpu, phys);
        }
        let node = scan.node.index();
        while scan.dentries > 0 {
            let Some(first) = self.fs.as_ref().and_then(|fs| fs.dentry_lru.first(node)) else { break };
            scan.dentries -= 1;
            phys.work.slab_objects_scanned += 1;
            if self.take_dentry(node, first) {
                shrunk.pages += self.free_dentry(first, cpu, phys);
                shrunk.objects += 1;
            }
        }
        scan.dentries = 0;
        while scan.inodes > 0 {
            let Some(first) = self.fs.as_ref().and_then(|fs| fs.inode_lru.first(node)) else { break };
            scan.inodes -= 1;
            phys.work.slab_objects_scanned += 1;
            match self.inode_lru_isolate(node, first, phys) {
                Verdict::Spared => {}
                Verdict::Invalidate(file) => return self.invalidate_some(scan, file, 0, shrunk, cpu, phys),
                Verdict::Free => {
                    shrunk.pages += self.free_inode(first, cpu, phys);
                    shrunk.objects += 1;
                }
            }
        }
        ScanStep::Done
    }

    /// Drops pages of an idle inode. Once that is through, the inode counts as used: it takes another visit to free it.
    fn invalidate_some(
        &mut self,
        scan: &mut FsScan,
        file: FileId,
        index: u64,
        shrunk: &mut Shrunk,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> ScanStep {
        let (dropped, next) = self.invalidate(file, index, cpu, phys);
        scan.invalidating = next.map(|index| (file, index));
        if next.is_none() {
            self.list_if_idle(file, phys);
        }
        shrunk.pages += dropped;
        ScanStep::Invalidated(dropped)
    }

    /// Decides about the dentry unused for longest: whether it goes.
    fn take_dentry(&mut self, node: usize, number: u32) -> bool {
        let fs = self.fs.as_mut().expect("its lists exist");
        let dentry = &mut fs.dentries[number as usize];
        if dentry.users > 0 {
            dentry.listed = false;
            fs.dentry_lru.remove(node, number);
        } else if dentry.referenced {
            dentry.referenced = false;
            fs.dentry_lru.rotate(node, number);
        } else {
            return true;
        }
        false
    }

    /// Decides about the inode unused for longest.
    fn inode_lru_isolate(&mut self, node: usize, number: u32, phys: &PhysMem) -> Verdict {
        let file = self.fs.as_ref().expect("its lists exist").inodes[number as usize].file;
        let is_kept = self.cache.content_keeps_inode(file, phys);
        let has_pages = self.cache.file(file).is_ok_and(|file| file.pages() > Pages::ZERO);
        let fs = self.fs.as_mut().expect("its lists exist");
        let inode = &mut fs.inodes[number as usize];
        if inode.dentry != NONE || is_kept {
            inode.listed = false;
            fs.inode_lru.remove(node, number);
            Verdict::Spared
        } else if inode.referenced {
            inode.referenced = false;
            fs.inode_lru.rotate(node, number);
            Verdict::Spared
        } else if has_pages {
            Verdict::Invalidate(file)
        } else {
            Verdict::Free
        }
    }
}

/// Fate of an inode that a scan meets.
enum Verdict {
    /// The inode is in use, or was used.
    Spared,
    /// The page cache of the inode goes first.
    Invalidate(FileId),
    /// The inode goes.
    Free,
}
