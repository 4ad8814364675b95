//! Mounts of tmpfs and their option `huge=`, and `transparent_hugepage/shmem_enabled`: which files get huge pages.
//!
//! Key types: [`MountId`], [`ShmemHuge`] (the option of a mount), [`ShmemEnabled`] (the file). Memfds and shared anonymous
//! memory are on a mount of the kernel's own, [`MountId::INTERNAL`]. Linux' Documentation/admin-guide/mm/transhuge.rst.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::Mm;
use crate::page_cache::FileId;
use crate::space::Errno;
use crate::trace::Tracer;

/// A mount of tmpfs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MountId(pub(crate) u16);

impl MountId {
    /// The kernel's own, of memfds and shared anonymous memory.
    pub const INTERNAL: Self = Self(0);
    /// Mounts that can be made in one run.
    pub(crate) const MAX: usize = 1 << 16;

    /// Mount number `number`.
    #[must_use]
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// The number, counted from 0 in the order in which they were made.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }
}

/// The mount option `huge=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShmemHuge {
    /// No huge pages.
    #[default]
    Never,
    /// Every new page tries to be huge.
    Always,
    /// Those that the size of the file has room for, and what `MADV_HUGEPAGE` names.
    WithinSize,
    /// What `MADV_HUGEPAGE` names.
    Advise,
}

/// `transparent_hugepage/shmem_enabled`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShmemEnabled {
    /// The option of the kernel's own mount; others go by theirs.
    Mount(ShmemHuge),
    /// No huge pages on any mount.
    Deny,
    /// Huge pages on all mounts.
    Force,
}

impl ShmemHuge {
    /// All values, as mount(8) takes them.
    pub const WORDS: [(Self, &'static str); 4] =
        [(Self::Always, "always"), (Self::WithinSize, "within_size"), (Self::Advise, "advise"), (Self::Never, "never")];

    /// The value called `word`.
    #[must_use]
    pub fn find(word: &str) -> Option<Self> {
        Self::WORDS.into_iter().find(|&(_, name)| name == word).map(|(value, _)| value)
    }
}

impl ShmemEnabled {
    /// All values, as the file shows them.
    pub const WORDS: [(Self, &'static str); 6] = [
        (Self::Mount(ShmemHuge::Always), "always"),
        (Self::Mount(ShmemHuge::WithinSize), "within_size"),
        (Self::Mount(ShmemHuge::Advise), "advise"),
        (Self::Mount(ShmemHuge::Never), "never"),
        (Self::Deny, "deny"),
        (Self::Force, "force"),
    ];
}

/// All mounts, and files whose last huge page reaches beyond their end.
#[derive(Clone)]
pub(crate) struct Mounts {
    enabled: ShmemEnabled,
    huge: Vec<ShmemHuge>,
    /// Files with a huge page that may be split to give back what lies beyond their end, first come first.
    pub(super) shrinklist: VecDeque<FileId>,
}

impl Default for Mounts {
    fn default() -> Self {
        Self {
            enabled: ShmemEnabled::Mount(ShmemHuge::Never),
            huge: alloc::vec![ShmemHuge::Never],
            shrinklist: VecDeque::new(),
        }
    }
}

impl Mounts {
    /// What holds for the files of a mount.
    pub(super) fn rule_of(&self, mount: MountId) -> ShmemEnabled {
        match self.enabled {
            ShmemEnabled::Mount(_) => ShmemEnabled::Mount(self.huge[usize::from(mount.0)]),
            all => all,
        }
    }
}

impl<T: Tracer> Mm<T> {
    /// Mounts tmpfs with `huge=`.
    ///
    /// # Errors
    /// `EINVAL` for another value than [`ShmemHuge::Never`] where the kernel has no huge pages of tmpfs, `EAGAIN` after 2^16
    /// mounts.
    pub fn mount_tmpfs(&mut self, huge: ShmemHuge) -> Result<MountId, Errno> {
        self.allows(huge)?;
        let mounts = &mut self.user.mounts.huge;
        let id = MountId(u16::try_from(mounts.len()).map_err(|_| Errno::Eagain)?);
        mounts.push(huge);
        Ok(id)
    }

    /// Changes `huge=` of a mount: for pages to come. What is huge stays so.
    ///
    /// # Errors
    /// `EINVAL` as [`Mm::mount_tmpfs`], and where there is no such mount.
    pub fn remount_tmpfs(&mut self, mount: MountId, huge: ShmemHuge) -> Result<(), Errno> {
        self.allows(huge)?;
        *self.user.mounts.huge.get_mut(usize::from(mount.0)).ok_or(Errno::Einval)? = huge;
        Ok(())
    }

    fn allows(&self, huge: ShmemHuge) -> Result<(), Errno> {
        if huge == ShmemHuge::Never || self.policy.thp.shmem { Ok(()) } else { Err(Errno::Einval) }
    }

    /// `huge=` of a mount; `None` where there is no such mount.
    #[must_use]
    pub fn tmpfs_huge(&self, mount: MountId) -> Option<ShmemHuge> {
        self.user.mounts.huge.get(usize::from(mount.0)).copied()
    }

    /// `transparent_hugepage/shmem_enabled`.
    #[must_use]
    pub const fn shmem_enabled(&self) -> ShmemEnabled {
        self.user.mounts.enabled
    }

    /// Sets `transparent_hugepage/shmem_enabled`, for pages to come. Deny and force leave the options of all mounts as they
    /// are; another value is that of the kernel's own mount from then on, and ends deny and force.
    pub fn set_shmem_enabled(&mut self, enabled: ShmemEnabled) {
        let mounts = &mut self.user.mounts;
        mounts.enabled = enabled;
        if let ShmemEnabled::Mount(huge) = enabled {
            mounts.huge[usize::from(MountId::INTERNAL.0)] = huge;
        }
    }
}
