//! Faults on anonymous pages that were swapped out, and the end of the read of any.

use order9_frames::Idx;

use super::fault::{Access, Answer, Fault, Need};
use super::page::NO_CPU;
use super::pte::Pte;
use super::{Mapping, Vma};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::swap::SlotId;

impl UsedPages {
    /// A page that was swapped out.
    pub(super) fn answer_from_swap(
        &mut self,
        vma: &Vma,
        at: Mapping,
        pte: Pte,
        access: Access,
        phys: &mut PhysMem,
    ) -> Answer {
        let slot = pte.slot().expect("the entry names a slot");
        self.swap.note_swap_cache_hit(slot, phys);
        match self.swap.page(slot) {
            None => Answer::Need(Need::SwapIn(slot)),
            Some(idx) if access == Access::Write && !self.is_exclusive(idx, true, phys) => {
                Answer::Need(Need::CopyOf(phys.frames.pfn(idx)))
            }
            Some(_) => Answer::Map(access.mark(self.map_from_swap(at, slot, vma, access, NO_CPU, phys))),
        }
    }

    /// Whether the slot that a fault needs is read without its neighbours. What a file of tmpfs names is not, nor by a mapping of it.
    pub(crate) fn is_read_alone(&self, fault: &Fault, slot: SlotId, phys: &PhysMem) -> bool {
        fault.seen.slot() == Some(slot) && self.swap.comes_alone(slot, phys)
    }

    /// Whether the entry, or the file that is mapped there, still names the slot that was read, and nobody else has read it since.
    pub(super) fn may_finish_swap_in(&self, fault: &Fault, slot: SlotId) -> bool {
        let Ok(space) = self.spaces.get(fault.space) else { return false };
        let is_named = match fault.seen.slot() {
            Some(_) => space.table.get(fault.vpn) == fault.seen,
            None => space.vmas.find(fault.vpn).is_some_and(|vma| {
                let file = vma.kind.file();
                file.is_some_and(|file| self.cache.swapped_at(file, vma.index(fault.vpn)) == Some(slot))
            }),
        };
        is_named && self.swap.page(slot).is_none()
    }

    /// Whether the entry still names `slot`, and `idx` still has it.
    pub(super) fn is_still_cached(&self, fault: &Fault, slot: SlotId, idx: Idx) -> bool {
        let space = self.spaces.get(fault.space);
        space.is_ok_and(|space| space.table.get(fault.vpn) == fault.seen) && self.swap.page(slot) == Some(idx)
    }
}
