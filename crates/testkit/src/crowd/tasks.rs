//! What tasks of programs, the administrator and the kernel do in many steps.

use order9_mm::compaction::{compact_node, try_to_compact_pages};
use order9_mm::env::{CompactPriority, Env as _, Stall as _, Until};
use order9_mm::hugetlb::{PoolResize, PoolSize, PoolStep};
use order9_mm::mempolicy::{MbindFlags, MempolicyArgs, Movable, PageMove, mbind, migrate_space, move_pages, set_mems};
use order9_mm::migrate::{MigrateMode, MigrateReason, gather_pages, offline_pages};
use order9_mm::numa_balancing::NumaTask;
use order9_mm::reclaim::Reclaimer;
use order9_mm::shrinker::{LruScan, ShrinkControl, ShrinkSlab, ShrinkStep};
use order9_mm::space::{Access, Fault, FaultStep, Mremap, MremapTo, TableStep, VirtAddr};
use order9_mm::thp::{Collapse, CollapseFailure, KhugepagedStep};
use order9_mm::{AllocError, Errno, Gfp, Mm, Request, SpaceId, alloc_pages};
use order9_units::{Migratetype, Nanos, NodeId, NodeMask, Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange};

use super::machine::Thread;
use super::{CPU, page_request};

impl Thread {
    async fn page_for(&self, fault: &Fault) -> Result<Pfn, AllocError> {
        let request = self.with(|mm| mm.fault_request(fault, self.cpu()));
        alloc_pages(self, &request).await
    }

    /// An access of a program, with all that it needs.
    pub(super) async fn access(&self, space: SpaceId, addr: VirtAddr, access: Access) {
        let _lock = self.lock(space).await;
        let begin = || self.with(|mm| mm.fault_begin(space, addr, access, self.cpu()));
        let mut step = begin();
        loop {
            self.pause().await;
            step = match step {
                FaultStep::NeedPage(fault) => match self.page_for(&fault).await {
                    Ok(page) => self.with(|mm| mm.fault_finish(&fault, page, CPU)),
                    Err(_) if fault.need().may_be_refused() => self.with(|mm| mm.fault_refused(&fault, CPU)),
                    Err(_) => return,
                },
                FaultStep::NeedPool(fault) => {
                    self.with(|mm| mm.hugetlb_fault(&fault, self.machine.nodes.node_of(self.cpu()), CPU))
                }
                FaultStep::NeedRead { file, index } => {
                    self.read(file, index, 1).await;
                    begin()
                }
                FaultStep::NeedMkwrite => self.with(|mm| mm.page_mkwrite(space, addr, self.machine.now(), CPU)),
                FaultStep::Retry => begin(),
                FaultStep::NumaHint => {
                    let (task, now) = (self.numa_task(), self.machine.now());
                    self.with(|mm| mm.numa_hint_fault(space, addr, task, now));
                    begin()
                }
                FaultStep::Hit | FaultStep::Done | FaultStep::Segv | FaultStep::Bus => return,
            };
        }
    }

    fn numa_task(&self) -> NumaTask {
        NumaTask { pid: self.cpu() as u32, cpu: self.cpu(), threads: 2 }
    }

    /// Takes the access to memory of a space away, as NUMA balancing does for a program that has run for a while.
    pub(super) async fn scan(&self, space: SpaceId) {
        let _lock = self.lock(space).await;
        let (task, later) = (self.numa_task(), Nanos::new(self.machine.now().get() * 100_000));
        self.with(|mm| mm.numa_tick(space, task, Nanos::ZERO, Nanos::ZERO));
        let Some(mut run) = self.with(|mm| mm.numa_scan_begin(space, task, later)) else { return };
        while self.with(|mm| mm.numa_scan_step(&mut run)) {
            self.pause().await;
        }
    }

    /// Copies a space; `None` where there was no memory for that.
    pub(super) async fn fork(&self, parent: SpaceId) -> Option<SpaceId> {
        let _lock = self.lock(parent).await;
        let mut fork = self.with(|mm| mm.fork(parent)).ok()?;
        let child = fork.child();
        if self.fill_tables(child, |mm| mm.fork_step(&mut fork)).await {
            return Some(child);
        }
        self.with(|mm| mm.exit(child, CPU)).expect("the child has not run");
        None
    }

