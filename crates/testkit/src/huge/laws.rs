//! Laws about what a step does, which no single state shows. Each is told from what programs see, not from what the engine
//! thinks: from policies as `get_mempolicy` shows them, from where pages lie, and from counters.

use order9_mm::mempolicy::{MempolicyArgs, Mode, ModeFlags, SpaceTask};
use order9_mm::policy::HugePlacement;
use order9_mm::space::{Fault, Need, PageView, VirtAddr, VpnRange};
use order9_mm::thp::{Collapse, HugeEnabled};
use order9_mm::{AllocError, Gfp, Request, SpaceId, alloc_pages};
use order9_units::{NodeId, NodeMask, Pfn};

use super::{HUGE, World};
use crate::nodes::Choices;

/// Numbers of pages that became huge since boot: by faults, for reads of untouched memory, and by khugepaged.
pub(super) type MadeHuge = [u64; 4];

impl<C: Choices> World<C> {
    /// The node of the CPU that everything happens on now.
    pub(super) fn local(&self) -> NodeId {
        self.machine.nodes.node_of(self.cpu())
    }

    /// A page for a fault, from where the policy has it and with no more effort than the fault may make.
    pub(super) fn page_for(&self, task: SpaceTask, fault: &Fault) -> Option<Pfn> {
        let policy = self.policy_at(task, fault.addr());
        let request = self.with(|mm| mm.fault_request(fault, self.cpu()));
        let before = self.effort();
        let page = self.machine.run(alloc_pages(&self.machine, &request)).ok();
        self.check_effort(&request, &policy, before);
        let page = page?;
        if !matches!(fault.need(), Need::PageTable | Need::Deposit | Need::DepositFor(_) | Need::HugeZero) {
            self.check_place(task.space(), fault.need(), &policy, page);
        }
        Some(page)
    }

    /// The policy in force for a page: of its mapping or file, else of the task.
    fn policy_at(&self, task: SpaceTask, addr: VirtAddr) -> MempolicyArgs {
        let of = |addr| self.with(|mm| mm.pages().get_mempolicy(task, addr)).expect("it is mapped");
        Some(of(Some(addr))).filter(|policy| *policy != MempolicyArgs::DEFAULT).unwrap_or_else(|| of(None))
    }

    /// A page lies on a node of the cpuset and, under `MPOL_BIND`, of the policy; a huge page that is wanted at home alone
    /// lies there.
    fn check_place(&self, space: SpaceId, need: Need, policy: &MempolicyArgs, page: Pfn) {
        let node = self.with(|mm| mm.phys().node_of_frame(page));
        let mems = self.with(|mm| mm.mems_allowed(space)).expect("it lives");
        assert!(mems.has(node), "{page:?} for {need:?} lies on node {node}, outside the cpuset {mems}");
        let bound = match (policy.mode, policy.flags) {
            (Mode::Bind, ModeFlags::Relative) => policy.nodes.relative_to(mems),
            (Mode::Bind, _) => policy.nodes,
            _ => NodeMask::ALL,
        };
        self.count_placed([u64::from(policy.mode == Mode::Bind), 0]);
        assert!(bound.has(node), "{page:?} for {need:?} lies on node {node}, against {policy:?}");
        let home = match policy.mode {
            Mode::Default | Mode::Local => Some(self.local()),
            Mode::Preferred if policy.flags == ModeFlags::None => policy.nodes.first(),
            _ => None,
        };
        let is_of_program = matches!(need, Need::HugePage | Need::HugeCopyOf(_));
        if let Some(home) = home.filter(|_| is_of_program && self.stays_home()) {
            self.count_placed([0, 1]);
            assert_eq!(node, home, "the huge page {page:?} is wanted at home alone");
        }
    }

    fn count_placed(&self, more: [u64; 2]) {
        let [bound, home] = self.placed.get();
        self.placed.set([bound + more[0], home + more[1]]);
    }

    /// Whether the placement of huge pages never looks elsewhere.
    fn stays_home(&self) -> bool {
        use HugePlacement::{CompactOnly, NoRetry, ThisNode};
        matches!(self.placement(), ThisNode | NoRetry | CompactOnly)
    }

