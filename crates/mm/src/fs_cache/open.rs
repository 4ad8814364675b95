//! Files are opened, which caches their inode and dentry, closed, which leaves both cached, and removed.

use order9_units::Pfn;

use super::{Dentry, FsCache, FsError, GONE, Ino, Inode, NONE, UNCACHED};
use crate::Mm;
use crate::page_alloc::{AllocError, Request};
use crate::slab::{NewSlab, Object, ObjectStep};
use crate::trace::Tracer;

/// How the opening of a file goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsStep {
    /// The file is open.
    Done {
        /// Its inode was not in memory: an existing file's has to be read.
        inode_missed: bool,
    },
    /// Allocate [`FsNeed::request`] and pass the answer to [`Mm::fs_open_give`].
    NeedPage(FsNeed),
    /// It failed; an inode that was cached on the way stays so.
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
    ino: Ino,
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

impl<T: Tracer> Mm<T> {
    /// Opens a file: its inode and dentry are cached and in use then. `asked` says how memory for them is allocated.
    pub fn fs_open(&mut self, ino: Ino, asked: &Request) -> FsStep {
        self.go_on_open(Opening { ino, asked: *asked, inode_missed: false })
    }

    /// Hands in what the allocation of [`FsNeed::request`] came to.
    ///
    /// # Panics
    /// If the page is not a block of that order that was just allocated.
    pub fn fs_open_give(&mut self, need: &FsNeed, answer: Result<Pfn, AllocError>) -> FsStep {
        let step = self.kmem_cache_give(&need.slab, answer);
        self.take_object(need.opening, step)
    }

    /// Opens a file with pages straight from the fast path; where that fails, the slow path has to find what is needed.
    pub fn fs_open_fast(&mut self, ino: Ino, asked: &Request) -> FsStep {
        let mut step = self.fs_open(ino, asked);
        while let FsStep::NeedPage(need) = step {
            match self.alloc_fast(&need.request()) {
                Err(AllocError::NoneAboveWatermark) if need.slab.is_last_try() => break,
                answer => step = self.fs_open_give(&need, answer),
            }
        }
        step
    }

    /// Closes a file that is open. After the last close its dentry is unused: listed, or marked as used since it was.
    ///
    /// # Errors
    /// [`FsError::NotOpen`], [`FsError::NoSuchFile`] or [`FsError::NotMounted`].
    pub fn fs_close(&mut self, ino: Ino) -> Result<(), FsError> {
        let fs = self.fs.as_mut().ok_or(FsError::NotMounted)?;
        let number = fs.dentry_of(ino)?.filter(|&dentry| fs.dentries[dentry as usize].users > 0);
        let number = number.ok_or(FsError::NotOpen(ino))?;
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
        let node = self.node_of_object(cache, number);
        self.fs.as_mut().expect("it is mounted").dentry_lru.push(node, number);
        Ok(())
    }

    /// Removes a file that is not open and has no page cache, on behalf of `cpu`: its inode and dentry are freed.
    ///
    /// # Errors
    /// [`FsError::Open`], [`FsError::HasPages`], [`FsError::NoSuchFile`] or [`FsError::NotMounted`].
    pub fn fs_unlink(&mut self, ino: Ino, cpu: usize) -> Result<(), FsError> {
        let fs = self.fs.as_ref().ok_or(FsError::NotMounted)?;
        let dentry = fs.dentry_of(ino)?;
        if dentry.is_some_and(|dentry| fs.dentries[dentry as usize].users > 0) {
            return Err(FsError::Open(ino));
        }
        let inode = fs.inode_of(ino)?;
        if inode.map(|inode| fs.inodes[inode as usize]).is_some_and(|inode| inode.pages > 0 || inode.dirty) {
            return Err(FsError::HasPages(ino));
        }
        if let Some(dentry) = dentry {
            self.free_dentry(dentry, cpu);
        }
        if let Some(inode) = inode {
            self.free_inode(inode, cpu);
        }
        self.fs.as_mut().expect("it is mounted").files[ino.0 as usize] = GONE;
        Ok(())
    }

