//! The huge page of zeros: one for all, kept while somebody holds it and until memory is short.

use order9_frames::Idx;

use super::NR;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Owner, SpaceId};
use crate::thp::HugeMemory;

impl HugeMemory {
    /// Whether there is a huge page of zeros.
    #[must_use]
    pub fn has_huge_zero_page(&self) -> bool {
        self.zero.is_some()
    }

    /// Number of holders of the huge page of zeros: spaces, or the slots that map it (`thp.zero_by_slot`).
    #[must_use]
    pub fn huge_zero_users(&self) -> u64 {
        self.zero_users
    }

    /// A slot does not map it any more.
    pub(super) fn release_huge_zero(&mut self, phys: &PhysMem) {
        if phys.policy.thp.zero_by_slot {
            self.zero_users -= 1;
        }
    }

    /// Pages that its shrinker offers: all of it once nobody holds it.
    pub(crate) fn huge_zero_freeable(&self) -> u64 {
        if self.has_huge_zero_page() && self.zero_users == 0 { u64::from(NR) } else { 0 }
    }
}

impl UsedPages {
    /// Makes a fresh huge page that of zeros; frees it if somebody else was faster.
    pub(super) fn take_huge_zero(&mut self, head: Idx, cpu: usize, phys: &mut PhysMem) {
        if self.huge.has_huge_zero_page() {
            phys.free_fresh(head, cpu);
            return;
        }
        self.clear_huge_page(head, phys);
        self.rmap.adopt(head, Owner::HugeZero, phys);
        self.huge.zero = Some(head);
        phys.counters.thp_zero_page_alloc += 1;
    }

    /// A slot of a space maps it.
    pub(super) fn hold_huge_zero(&mut self, id: SpaceId, phys: &PhysMem) {
        let space = self.spaces.living(id);
        if phys.policy.thp.zero_by_slot || !core::mem::replace(&mut space.holds_huge_zero, true) {
            self.huge.zero_users += 1;
        }
    }

    /// The last mapping of a space that ends is gone.
    pub(crate) fn drop_huge_zero(&mut self, id: SpaceId) {
        let space = self.spaces.living(id);
        if core::mem::take(&mut space.holds_huge_zero) {
            self.huge.zero_users -= 1;
        }
    }

    /// Frees it if nobody holds it; returns the pages freed.
    pub(crate) fn shrink_huge_zero(&mut self, cpu: usize, phys: &mut PhysMem) -> u64 {
        let freeable = self.huge.huge_zero_freeable();
        if freeable > 0
            && let Some(head) = self.huge.zero.take()
        {
            self.disown(head, cpu, phys);
        }
        freeable
    }
}
