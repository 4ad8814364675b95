//! Addresses of mappings of tmpfs: chosen so that addresses and places in the file can share huge pages.

use order9_units::Pages;

use super::MountId;
use super::mount::{ShmemEnabled, ShmemHuge};
use crate::page_cache::PageCache;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Backing, Errno, Place, SpaceId, VpnRange};
use crate::thp::NR;

const HUGE: u64 = NR as u64;

impl UsedPages {
    /// The pages that a mapping of `backing` takes that may lie anywhere. One of tmpfs with huge pages, and with room for one,
    /// starts at an address congruent to its place in the file.
    ///
    /// # Errors
    /// `ENOMEM` without room.
    pub(crate) fn place_anywhere(
        &self,
        id: SpaceId,
        backing: Backing,
        pages: Pages,
        phys: &PhysMem,
    ) -> Result<VpnRange, Errno> {
        let plain = self.spaces.place(id, Place::Anywhere, pages, Pages::new(1))?;
        let Some(offset) = self.cache.congruence(backing, pages, phys) else { return Ok(plain) };
        if plain.start.get() % HUGE == offset {
            return Ok(plain);
        }
        let room = self.spaces.place(id, Place::Anywhere, pages + Pages::new(HUGE - 1), Pages::new(1));
        let Ok(room) = room else { return Ok(plain) };
        let forward = (offset + HUGE - room.start.get() % HUGE) % HUGE;
        Ok(VpnRange::of(room.start + Pages::new(forward), pages))
    }
}

impl PageCache {
    /// To what, modulo a huge page, the address should be congruent; `None` where it does not matter.
    fn congruence(&self, backing: Backing, pages: Pages, phys: &PhysMem) -> Option<u64> {
        let (mount, offset) = match backing {
            Backing::AnonPrivate | Backing::Hugetlb { .. } => return None,
            Backing::AnonShared => (MountId::INTERNAL, 0),
            Backing::File { file, offset, .. } => (self.files.mount_of(file)?, offset.get() % HUGE),
        };
        let has_none = matches!(self.mounts.rule_of(mount), ShmemEnabled::Deny | ShmemEnabled::Mount(ShmemHuge::Never));
        let has_room = pages.get() >= HUGE && (offset == 0 || offset + pages.get() >= 2 * HUGE);
        (phys.policy.thp.shmem && !has_none && has_room).then_some(offset)
    }
}
