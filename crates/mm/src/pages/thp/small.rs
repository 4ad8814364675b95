//! Faults that get huge pages of less than 2 MiB, mapped by single entries: multi-size THP.
//!
//! The first write to an untouched page asks for the largest size that the settings allow and whose aligned range lies in the
//! mapping and has no entry yet (`alloc_anon_folio`), then for smaller ones, then for a base page. One fault maps the whole
//! range. From then on such a page is a huge page like any other: reclaim, migration and the deferred split queue see one
//! page. LKML: "Multi-size THP for anonymous memory" (2023); Linux' Documentation/admin-guide/mm/transhuge.rst.

use order9_frames::{Gfp, Idx};
use order9_units::HugeSize;

use super::{HugePage, fault_gfp};
use crate::lru_list::LruList;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{
    Access, Fault, FaultStep, HugeAdvice, Mapping, Need, Owner, Pte, PteFlag, SpaceId, Table, Vma, Vpn, VpnRange,
};

impl PhysMem {
    /// Flags of a fault in a mapping for what it needs.
    pub(crate) fn gfp_of_need(&self, need: Need, vma: &Vma) -> Gfp {
        match need {
            Need::SmallHuge(_) => fault_gfp(self.settings.thp.defrag, vma.advice == HugeAdvice::Huge, &self.policy.thp),
            need => need.gfp(),
        }
    }
}

impl UsedPages {
    /// Need of the first write to an untouched page of an anonymous mapping.
    #[inline]
    pub(crate) fn need_of_untouched(&self, id: SpaceId, vpn: Vpn, vma: &Vma, phys: &PhysMem) -> Need {
        match phys.settings.thp.sizes.has_small() {
            true => self.small_need(id, vpn, vma, HugeSize::PMD, phys),
            false => Need::Zeroed,
        }
    }

    /// Need of such a write that got no page of the size `than`: a smaller one, if there is room for it, else a base page.
    #[cold]
    fn small_need(&self, id: SpaceId, vpn: Vpn, vma: &Vma, than: HugeSize, phys: &PhysMem) -> Need {
        let Ok(space) = self.spaces.get(id) else { return Need::Zeroed };
        let Some(table) = space.table.table(vpn) else { return Need::Zeroed };
        let vma = space.seen_by_thp(vma);
        let mut allowed = than.below().filter(|&size| vma.may_be_huge(phys.settings.thp.rule_of(size)));
        let found = allowed.find(|size| {
            let range = size.around(vpn);
            range.intersect(vma.range) == range && is_empty(table, range)
        });
        found.map_or(Need::Zeroed, Need::SmallHuge)
    }

    /// Goes on with a fault that got no page of a size.
    pub(super) fn refuse_small(&mut self, fault: &Fault, size: HugeSize, phys: &PhysMem) -> FaultStep {
        if let Some(events) = self.huge.small_events(size) {
            events.fault_fallback += 1;
        }
        let Ok(space) = self.spaces.get(fault.space) else { return FaultStep::Retry };
        let Some(vma) = space.vmas.find(fault.vpn).filter(|_| space.vmas.generation == fault.generation) else {
            return FaultStep::Retry;
        };
        let need = self.small_need(fault.space, fault.vpn, vma, size, phys);
        FaultStep::NeedPage(Fault { need, gfp: phys.gfp_of_need(need, vma), ..fault.clone() })
    }

    /// Maps a fresh huge page of less than 2 MiB, unless something has changed since it was asked for.
    pub(crate) fn finish_small(
        &mut self,
        fault: &Fault,
        size: HugeSize,
        head: Idx,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> FaultStep {
        let range = size.around(fault.vpn);
        let as_seen = self.spaces.get(fault.space).is_ok_and(|space| {
            let table = space.table.table(fault.vpn);
            space.vmas.generation == fault.generation && table.is_some_and(|table| is_empty(table, range))
        });
        if !as_seen {
            phys.free_fresh(head, cpu);
            return FaultStep::Retry;
        }
        phys.parts(head).for_each(|idx| self.clear_huge_part(idx, phys));
        let list = phys.list_of_new_anon(fault.locked);
        self.adopt_small(head, Mapping { space: fault.space, vpn: range.start }, list, phys);
        let space = self.spaces.living(fault.space);
        let table = space.table.table_mut(fault.vpn).expect("the slot has a table");
        for (idx, vpn) in phys.parts(head).zip(range.iter()) {
            table.set(vpn, Access::Write.mark(Pte::present(idx)).with(PteFlag::Write, true));
        }
        space.rss.anon_pages += range.len().get();
        phys.work.ptes_set += range.len().get();
        if let Some(events) = self.huge.small_events(size) {
            events.fault_alloc += 1;
        }
        self.wrote(fault.space, fault.vpn, fault.access, phys);
        FaultStep::Done
    }

    /// Makes a fresh huge page the anonymous one of the entries from `first` on, and puts it on a list.
    pub(crate) fn adopt_small(&mut self, head: Idx, first: Mapping, list: LruList, phys: &mut PhysMem) {
        self.huge.make_room_for_huge(phys);
        self.rmap.make_room_for_small();
        self.adopt_page(head, Owner::Huge, list, phys);
        let parts = phys.frames.word(head).frames() as u32;
        for (idx, vpn) in phys.parts(head).zip(first.vpn.get()..) {
            self.rmap.set(self.rmap.of_subpage(idx), Owner::Anon(Mapping { vpn: Vpn::new(vpn), ..first }));
        }
        *self.huge.page_mut(head) = HugePage { mapped: parts, ptes: parts, ..HugePage::UNMAPPED };
        self.levels.anon += u64::from(parts);
    }
}

/// Whether no entry of a range of a slot is set.
fn is_empty(table: &Table, range: VpnRange) -> bool {
    range.iter().all(|vpn| table.get(vpn).is_none())
}
