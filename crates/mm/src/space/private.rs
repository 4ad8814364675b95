//! Faults that end with a page of the space's own: a zeroed one, or a copy of one that others map.

use order9_frames::Idx;
use order9_units::{Nanos, Pages};

use super::fault::{Access, Answer, Fault, FaultStep, Need};
use super::pte::{Pte, PteFlag};
use super::{Mapping, Owner, Vma};
use crate::Mm;
use crate::trace::Tracer;

impl<T: Tracer> Mm<T> {
    /// A write to a mapped page that the entry does not allow, though the mapping does.
    pub(super) fn answer_write(&mut self, vma: &Vma, pte: Pte, now: Option<Nanos>) -> Answer {
        let idx = pte.idx().expect("the entry is present");
        let own = match self.user.rmap.owner(idx) {
            Owner::Anon(_) | Owner::Huge => self.is_exclusive(idx, false),
            Owner::File { .. } if vma.kind.is_private() => false,
            Owner::File { .. } if !self.mkwrite(idx, now) => return Answer::Mkwrite,
            Owner::File { .. } => true,
            _ => false,
        };
        if own {
            self.wrote_swap_page(idx);
            Answer::Map(Access::Write.mark(pte).with(PteFlag::Write, true))
        } else {
            Answer::Need(Need::CopyOf(self.frames.pfn(idx)))
        }
    }

    /// Maps a fresh page of the space's own, unless something has changed since it was asked for.
    pub(crate) fn finish_private(&mut self, fault: &Fault, idx: Idx, cpu: usize) -> FaultStep {
        let entry = Access::Write.mark(Pte::present(idx)).with(PteFlag::Write, true);
        if !self.source_is_there(fault) || !self.exchange(fault, entry) {
            self.free_fresh(idx, cpu);
            return FaultStep::Retry;
        }
        match fault.need {
            Need::CopyOf(source) => self.copy_page(self.frames.at(source), idx),
            _ => self.clear_page(idx),
        }
        let mapping = Mapping { space: fault.space, vpn: fault.vpn };
        self.adopt_anon(idx, Owner::Anon(mapping), fault.locked);
        self.user.levels.anon += 1;
        if !fault.seen.is_none() {
            self.replaced(mapping, fault.seen, cpu);
        }
        let Some(accessed) = fault.whole_slot else {
            self.wrote_base(fault.space, fault.vpn);
            return FaultStep::Done;
        };
        if accessed == fault.vpn {
            self.wrote_base(fault.space, fault.vpn);
        }
        self.copy_slot_from(fault, fault.vpn + Pages::new(1))
    }

    /// Sets the entry to that of an anonymous page, if it and the mappings are as the first step saw them.
    #[inline]
    fn exchange(&mut self, fault: &Fault, entry: Pte) -> bool {
        let Ok(space) = self.user.space_mut(fault.space) else { return false };
        let Some(table) = space.table.table_mut(fault.vpn) else { return false };
        if space.vmas.generation != fault.generation || table.get(fault.vpn) != fault.seen {
            return false;
        }
        table.set(fault.vpn, entry);
        space.rss.anon_pages += 1;
        self.work.ptes_set += 1;
        true
    }

    /// Accounts for the entry that a copy took the place of.
    fn replaced(&mut self, mapping: Mapping, old: Pte, cpu: usize) {
        self.work.ptes_cleared += 1;
        self.work.tlb_flushes += 1;
        if let Some(slot) = old.slot() {
            self.user.living(mapping.space).swap_pages -= 1;
            self.drop_swap_entry(slot, cpu);
        }
        if let Some(idx) = old.idx() {
            let gone = self.unmap_page(mapping, idx, cpu);
            self.user.living(mapping.space).rss -= gone;
            self.munlock_page(idx);
        }
    }

    /// Whether the page to copy, if it is in a file and not mapped, is still there.
    #[inline]
    fn source_is_there(&self, fault: &Fault) -> bool {
        match fault.need {
            Need::CopyOf(source) if fault.seen.is_none() => self.shown_by_file(fault) == Some(self.frames.at(source)),
            Need::CopyOf(source) => {
                fault.seen.slot().is_none_or(|slot| self.is_still_cached(fault, slot, self.frames.at(source)))
            }
            _ => true,
        }
    }
}
