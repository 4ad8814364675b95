//! Mounts of tmpfs, as [`Sys`](crate::Sys) has them.

use order9_units::Pages;

/// A mount of tmpfs, by a number of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mount(pub u16);

/// What statfs(2) says of a mount: what `df` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statfs {
    /// `f_blocks`: pages that all files may hold; 0 where there is no limit.
    pub blocks: Pages,
    /// `f_bfree`: those of them that they do not.
    pub free: Pages,
}
