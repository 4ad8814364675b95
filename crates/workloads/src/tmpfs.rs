//! Mounts of tmpfs, as [`Sys`](crate::Sys) has them.

/// A mount of tmpfs, by a number of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mount(pub u16);

/// The mount option `huge=`: which pages of files are huge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TmpfsHuge {
    /// None.
    Never,
    /// All that can be had.
    Always,
    /// Those that lie within the size of their file, and what `MADV_HUGEPAGE` names.
    WithinSize,
    /// What `MADV_HUGEPAGE` names.
    Advise,
}
