//! Faults that end with a page of the space's own: a zeroed one, or a copy of one that others map.

use order9_frames::Idx;
use order9_units::{Nanos, Pages};

use super::fault::{Access, Answer, Fault, FaultStep, Need};
use super::pte::{Pte, PteFlag};
use super::{Mapping, Owner, Vma};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Spaces;

impl UsedPages {
    /// A write to a mapped page that the entry does not allow, though the mapping does.
    pub(super) fn answer_write(&mut self, vma: &Vma, pte: Pte, now: Option<Nanos>, phys: &mut PhysMem) -> Answer {
        let idx = pte.idx().expect("the entry is present");
        let own = match self.rmap.owner(idx) {
            Owner::Anon(_) | Owner::Huge => self.is_exclusive(idx, false, phys),
            Owner::File { .. } if vma.kind.is_private() => false,
            Owner::File { .. } if !self.mkwrite(idx, now, phys) => return Answer::Mkwrite,
            Owner::File { .. } => true,
            _ => false,
        };
        if own {
            self.swap.wrote_swap_page(idx, phys);
            Answer::Map(Access::Write.mark(pte).with(PteFlag::Write, true))
        } else {
            Answer::Need(Need::CopyOf(phys.frames.pfn(idx)))
        }
    }

    /// Maps a fresh page of the space's own, unless something has changed since it was asked for.
    pub(crate) fn finish_private(&mut self, fault: &Fault, idx: Idx, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        if !self.source_is_there(fault, phys) || !self.spaces.is_as_seen(fault) {
            phys.free_fresh(idx, cpu);
            return FaultStep::Retry;
        }
        self.spaces.living(fault.space).map_anon(fault.vpn, idx, phys);
        match fault.need {
            Need::CopyOf(source) => self.copy_page(phys.frames.at(source), idx, phys),
            _ => self.clear_page(idx, phys),
        }
        let mapping = Mapping { space: fault.space, vpn: fault.vpn };
        self.own_anon(mapping, idx, fault.locked, phys);
        if !fault.seen.is_none() {
            self.replaced(mapping, fault.seen, cpu, phys);
        }
        let Some(accessed) = fault.whole_slot else {
            self.wrote_base(fault.space, fault.vpn);
            return FaultStep::Done;
        };
        if accessed == fault.vpn {
            self.wrote_base(fault.space, fault.vpn);
        }
        self.spaces.copy_slot_from(fault, fault.vpn + Pages::new(1), phys)
    }

    /// Accounts for the entry that a copy took the place of.
    fn replaced(&mut self, mapping: Mapping, old: Pte, cpu: usize, phys: &mut PhysMem) {
        phys.work.ptes_cleared += 1;
        phys.work.tlb_flushes += 1;
        if let Some(slot) = old.slot() {
            self.spaces.living(mapping.space).swap_pages -= 1;
            self.drop_swap_entry(slot, cpu, phys);
        }
        if let Some(idx) = old.idx() {
            let gone = self.unmap_page(mapping, idx, cpu, phys);
            self.spaces.living(mapping.space).rss -= gone;
            self.munlock_page(idx, phys);
        }
    }

    /// Whether the page to copy, if it is in a file and not mapped, is still there.
    #[inline]
    fn source_is_there(&self, fault: &Fault, phys: &PhysMem) -> bool {
        match fault.need {
            Need::CopyOf(source) if fault.seen.is_none() => {
                self.shown_by_file(fault, phys) == Some(phys.frames.at(source))
            }
            Need::CopyOf(source) => {
                fault.seen.slot().is_none_or(|slot| self.is_still_cached(fault, slot, phys.frames.at(source)))
            }
            _ => true,
        }
    }
}

impl Spaces {
    /// Whether the entry and the mappings are as the first step saw them.
    #[inline]
    fn is_as_seen(&self, fault: &Fault) -> bool {
        let Ok(space) = self.get(fault.space) else { return false };
        let Some(table) = space.table.table(fault.vpn) else { return false };
        space.vmas.generation == fault.generation && table.get(fault.vpn) == fault.seen
    }
}
