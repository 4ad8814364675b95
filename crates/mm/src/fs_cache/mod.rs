//! Filesystem caches: dentries and inodes of the files of one filesystem, kept after use until a shrinker takes them.
//!
//! Key types: [`Ino`] (a file), [`FsStep`] (how an open goes on), `FsScan` (one batch of the superblock shrinker). A file
//! that is open has its dentry in use; a dentry keeps its inode; both are objects of slab caches, so that they pin pages.
//! Page cache is another part's: it says how many pages an inode has and whether it is dirty, and drops pages where
//! [`crate::shrinker::ShrinkStep::Invalidate`] asks for it. Directories, links and negative dentries are left out. Never
//! reads or writes files. Behaviour and sources: docs/slab.md.

mod check;
mod lru;
mod open;
mod scan;
#[cfg(test)]
pub(crate) mod tests;

use alloc::vec::Vec;
use core::fmt;

use order9_units::NodeId;

pub use open::{FsNeed, FsStep};
pub use scan::Shrunk;
pub(crate) use scan::{FsScan, ScanStep};

use crate::Mm;
use crate::policy::InodeCache;
use crate::slab::{CacheError, CacheId, CacheSpec, Object, SlabError};
use crate::trace::Tracer;
use lru::ObjectLru;

/// A file of the filesystem, cached or not; the number is never given to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ino(pub u32);

/// Why something could not be done to a file; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsError {
    /// There is no filesystem.
    NotMounted,
    /// There is a filesystem already.
    Mounted,
    /// The cache of its inodes cannot be.
    Cache(CacheError),
    /// Nearly 2^32 files were made already.
    TooManyFiles,
    /// The file does not exist (any more).
    NoSuchFile(Ino),
    /// The file is not open.
    NotOpen(Ino),
    /// The file is open.
    Open(Ino),
    /// The file is open 65535 times.
    TooManyOpens(Ino),
    /// The file has page cache or is dirty.
    HasPages(Ino),
    /// The inode is not cached, or has fewer pages than are taken away.
    NoSuchPages(Ino),
    /// There is no object for it.
    Slab(SlabError),
}

/// Dentries and inodes of the filesystem.
#[derive(Clone)]
pub(crate) struct FsCache {
    pub(crate) dentry_cache: CacheId,
    pub(crate) inode_cache: CacheId,
    /// By object number.
    dentries: Vec<Dentry>,
    /// By object number.
    inodes: Vec<Inode>,
    dentry_lru: ObjectLru,
    inode_lru: ObjectLru,
    /// Inode of every file: its object, or one of the two values below.
    files: Vec<u32>,
}

/// The file exists, its inode is not cached.
const UNCACHED: u32 = u32::MAX;
/// The file is gone.
const GONE: u32 = u32::MAX - 1;
/// No dentry.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Dentry {
    inode: u32,
    /// Times the file is open.
    users: u16,
    listed: bool,
    referenced: bool,
}

#[derive(Clone, Copy)]
struct Inode {
    ino: Ino,
    /// Pages of its page cache.
    pages: u32,
    dentry: u32,
    dirty: bool,
    listed: bool,
    referenced: bool,
}

const _: () = assert!(size_of::<Dentry>() + size_of::<Inode>() <= 24, "machines have millions of both");

impl Inode {
    /// Nothing keeps it but its page cache.
    const fn is_idle(&self) -> bool {
        self.dentry == NONE && !self.dirty
    }
}

impl FsCache {
    /// The cached inode of a file.
    fn inode_of(&self, ino: Ino) -> Result<Option<u32>, FsError> {
        match self.files.get(ino.0 as usize) {
            None | Some(&GONE) => Err(FsError::NoSuchFile(ino)),
            Some(&UNCACHED) => Ok(None),
            Some(&inode) => Ok(Some(inode)),
        }
    }

    /// Dentries and inodes on the lists of a node.
    pub(crate) fn unused(&self, node: NodeId) -> (u64, u64) {
        (self.dentry_lru.len(node.index()), self.inode_lru.len(node.index()))
    }
}

impl<T: Tracer> Mm<T> {
    /// Mounts the filesystem of the machine: creates the cache of dentries and that of its inodes, and registers its
    /// shrinker.
    ///
    /// # Errors
    /// [`FsError::Mounted`] or [`FsError::Cache`].
    pub fn mount(&mut self, inodes: CacheSpec) -> Result<(), FsError> {
        if self.fs.is_some() {
            return Err(FsError::Mounted);
        }
        let inode_cache = self.kmem_cache_create(inodes).map_err(FsError::Cache)?;
        let dentry_cache = self.kmem_cache_create(CacheSpec::DENTRY).map_err(FsError::Cache)?;
        let nodes = self.nodes.len();
        self.fs = Some(alloc::boxed::Box::new(FsCache {
            dentry_cache,
            inode_cache,
            dentries: Vec::new(),
            inodes: Vec::new(),
            dentry_lru: ObjectLru::new(nodes),
            inode_lru: ObjectLru::new(nodes),
            files: Vec::new(),
        }));
        self.register_superblock_shrinker();
        Ok(())
    }

