//! Random steps of programs.

use order9_mm::mempolicy::{Movable, PageMove, SpaceTask};
use order9_mm::reclaim::Reclaimer;
use order9_mm::shrinker::{LruScan, ShrinkControl, ShrinkSlab, ShrinkStep};
use order9_mm::space::{
    Access, Backing, FaultStep, Madvise, MmapRequest, Mremap, MremapRequest, MremapTo, PageView, Place, Prot,
    TableStep, VirtAddr, VpnRange,
};
use order9_mm::tasks::compact_node;
use order9_mm::tasks::move_pages;
use order9_mm::tasks::offline_pages;
use order9_mm::tasks::{direct_reclaim, map_from_pools};
use order9_mm::thp::{CollapseFailure, HugeDefrag, HugeEnabled, HugeSize, KhugepagedStep, SizeEnabled};
use order9_mm::{Gfp, Mm, Request, SpaceId, alloc_pages};
use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange};

use super::{ALL_PAGES, HUGE, PAGES, SPACES, World, at, pages};
use crate::nodes::Choices;

/// Efforts of faults for huge pages.
const DEFRAG: [HugeDefrag; 5] =
    [HugeDefrag::Always, HugeDefrag::Defer, HugeDefrag::DeferMadvise, HugeDefrag::Madvise, HugeDefrag::Never];

impl<C: Choices> World<C> {
    /// Does something, and checks every law.
    ///
    /// # Panics
    /// If one is broken.
    pub fn step(&mut self) {
        if self.below(4) == 0 {
            self.run_elsewhere();
        }
        let before = self.made_huge();
        match self.below(54) {
            0..=8 => self.touch(),
            9 => self.advise(Madvise::DontNeed),
            10 | 11 => self.advise(Madvise::Free),
            12 => self.advise(Madvise::HugePage),
            13 => self.advise(Madvise::NoHugePage),
            14 if self.below(3) == 0 => self.unmap(),
            15 if self.below(3) == 0 => self.remap(1),
            14..=17 => self.remap(HUGE),
            18 => self.protect(),
            19 => self.relocate(),
            20 => self.fork_or_exit(),
            21 => self.pin_or_unpin(),
            22 => self.split(),
            23..=25 => self.reclaim(),
            26 => self.machine.end_writes(),
            27 => self.lock(),
            28 | 29 => self.collapse(),
            30 | 31 => self.khugepaged(),
            32 => self.shrink(),
            33 => self.move_pages(),
            34 => self.compact(),
            35 => self.offline(),
            36 => self.set_pools(),
            37 | 38 => self.map_pool(),
            40..=45 => self.step_on_file(),
            46..=48 => self.step_on_nodes(),
            49..=53 => self.balance(),
            _ => self.enable(),
        }
        self.check_made_huge(before);
        self.check();
    }

    pub(super) fn space(&mut self) -> SpaceId {
        let at = self.below(self.spaces.len() as u64);
        self.spaces[at as usize]
    }

    fn addr(&mut self) -> VirtAddr {
        at(self.below(ALL_PAGES))
    }

    /// A range of pages: whole slots, parts of one, or what lies across an edge.
    pub(super) fn range(&mut self) -> (VirtAddr, u64) {
        let grain = [1, 64, HUGE][self.below(3) as usize];
        let start = self.below(ALL_PAGES / grain) * grain;
        let most = (ALL_PAGES - start) / grain;
        let length = (self.below(most.min(HUGE / grain + 1)) + 1).min(most) * grain;
        (at(start), length)
    }

    pub(super) fn map(&mut self, space: SpaceId, first: u64, count: u64) {
        let request = MmapRequest { place: Place::Fixed(at(first)), ..MmapRequest::anon(pages(count)) };
        let _cuts_a_pool_page = self.with(|mm| mm.mmap(space, &request, self.cpu()));
    }

    /// Touches a few places, and often what lies behind them.
    fn touch(&mut self) {
        for _ in 0..=self.below(4) {
            self.touch_one();
        }
    }

    fn touch_one(&mut self) {
        let (space, addr) = (self.space(), self.addr());
        let task = self.task(space);
        let access = if self.below(3) == 0 { Access::Read } else { Access::Write };
        let huge = self.below(8) > 0;
        self.access(task, addr, access, huge);
        if self.below(2) == 0 {
            let mut rest = VpnRange::of(addr.vpn(), Pages::new(self.below(HUGE)));
            self.with(|mm| mm.touch_mapped(space, &mut rest, access));
        }
    }

