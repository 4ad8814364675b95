//! Files are opened, which caches their inode and dentry, closed, which leaves both cached, and removed.

use order9_frames::Request;

use super::filesystem::Stage;
use super::parts::{FsNeed, Goal};
use super::{Dentry, FsError, Inode, NONE};
use crate::alloc_error::AllocError;
use crate::page_cache::FileId;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::slab::Object;

/// Next step of the opening of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsStep {
    /// The file is open.
    Done {
        /// The inode was not in memory: an existing file's has to be read.
        inode_missed: bool,
    },
    /// Allocate [`FsNeed::request`] and pass the answer to `UsedPages::fs_open_give`.
    NeedPage(FsNeed),
    /// The opening failed; an inode that was cached on the way stays so.
    Failed(FsError),
}

impl UsedPages {
    /// Opens a file: its inode and dentry are cached and in use then. `asked` says how memory for them is allocated.
    pub fn fs_open(&mut self, id: FileId, asked: &Request, phys: &mut PhysMem) -> FsStep {
        self.fs_bring(id, Stage::Open, asked, phys)
    }

    /// Takes what the filesystem keeps of a file from a stage of its life on. A file whose inode is not in memory needs no more than
    /// to be opened.
    pub fn fs_bring(&mut self, id: FileId, stage: Stage, asked: &Request, phys: &mut PhysMem) -> FsStep {
        self.go_on(Goal { file: id, stage, asked: *asked, inode_missed: false }, phys)
    }

    /// Does the same with pages straight from the fast path; where that fails, the slow path has to find what is needed.
    pub(crate) fn fs_bring_fast(&mut self, id: FileId, stage: Stage, asked: &Request, phys: &mut PhysMem) -> FsStep {
        let mut step = self.fs_bring(id, stage, asked, phys);
        while let FsStep::NeedPage(need) = step {
            match self.alloc_fast(&need.request(), phys) {
                Err(AllocError::NoneAboveWatermark) if need.is_last_try() => break,
                answer => step = self.fs_open_give(&need, answer, phys),
            }
        }
        step
    }

    /// Closes a file that is open. After the last close its dentry is unused: listed, or marked as used since it was.
    ///
    /// # Errors
    /// [`FsError::NotOpen`], [`FsError::NoSuchFile`] or [`FsError::NotMounted`].
    pub fn fs_close(&mut self, id: FileId) -> Result<(), FsError> {
        let fs = self.fs.as_mut().ok_or(FsError::NotMounted)?;
        let number = fs.dentry_of(&self.cache.files, id)?.filter(|&dentry| fs.dentries[dentry as usize].users > 0);
        let number = number.ok_or(FsError::NotOpen(id))?;
        let dentry = &mut fs.dentries[number as usize];
        dentry.users -= 1;
        if dentry.users > 0 {
            return Ok(());
        }
        if dentry.listed {
            dentry.referenced = true;
            return Ok(());
        }
        (dentry.listed, dentry.referenced) = (true, false);
        let cache = fs.dentry_cache;
        let node = self.slab.node_of_object(cache, number);
        self.fs.as_mut().expect("it is mounted").dentry_lru.push(node, number);
        Ok(())
    }

    /// Removes a file that is not open or mapped, on behalf of `cpu`: its pages, inode and dentry are freed; what was to be
    /// written no longer is. What is being read or written stays allocated until that ends.
    pub(crate) fn fs_unlink(&mut self, id: FileId, cpu: usize, phys: &mut PhysMem) -> Result<(), FsError> {
        let inode = self.inode_of(id)?;
        if self.is_open_on_disk(id) {
            return Err(FsError::Open(id));
        }
        self.evict(id, 0, u64::MAX, cpu, phys);
        self.cache.forget_dirt(id);
        if let Some((number, Inode { dentry, .. })) = inode {
            if dentry != NONE {
                self.free_dentry(dentry, cpu, phys);
            }
            self.free_inode(number, cpu, phys);
        }
        self.cache.files.remove(id);
        Ok(())
    }

    /// Whether a file on disk is open, or mapped.
    pub(crate) fn is_open_on_disk(&self, id: FileId) -> bool {
        let dentry =
            self.fs.as_ref().and_then(|fs| Some(&fs.dentries[fs.dentry_of(&self.cache.files, id).ok()?? as usize]));
        dentry.is_some_and(|dentry| dentry.users > 0)
    }

    /// A file is being mapped: one on disk stays open while it has mappings.
    pub(crate) fn open_by_mappings(&mut self, id: FileId) {
        let Some(fs) = self.fs.as_mut() else { return };
        if let Ok(Some(dentry)) = fs.dentry_of(&self.cache.files, id)
            && self.cache.files.ensure(id).set_open_by_mappings(true)
        {
            fs.dentries[dentry as usize].users += 1;
        }
    }

    /// The last mapping of a file on disk is gone.
    pub(crate) fn close_by_mappings(&mut self, id: FileId, phys: &PhysMem) {
        if self.cache.file_mut(id).set_open_by_mappings(false) {
            self.fs_close(id).expect("mappings hold the file open");
        }
        self.settle_file(id, phys);
    }

    /// Frees an unused dentry; its inode stays, listed if nothing else keeps it. Returns the frames that went back.
    pub(super) fn free_dentry(&mut self, number: u32, cpu: usize, phys: &mut PhysMem) -> u64 {
        let fs = self.fs.as_mut().expect("it is mounted");
        let (cache, Dentry { inode, listed, .. }) = (fs.dentry_cache, fs.dentries[number as usize]);
        fs.inodes[inode as usize].dentry = NONE;
        let id = fs.inodes[inode as usize].file;
        if listed {
            let node = self.slab.node_of_object(cache, number);
            self.fs.as_mut().expect("it is mounted").dentry_lru.remove(node, number);
        }
        self.list_if_idle(id, phys);
        let name = self.free_name(inode, cpu, phys);
        name + self.kmem_cache_free(Object { cache, number }, cpu, phys).expect("a cached dentry lives")
    }

    /// Frees an inode without dentry, pages and anything to write; shadows go with it. Returns the frames that went back.
    pub(super) fn free_inode(&mut self, number: u32, cpu: usize, phys: &mut PhysMem) -> u64 {
        let fs = self.fs.as_ref().expect("it is mounted");
        let (cache, Inode { file, listed, .. }) = (fs.inode_cache, fs.inodes[number as usize]);
        self.release_buffer(file);
        let beside = self.free_name(number, cpu, phys) + self.free_companions(number, None, cpu, phys);
        self.cache.files.set_inode(file, None);
        self.cache.files.drop_file(file);
        self.free_tree_nodes(cpu, phys);
        if listed {
            let node = self.slab.node_of_object(cache, number);
            self.fs.as_mut().expect("it is mounted").inode_lru.remove(node, number);
        }
        beside + self.kmem_cache_free(Object { cache, number }, cpu, phys).expect("a cached inode lives")
    }
}
