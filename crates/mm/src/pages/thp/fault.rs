//! Faults that may be served with a huge page: who is eligible, what is needed, and what happens where it cannot be had.

use alloc::boxed::Box;

use order9_frames::{Gfp, Idx};
use order9_units::NodeId;

use super::map::HUGE_RSS;
use super::placement::{HugeAsk, HugeSearch};
use super::{HugeEnabled, NR, fault_gfp, zero_gfp};
use crate::mempolicy::{PageOf, PlacedHuge, SpaceTask};
use crate::page_cache::PageCache;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::{HugeCow, ZeroWrite};
use crate::space::Spaces;
use crate::space::{
    Access, Errno, Fault, FaultStep, Huge, HugeAdvice, Mapping, Need, Owner, Prot, Pte, PteFlag, SpaceId, Vma, VmaKind,
    Vpn,
};

impl PhysMem {
    /// Whether faults in a mapping may get anonymous huge pages, as far as single slots do not matter.
    #[must_use]
    pub fn is_thp_eligible(&self, vma: &Vma) -> bool {
        self.is_enabled_for(vma) && vma.kind == VmaKind::Anon
    }

    /// Whether `transparent_hugepage/enabled`, that of the size, and advice allow huge pages of 2 MiB in a mapping.
    pub(super) fn is_enabled_for(&self, vma: &Vma) -> bool {
        vma.may_be_huge(self.settings.thp.rule())
    }
}

impl Vma {
    /// Whether a rule and the advice for the mapping allow huge pages in it.
    pub(super) const fn may_be_huge(&self, rule: HugeEnabled) -> bool {
        match rule {
            HugeEnabled::Always => !matches!(self.advice, HugeAdvice::NoHuge),
            HugeEnabled::Madvise => matches!(self.advice, HugeAdvice::Huge),
            HugeEnabled::Never => false,
        }
    }
}

impl Spaces {
    /// Whether a space has huge pages disabled: `prctl(PR_GET_THP_DISABLE)`.
    ///
    /// # Errors
    /// `ESRCH` where there is no such space.
    pub fn thp_disabled(&self, id: SpaceId) -> Result<bool, Errno> {
        self.get(id).map(|space| space.thp_disabled)
    }

    /// `prctl(PR_SET_THP_DISABLE)`: no mapping of the space gets huge pages from now on, whatever else says so. What is huge
    /// stays; a child of `fork` inherits it.
    ///
    /// # Errors
    /// `ESRCH` where there is no such space.
    pub fn set_thp_disabled(&mut self, id: SpaceId, disabled: bool) -> Result<(), Errno> {
        self.get_mut(id)?.thp_disabled = disabled;
        Ok(())
    }

    /// Goes on with the fault for the pages of its slot from `vpn` on, each of which gets a copy of its own.
    pub(crate) fn copy_slot_from(&self, fault: &Fault, vpn: Vpn, phys: &PhysMem) -> FaultStep {
        for vpn in fault.vpn.slot().iter().filter(|&at| at >= vpn) {
            let seen = self.get(fault.space).map_or(Pte::NONE, |space| space.table.get(vpn));
            let Some(source) = seen.idx().filter(|_| !seen.has(PteFlag::Write)) else { continue };
            let need = Need::CopyOf(phys.frames.pfn(source));
            return FaultStep::NeedPage(Fault {
                vpn,
                need,
                seen,
                gfp: Gfp::GFP_HIGHUSER_MOVABLE,
                whole_slot: Some(fault.whole_slot.unwrap_or(fault.vpn)),
                search: None,
                ..*fault
            });
        }
        FaultStep::Done
    }

    fn has_table(&mut self, fault: &Fault) -> bool {
        self.living(fault.space).table.table(fault.vpn).is_some()
    }
}

impl PageCache {
    /// Whether a mapping may have huge pages, of its own or of its file: `THPeligible`, as far as single slots do not matter,
    /// and what khugepaged asks.
    #[must_use]
    pub fn may_have_huge_pages(&self, vma: &Vma, phys: &PhysMem) -> bool {
        phys.is_thp_eligible(vma) || self.is_shmem_eligible(vma, phys)
    }
}