    /// An access with all that it needs, as far as there is memory; `huge` says whether there are huge pages.
    pub(super) fn access(&self, task: impl Into<SpaceTask>, addr: VirtAddr, access: Access, huge: bool) {
        let task = task.into();
        let mut step = self.with(|mm| mm.fault_begin(task, addr, access, self.cpu()));
        loop {
            step = match step {
                FaultStep::NeedPage(fault) => {
                    let refused = fault.need().may_be_refused();
                    let page = if refused && !huge { None } else { self.page_for(task, &fault) };
                    match page {
                        Some(page) => self.with(|mm| mm.fault_finish(&fault, page, self.cpu())),
                        None if refused => self.with(|mm| mm.fault_refused(&fault, self.cpu())),
                        None => return,
                    }
                }
                FaultStep::NeedPool(fault) => self.with(|mm| mm.hugetlb_fault(&fault, self.local(), self.cpu())),
                FaultStep::Retry => self.with(|mm| mm.fault_begin(task, addr, access, self.cpu())),
                FaultStep::NumaHint => {
                    self.tell(task.space(), addr);
                    self.with(|mm| mm.fault_begin(task, addr, access, self.cpu()))
                }
                _ => return,
            };
        }
    }

    pub(super) fn advise(&mut self, advice: Madvise) {
        let (space, (start, length)) = (self.space(), self.range());
        let _ = self.with(|mm| mm.madvise(space, start, pages(length), advice, self.cpu()));
    }

    fn unmap(&mut self) {
        let (space, (start, length)) = (self.space(), self.range());
        let _cuts_a_pool_page = self.with(|mm| mm.munmap(space, start, pages(length), self.cpu()));
    }

    /// Maps fresh memory, from a multiple of `grain` pages on.
    fn remap(&mut self, grain: u64) {
        let space = self.space();
        let first = self.below(PAGES / grain) * grain;
        let length = (self.below(3) + 1) * grain;
        self.map(space, first, length.min(PAGES - first));
    }

    fn protect(&mut self) {
        let (space, (start, length)) = (self.space(), self.range());
        let prot = [Prot::NONE, Prot::READ, Prot::RW, Prot::RW][self.below(4) as usize];
        let _ = self.with(|mm| mm.mprotect(space, start, pages(length), prot));
    }

    /// Moves a range within the slots, aligned or not.
    fn relocate(&mut self) {
        let (space, (start, length)) = (self.space(), self.range());
        let to = MremapTo::Fixed(self.range().0);
        let moved = self.with(|mm| {
            mm.mremap(
                space,
                &MremapRequest { addr: start, old_length: pages(length), new_length: pages(length), to },
                self.cpu(),
            )
        });
        let Ok(Mremap::Moving(mut run)) = moved else { return };
        self.fill_tables(space, |mm| mm.move_step(&mut run, self.cpu()).expect("nobody interferes"));
    }

    /// Takes steps to the end, with all that they need; says whether there was memory for that.
    fn fill_tables(&self, space: SpaceId, mut step: impl FnMut(&mut Mm) -> TableStep) -> bool {
        loop {
            match self.with(&mut step) {
                TableStep::Progress => {}
                TableStep::NeedTable(vpn) => {
                    let Some(page) = self.page(Gfp::GFP_PGTABLE_USER) else { return false };
                    self.with(|mm| mm.give_table(space, vpn, page, self.cpu()));
                }
                TableStep::NeedCopy(copy) => {
                    let Some(page) = self.page(Gfp::GFP_HIGHUSER_MOVABLE) else { return false };
                    self.with(|mm| mm.give_copy(&copy, page, self.cpu()));
                }
                TableStep::Done => return true,
            }
        }
    }

    pub(super) fn page(&self, gfp: Gfp) -> Option<Pfn> {
        self.machine.run(alloc_pages(&self.machine, &Request::new(Order::ZERO, gfp))).ok()
    }

