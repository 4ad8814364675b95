//! Page faults, in two steps with an allocation between them that may take any time.
//!
//! [`Mm::fault_begin`] does what needs no memory; [`Mm::fault_finish`] takes the page, looks again at everything the first
//! step saw, and frees the page where that has changed. Where a huge page may serve, [`crate::thp`] decides. Private pages
//! are in `private`, pages of files in `file_fault`, pages in swap in `swap_in`.

use order9_units::{Nanos, NodeId, Pfn};

use super::fault::{Access, Answer, Fault, FaultStep, Need};
use super::pte::{Pte, PteFlag, PteKind};
use super::table::{Huge, Slot};
use super::zeroed::Zeroed;
use super::{Mapping, NO_CPU, SpaceId, VmaKind};
use crate::addr::{VirtAddr, Vpn};
use crate::mempolicy::SpaceTask;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

/// Facts that a fault begins with.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    /// The entry, if the slot has a table.
    pub(super) entry: Option<Pte>,
    /// The time, where somebody waited for it.
    pub(super) now: Option<Nanos>,
}

impl UsedPages {
    /// An access by `task` on `cpu`: through the page table where it allows it, else a fault up to where it needs memory.
    pub(crate) fn fault_begin(
        &mut self,
        task: impl Into<SpaceTask>,
        addr: VirtAddr,
        access: Access,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> FaultStep {
        let task = task.into();
        let id = task.space;
        let vpn = addr.vpn();
        let Ok(space) = self.spaces.get_mut(id) else { return FaultStep::Segv };
        let mut seen = None;
        match space.table.slot_mut(vpn) {
            Some(Slot::Table(table)) => {
                let pte = table.get(vpn);
                seen = Some(pte);
                if access.allowed_by_entry(pte) {
                    let marked = access.mark(pte);
                    if marked != pte {
                        table.set(vpn, marked);
                    }
                    self.wrote(id, vpn, access, phys);
                    return FaultStep::Hit;
                }
            }
            Some(Slot::Huge(Huge { pte, .. }) | Slot::Hugetlb(pte)) if access.allowed_by_entry(*pte) => {
                *pte = access.mark(*pte);
                self.wrote(id, vpn, access, phys);
                return FaultStep::Hit;
            }
            _ => {}
        }
        phys.work.faults += 1;
        let mut step = self.resolve(task, vpn, access, Seen { entry: seen, now: None }, phys.node_of_cpu(cpu), phys);
        phys.count_fault(&mut step, false);
        step
    }

    /// Hands in the page that a fault needed, on behalf of `cpu`.
    pub(crate) fn fault_finish(&mut self, fault: &Fault, page: Pfn, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        match self.take_page(fault, page, cpu, phys) {
            // Said apart: to move a step costs as much as to map the page.
            FaultStep::Done => {
                phys.counters.pgfault += u64::from(!fault.counted);
                FaultStep::Done
            }
            mut step => {
                phys.count_fault(&mut step, fault.counted);
                step
            }
        }
    }

    #[inline]
    fn take_page(&mut self, fault: &Fault, page: Pfn, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        let idx = phys.fresh_block(page, fault.need.order());
        match fault.need {
            Need::Deposit
            | Need::DepositFor(_)
            | Need::HugePage
            | Need::HugeCopyOf(_)
            | Need::HugeZero
            | Need::BaseFirst => {
                return self.finish_huge(fault, idx, cpu, phys);
            }
            Need::SmallHuge(size) => return self.finish_small(fault, size, idx, cpu, phys),
            Need::Surplus => return self.finish_surplus(fault, page, cpu, phys),
            Need::PageTable => self.give_table(fault.space, fault.vpn, page, cpu, phys),
            Need::FilePage(file, index) => self.fill_hole(file, index, idx, cpu, phys),
            Need::HugeFilePage(file, index) => self.fill_huge_hole(file, index, idx, cpu, phys),
            Need::SwapIn(slot) if !self.may_finish_swap_in(fault, slot) => {
                phys.free_fresh(idx, cpu);
                return FaultStep::Retry;
            }
            Need::SwapIn(slot) => self.finish_swap_in(slot, idx, phys),
            Need::Zeroed | Need::CopyOf(_) => return self.finish_private(fault, idx, cpu, phys),
        }
        self.resolve_again(fault, phys)
    }

    /// Looks again at a fault, the table of whose slot may have changed.
    pub(crate) fn resolve_again(&mut self, fault: &Fault, phys: &mut PhysMem) -> FaultStep {
        let table = self.spaces.get(fault.space).ok().and_then(|space| space.table.table(fault.vpn));
        let seen = table.map(|table| table.get(fault.vpn));
        self.resolve(fault.task(), fault.vpn, fault.access, Seen { entry: seen, now: None }, fault.local, phys)
    }

    /// Gives the slot of `vpn` the page table just allocated; frees the page where none is needed (any more).
    pub(crate) fn give_table(&mut self, id: SpaceId, vpn: Vpn, page: Pfn, cpu: usize, phys: &mut PhysMem) {
        let idx = phys.fresh(page);
        match self.spaces.get(id) {
            Ok(space) if matches!(space.table.slot(vpn), Slot::Empty) && space.vmas.find(vpn).is_some() => {
                self.install_table(id, vpn, idx, phys);
            }
            _ => phys.free_fresh(idx, cpu),
        }
    }

    /// Accesses a page with allocations straight from the fast path. Where one fails, that is what the fault needs: the
    /// slow path's turn.
    #[inline]
    pub(crate) fn touch(
        &mut self,
        task: impl Into<SpaceTask>,
        addr: VirtAddr,
        access: Access,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> FaultStep {
        let task = task.into();
        match self.map_zeroed(Mapping { space: task.space, vpn: addr.vpn() }, access, cpu, phys) {
            Zeroed::Mapped => FaultStep::Done,
            Zeroed::Refused => self.fault_begin(task, addr, access, cpu, phys),
            Zeroed::Other => {
                let step = self.fault_begin(task, addr, access, cpu, phys);
                self.go_on_fast(step, cpu, phys)
            }
        }
    }

    /// Goes on with a fault that needed `page`, with further allocations straight from the fast path.
    pub(crate) fn fault_go_on(&mut self, fault: &Fault, page: Pfn, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        let step = self.fault_finish(fault, page, cpu, phys);
        self.go_on_fast(step, cpu, phys)
    }

    #[inline]
    pub(crate) fn go_on_fast(&mut self, mut step: FaultStep, cpu: usize, phys: &mut PhysMem) -> FaultStep {
        if let FaultStep::NeedPool(fault) = &step {
            step = self.hugetlb_fault(fault, fault.local, cpu, phys);
        }
        while let FaultStep::NeedPage(fault) = &step
            && !matches!(fault.need, Need::SwapIn(_))
        {
            let request = self.fault_request(fault, cpu, phys);
            step = match self.alloc_fast(&request, phys) {
                Ok(page) => match self.fault_finish(fault, page, cpu, phys) {
                    // Said apart: to move a step costs as much as the rest of this.
                    FaultStep::Done => return FaultStep::Done,
                    next => next,
                },
                Err(_) if fault.search.as_ref().is_some_and(|search| search.attempt.is_fleeting()) => {
                    self.refuse(fault, cpu, phys)
                }
                Err(_) => break,
            };
        }
        step
    }

    /// Handles a fault as far as it needs no page; `local` is the node of the CPU that faulted.
    #[inline(always)] // Returned in memory, a step costs as much as the rest of this.
    pub(super) fn resolve(
        &mut self,
        task: SpaceTask,
        vpn: Vpn,
        access: Access,
        seen: Seen,
        local: NodeId,
        phys: &mut PhysMem,
    ) -> FaultStep {
        let Seen { entry: seen, now } = seen;
        phys.work.vma_lookups += 1;
        let SpaceTask { space: id, thread } = task;
        let Ok(space) = self.spaces.get_mut(id) else { return FaultStep::Segv };
        let generation = space.vmas.generation;
        let Some(&vma) = space.vmas.find_for_fault(vpn).filter(|vma| access.allowed_by(vma.prot)) else {
            return FaultStep::Segv;
        };
        let locked = vma.locked;
        let fault = |need: Need, seen| {
            let gfp = need.gfp();
            Fault {
                space: id,
                thread,
                vpn,
                access,
                need,
                gfp,
                local,
                search: None,
                seen,
                generation,
                locked,
                counted: false,
                whole_slot: None,
            }
        };
        let wait = |need, seen| FaultStep::NeedPage(fault(need, seen));
        let Some(pte) = seen else { return self.resolve_slot(fault(Need::PageTable, Pte::NONE), &vma, phys) };
        if pte.has(PteFlag::Hinting) {
            return FaultStep::NumaHint;
        }
        let answer = match (pte.kind(), vma.kind) {
            _ if access.allowed_by_entry(pte) => Answer::Map(access.mark(pte)),
            (PteKind::None, VmaKind::Anon) if access == Access::Read => Answer::Map(Pte::ZERO),
            (PteKind::None, VmaKind::Anon) => Answer::Need(self.need_of_untouched(id, vpn, &vma, phys)),
            (PteKind::Zero, _) => Answer::Need(Need::Zeroed),
            (PteKind::None, VmaKind::File { file, .. }) => {
                self.answer_from_file(Mapping { space: id, vpn }, &vma, file, access, now, phys)
            }
            (PteKind::Present, _) => self.answer_write(&vma, pte, now, phys),
            (PteKind::None, VmaKind::Hugetlb { .. }) => unreachable!("{vpn:?} of a hugetlb pool has a page table"),
            (PteKind::Swap, _) => self.answer_from_swap(&vma, Mapping { space: id, vpn }, pte, access, phys),
        };
        match answer {
            Answer::Map(entry) => {
                self.spaces.living(id).table.table_mut(vpn).expect("the slot has a table").set(vpn, entry);
                phys.work.ptes_set += 1;
                self.wrote(id, vpn, access, phys);
                FaultStep::Done
            }
            Answer::Need(need) => {
                if !vma.touched && matches!(need, Need::Zeroed | Need::SmallHuge(_) | Need::CopyOf(_)) {
                    self.spaces.living(id).vmas.set_touched(vpn);
                }
                FaultStep::NeedPage(Fault { gfp: phys.gfp_of_need(need, &vma), ..fault(need, pte) })
            }
            Answer::Hole(file) => {
                let seen = self.spaces.living(id).seen_by_thp(&vma);
                match () {
                    () if self.cache.wants_huge_page(file, vma.index(vpn), Some(&seen), phys) => {
                        self.ask_huge_file_page(fault(Need::PageTable, pte), &vma, file, phys)
                    }
                    () if !self.has_room(file, NO_CPU, phys) => FaultStep::Bus,
                    () => wait(Need::FilePage(file, vma.index(vpn)), pte),
                }
            }
            Answer::Read(file, index) => FaultStep::NeedRead { file, index },
            Answer::Mkwrite => FaultStep::NeedMkwrite,
            Answer::Beyond => FaultStep::Bus,
        }
    }
}

impl PhysMem {
    /// Counts a fault once. An access that waits for a read is repeated, and counted then; a fault that only lacks its page
    /// table may still come to that.
    #[inline]
    pub(crate) fn count_fault(&mut self, step: &mut FaultStep, counted: bool) {
        let counts = match step {
            FaultStep::Segv | FaultStep::NeedRead { .. } => false,
            FaultStep::NeedPage(fault) => fault.need != Need::PageTable,
            _ => true,
        };
        self.counters.pgfault += u64::from(counts && !counted);
        if let FaultStep::NeedPage(fault) | FaultStep::NeedPool(fault) = step {
            fault.counted = counted || counts;
        }
    }

    /// The node of `cpu`, the first one past the last CPU.
    #[inline]
    pub(crate) fn node_of_cpu(&self, cpu: usize) -> NodeId {
        self.frames.cpus().get(cpu).copied().unwrap_or_default()
    }
}