    /// A new file, of which nothing is cached yet.
    ///
    /// # Errors
    /// [`FsError::NotMounted`] or [`FsError::TooManyFiles`].
    pub fn fs_create(&mut self) -> Result<Ino, FsError> {
        let fs = self.fs.as_mut().ok_or(FsError::NotMounted)?;
        let ino = Ino(u32::try_from(fs.files.len()).ok().filter(|&ino| ino < GONE).ok_or(FsError::TooManyFiles)?);
        fs.files.push(UNCACHED);
        Ok(ino)
    }

    /// Says that the page cache of a file has `pages` more.
    ///
    /// # Errors
    /// [`FsError::NoSuchPages`] if the inode is not cached or would have 2^32 pages.
    pub fn inode_pages_added(&mut self, ino: Ino, pages: u32) -> Result<(), FsError> {
        let inode = self.cached_inode(ino)?;
        inode.pages = inode.pages.checked_add(pages).ok_or(FsError::NoSuchPages(ino))?;
        Ok(())
    }

    /// Says that the page cache of a file has `pages` fewer.
    ///
    /// # Errors
    /// [`FsError::NoSuchPages`] if it has not that many.
    pub fn inode_pages_removed(&mut self, ino: Ino, pages: u32) -> Result<(), FsError> {
        let inode = self.cached_inode(ino)?;
        inode.pages = inode.pages.checked_sub(pages).ok_or(FsError::NoSuchPages(ino))?;
        if inode.pages == 0 && self.policy.reclaim.inode_cache == InodeCache::KeepsInode {
            self.list_if_idle(ino);
        }
        Ok(())
    }

    /// Says whether a file has data to be written back, or being written back.
    ///
    /// # Errors
    /// [`FsError::NoSuchPages`] if the inode is not cached.
    pub fn set_inode_dirty(&mut self, ino: Ino, dirty: bool) -> Result<(), FsError> {
        self.cached_inode(ino)?.dirty = dirty;
        if !dirty {
            self.list_if_idle(ino);
        }
        Ok(())
    }

    /// Whether a file has its inode, and its dentry, in memory; `None` if it does not exist.
    #[must_use]
    pub fn is_cached(&self, ino: Ino) -> Option<(bool, bool)> {
        let fs = self.fs.as_ref()?;
        let inode = fs.inode_of(ino).ok()?.map(|inode| fs.inodes[inode as usize]);
        Some((inode.is_some(), inode.is_some_and(|inode| inode.dentry != NONE)))
    }

    fn cached_inode(&mut self, ino: Ino) -> Result<&mut Inode, FsError> {
        let fs = self.fs.as_mut().ok_or(FsError::NotMounted)?;
        let inode = fs.inode_of(ino)?.ok_or(FsError::NoSuchPages(ino))?;
        Ok(&mut fs.inodes[inode as usize])
    }

    /// Lists the inode of a file, if it is cached and nothing keeps it (any more). One that is listed already has been
    /// used.
    fn list_if_idle(&mut self, ino: Ino) {
        let Some(fs) = self.fs.as_mut() else { return };
        let Ok(Some(number)) = fs.inode_of(ino) else { return };
        let inode = &mut fs.inodes[number as usize];
        let waits_for_pages = inode.pages > 0 && self.policy.reclaim.inode_cache == InodeCache::KeepsInode;
        if !inode.is_idle() || waits_for_pages {
            return;
        }
        if inode.listed {
            inode.referenced = true;
            return;
        }
        (inode.listed, inode.referenced) = (true, false);
        let cache = &self.slab.caches[fs.inode_cache.index()];
        let node = cache.slab_of(number).expect("a cached inode lives").node;
        fs.inode_lru.push(node.into(), number);
    }

    /// Node of the memory of an object of the filesystem.
    fn node_of_object(&self, cache: CacheId, number: u32) -> usize {
        self.slab.slab_of(Object { cache, number }).expect("a cached object lives").node.into()
    }
}

impl fmt::Display for FsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMounted => f.write_str("there is no filesystem"),
            Self::Mounted => f.write_str("there is a filesystem already"),
            Self::Cache(error) => error.fmt(f),
            Self::TooManyFiles => f.write_str("nearly 2^32 files were made already"),
            Self::NoSuchFile(Ino(ino)) => write!(f, "there is no file {ino}"),
            Self::NotOpen(Ino(ino)) => write!(f, "file {ino} is not open"),
            Self::Open(Ino(ino)) => write!(f, "file {ino} is open"),
            Self::TooManyOpens(Ino(ino)) => write!(f, "file {ino} is open 65535 times"),
            Self::HasPages(Ino(ino)) => write!(f, "file {ino} has page cache or is dirty"),
            Self::NoSuchPages(Ino(ino)) => write!(f, "file {ino} has no inode, or not as many pages, in memory"),
            Self::Slab(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for FsError {}