    fn fork_or_exit(&mut self) {
        let which = self.below(self.spaces.len() as u64) as usize;
        if self.spaces.len() == SPACES {
            let space = self.spaces.swap_remove(which);
            return self.with(|mm| mm.exit(space, self.cpu())).expect("it lives");
        }
        let mut fork = self.with(|mm| mm.fork(self.spaces[which])).expect("the parent lives");
        if self.fill_tables(fork.child(), |mm| mm.fork_step(&mut fork).expect("nobody interferes")) {
            self.spaces.push(fork.child());
        } else {
            self.with(|mm| mm.exit(fork.child(), self.cpu())).expect("the child has not run");
        }
    }

    fn pin_or_unpin(&mut self) {
        if self.pins.len() > 2 {
            let which = self.below(self.pins.len() as u64) as usize;
            let (pfn, _) = self.pins.swap_remove(which);
            self.with(|mm| mm.unpin(pfn)).expect("it is pinned");
            return;
        }
        if let Some(pfn) = self.some_page() {
            self.with(|mm| mm.pin(pfn)).expect("it is mapped");
            self.pins.push((pfn, self.with(|mm| mm.frames().frame(pfn))));
        }
    }

    /// A page that some program has, if it has one where we look.
    fn some_page(&mut self) -> Option<Pfn> {
        let (space, addr) = (self.space(), self.addr());
        match self.with(|mm| mm.page_at(space, addr)) {
            PageView::Present { pfn, .. } => Some(pfn),
            _ => None,
        }
    }

    /// Splits a page, which somebody may have pinned meanwhile.
    fn split(&mut self) {
        let Some(pfn) = (0..8).find_map(|_| self.some_page()) else { return };
        let pinned = self.below(2) == 0;
        self.with(|mm| {
            if pinned {
                mm.pin(pfn).expect("it is mapped");
            }
            let _refused = mm.follow_split(pfn, self.cpu());
            if pinned {
                mm.unpin(pfn).expect("it is pinned");
            }
        });
    }

    /// Collapses a slot, after accesses to what is in swap of it.
    fn collapse(&mut self) {
        let (space, addr) = (self.space(), self.addr());
        let Ok(Some(plan)) = self.with(|mm| mm.collapse_scan(space, addr)) else { return };
        let Ok(page) = self.page_for_collapse(space, &plan) else { return };
        for _ in 0..self.below(2 * HUGE) {
            let Some(swapped) = self.with(|mm| mm.pages().collapse_swapped(&plan, mm.phys())) else { break };
            self.access(space, swapped, Access::Read, true);
        }
        self.collapsed += u64::from(self.with(|mm| mm.collapse_finish(&plan, page, self.cpu())).is_ok());
    }

    /// One pass of khugepaged, which something may happen in the middle of.
    fn khugepaged(&mut self) {
        self.with(|mm| mm.pages_mut().huge_mut().khugepaged_begin_pass());
        while let Some(space) = self.with(|mm| mm.khugepaged_next()) {
            loop {
                match self.with(|mm| mm.khugepaged_scan()) {
                    KhugepagedStep::Scanned => {}
                    KhugepagedStep::Leave => break,
                    KhugepagedStep::Found(found) => {
                        let page = self.page_for_collapse(space, &found);
                        if self.below(4) == 0 {
                            self.touch_one();
                        }
                        while self.below(8) > 0
                            && let Some(swapped) = self.with(|mm| mm.pages().collapse_swapped(&found, mm.phys()))
                        {
                            self.access(space, swapped, Access::Read, true);
                        }
                        let done = page.map_err(|_| CollapseFailure::AllocHugePage);
                        let done = done.and_then(|page| self.with(|mm| mm.collapse_finish(&found, page, self.cpu())));
                        self.with(|mm| mm.khugepaged_done(done));
                        break;
                    }
                }
            }
            self.check();
        }
    }