    fn placement(&self) -> HugePlacement {
        self.with(|mm| mm.policy().thp.placement)
    }

    /// Direct reclaim and compaction so far, pages that the former took, and wakeups of kswapd that wait to be delivered.
    fn effort(&self) -> [u64; 4] {
        self.with(|mm| {
            let kswapd = u64::from(mm.take_wakeups().kswapd != 0);
            let counters = mm.counters();
            [counters.allocstall.total(), counters.compact_stall, counters.pgsteal_direct.total(), kswapd]
        })
    }

    /// Checks the efforts of a request: no reclaim or compaction, no wake-up of kswapd, and no page taken from others,
    /// unless the request may do so.
    fn check_effort(&self, request: &Request, policy: &MempolicyArgs, before: [u64; 4]) {
        let after = self.effort();
        let [stalls, compactions, stolen] = [0, 1, 2].map(|at| after[at] - before[at]);
        let gfp = request.gfp;
        if !gfp.has(Gfp::DIRECT_RECLAIM) {
            assert_eq!([stalls, compactions, stolen], [0; 3], "{request:?} may not reclaim or compact");
        }
        if !gfp.has(Gfp::KSWAPD_RECLAIM) {
            assert_eq!(after[3], 0, "{request:?} may not wake kswapd");
        }
        use HugePlacement::{CompactOnly, CompactOnlyWmark, NoRetry, TwoStepStrict, TwoStepThisNode};
        let gives_up = match self.placement() {
            NoRetry | CompactOnly | CompactOnlyWmark => true,
            TwoStepStrict | TwoStepThisNode => gfp.has(Gfp::THISNODE),
            _ => false,
        };
        let by_placement = matches!(policy.mode, Mode::Default | Mode::Local | Mode::Preferred);
        if gives_up && by_placement && request.order.pages().get() == HUGE {
            assert_eq!([stalls, stolen], [0; 2], "{request:?} compacts at most");
        }
    }

    /// A huge page for a collapse. A slot of private memory has it on a node that has most of its pages.
    pub(super) fn page_for_collapse(&self, space: SpaceId, plan: &Collapse) -> Result<Pfn, AllocError> {
        let page = self.machine.run(alloc_pages(&self.machine, &plan.request(self.cpu())));
        if let Ok(page) = page {
            self.check_collapse(space, plan.slot(), page);
        }
        self.with(|mm| mm.phys_mut().collapse_allocated(plan, page.is_ok()));
        page
    }

    fn check_collapse(&self, space: SpaceId, slot: VpnRange, page: Pfn) {
        let is_private = self.with(|mm| {
            mm.space(space)
                .is_some_and(|space| space.vma_at(slot.start.addr()).is_some_and(|vma| vma.kind.file().is_none()))
        });
        if !is_private {
            return;
        }
        let mut pages = vec![0; self.machine.nodes.layout.nodes.len()];
        for vpn in slot.iter() {
            if let PageView::Present { pfn, .. } = self.with(|mm| mm.page_at(space, vpn.addr())) {
                pages[self.with(|mm| mm.phys().node_of_frame(pfn)).index()] += 1;
            }
        }
        let node = self.with(|mm| mm.phys().node_of_frame(page));
        assert_eq!(Some(&pages[node.index()]), pages.iter().max(), "{slot:?} on {node}, with {pages:?} pages by node");
    }

    /// Numbers of pages that became huge up to now.
    pub(super) fn made_huge(&self) -> MadeHuge {
        self.with(|mm| {
            let by_khugepaged = u64::from(mm.pages().huge().khugepaged_pages_collapsed());
            let counters = mm.counters();
            let zeros = counters.thp_zero_page_alloc + counters.thp_zero_page_alloc_failed;
            [counters.thp_fault_alloc, zeros, by_khugepaged, u64::from(mm.phys().thp_enabled() == HugeEnabled::Never)]
        })
    }

    /// Checks that only `MADV_COLLAPSE` made huge pages, if huge pages were off before and after the step.
    pub(super) fn check_made_huge(&self, before: MadeHuge) {
        let after = self.made_huge();
        if before[3] == 1 && after[3] == 1 {
            assert_eq!(before, after, "huge pages are off");
        }
    }
}