impl UsedPages {
    /// A fault in a slot that has no table: with a huge page if it may have one, else `fault`, which asks for a table.
    #[cold]
    pub(crate) fn resolve_slot(&mut self, fault: Fault, vma: &Vma, phys: &mut PhysMem) -> FaultStep {
        let slot = fault.vpn.slot();
        if let VmaKind::Hugetlb { .. } = vma.kind {
            return self.resolve_hugetlb(fault, vma, phys);
        }
        let vma = &self.spaces.living(fault.space).seen_by_thp(vma);
        if let Some(huge) = self.spaces.living(fault.space).table.huge(fault.vpn) {
            return self.resolve_huge(Fault { seen: huge.pte, ..fault }, vma, phys);
        }
        if let Some(file) = vma.kind.file().filter(|&file| !self.cache.files.is_on_disk(file)) {
            return self.resolve_shmem_slot(fault, vma, file, phys);
        }
        if !phys.is_thp_eligible(vma) || slot.intersect(vma.range) != slot {
            return FaultStep::NeedPage(fault);
        }
        if !vma.touched {
            self.spaces.living(fault.space).vmas.set_touched(fault.vpn);
        }
        self.huge.khugepaged_register(fault.space, phys);
        let zero = fault.access == Access::Read && phys.settings.thp.use_zero_page;
        // A page of zeros comes after its table, and so does a base page; a huge page of its own comes before.
        let table_first = zero || phys.policy.thp.placement.asks_for_base();
        if table_first && self.spaces.living(fault.space).spare_table.is_none() {
            return fault.with_table_for(Need::Deposit);
        }
        match self.huge.has_huge_zero_page() {
            _ if !zero => self.ask_huge(fault, Need::HugePage, vma, phys),
            true => self.map_huge_zero(&fault, phys),
            false => {
                let gfp = zero_gfp(&phys.policy.thp);
                FaultStep::NeedPage(Fault { need: Need::HugeZero, gfp, search: None, ..fault })
            }
        }
    }

    /// Asks for a huge page where the policy looks first; `need` says what for.
    fn ask_huge(&mut self, fault: Fault, need: Need, vma: &Vma, phys: &mut PhysMem) -> FaultStep {
        let advised = vma.advice == HugeAdvice::Huge;
        let rights = fault_gfp(phys.settings.thp.defrag, advised, &phys.policy.thp);
        // A slot of zeros, or of another's page, is mapped already: a base page would not do.
        let takes_base = fault.seen.is_none() && fault.access == Access::Write;
        let page = PageOf::slot(vma, fault.vpn);
        let ask = self.ask_for(fault.task(), page, fault.local, rights, phys);
        let search = self.begin_search(HugeAsk { advised: vma.local || ask.advised, takes_base, ..ask }, phys);
        self.attempt(&Fault { need, ..fault }, search, phys)
    }

    /// A search for a huge page for `task` on `local`, for which `rights` may be used: where the memory policy of the page
    /// has it.
    pub(crate) fn ask_for(
        &self,
        task: SpaceTask,
        page: PageOf<'_>,
        local: NodeId,
        rights: Gfp,
        phys: &PhysMem,
    ) -> HugeAsk {
        let (placement, takes_base) = (phys.policy.thp.placement, false);
        let PlacedHuge { home, allowed, uses, in_order, by_proximity: advised } =
            self.huge_choice(task, page, local, rights, phys);
        HugeAsk { placement, home, allowed, uses, in_order, rights, advised, takes_base }
    }

    /// Asks for the page of the attempt that a search has come to, or makes do without.
    pub(crate) fn attempt(&mut self, fault: &Fault, search: Option<HugeSearch>, phys: &mut PhysMem) -> FaultStep {
        let need = match (&search, fault.need) {
            (None, _) => return self.resolve_refused(&Fault { search: None, ..*fault }, phys),
            (Some(search), _) if search.is_for_base() => Need::BaseFirst,
            (Some(_), Need::BaseFirst) => Need::HugePage,
            (Some(_), need) => need,
        };
        FaultStep::NeedPage(Fault { need, search: search.map(Box::new), ..*fault })
    }