    fn reclaim(&mut self) {
        let swappiness = if self.below(2) == 0 { 0 } else { 100 };
        self.with(|mm| mm.tune(|tunables| tunables.swappiness = swappiness));
        let request = Request { node: self.node(), ..Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE) };
        self.machine.run(direct_reclaim(&self.machine, &request));
    }

    /// All shrinkers, with all effort, and with few or any zeros in huge pages.
    pub(super) fn shrink(&mut self) {
        let zeros = if self.below(2) == 0 { 511 } else { 100 };
        self.with(|mm| mm.tune(|tunables| tunables.khugepaged.max_ptes_none = zeros));
        for node in self.machine.nodes.nodes() {
            let lru = LruScan { scanned: 1000, eligible: 1000 };
            let (gfp, by) = (Gfp::GFP_KERNEL, Reclaimer::Direct);
            let mut run = ShrinkSlab::new(ShrinkControl { node, gfp, priority: 0, lru, by, cpu: self.cpu() });
            let mut step = || {
                self.with(|mm| {
                    let (phys, pages) = mm.parts();
                    run.step(pages, phys)
                })
            };
            while !matches!(step(), ShrinkStep::Done(_)) {}
        }
        self.with(|mm| mm.tune(|tunables| tunables.khugepaged.max_ptes_none = 511));
    }

    fn lock(&mut self) {
        let (space, (start, length)) = (self.space(), self.range());
        let _ = match self.below(3) {
            0 => self.with(|mm| mm.mlock(space, start, pages(length))),
            _ => self.with(|mm| mm.munlock(space, start, pages(length))),
        };
    }

    fn move_pages(&mut self) {
        let (space, (start, length), node) = (self.space(), self.range(), self.node());
        let address = |page| VirtAddr::new(start.get() + pages(page).get());
        let moved: Vec<_> = (0..length.min(16)).map(|page| PageMove { addr: address(page), to: node }).collect();
        let movable = if self.below(2) == 0 { Movable::Own } else { Movable::All };
        // A cpuset may forbid the node.
        let _refused = self.machine.run(move_pages(&self.machine, space, space, &moved, movable));
    }

    fn compact(&mut self) {
        let node = self.node();
        self.machine.run(compact_node(&self.machine, node));
    }

    /// Takes the pageblock of a page out, and puts it back into use.
    fn offline(&mut self) {
        let Some(pfn) = self.some_page() else { return };
        let block = PfnRange::of(Pfn::new(pfn.get() & !(HUGE - 1)), PAGEBLOCK_PAGES);
        if self.machine.run(offline_pages(&self.machine, block)) == Ok(true) {
            self.with(|mm| mm.phys_mut().unisolate_pageblock(block.start, Migratetype::Movable))
                .expect("it was taken out");
        }
    }

    fn set_pools(&mut self) {
        let (count, surplus) = (self.below(5), self.below(3));
        self.with(|mm| mm.tune(|tunables| tunables.nr_overcommit_hugepages = surplus));
        self.resize_pools(count);
    }

    /// Maps pages of pools behind ordinary memory, or over it.
    fn map_pool(&mut self) {
        let space = self.space();
        let (first, count) = (self.below(ALL_PAGES / HUGE), self.below(2) + 1);
        let backing = Backing::Hugetlb { shared: self.below(2) == 0, reserves: self.below(3) > 0 };
        let place = Place::Fixed(at(first * HUGE));
        let length = pages(count.min(ALL_PAGES / HUGE - first) * HUGE);
        let request = MmapRequest { place, backing, ..MmapRequest::anon(length) };
        let _too_few = self.machine.run(map_from_pools(&self.machine, space, &request));
    }

    /// Smaller huge pages, of a few sizes or none.
    fn enable_small(&mut self) {
        for size in HugeSize::PMD.below() {
            let enabled = match self.below(6) {
                0 => SizeEnabled::Always,
                1 => SizeEnabled::Inherit,
                2 => SizeEnabled::Madvise,
                _ => SizeEnabled::Never,
            };
            self.with(|mm| mm.phys_mut().set_thp_size_enabled(size, enabled));
        }
    }

    /// Huge pages mostly stay enabled, and faults may make more or less effort for them.
    fn enable(&mut self) {
        let enabled = match self.below(8) {
            0 => HugeEnabled::Never,
            1 | 2 => HugeEnabled::Madvise,
            _ => HugeEnabled::Always,
        };
        let defrag = DEFRAG[self.below(DEFRAG.len() as u64) as usize];
        let zeros = self.below(4) > 0;
        let (space, disabled) = (self.space(), self.below(8) == 0);
        self.enable_small();
        self.with(|mm| {
            mm.pages_mut().spaces_mut().set_thp_disabled(space, disabled).expect("it lives");
            mm.phys_mut().set_thp_enabled(enabled);
            mm.phys_mut().set_thp_defrag(defrag);
            mm.tune(|tunables| tunables.thp_use_zero_page = zeros);
        });
    }
}
