//! Filesystem caches: dentries and inodes of the files of one filesystem, kept after use until a shrinker takes them.
//!
//! Key types: [`FileId`] (a file), [`Filesystem`] (what a kind of filesystem keeps), [`FsStep`] (how an open goes on), `FsScan` (one
//! batch of the superblock shrinker). A file that is open has its dentry in use; a dentry keeps its inode; both are objects of slab
//! caches, so that they pin pages. What a filesystem keeps beside an inode goes with it; its metadata are in buffers with a
//! shrinker of their own.
//! Pages of files are [`crate::page_cache`]'s, which also knows what keeps an inode in memory until it is written.
//! Directories, links and negative dentries are left out. Never reads or writes files. Behaviour and sources: docs/slab.md.

mod buffers;
mod check;
mod filesystem;
mod lru;
mod open;
mod parts;
mod scan;
#[cfg(test)]
pub(crate) mod tests;
#[cfg(test)]
mod xfs_tests;

use alloc::vec::Vec;
use core::fmt;

use order9_units::{NodeId, Pages};

use crate::page_cache::PageCache;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::slab::SlabMemory;

pub use filesystem::{BUFFER_PAGES, Buffers, Companion, Filesystem, Stage};
pub use open::FsStep;
pub use parts::FsNeed;
pub use scan::Shrunk;
pub(crate) use scan::{FsScan, ScanStep};

use buffers::BufferCache;
use lru::ObjectLru;
use parts::{Companions, Objects};

use crate::alloc_error::AllocError;
use crate::page_cache::{FileId, Home, PAGES_MAX};
use crate::policy::InodeCache;
use crate::slab::{CacheError, CacheId, CacheSpec, Object, SlabError};

/// Why something could not be done to a file; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsError {
    /// There is no filesystem.
    NotMounted,
    /// There is a filesystem already.
    Mounted,
    /// The cache of its inodes cannot be.
    Cache(CacheError),
    /// 2^28 files were made already.
    TooManyFiles,
    /// The file does not exist (any more).
    NoSuchFile(FileId),
    /// The file is not open.
    NotOpen(FileId),
    /// The file is open.
    Open(FileId),
    /// The file is open 65535 times.
    TooManyOpens(FileId),
    /// The inode of the file is not in memory.
    NotCached(FileId),
    /// The file has no page at this place.
    BeyondEnd(FileId, u64),
    /// A file of this size would be larger than 128 TiB.
    TooLarge(Pages),
    /// There is no object for it.
    Slab(SlabError),
    /// There is no page for a buffer.
    NoPage(AllocError),
}

/// Dentries and inodes of the filesystem.
#[derive(Clone)]
pub(crate) struct FsCache {
    dentry_cache: CacheId,
    inode_cache: CacheId,
    /// By object number.
    dentries: Vec<Dentry>,
    /// By object number.
    inodes: Vec<Inode>,
    dentry_lru: ObjectLru,
    inode_lru: ObjectLru,
    companions: Vec<Companions>,
    /// Names beside dentries, by the number of the inode.
    names: Option<(CacheId, Objects)>,
    buffers: Option<BufferCache>,
}

/// No object.
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
    file: FileId,
    dentry: u32,
    listed: bool,
    referenced: bool,
    /// The buffer of the inode is held for it.
    holds_buffer: bool,
}

const _: () = assert!(size_of::<Dentry>() + size_of::<Inode>() <= 20, "machines have millions of both");

impl FsCache {
    /// Dentries and inodes on the lists of a node.
    pub(crate) fn unused(&self, node: NodeId) -> (u64, u64) {
        (self.dentry_lru.len(node.index()), self.inode_lru.len(node.index()))
    }
}

impl UsedPages {
    /// Mounts the filesystem of the machine: creates the caches of dentries, of its inodes and of what it keeps beside them, and
    /// registers its shrinkers.
    pub(crate) fn mount(&mut self, kind: Filesystem, phys: &PhysMem) -> Result<(), FsError> {
        if self.fs.is_some() {
            return Err(FsError::Mounted);
        }
        let nodes = phys.frames.nodes().len();
        let mut cache = |spec| self.kmem_cache(spec, phys).map_err(FsError::Cache);
        let (inode_cache, dentry_cache) = (cache(kind.inode)?, cache(CacheSpec::DENTRY)?);
        let of_companions = |&spec: &Companion| Ok(Companions::new(spec, cache(spec.cache)?));
        let companions = kind.companions.iter().map(of_companions).collect::<Result<_, _>>()?;
        let names = kind.name.map(|spec| Ok((cache(spec)?, Objects::default()))).transpose()?;
        let of_buffers = |of: Buffers| Ok(BufferCache::new(of, cache(of.head)?, nodes));
        let buffers = kind.buffers.map(of_buffers).transpose()?;
        let has_buffers = buffers.is_some();
        self.fs = Some(alloc::boxed::Box::new(FsCache {
            dentry_cache,
            inode_cache,
            dentries: Vec::new(),
            inodes: Vec::new(),
            dentry_lru: ObjectLru::new(nodes),
            inode_lru: ObjectLru::new(nodes),
            companions,
            names,
            buffers,
        }));
        self.register_superblock_shrinker(phys);
        if has_buffers {
            self.register_buffer_shrinker(phys);
        }
        Ok(())
    }

