//! Kinds of filesystem: the memory that each takes for its files, beside their pages.
//!
//! Key types: [`Filesystem`], [`Companion`] (an object beside an inode), [`Buffers`] (blocks of metadata in memory). A kind is a
//! list of sizes and lifetimes; what happens to them is the same for all. Sources and measurements: docs/slab.md.

use crate::slab::CacheSpec;

/// Memory that a filesystem takes for its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filesystem {
    /// Inodes.
    pub inode: CacheSpec,
    /// Objects beside each inode.
    pub companions: &'static [Companion],
    /// Names that are too long for a dentry to hold.
    pub name: Option<CacheSpec>,
    /// Metadata in memory.
    pub buffers: Option<Buffers>,
}

/// An object that a filesystem keeps beside an inode: from some point of a file's life on until the inode is freed, or another object
/// takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Companion {
    /// Cache of the object.
    pub cache: CacheSpec,
    /// The stage that needs it first.
    pub since: Stage,
    /// The stage at which it is freed, if any.
    pub until: Option<Stage>,
}

/// Point of a file's life at which a filesystem takes memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The file is open: its inode and dentry are in memory.
    Open,
    /// The file was created: its inode goes into the log.
    Created,
    /// The file is written back: its data get a place on the disk, which goes into the log.
    Placed,
}

/// Blocks of metadata that a filesystem keeps in memory, in pages of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffers {
    /// The head of a buffer.
    pub head: CacheSpec,
    /// Inodes that lie in one buffer, in the order of their creation.
    pub inodes: u32,
    /// Pages of such a buffer; at most [`BUFFER_PAGES`].
    pub inode_pages: u8,
    /// Files until the directories and indexes need one more block, of one page.
    pub files_per_block: u32,
    /// Times that the shrinker passes a buffer over before it frees it.
    pub rounds: u8,
}

/// Pages that a buffer has at most.
pub const BUFFER_PAGES: usize = 4;

impl Filesystem {
    /// Inodes alone.
    #[must_use]
    pub const fn of_inodes(inode: CacheSpec) -> Self {
        Self { inode, companions: &[], name: None, buffers: None }
    }

    /// XFS with checksums and inodes of 512 bytes, the default of `mkfs.xfs` since 2015.
    pub const XFS: Self = Self {
        inode: CacheSpec::XFS_INODE,
        companions: &[
            // The log item of an inode lives as long as the inode.
            Companion { cache: CacheSpec::new("xfs_ili", 192, 0, false), since: Stage::Created, until: None },
            // What the log writes of it is copied into a buffer, which stays for the next time unless it is too small then.
            Companion {
                cache: CacheSpec::new("kmalloc-512", 512, 2, false),
                since: Stage::Created,
                until: Some(Stage::Placed),
            },
            Companion { cache: CacheSpec::new("kmalloc-1k", 1024, 3, false), since: Stage::Placed, until: None },
            // Where its only extent lies.
            Companion { cache: CacheSpec::new("kmalloc-16", 16, 0, false), since: Stage::Placed, until: None },
        ],
        name: Some(CacheSpec::new("kmalloc-rcl-64", 64, 0, true)),
        buffers: Some(Buffers {
            head: CacheSpec::new("xfs_buf", 384, 1, false),
            inodes: 32,
            inode_pages: 4,
            files_per_block: 56,
            rounds: 2,
        }),
    };
}

/// Inodes alone.
impl From<CacheSpec> for Filesystem {
    fn from(inode: CacheSpec) -> Self {
        Self::of_inodes(inode)
    }
}

const _: () = {
    let buffers = Filesystem::XFS.buffers.expect("XFS keeps its metadata in buffers");
    assert!(buffers.inode_pages as usize <= BUFFER_PAGES, "a buffer names its pages in place");
};