    /// Frees an unused dentry; its inode stays, listed if nothing else keeps it. Returns the frames that went back.
    pub(super) fn free_dentry(&mut self, number: u32, cpu: usize) -> u64 {
        let fs = self.fs.as_mut().expect("it is mounted");
        let (cache, Dentry { inode, listed, .. }) = (fs.dentry_cache, fs.dentries[number as usize]);
        fs.inodes[inode as usize].dentry = NONE;
        let ino = fs.inodes[inode as usize].ino;
        if listed {
            let node = self.node_of_object(cache, number);
            self.fs.as_mut().expect("it is mounted").dentry_lru.remove(node, number);
        }
        self.list_if_idle(ino);
        self.kmem_cache_free(Object { cache, number }, cpu).expect("a cached dentry lives")
    }

    /// Frees an inode without dentry and pages. Returns the frames that went back.
    pub(super) fn free_inode(&mut self, number: u32, cpu: usize) -> u64 {
        let fs = self.fs.as_mut().expect("it is mounted");
        let (cache, Inode { ino, listed, .. }) = (fs.inode_cache, fs.inodes[number as usize]);
        fs.files[ino.0 as usize] = UNCACHED;
        if listed {
            let node = self.node_of_object(cache, number);
            self.fs.as_mut().expect("it is mounted").inode_lru.remove(node, number);
        }
        self.kmem_cache_free(Object { cache, number }, cpu).expect("a cached inode lives")
    }

    /// Caches what is missing, the inode first, and takes the dentry into use.
    fn go_on_open(&mut self, mut opening: Opening) -> FsStep {
        let Some(fs) = self.fs.as_mut() else { return FsStep::Failed(FsError::NotMounted) };
        let inode = match fs.inode_of(opening.ino) {
            Err(error) => return FsStep::Failed(error),
            Ok(inode) => inode,
        };
        let Some(inode) = inode else {
            opening.inode_missed = true;
            let cache = fs.inode_cache;
            let step = self.kmem_cache_alloc(cache, &opening.asked);
            return self.take_object(opening, step);
        };
        let dentry = fs.inodes[inode as usize].dentry;
        if dentry == NONE {
            let cache = fs.dentry_cache;
            let step = self.kmem_cache_alloc(cache, &opening.asked);
            return self.take_object(opening, step);
        }
        let users = &mut fs.dentries[dentry as usize].users;
        match users.checked_add(1) {
            Some(more) => *users = more,
            None => return FsStep::Failed(FsError::TooManyOpens(opening.ino)),
        }
        FsStep::Done { inode_missed: opening.inode_missed }
    }

    /// Makes an object the file's inode or dentry and goes on. While the caller waited for its page, another task may have
    /// cached the same, or removed the file: the object is freed again then.
    fn take_object(&mut self, opening: Opening, step: ObjectStep) -> FsStep {
        let object = match step {
            ObjectStep::Done(object) => object,
            ObjectStep::NeedPage(slab) => return FsStep::NeedPage(FsNeed { opening, slab }),
            ObjectStep::Failed(error) => {
                self.list_if_idle(opening.ino); // Its inode, if only the dentry is missing.
                return FsStep::Failed(FsError::Slab(error));
            }
        };
        let fs = self.fs.as_mut().expect("it is mounted");
        let used = if object.cache == fs.inode_cache {
            fs.cache_inode(opening.ino, object.number)
        } else {
            fs.cache_dentry(opening.ino, object.number)
        };
        if !used {
            self.kmem_cache_free(object, opening.asked.cpu).expect("the object was just allocated");
        }
        self.go_on_open(opening)
    }
}

impl FsCache {
    fn dentry_of(&self, ino: Ino) -> Result<Option<u32>, FsError> {
        let dentry = self.inode_of(ino)?.map(|inode| self.inodes[inode as usize].dentry);
        Ok(dentry.filter(|&dentry| dentry != NONE))
    }

    /// Makes object `number` the inode of `ino`, if that has none; says whether it was used.
    fn cache_inode(&mut self, ino: Ino, number: u32) -> bool {
        if self.inode_of(ino) != Ok(None) {
            return false;
        }
        let inode = Inode { ino, pages: 0, dentry: NONE, dirty: false, listed: false, referenced: false };
        if self.inodes.len() <= number as usize {
            self.inodes.resize(number as usize + 1, inode);
        }
        self.inodes[number as usize] = inode;
        self.files[ino.0 as usize] = number;
        true
    }

    /// Makes object `number` the dentry of `ino`, if its inode is cached and has none; says whether it was used.
    fn cache_dentry(&mut self, ino: Ino, number: u32) -> bool {
        let Ok(Some(inode)) = self.inode_of(ino) else { return false };
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
