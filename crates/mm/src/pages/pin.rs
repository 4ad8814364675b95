//! Long-term pins: pages that DMA or a guest holds in place. A pinned page cannot move, so its pageblock cannot be emptied.

use order9_frames::{Flag, FreeError};
use order9_units::Pfn;

use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Owner;

impl UsedPages {
    /// Pins the allocation that starts at `pfn`, or the huge page that it is part of; once more if that is pinned already.
    pub(crate) fn pin(&mut self, pfn: Pfn, phys: &mut PhysMem) -> Result<(), FreeError> {
        let (idx, word) = phys.frames.live(phys.compound_head(pfn))?;
        if word.has(Flag::Pinned) {
            *self.more_pins.entry(idx.0).or_insert(0) += 1;
        } else {
            phys.frames.reflag(idx, Flag::Pinned, true);
        }
        Ok(())
    }

    /// Takes one pin off the allocation that starts at `pfn`; says whether it was the last. A page that nothing else keeps is
    /// freed then, straight to the buddy lists.
    pub(crate) fn unpin(&mut self, pfn: Pfn, phys: &mut PhysMem) -> Result<bool, FreeError> {
        let (idx, word) = phys.frames.live(phys.compound_head(pfn))?;
        if !word.has(Flag::Pinned) {
            return Err(FreeError::NotPinned(pfn));
        }
        match self.more_pins.get_mut(&idx.0) {
            Some(1) => {
                self.more_pins.remove(&idx.0);
                Ok(false)
            }
            Some(more) => {
                *more -= 1;
                Ok(false)
            }
            None => {
                phys.frames.reflag(idx, Flag::Pinned, false);
                self.free_if_kept(idx, phys);
                if self.rmap.owner(idx) == Owner::Hugetlb {
                    self.hugetlb_unpinned(idx, phys);
                }
                Ok(true)
            }
        }
    }
}