    /// Moves a range to another place.
    pub(super) async fn relocate(&self, space: SpaceId, from: VirtAddr, to: VirtAddr, pages: Pages) {
        let _lock = self.lock(space).await;
        let moved = self.with(|mm| mm.mremap(space, from, pages.bytes(), pages.bytes(), MremapTo::Fixed(to), CPU));
        let Ok(Mremap::Moving(mut run)) = moved else { return };
        self.fill_tables(space, |mm| mm.move_step(&mut run, CPU)).await;
    }

    /// Takes steps to the end, with all that they need; says whether there was memory for that.
    async fn fill_tables(&self, space: SpaceId, mut step: impl FnMut(&mut Mm) -> Result<TableStep, Errno>) -> bool {
        loop {
            match self.with(&mut step).expect("the space is locked") {
                TableStep::Progress => self.pause().await,
                TableStep::NeedTable(vpn) => {
                    let request = Request::new(Order::ZERO, Gfp::GFP_PGTABLE_USER);
                    let Ok(page) = alloc_pages(self, &request).await else { return false };
                    self.with(|mm| mm.give_table(space, vpn, page, CPU));
                }
                TableStep::NeedCopy(copy) => {
                    let Ok(page) = alloc_pages(self, &page_request(self.cpu())).await else { return false };
                    self.with(|mm| mm.give_copy(&copy, page, CPU));
                }
                TableStep::Done => return true,
            }
        }
    }

    /// Collapses a slot (`MADV_COLLAPSE`).
    pub(super) async fn collapse(&self, space: SpaceId, addr: VirtAddr) {
        let scanned = {
            let _lock = self.lock(space).await;
            self.with(|mm| mm.collapse_scan(space, addr))
        };
        self.pause().await;
        if let Ok(Some(plan)) = scanned {
            let _why_not = self.collapse_found(space, &plan).await;
        }
    }

    async fn collapse_found(&self, space: SpaceId, plan: &Collapse) -> Result<(), CollapseFailure> {
        let page = alloc_pages(self, &plan.request(self.cpu())).await;
        self.with(|mm| mm.collapse_allocated(plan, page.is_ok()));
        let Ok(page) = page else { return Err(CollapseFailure::AllocHugePage) };
        for _ in 0..4 {
            let Some(swapped) = self.with(|mm| mm.collapse_swapped(plan)) else { break };
            self.access(space, swapped, Access::Read).await;
        }
        let _lock = self.lock(space).await;
        self.with(|mm| mm.collapse_finish(plan, page, CPU))
    }

    /// khugepaged, which makes a pass whenever it has waited.
    pub(super) async fn khugepaged(&self) {
        loop {
            self.wait(Until::KhugepagedNeeded, Some(Nanos::ZERO)).await;
            self.khugepaged_pass().await;
        }
    }

    async fn khugepaged_pass(&self) {
        self.with(|mm| mm.khugepaged_begin_pass());
        while let Some(space) = self.with(|mm| mm.khugepaged_next()) {
            let Some(found) = self.look_for_slot(space).await else { continue };
            let done = self.collapse_found(space, &found).await;
            self.with(|mm| mm.khugepaged_done(done));
            self.pause().await;
        }
    }

    async fn look_for_slot(&self, space: SpaceId) -> Option<Collapse> {
        if self.machine.is_locked(space) {
            self.with(|mm| mm.khugepaged_pass_by());
            return None;
        }
        let _lock = self.lock(space).await;
        loop {
            match self.with(|mm| mm.khugepaged_scan()) {
                KhugepagedStep::Scanned => self.pause().await,
                KhugepagedStep::Found(found) => return Some(found),
                KhugepagedStep::Leave => return None,
            }
        }
    }

