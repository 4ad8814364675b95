//! Files are opened, which caches their inode and dentry, closed, which leaves both cached, and removed.

use order9_frames::Request;
use order9_units::Pfn;

use super::{Dentry, FsCache, FsError, Inode, NONE};
use crate::alloc_error::AllocError;
use crate::page_cache::{FileId, FileTable};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::slab::{NewSlab, Object, ObjectStep};

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

/// An opening that waits for pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsNeed {
    opening: Opening,
    slab: NewSlab,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opening {
    file: FileId,
    asked: Request,
    inode_missed: bool,
}

impl FsNeed {
    /// The allocation to make.
    #[must_use]
    pub fn request(&self) -> Request {
        self.slab.request()
    }
}

impl UsedPages {
    /// Opens a file: its inode and dentry are cached and in use then. `asked` says how memory for them is allocated.
    pub fn fs_open(&mut self, id: FileId, asked: &Request, phys: &mut PhysMem) -> FsStep {
        self.go_on_open(Opening { file: id, asked: *asked, inode_missed: false }, phys)
    }

    /// Hands in what the allocation of [`FsNeed::request`] came to.
    ///
    /// # Panics
    /// If the page is not a block of that order that was just allocated.
    pub fn fs_open_give(&mut self, need: &FsNeed, answer: Result<Pfn, AllocError>, phys: &mut PhysMem) -> FsStep {
        let step = self.kmem_cache_give(&need.slab, answer, phys);
        self.take_object(need.opening, step, phys)
    }

    /// Opens a file with pages straight from the fast path; where that fails, the slow path has to find what is needed.
    pub(crate) fn fs_open_fast(&mut self, id: FileId, asked: &Request, phys: &mut PhysMem) -> FsStep {
        let mut step = self.fs_open(id, asked, phys);
        while let FsStep::NeedPage(need) = step {
            match self.alloc_fast(&need.request(), phys) {
                Err(AllocError::NoneAboveWatermark) if need.slab.is_last_try() => break,
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
        self.kmem_cache_free(Object { cache, number }, cpu, phys).expect("a cached dentry lives")
    }

    /// Frees an inode without dentry, pages and anything to write; shadows go with it. Returns the frames that went back.
    pub(super) fn free_inode(&mut self, number: u32, cpu: usize, phys: &mut PhysMem) -> u64 {
        let fs = self.fs.as_mut().expect("it is mounted");
        let (cache, Inode { file, listed, .. }) = (fs.inode_cache, fs.inodes[number as usize]);
        self.cache.files.set_inode(file, None);
        self.cache.files.drop_file(file);
        if listed {
            let node = self.slab.node_of_object(cache, number);
            self.fs.as_mut().expect("it is mounted").inode_lru.remove(node, number);
        }
        self.kmem_cache_free(Object { cache, number }, cpu, phys).expect("a cached inode lives")
    }

    /// Caches what is missing, the inode first, and takes the dentry into use.
    fn go_on_open(&mut self, mut opening: Opening, phys: &mut PhysMem) -> FsStep {
        let inode = match self.inode_of(opening.file) {
            Err(error) => return FsStep::Failed(error),
            Ok(inode) => inode,
        };
        let fs = self.fs.as_mut().expect("it is mounted");
        let Some((_, Inode { dentry, .. })) = inode else {
            opening.inode_missed = true;
            let cache = fs.inode_cache;
            let step = self.slab.kmem_cache_alloc(cache, &opening.asked, phys);
            return self.take_object(opening, step, phys);
        };
        if dentry == NONE {
            let cache = fs.dentry_cache;
            let step = self.slab.kmem_cache_alloc(cache, &opening.asked, phys);
            return self.take_object(opening, step, phys);
        }
        let users = &mut fs.dentries[dentry as usize].users;
        match users.checked_add(1) {
            Some(more) => *users = more,
            None => return FsStep::Failed(FsError::TooManyOpens(opening.file)),
        }
        FsStep::Done { inode_missed: opening.inode_missed }
    }

    /// Makes an object the file's inode or dentry and goes on. While the caller waited for its page, another task may have
    /// cached the same, or removed the file: the object is freed again then.
    fn take_object(&mut self, opening: Opening, step: ObjectStep, phys: &mut PhysMem) -> FsStep {
        let object = match step {
            ObjectStep::Done(object) => object,
            ObjectStep::NeedPage(slab) => return FsStep::NeedPage(FsNeed { opening, slab }),
            ObjectStep::Failed(error) => {
                self.list_if_idle(opening.file, phys); // Its inode, if only the dentry is missing.
                return FsStep::Failed(FsError::Slab(error));
            }
        };
        let fs = self.fs.as_mut().expect("it is mounted");
        let used = if object.cache == fs.inode_cache {
            fs.cache_inode(&mut self.cache.files, opening.file, object.number)
        } else {
            fs.cache_dentry(&self.cache.files, opening.file, object.number)
        };
        if !used {
            self.kmem_cache_free(object, opening.asked.cpu, phys).expect("the object was just allocated");
        }
        self.go_on_open(opening, phys)
    }
}

impl FsCache {
    fn dentry_of(&self, files: &FileTable, id: FileId) -> Result<Option<u32>, FsError> {
        let dentry = files.inode_of(id)?.map(|inode| self.inodes[inode as usize].dentry);
        Ok(dentry.filter(|&dentry| dentry != NONE))
    }

    /// Makes object `number` the inode of `id`, if that has none; says whether it was used.
    fn cache_inode(&mut self, files: &mut FileTable, id: FileId, number: u32) -> bool {
        if files.inode_of(id) != Ok(None) {
            return false;
        }
        let inode = Inode { file: id, dentry: NONE, listed: false, referenced: false };
        if self.inodes.len() <= number as usize {
            self.inodes.resize(number as usize + 1, inode);
        }
        self.inodes[number as usize] = inode;
        files.set_inode(id, Some(number));
        true
    }

    /// Makes object `number` the dentry of `id`, if its inode is cached and has none; says whether it was used.
    fn cache_dentry(&mut self, files: &FileTable, id: FileId, number: u32) -> bool {
        let Ok(Some(inode)) = files.inode_of(id) else { return false };
        if self.inodes[inode as usize].dentry != NONE {
            return false;
        }
        let dentry = Dentry { inode, users: 0, listed: false, referenced: false };
        if self.dentries.len() <= number as usize {
            self.dentries.resize(number as usize + 1, dentry);
        }
        self.dentries[number as usize] = dentry;
        self.inodes[inode as usize].dentry = number;
        true
    }
}