    /// An access to a slot with a huge mapping that this does not allow, though the mapping of memory does.
    fn resolve_huge(&mut self, fault: Fault, vma: &Vma, phys: &mut PhysMem) -> FaultStep {
        let entry = fault.seen;
        if entry.has(PteFlag::Hinting) {
            return FaultStep::NumaHint;
        }
        if fault.access.allowed_by_entry(entry) {
            return self.map_huge_write(&fault, fault.access.mark(entry), phys);
        }
        if entry.idx().is_some_and(|head| self.rmap.file_folio_head(head, phys).is_some()) {
            return match vma.kind.is_private() {
                true => self.split_and_resolve(&fault, phys),
                false => self.map_huge_write(&fault, Access::Write.mark(entry).with(PteFlag::Write, true), phys),
            };
        }
        match entry.idx() {
            Some(head) if self.huge.is_huge_exclusive(head) => {
                self.map_huge_write(&fault, Access::Write.mark(entry).with(PteFlag::Write, true), phys)
            }
            None if phys.policy.thp.zero_write == ZeroWrite::Split => self.split_and_resolve(&fault, phys),
            Some(_) if phys.policy.thp.cow == HugeCow::Split => self.split_and_resolve(&fault, phys),
            head if !phys.is_thp_eligible(vma) => self.refuse_huge(&fault, head, phys),
            Some(head) => self.ask_huge(fault, Need::HugeCopyOf(phys.frames.pfn(head)), vma, phys),
            None => self.ask_huge(fault, Need::HugePage, vma, phys),
        }
    }

    fn map_huge_write(&mut self, fault: &Fault, entry: Pte, phys: &mut PhysMem) -> FaultStep {
        let huge = self.spaces.living(fault.space).table.huge_mut(fault.vpn).expect("the slot has a huge mapping");
        huge.pte = entry;
        phys.work.ptes_set += 1;
        self.wrote(fault.space, fault.vpn, fault.access, phys);
        FaultStep::Done
    }

    /// Makes single mappings of the huge one, and goes on with the page of the fault.
    fn split_and_resolve(&mut self, fault: &Fault, phys: &mut PhysMem) -> FaultStep {
        self.split_pmd(fault.space, fault.vpn, phys);
        self.resolve_again(fault, phys)
    }

    /// There is no huge page: counts that, and goes on with base pages. `source` is the shared page that was to be copied.
    fn refuse_huge(&mut self, fault: &Fault, source: Option<Idx>, phys: &mut PhysMem) -> FaultStep {
        phys.counters.thp_fault_fallback += 1;
        if source.is_none() {
            return self.split_and_resolve(fault, phys);
        }
        // All of the slot is copied, page by page, so that it does not stay half in the other space's huge page.
        self.pmd_to_table(fault.space, fault.vpn, phys);
        self.spaces.copy_slot_from(fault, fault.vpn.slot().start, phys)
    }

    /// Says that a page could not be had which a fault had asked for and can do without: it makes its next attempt if it has
    /// one, else it goes on with base pages. Both are allocated straight from the fast path as far as that goes.
    pub(crate) fn fault_refused(&mut self, fault: &Fault, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        let step = self.refuse(fault, cpu, phys);
        self.go_on_fast(step, cpu, phys)
    }