    /// A file of `size` on disk, of which nothing is in memory yet. One that a program creates is dirty once it is open: see
    /// [`Mm::mark_inode_dirty`].
    pub(crate) fn fs_create(&mut self, size: Pages, phys: &PhysMem) -> Result<FileId, FsError> {
        self.fs.as_ref().ok_or(FsError::NotMounted)?;
        if size > PAGES_MAX {
            return Err(FsError::TooLarge(size));
        }
        let id = self.cache.files.create(size, Home::Disk).ok_or(FsError::TooManyFiles)?;
        self.rmap.make_room(phys.frames.table().len());
        Ok(id)
    }

    /// Whether a file has its inode, and its dentry, in memory; `None` if it does not exist.
    #[must_use]
    pub fn is_cached(&self, id: FileId) -> Option<(bool, bool)> {
        let inode = self.inode_of(id).ok()?;
        Some((inode.is_some(), inode.is_some_and(|(_, inode)| inode.dentry != NONE)))
    }

    /// Fails unless the inode of a file on disk is in memory.
    pub(crate) fn cached_inode(&self, id: FileId) -> Result<(), FsError> {
        self.inode_of(id)?.ok_or(FsError::NotCached(id))?;
        Ok(())
    }

    /// The cached inode of a file.
    fn inode_of(&self, id: FileId) -> Result<Option<(u32, Inode)>, FsError> {
        let fs = self.fs.as_ref().ok_or(FsError::NotMounted)?;
        let inode = self.cache.files.inode_of(id)?;
        Ok(inode.map(|number| (number, fs.inodes[number as usize])))
    }

    /// Lists the inode of a file, if it is cached and nothing keeps it (any more). One that is listed already has been
    /// used.
    fn list_if_idle(&mut self, id: FileId, phys: &PhysMem) {
        match self.inode_of(id) {
            Ok(Some((number, Inode { listed: true, dentry: NONE, .. }))) => {
                self.fs.as_mut().expect("it is mounted").inodes[number as usize].referenced = true;
            }
            _ => self.list_if_unlisted(id, phys),
        }
    }

    /// Lists the inode of a file, if it is cached, not listed yet, and nothing keeps it (any more).
    pub(crate) fn list_if_unlisted(&mut self, id: FileId, phys: &PhysMem) {
        let Ok(Some((number, Inode { listed: false, dentry: NONE, .. }))) = self.inode_of(id) else { return };
        if self.cache.content_keeps_inode(id, phys) {
            return;
        }
        let fs = self.fs.as_mut().expect("it is mounted");
        let inode = &mut fs.inodes[number as usize];
        (inode.listed, inode.referenced) = (true, false);
        let cache = &self.slab.caches[fs.inode_cache.index()];
        let node = cache.slab_of(number).expect("a cached inode lives").node;
        fs.inode_lru.push(node.into(), number);
    }
}

impl PageCache {
    /// Whether the inode of a file has to stay for what is dirty, or, since 5.16, for its pages.
    fn content_keeps_inode(&self, id: FileId, phys: &PhysMem) -> bool {
        let pages_keep = phys.policy.reclaim.inode_cache == InodeCache::KeepsInode;
        self.file(id).is_ok_and(|file| file.is_dirty() || pages_keep && file.pages() > Pages::ZERO)
    }
}

impl SlabMemory {
    /// Node of the memory of an object of the filesystem.
    fn node_of_object(&self, cache: CacheId, number: u32) -> usize {
        self.slab_of(Object { cache, number }).expect("a cached object lives").node.into()
    }
}

impl fmt::Display for FsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotMounted => f.write_str("there is no filesystem"),
            Self::Mounted => f.write_str("there is a filesystem already"),
            Self::Cache(error) => error.fmt(f),
            Self::TooManyFiles => f.write_str("2^28 files were made already"),
            Self::NoSuchFile(file) => write!(f, "there is no file {}", file.0),
            Self::NotOpen(file) => write!(f, "file {} is not open", file.0),
            Self::Open(file) => write!(f, "file {} is open", file.0),
            Self::TooManyOpens(file) => write!(f, "file {} is open 65535 times", file.0),
            Self::NotCached(file) => write!(f, "the inode of file {} is not in memory", file.0),
            Self::BeyondEnd(file, index) => write!(f, "file {} ends before its page {index}", file.0),
            Self::TooLarge(size) => write!(f, "a file of {size:?} is larger than 128 TiB"),
            Self::Slab(error) => error.fmt(f),
            Self::NoPage(error) => write!(f, "no page for a buffer: {error}"),
        }
    }
}

impl core::error::Error for FsError {}
