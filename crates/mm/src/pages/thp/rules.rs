//! Slots that khugepaged collapses: limits on what they lack, how much they must be in use, and what differs by release.
//!
//! Key types: [`Collapser`] (who asks), [`Tally`] (what a slot holds). `MADV_COLLAPSE` knows none of these limits. Linux'
//! Documentation/admin-guide/mm/transhuge.rst; LKML: "mm: make optimistic check for swapin readahead" (2016), "khugepaged:
//! allow to collapse PTE-mapped compound pages" (2020).

use alloc::vec::Vec;

use order9_frames::{Flag, Idx};
use order9_units::NodeId;

use super::NR;
use super::collapse::CollapseFailure;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::ThpPolicy;
use crate::space::Rmap;
use crate::space::{Pte, PteFlag, PteKind};

/// Nodes further apart than this do not share a huge page where near memory is reclaimed first: `RECLAIM_DISTANCE`.
const DISTANCE_MAX: u32 = 30;
/// Pages of a slot that must be in use for others to be read back from swap.
const USED_FOR_SWAP_IN: u32 = NR / 2;

/// Caller that wants a slot collapsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collapser {
    /// The program, by `MADV_COLLAPSE`.
    Madvise,
    /// khugepaged.
    Khugepaged,
}

/// Content of a slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    none: u64,
    swapped: u64,
    shared: u64,
    /// Pages that were used lately.
    pub(super) used: u32,
}

/// Whether a slot of which so many pages were used may not be read back from swap. From 4.8 to 5.7 that is asked even where
/// nothing is in swap, with the huge page in hand.
pub(super) const fn fails_with_huge_page(policy: &ThpPolicy, used: u32) -> bool {
    policy.max_ptes_swap && !policy.max_ptes_shared && used < USED_FOR_SWAP_IN
}

impl UsedPages {
    /// Content of a slot, if khugepaged may collapse it as far as its pages go.
    pub(super) fn khugepaged_tally(&self, entries: &[Pte], phys: &PhysMem) -> Result<Tally, CollapseFailure> {
        let (limits, policy) = (&phys.settings.thp.khugepaged, &phys.policy.thp);
        let (max_swap, max_shared) = (
            if policy.max_ptes_swap { limits.max_ptes_swap } else { 0 },
            if policy.max_ptes_shared { limits.max_ptes_shared } else { 0 },
        );
        let mut tally = Tally::default();
        for entry in entries {
            match entry.kind() {
                PteKind::None | PteKind::Zero => tally.none += 1,
                PteKind::Swap => tally.swapped += 1,
                PteKind::Present => self.tally_page(*entry, &mut tally, phys)?,
            }
            match () {
                () if tally.none > limits.max_ptes_none => return Err(CollapseFailure::ExceedNonePte),
                () if tally.swapped > max_swap => return Err(CollapseFailure::ExceedSwapPte),
                () if tally.shared > max_shared && !policy.max_ptes_shared => return Err(CollapseFailure::PageCount),
                () if tally.shared > max_shared => return Err(CollapseFailure::ExceedSharedPte),
                () => {}
            }
        }
        Ok(tally)
    }

    fn tally_page(&self, entry: Pte, tally: &mut Tally, phys: &PhysMem) -> Result<(), CollapseFailure> {
        let idx = entry.idx().expect("a present entry names a frame");
        let head = self.rmap.huge_head(idx, phys);
        if head.is_some() && !phys.policy.thp.max_ptes_shared {
            return Err(CollapseFailure::PageCompound);
        }
        let referenced = phys.frames.word(head.unwrap_or(idx)).has(PageFlag::Referenced);
        tally.used += u32::from(entry.has(PteFlag::Young) || referenced);
        tally.shared += u64::from(self.mapcount(phys.frames.pfn(idx), phys) > 1);
        self.rmap.can_isolate(idx, phys)
    }
}

impl Rmap {
    /// Whether a page may be moved away: nobody but its mappings and the swap cache refers to it.
    pub(super) fn can_isolate(&self, idx: Idx, phys: &PhysMem) -> Result<(), CollapseFailure> {
        let word = phys.frames.word(self.huge_head(idx, phys).unwrap_or(idx));
        match () {
            () if word.has(PageFlag::Locked) => Err(CollapseFailure::PageLock),
            () if word.has(Flag::Isolated) => Err(CollapseFailure::PageLru),
            () if word.has(Flag::Pinned) => Err(CollapseFailure::PageCount),
            () => Ok(()),
        }
    }
}

impl PhysMem {
    /// Whether so much of a slot was used lately that it is worth a huge page.
    pub(super) fn is_used_enough(&self, tally: &Tally) -> Result<(), CollapseFailure> {
        let wants_half = self.policy.thp.max_ptes_shared && tally.swapped > 0;
        let enough = if wants_half { USED_FOR_SWAP_IN } else { 1 };
        if tally.used < enough { Err(CollapseFailure::LackReferencedPage) } else { Ok(()) }
    }

    /// Whether the pages lie near enough to each other, where `vm.zone_reclaim_mode` says that this matters.
    pub(super) fn scan_abort(&self, entries: &[Pte]) -> Result<(), CollapseFailure> {
        if self.settings.zone_reclaim_mode == 0 {
            return Ok(());
        }
        let mut seen: Vec<NodeId> =
            entries.iter().filter_map(|entry| entry.idx()).map(|idx| self.node_of(idx)).collect();
        seen.dedup();
        let is_far = |a: &NodeId| seen.iter().any(|&b| self.frames.distance(*a, b) > DISTANCE_MAX);
        if seen.iter().any(is_far) { Err(CollapseFailure::ScanAbort) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs_cache::tests::{mounted, used};
    use crate::page_cache::tests::read_pages;
    use crate::policy::Policy;

    #[test]
    fn half_of_a_slot_has_to_be_in_use_for_other_pages_to_be_read_from_swap() {
        let mut policy = Policy::default();
        policy.thp.max_ptes_shared = true;
        let mm = mounted(policy);
        let is_enough = |swapped, used| mm.phys.is_used_enough(&Tally { swapped, used, ..Tally::default() }).is_ok();
        assert_eq!([is_enough(0, 0), is_enough(0, 1)], [false, true], "one page where nothing is in swap");
        assert_eq!([is_enough(1, 255), is_enough(1, 256)], [false, true]);
    }

    #[test]
    fn pages_are_in_use_that_were_read_by_a_mapping_or_by_a_system_call() {
        let mut mm = mounted(Policy::default());
        let file = used(&mut mm);
        read_pages(&mut mm, file, 0, 1);
        let idx = mm.phys.frames.at(mm.file_page(file, 0).expect("it was just read"));
        for (referenced, young, used) in [(false, false, 0), (true, false, 1), (false, true, 1), (true, true, 1)] {
            mm.phys.frames.set(idx, mm.phys.frames.word(idx).with(PageFlag::Referenced, referenced));
            let entry = Pte::present(idx).with(PteFlag::Young, young);
            let tally = mm.pages.khugepaged_tally(&[entry], &mm.phys).expect("the page may leave");
            assert_eq!(tally.used, used, "{referenced} {young}");
        }
    }
}