    /// Refuses a huge page to a fault without any allocation.
    pub(crate) fn refuse(&mut self, fault: &Fault, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        let mut step = match (fault.need, &fault.search) {
            (Need::Surplus, _) => {
                self.hugetlb_give_surplus(None, phys);
                self.hugetlb_refused(fault, cpu, phys)
            }
            (Need::DepositFor(page), _) => {
                phys.free_fresh(phys.frames.at(page), cpu);
                fault.with_table_for(Need::PageTable)
            }
            (Need::SmallHuge(size), _) => self.refuse_small(fault, size, phys),
            (_, None) => self.resolve_refused(fault, phys),
            (_, Some(search)) => {
                let next = self.go_on_searching(search, phys);
                self.attempt(fault, next, phys)
            }
        };
        phys.count_fault(&mut step, fault.counted);
        step
    }

    fn resolve_refused(&mut self, fault: &Fault, phys: &mut PhysMem) -> FaultStep {
        if let Need::HugeFilePage(file, index) = fault.need {
            return phys.refuse_huge_file_page(fault, file, index);
        }
        let Ok(space) = self.spaces.get(fault.space) else { return FaultStep::Retry };
        let now = space.table.huge(fault.vpn).map_or(Pte::NONE, |huge| huge.pte);
        if space.vmas.generation != fault.generation || now != fault.seen {
            return FaultStep::Retry;
        }
        if fault.need == Need::HugeZero {
            phys.counters.thp_zero_page_alloc_failed += 1;
        }
        if !fault.seen.is_none() {
            return self.refuse_huge(fault, fault.seen.idx(), phys);
        }
        phys.counters.thp_fault_fallback += 1;
        if !self.spaces.has_table(fault) && !self.install_spare_table(fault) {
            return fault.with_table_for(Need::PageTable);
        }
        self.resolve_again(fault, phys)
    }

    /// Gives the empty slot of a fault the page table that was allocated for a huge one; says whether there was any.
    fn install_spare_table(&mut self, fault: &Fault) -> bool {
        let space = self.spaces.living(fault.space);
        let Some(frame) = space.spare_table.take() else { return false };
        let slot = fault.vpn.slot().start;
        space.table.install(slot, frame);
        self.rmap.set(frame, Owner::PageTable(Mapping { space: fault.space, vpn: slot }));
        true
    }

    /// Maps a fresh base page in a slot that has nothing yet, unless something has changed since it was asked for.
    fn map_base_first(&mut self, fault: &Fault, idx: Idx, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        let is_as_seen = self.is_empty_as_seen(fault);
        if !is_as_seen || !self.install_spare_table(fault) {
            phys.free_fresh(idx, cpu);
            // Without a table the next try would come to the same.
            return if is_as_seen { fault.with_table_for(Need::Deposit) } else { FaultStep::Retry };
        }
        phys.counters.thp_fault_fallback += 1;
        self.finish_private(&Fault { need: Need::Zeroed, search: None, ..*fault }, idx, cpu, phys)
    }

    /// Takes what a fault in a slot needed: the page that its table will lie in, or a huge page.
    pub(crate) fn finish_huge(&mut self, fault: &Fault, idx: Idx, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        match fault.need {
            Need::Deposit => self.keep_spare_table(fault.space, fault.vpn, idx, cpu, phys),
            Need::HugeZero => self.take_huge_zero(idx, cpu, phys),
            Need::BaseFirst => return self.map_base_first(fault, idx, cpu, phys),
            Need::DepositFor(page) => {
                self.keep_spare_table(fault.space, fault.vpn, idx, cpu, phys);
                let fault = Fault { need: Need::HugePage, ..fault.clone() };
                return self.map_fresh_huge(&fault, phys.frames.at(page), cpu, phys);
            }
            Need::HugePage if fault.seen.is_none() && self.lacks_table(fault) => {
                return fault.with_table_for(Need::DepositFor(phys.frames.pfn(idx)));
            }
            _ => return self.map_fresh_huge(fault, idx, cpu, phys),
        }
        self.resolve_again(fault, phys)
    }

    /// Whether the slot of a fault is still empty, and the mappings are those that the first step saw.
    fn is_empty_as_seen(&self, fault: &Fault) -> bool {
        self.spaces.get(fault.space).is_ok_and(|space| {
            let is_empty = space.table.huge(fault.vpn).is_none() && space.table.table(fault.vpn).is_none();
            is_empty && space.vmas.generation == fault.generation
        })
    }

