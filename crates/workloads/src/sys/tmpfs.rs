//! Mounts of tmpfs, and what its files alone can do: [`Tmpfs`].

use std::future::Future;

use order9_units::{Bytes, Pages};

use super::files::FileId;
use super::stop::Stop;

/// System calls about tmpfs.
pub trait Tmpfs {
    /// `mount` of tmpfs with `options` as mount(8) takes them: `huge=`, `mpol=` and `size=` (tmpfs(5)), separated by commas.
    /// `EINVAL` for others, for an `mpol=` that the kernel does not have or of nodes without memory, and before 4.8 for any `huge=` but never.
    fn mount_tmpfs(&self, options: &str) -> impl Future<Output = Result<Mount, Stop>>;

    /// `mount` with `MS_REMOUNT`: another `huge=`, for pages to come, another `mpol=`, for files to come, or another `size=`;
    /// `EINVAL` where its files hold more.
    fn remount_tmpfs(&self, mount: Mount, options: &str) -> impl Future<Output = Result<(), Stop>>;

    /// `statfs` of a mount of tmpfs: its size, and how much of it is free.
    fn statfs(&self, mount: Mount) -> impl Future<Output = Result<Statfs, Stop>>;

    /// `open` with `O_CREAT` on a mount of tmpfs: a new, empty file, open.
    fn create_on(&self, mount: Mount) -> impl Future<Output = Result<FileId, Stop>>;

    /// `ftruncate` of a file on tmpfs; `EOPNOTSUPP` on disk.
    fn truncate(&self, file: FileId, length: Bytes) -> impl Future<Output = Result<(), Stop>>;

    /// `fallocate` of a file on tmpfs, which grows where it has to; `EOPNOTSUPP` on disk. Where the mount has no room for all of
    /// it, `ENOSPC`, and the file is as before.
    fn fallocate(&self, file: FileId, offset: Bytes, length: Bytes) -> impl Future<Output = Result<(), Stop>>;

    /// `fallocate` with `FALLOC_FL_PUNCH_HOLE` of a file on tmpfs; `EOPNOTSUPP` on disk.
    fn punch_hole(&self, file: FileId, offset: Bytes, length: Bytes) -> impl Future<Output = Result<(), Stop>>;
}

/// A mount of tmpfs, by a number of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mount(pub u16);

/// Answer of statfs(2) for a mount, as `df` prints it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statfs {
    /// `f_blocks`: pages that all files may hold; 0 where there is no limit.
    pub blocks: Pages,
    /// `f_bfree`: those of them that they do not.
    pub free: Pages,
}
