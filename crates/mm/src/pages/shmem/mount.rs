//! Mounts of tmpfs, and `transparent_hugepage/shmem_enabled`: which files get huge pages, and how large they may be.
//!
//! Key types: [`MountId`], [`ShmemHuge`] (the option of a mount), [`ShmemEnabled`] (the file). Memfds and shared anonymous
//! memory are on a mount of the kernel's own, [`MountId::INTERNAL`], which has no limit. tmpfs(5), and Linux'
//! Documentation/admin-guide/mm/transhuge.rst.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use order9_units::Pages;

use super::options::{TmpfsOptions, TmpfsSize};
use crate::mempolicy::MempolicyArgs;
use crate::page_cache::FileId;
use crate::page_cache::PageCache;
use crate::phys::PhysMem;
use crate::space::Errno;
use crate::thp::SizeShmemEnabled;

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
    /// Huge pages that the size of the file has room for, and memory that `MADV_HUGEPAGE` names.
    WithinSize,
    /// Memory that `MADV_HUGEPAGE` names.
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

/// A mount.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mount {
    huge: ShmemHuge,
    /// The policy that new files begin with.
    pub(super) mpol: Option<MempolicyArgs>,
    /// The most pages that its files may hold; `None` where there is no limit.
    pub(crate) limit: Option<Pages>,
    /// Pages that they hold, in memory and in swap.
    pub(crate) used: Pages,
}

/// All mounts, and files whose last huge page reaches beyond their end.
#[derive(Clone)]
pub(crate) struct Mounts {
    enabled: ShmemEnabled,
    /// `hugepages-2048kB/shmem_enabled`, of the kernel's own mount.
    pub(crate) size_enabled: SizeShmemEnabled,
    all: Vec<Mount>,
    /// Files with a huge page that may be split to give back what lies beyond their end, first come first.
    pub(super) shrinklist: VecDeque<FileId>,
}

impl Default for Mounts {
    fn default() -> Self {
        Self {
            enabled: ShmemEnabled::Mount(ShmemHuge::Never),
            size_enabled: SizeShmemEnabled::Inherit,
            all: alloc::vec![Mount::default()],
            shrinklist: VecDeque::new(),
        }
    }
}

impl Mounts {
    /// Rule for the files of a mount.
    pub(super) fn rule_of(&self, mount: MountId) -> ShmemEnabled {
        let own = if mount == MountId::INTERNAL { self.size_enabled } else { SizeShmemEnabled::Inherit };
        match (self.enabled, own) {
            (ShmemEnabled::Mount(_), SizeShmemEnabled::Inherit) => {
                ShmemEnabled::Mount(self.all[usize::from(mount.0)].huge)
            }
            (ShmemEnabled::Mount(_), SizeShmemEnabled::Own(huge)) => ShmemEnabled::Mount(huge),
            // Only sizes that inherit are forced.
            (ShmemEnabled::Force, SizeShmemEnabled::Own(_)) => ShmemEnabled::Mount(ShmemHuge::Never),
            (all, _) => all,
        }
    }

    pub(crate) fn get(&self, mount: MountId) -> Option<&Mount> {
        self.all.get(usize::from(mount.0))
    }

    /// Pages that files of a mount hold.
    pub(super) fn used(&mut self, mount: MountId) -> &mut Pages {
        &mut self.all[usize::from(mount.0)].used
    }

    /// Every mount.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (MountId, &Mount)> {
        self.all.iter().enumerate().map(|(at, mount)| (MountId(at as u16), mount))
    }
}

impl PageCache {
    /// Mounts tmpfs.
    pub(crate) fn mount_tmpfs(&mut self, options: impl Into<TmpfsOptions>, phys: &PhysMem) -> Result<MountId, Errno> {
        let options = options.into();
        let huge = options.huge.unwrap_or_default();
        phys.allows(huge)?;
        let mpol = options.mpol.map_or(Ok(None), |policy| phys.mount_policy(policy))?;
        let limit = options.size.unwrap_or(TmpfsSize::HALF).limit(phys.managed_pages());
        let mounts = &mut self.mounts.all;
        let id = MountId(u16::try_from(mounts.len()).map_err(|_| Errno::Eagain)?);
        mounts.push(Mount { huge, mpol, limit, used: Pages::ZERO });
        Ok(id)
    }

    /// Changes options of a mount, `huge=` for pages to come: what is huge stays so; `mpol=` for files to
    /// come, where `mpol=default` leaves the one that there is. A refused call changes nothing.
    pub(crate) fn remount_tmpfs(
        &mut self,
        mount: MountId,
        options: impl Into<TmpfsOptions>,
        phys: &PhysMem,
    ) -> Result<(), Errno> {
        let (options, memory) = (options.into(), phys.managed_pages());
        let now = *self.mounts.get(mount).ok_or(Errno::Einval)?;
        let huge = options.huge.unwrap_or(now.huge);
        phys.allows(huge)?;
        let mpol = options.mpol.map_or(Ok(None), |policy| phys.mount_policy(policy))?.or(now.mpol);
        let limit = options.size.map_or(now.limit, |size| size.limit(memory));
        let is_sound = options.size.is_none() || limit.is_none_or(|limit| now.limit.is_some() && limit >= now.used);
        if !is_sound {
            return Err(Errno::Einval);
        }
        self.mounts.all[usize::from(mount.0)] = Mount { huge, mpol, limit, ..now };
        Ok(())
    }

    /// `huge=` of a mount; `None` where there is no such mount.
    #[must_use]
    pub fn tmpfs_huge(&self, mount: MountId) -> Option<ShmemHuge> {
        self.mounts.get(mount).map(|mount| mount.huge)
    }

    /// `transparent_hugepage/shmem_enabled`.
    #[must_use]
    pub fn shmem_enabled(&self) -> ShmemEnabled {
        self.mounts.enabled
    }

    /// Sets `transparent_hugepage/shmem_enabled`, for pages to come. Deny and force leave the options of all mounts as they
    /// are; another value is that of the kernel's own mount from then on, and ends deny and force.
    pub fn set_shmem_enabled(&mut self, enabled: ShmemEnabled) {
        let mounts = &mut self.mounts;
        mounts.enabled = enabled;
        if let ShmemEnabled::Mount(huge) = enabled {
            mounts.all[usize::from(MountId::INTERNAL.0)].huge = huge;
        }
    }
}

impl PhysMem {
    fn allows(&self, huge: ShmemHuge) -> Result<(), Errno> {
        if huge == ShmemHuge::Never || self.policy.thp.shmem { Ok(()) } else { Err(Errno::Einval) }
    }
}
