//! Errors of operations on address spaces, as Linux returns them.

use core::fmt;

/// Why an operation was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Errno {
    /// `EPERM`: below `vm.mmap_min_addr`, or not without a privilege.
    Eperm,
    /// `ENOENT`: no such setting.
    Enoent,
    /// `ESRCH`: no such address space.
    Esrch,
    /// `EBADF`: no such file.
    Ebadf,
    /// `EINTR`: the task was killed meanwhile.
    Eintr,
    /// `EAGAIN`: less could be done than was asked, or the mappings changed under an operation of several steps; it can be started again.
    Eagain,
    /// `EIO`: pages lie on other nodes than they should (`MPOL_MF_STRICT`).
    Eio,
    /// `ENOMEM`: no room in the address space, too many mappings, or nothing mapped where the call needs a mapping.
    Enomem,
    /// `EBUSY`: the file is open.
    Ebusy,
    /// `ENODEV`: no such node.
    Enodev,
    /// `EACCES`: a setting that cannot be read, or not written; a mapping by which its file cannot be written.
    Eacces,
    /// `EFAULT`: the range is not covered by one mapping.
    Efault,
    /// `EEXIST`: something is mapped there (`MAP_FIXED_NOREPLACE`).
    Eexist,
    /// `EFBIG`: larger than a file can be.
    Efbig,
    /// `ENOSPC`: no room on the disk, or the mount of tmpfs.
    Enospc,
    /// `EOPNOTSUPP`: nothing that this file can do.
    Eopnotsupp,
    /// `ENOSYS`: the kernel does not have the call.
    Enosys,
    /// `EINVAL`: an address, length or flag that the call does not take.
    Einval,
}

impl Errno {
    /// The name, as in errno(3).
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eperm => "EPERM",
            Self::Enoent => "ENOENT",
            Self::Esrch => "ESRCH",
            Self::Ebadf => "EBADF",
            Self::Eintr => "EINTR",
            Self::Eagain => "EAGAIN",
            Self::Eio => "EIO",
            Self::Enosys => "ENOSYS",
            Self::Enomem => "ENOMEM",
            Self::Ebusy => "EBUSY",
            Self::Enodev => "ENODEV",
            Self::Eacces => "EACCES",
            Self::Efault => "EFAULT",
            Self::Eexist => "EEXIST",
            Self::Efbig => "EFBIG",
            Self::Enospc => "ENOSPC",
            Self::Eopnotsupp => "EOPNOTSUPP",
            Self::Einval => "EINVAL",
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl core::error::Error for Errno {}
