//! A hint fault: who uses a page is known, and has consequences.

use order9_frames::Idx;
use order9_units::{Nanos, NodeId, Order};

use super::placement::HintFault;
use super::users::PageUser;
use super::{NumaTask, SpaceBalancing};
use crate::mempolicy::SpaceTask;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Spaces;
use crate::space::{Mapping, PteFlag, Slot, SpaceId, VirtAddr, Vma, Vpn};

/// A page that was asked about.
#[derive(Clone, Copy)]
struct Answered {
    /// First frame of the page.
    idx: Idx,
    order: Order,
    /// Place of the access.
    vpn: Vpn,
}

impl UsedPages {
    /// Goes on with an access by `task` after [`crate::space::FaultStep::NumaHint`] (`do_numa_page`): the entry is accessible
    /// again, its page moves where it belongs, and the program repeats the access. Returns the node that the task should go
    /// to, if there is an idle CPU for it.
    pub(crate) fn numa_hint_fault(
        &mut self,
        of: impl Into<SpaceTask>,
        addr: VirtAddr,
        task: NumaTask,
        now: Nanos,
        phys: &mut PhysMem,
    ) -> Option<NodeId> {
        let of = of.into();
        let at = Mapping { space: of.space, vpn: addr.vpn() };
        let page = self.spaces.answer_hint(at, phys)?;
        let &vma = self.spaces.get(of.space).ok()?.vmas.find(at.vpn).expect("an entry lies in a mapping");
        // Parts of a huge page or of a folio do not move alone.
        let is_part =
            self.rmap.huge_head(page.idx, phys).is_some() || self.is_large_folio(phys.page_of(page.idx), phys);
        let partial = page.order == Order::ZERO && is_part;
        if partial { None } else { self.hint_fault_on(of, &vma, page, task, now, phys) }
    }

    fn hint_fault_on(
        &mut self,
        of: SpaceTask,
        vma: &Vma,
        page: Answered,
        task: NumaTask,
        now: Nanos,
        phys: &mut PhysMem,
    ) -> Option<NodeId> {
        let (here, there) = (phys.node_of_cpu(task.cpu), phys.node_of(page.idx));
        phys.counters.numa_hint_faults += 1;
        phys.counters.numa_hint_faults_local += u64::from(here == there);
        self.spaces.note_vma_user(of.space, vma, task);
        let before = self.balancing.user(page.idx);
        let target = self.misplaced_on_fault(of, vma, page.vpn, page.idx, task, phys);
        let moved = target.map(|target| match page.order {
            Order::ZERO => self.follow_base(page.idx, vma, target, task.cpu, now, phys),
            _ => self.follow_huge(page.idx, target, task.cpu, now, phys),
        });
        let private = before == PageUser::NOBODY || before.may_be(task);
        let node = target.filter(|_| moved == Some(true)).unwrap_or(there);
        let fault = HintFault { node, pages: page.order.pages().get(), private, local: here == there, moved };
        self.spaces.learn(of.space, task, &fault, now, phys)
    }
}

impl Spaces {
    /// Gives the access back that was taken from the entry at a place; what it shows, or `None` where it was not taken.
    fn answer_hint(&mut self, at: Mapping, phys: &mut PhysMem) -> Option<Answered> {
        let slot = self.get_mut(at.space).ok()?.table.slot_mut(at.vpn)?;
        let (pte, order) = match slot {
            Slot::Table(table) => (table.get(at.vpn), Order::ZERO),
            Slot::Huge(huge) => (huge.pte, Order::PAGEBLOCK),
            Slot::Empty | Slot::Hugetlb(_) => return None,
        };
        if !pte.has(PteFlag::Hinting) {
            return None;
        }
        let answered = pte.answered().with(PteFlag::Young, true);
        match slot {
            Slot::Table(table) => drop(table.set(at.vpn, answered)),
            Slot::Huge(huge) => huge.pte = answered,
            Slot::Empty | Slot::Hugetlb(_) => {}
        }
        phys.work.ptes_set += 1;
        Some(Answered { idx: pte.idx()?, order, vpn: at.vpn })
    }

    /// Facts about a space whose tasks are being watched.
    pub(super) fn balancing_of(&mut self, id: SpaceId, now: Nanos, phys: &PhysMem) -> &mut SpaceBalancing {
        let settings = phys.settings.numa_balancing;
        let known = &mut self.living(id).balancing;
        known.get_or_insert_with(|| SpaceBalancing::new(now, &settings).into())
    }
}
