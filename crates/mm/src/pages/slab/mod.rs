//! Slab caches: kernel objects in pages that return to the buddy allocator only with their last object.
//!
//! Key types: [`CacheSpec`] (what a cache holds), [`Object`] (one object), [`ObjectStep`] (how an allocation goes on),
//! `KmemCache` (slabs and live objects of one cache). An object costs a bit here, and a slab twenty bytes; what an
//! object means is kept by its owner, under the object's number. An allocation that finds no room says which pages it
//! needs; the caller allocates them, which may take a while, and hands them in. Objects per slab decide what shrinking is
//! worth: if a random share f of O objects per slab is freed, f^O of the slabs are. Per-CPU slabs are left out: the first
//! slab with room serves. Behaviour and sources: docs/slab.md.

mod alloc;
mod bits;
mod blocks;
mod cache;
mod check;
#[cfg(test)]
pub(crate) mod tests;

use ::alloc::vec::Vec;
use core::fmt;

use order9_units::{Bytes, Order};

pub use self::alloc::{NewSlab, ObjectStep, SlabCacheUse};
use crate::alloc_error::AllocError;
pub(crate) use blocks::SlabBlocks;
pub(crate) use cache::{KmemCache, Slab};

/// Kind of object that a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSpec {
    /// Name in /proc/slabinfo.
    pub name: &'static str,
    /// Size of an object, its alignment and bookkeeping included.
    pub object_size: Bytes,
    /// Preferred order of its slabs.
    pub order: Order,
    /// A shrinker can free the objects: their pages are Reclaimable (`SLAB_RECLAIM_ACCOUNT`), otherwise Unmovable.
    pub reclaimable: bool,
}

impl CacheSpec {
    /// A cache whose slabs have this order, which is at most 3, as SLUB's have by default.
    pub(crate) const fn new(name: &'static str, object_size: u64, order: u8, reclaimable: bool) -> Self {
        let order = Order::new(order).expect("slabs have at most order 3");
        Self { name, object_size: Bytes::new(object_size), order, reclaimable }
    }

    /// Directory entries of all filesystems.
    pub const DENTRY: Self = Self::new("dentry", 192, 0, true);
    /// Nodes of the trees that keep the pages of files.
    pub const RADIX_TREE_NODE: Self = Self::new("radix_tree_node", 584, 2, true);
    /// Inodes of ext4: about 1080 bytes, by configuration.
    pub const EXT4_INODE: Self = Self::new("ext4_inode_cache", 1080, 3, true);
    /// Inodes of XFS: about 1 KiB, by configuration.
    pub const XFS_INODE: Self = Self::new("xfs_inode", 1024, 3, true);
}

/// A cache; the number is never given to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CacheId(pub u16);

impl CacheId {
    /// The number, counted from 0 in the order of creation.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One object. The number of a freed object is given to a later one of the same cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Object {
    /// Cache of the object.
    pub cache: CacheId,
    /// Number of the object in its cache.
    pub number: u32,
}

/// Why there is no such cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheError {
    /// Objects without size, or larger than the largest block.
    Size(CacheSpec),
    /// The preferred order holds no object, or more than 32767.
    Order(CacheSpec),
    /// 65536 caches exist.
    TooMany,
}

/// Why an object was not allocated or freed; nothing has changed then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlabError {
    /// No such cache.
    NoSuchCache(CacheId),
    /// The object does not live.
    NotLive(Object),
    /// There is no memory for another slab.
    NoPage(AllocError),
}

/// Frames of slabs, by node: `nr_slab_reclaimable` and `nr_slab_unreclaimable`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlabLevels {
    /// Of caches that a shrinker can free.
    pub reclaimable: u64,
    /// Of all others.
    pub unreclaimable: u64,
}

impl SlabLevels {
    const fn of_mut(&mut self, spec: &CacheSpec) -> &mut u64 {
        if spec.reclaimable { &mut self.reclaimable } else { &mut self.unreclaimable }
    }
}

/// All slab caches of a machine.
#[derive(Clone)]
pub struct SlabMemory {
    pub(crate) caches: Vec<KmemCache>,
    /// By node.
    pub(crate) levels: Vec<SlabLevels>,
    pub(crate) blocks: SlabBlocks,
}

impl SlabMemory {
    pub(crate) fn new(nodes: usize, blocks: usize) -> Self {
        let levels = ::alloc::vec![SlabLevels::default(); nodes];
        Self { caches: Vec::new(), levels, blocks: SlabBlocks::new(blocks) }
    }

    pub(crate) fn cache(&self, id: CacheId) -> Result<&KmemCache, SlabError> {
        self.caches.get(id.index()).ok_or(SlabError::NoSuchCache(id))
    }

    /// The slab that holds a live object.
    pub(crate) fn slab_of(&self, object: Object) -> Result<&Slab, SlabError> {
        self.cache(object.cache)?.slab_of(object.number).ok_or(SlabError::NotLive(object))
    }

    pub(crate) fn total(&self) -> SlabLevels {
        self.levels.iter().fold(SlabLevels::default(), |sum, node| SlabLevels {
            reclaimable: sum.reclaimable + node.reclaimable,
            unreclaimable: sum.unreclaimable + node.unreclaimable,
        })
    }

    /// Bytes of metadata on the host.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.bytes() + self.caches.iter().map(KmemCache::bytes).sum::<usize>()
    }
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size(spec) => {
                write!(f, "cache {}: objects of {:?} do not fit any block", spec.name, spec.object_size)
            }
            Self::Order(spec) => {
                write!(f, "cache {}: a slab of {:?} holds no object or more than 32767", spec.name, spec.order)
            }
            Self::TooMany => f.write_str("there are 65536 slab caches already"),
        }
    }
}

impl core::error::Error for CacheError {}

impl fmt::Display for SlabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchCache(id) => write!(f, "there is no slab cache {}", id.0),
            Self::NotLive(object) => {
                write!(f, "object {} of slab cache {} does not live", object.number, object.cache.0)
            }
            Self::NoPage(error) => write!(f, "no memory for a slab: {error}"),
        }
    }
}

impl core::error::Error for SlabError {}