    /// Whether a huge page could be mapped in the slot of a fault, if there were a page table for its split.
    fn lacks_table(&mut self, fault: &Fault) -> bool {
        self.is_empty_as_seen(fault) && self.spaces.living(fault.space).spare_table.is_none()
    }

    /// Keeps a page table for the next slot of the space that needs one.
    fn keep_spare_table(&mut self, id: SpaceId, vpn: Vpn, idx: Idx, cpu: usize, phys: &mut PhysMem) {
        match self.spaces.get(id) {
            Ok(space) if space.spare_table.is_none() => {
                self.count_page_table(id, vpn, idx, phys);
                self.spaces.living(id).spare_table = Some(idx);
            }
            _ => phys.free_fresh(idx, cpu),
        }
    }

    fn map_huge_zero(&mut self, fault: &Fault, phys: &mut PhysMem) -> FaultStep {
        self.hold_huge_zero(fault.space, phys);
        self.install_huge(fault, Pte::ZERO, phys);
        FaultStep::Done
    }

    /// Gives the empty slot of the fault an entry, and the spare page table for its split.
    fn install_huge(&mut self, fault: &Fault, pte: Pte, phys: &mut PhysMem) {
        let at = Mapping { space: fault.space, vpn: fault.vpn.slot().start };
        let space = self.spaces.living(at.space);
        let deposit = space.spare_table.take().expect("a page table was allocated for the slot");
        space.table.install_huge(at.vpn, Huge { pte, deposit: Some(deposit) });
        self.rmap.set(deposit, Owner::PageTable(at));
        phys.work.ptes_set += 1;
    }

    /// Maps a fresh huge page, unless something has changed since it was asked for.
    fn map_fresh_huge(&mut self, fault: &Fault, head: Idx, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        let slot = fault.vpn.slot();
        let vma = self.spaces.get(fault.space).ok().filter(|space| {
            let now = space.table.huge(fault.vpn).map_or(Pte::NONE, |huge| huge.pte);
            let has_room = now.idx().is_some()
                || !now.is_none()
                || space.table.table(fault.vpn).is_none() && space.spare_table.is_some();
            space.vmas.generation == fault.generation && now == fault.seen && has_room
        });
        let Some(vma) = vma.and_then(|space| space.vmas.find(fault.vpn)).copied() else {
            phys.free_fresh(head, cpu);
            return FaultStep::Retry;
        };
        match fault.need {
            Need::HugeCopyOf(source) => self.copy_huge(phys.frames.at(source), head, phys),
            _ => self.clear_huge_page(head, phys),
        }
        let at = Mapping { space: fault.space, vpn: slot.start };
        let entry = Access::Write.mark(Pte::present(head)).with(PteFlag::Write, vma.prot.has(Prot::WRITE));
        if fault.seen.is_none() {
            self.install_huge(fault, entry, phys);
        } else {
            self.spaces.living(at.space).table.huge_mut(at.vpn).expect("the slot has a huge mapping").pte = entry;
            phys.work.ptes_set += 1;
            phys.work.ptes_cleared += 1;
            phys.work.tlb_flushes += 1;
        }
        self.adopt_huge(head, at, vma.locked, phys);
        match fault.seen.idx() {
            Some(old) => {
                self.unmap_huge(at, old, cpu, phys);
                self.munlock_page(old, phys);
            }
            None => self.spaces.living(at.space).rss += HUGE_RSS,
        }
        if !fault.seen.is_none() && fault.seen.idx().is_none() {
            self.huge.release_huge_zero(phys);
        }
        phys.counters.thp_fault_alloc += 1;
        self.wrote(fault.space, fault.vpn, fault.access, phys);
        FaultStep::Done
    }

    fn copy_huge(&mut self, from: Idx, to: Idx, phys: &mut PhysMem) {
        (0..NR).for_each(|offset| self.copy_page(from.plus(offset), to.plus(offset), phys));
    }
}