    /// Compacts for a request of so many pages; what is captured is freed again.
    pub(super) async fn compact_for(&self, order: Order, priority: CompactPriority) {
        let request = Request { cpu: self.cpu(), ..Request::new(order, Gfp::GFP_TRANSHUGE) };
        let compacted = try_to_compact_pages(self, &request, priority).await;
        self.pause().await;
        if let Some(page) = compacted.captured {
            self.with(|mm| mm.free(page, CPU)).expect("it was captured");
        }
    }

    pub(super) async fn compact_node(&self, node: NodeId) {
        compact_node(self, node).await;
    }

    pub(super) async fn move_pages(&self, space: SpaceId, addrs: Vec<VirtAddr>, node: NodeId) {
        let pages: Vec<_> = addrs.into_iter().map(|addr| PageMove { addr, to: node }).collect();
        // The program may have ended.
        let _ = move_pages(self, space, space, &pages, Movable::Own).await;
    }

    /// `set_mempolicy`; what Linux would refuse is refused.
    pub(super) fn set_mempolicy(&self, space: SpaceId, policy: &MempolicyArgs) {
        let _refused = self.with(|mm| mm.set_mempolicy(space, policy));
    }

    /// `mbind`.
    pub(super) async fn mbind(
        &self,
        space: SpaceId,
        start: VirtAddr,
        length: Pages,
        policy: &MempolicyArgs,
        moves: Option<Movable>,
    ) {
        let _lock = self.lock(space).await;
        let flags = MbindFlags { strict: false, moves };
        let _refused = mbind(self, space, start, length.bytes(), policy, flags).await;
    }

    /// `migrate_pages`.
    pub(super) async fn migrate_pages(&self, space: SpaceId, from: NodeMask, to: NodeMask) {
        let _lock = self.lock(space).await;
        let _refused = migrate_space(self, space, space, from, to).await;
    }

    /// A write to `cpuset.mems`, whose pages move along or not.
    pub(super) async fn set_mems(&self, space: SpaceId, mems: NodeMask, migrates: bool) {
        let _lock = self.lock(space).await;
        let _refused = set_mems(self, space, mems, migrates).await;
    }

    /// Takes a pageblock out, and puts it back into use.
    pub(super) async fn offline(&self, frame: Pfn) {
        let start = Pfn::new(frame.get() & !(PAGEBLOCK_PAGES.get() - 1));
        if offline_pages(self, PfnRange::of(start, PAGEBLOCK_PAGES)).await == Ok(true) {
            self.pause().await;
            self.with(|mm| mm.unisolate_pageblock(start, Migratetype::Movable)).expect("it was taken out");
        }
    }

    /// Moves pages from around a frame into a free block.
    pub(super) async fn gather(&self, frame: Pfn, mode: MigrateMode) {
        let request = Request::new(Order::new(4).expect("it exists"), Gfp::GFP_HIGHUSER_MOVABLE);
        let Ok(block) = alloc_pages(self, &request).await else { return };
        self.with(|mm| mm.free(block, CPU)).expect("it was just allocated");
        let sources: Vec<Pfn> = (0..16).map(|at| frame + Pages::new(at)).collect();
        let _not_free_any_more = gather_pages(self, &sources, block, mode, MigrateReason::Compaction).await;
    }

    /// All shrinkers of a node, with all effort.
    pub(super) async fn shrink(&self, node: NodeId) {
        let lru = LruScan { scanned: 1000, eligible: 1000 };
        let (gfp, by) = (Gfp::GFP_KERNEL, Reclaimer::Direct);
        let mut run = ShrinkSlab::new(ShrinkControl { node, gfp, priority: 0, lru, by, cpu: CPU });
        while !matches!(self.with(|mm| run.step(mm)), ShrinkStep::Done(_)) {
            self.pause().await;
        }
    }

    /// A write to `vm.nr_hugepages`.
    pub(super) async fn resize_pools(&self, count: u64) {
        let mut resize = self.with(|mm| PoolResize::new(mm, PoolSize::all(count)));
        while let PoolStep::NeedPage(request) = self.with(|mm| resize.step(mm, CPU)) {
            let page = alloc_pages(self, &request).await.ok();
            self.pause().await;
            self.with(|mm| resize.give(mm, page));
        }
    }
}
