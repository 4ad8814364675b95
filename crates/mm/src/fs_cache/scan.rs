//! One batch of the superblock shrinker: unused dentries first, since a dentry keeps its inode, then unused inodes.

use order9_units::NodeId;

use super::{FsCache, Ino};
use crate::Mm;
use crate::policy::InodeCache;
use crate::trace::Tracer;

/// A batch under way: how many more dentries and inodes it looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FsScan {
    pub(super) node: NodeId,
    pub(super) dentries: u64,
    pub(super) inodes: u64,
}

/// What part of a batch came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScanStep {
    /// The batch is done.
    Done,
    /// Drop the clean, unmapped pages of this file, and say how many they were.
    Invalidate(Ino),
}

/// What scanning freed.
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
        FsScan { node, dentries: share(dentries), inodes: share(inodes) }
    }
}

impl<T: Tracer> Mm<T> {
    /// Goes on with a batch until it is done or needs pages dropped, on behalf of `cpu`.
    pub(crate) fn fs_scan(&mut self, scan: &mut FsScan, shrunk: &mut Shrunk, cpu: usize) -> ScanStep {
        let node = scan.node.index();
        while scan.dentries > 0 {
            let Some(first) = self.fs.as_ref().and_then(|fs| fs.dentry_lru.first(node)) else { break };
            scan.dentries -= 1;
            self.work.slab_objects_scanned += 1;
            if self.take_dentry(node, first) {
                shrunk.pages += self.free_dentry(first, cpu);
                shrunk.objects += 1;
            }
        }
        scan.dentries = 0;
        while scan.inodes > 0 {
            let Some(first) = self.fs.as_ref().and_then(|fs| fs.inode_lru.first(node)) else { break };
            scan.inodes -= 1;
            self.work.slab_objects_scanned += 1;
            match self.judge_inode(node, first) {
                Verdict::Spared => {}
                Verdict::Invalidate(ino) => return ScanStep::Invalidate(ino),
                Verdict::Free => {
                    shrunk.pages += self.free_inode(first, cpu);
                    shrunk.objects += 1;
                }
            }
        }
        ScanStep::Done
    }

    /// Marks an inode whose pages were dropped as used: it takes another visit to free it.
    pub(crate) fn invalidated(&mut self, ino: Ino) {
        self.list_if_idle(ino);
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
    fn judge_inode(&mut self, node: usize, number: u32) -> Verdict {
        let keeps = self.policy.reclaim.inode_cache == InodeCache::KeepsInode;
        let fs = self.fs.as_mut().expect("its lists exist");
        let inode = &mut fs.inodes[number as usize];
        if !inode.is_idle() || keeps && inode.pages > 0 {
            inode.listed = false;
            fs.inode_lru.remove(node, number);
            Verdict::Spared
        } else if inode.referenced {
            inode.referenced = false;
            fs.inode_lru.rotate(node, number);
            Verdict::Spared
        } else if inode.pages > 0 {
            Verdict::Invalidate(inode.ino)
        } else {
            Verdict::Free
        }
    }
}

/// What becomes of an inode that a scan meets.
enum Verdict {
    /// It is in use, or was used.
    Spared,
    /// Its page cache goes first.
    Invalidate(Ino),
    /// It goes.
    Free,
}
