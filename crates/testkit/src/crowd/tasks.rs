//! Tasks of programs, of the administrator and of the kernel that take many steps.

use order9_mm::env::{CompactPriority, Env as _};
use order9_mm::hugetlb::{PoolResize, PoolSize};
use order9_mm::mempolicy::{MbindFlags, MempolicyArgs, Movable, PageMove};
use order9_mm::migrate::{MigrateMode, MigrateReason};
use order9_mm::reclaim::Reclaimer;
use order9_mm::shrinker::{LruScan, ShrinkControl, ShrinkSlab, ShrinkStep};
use order9_mm::space::{Access, Mremap, MremapRequest, MremapTo, VirtAddr};
use order9_mm::tasks::{UserTask as _, fill_tables, finish_fault, madvise_collapse, resize_pools, task_numa_work};
use order9_mm::tasks::{compact_node, try_to_compact_pages};
use order9_mm::tasks::{gather_pages, offline_pages};
use order9_mm::tasks::{mbind, migrate_space, move_pages, set_mems};
use order9_mm::{Gfp, Request, SpaceId, alloc_pages};
use order9_units::{Migratetype, Nanos, NodeId, NodeMask, Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange};

use super::CPU;
use super::machine::Thread;

impl Thread {
    /// An access of a program. Its first page comes after a wait, even where one is free.
    pub(super) async fn access(&self, space: SpaceId, addr: VirtAddr, access: Access) {
        let task = self.of(space);
        let _lock = task.lock_for_fault(addr).await;
        let step = self.with(|mm| mm.fault_begin(space, addr, access, self.cpu()));
        let _why_not = finish_fault(&task, addr, access, step).await;
    }

    /// Takes the access to memory of a space away, as NUMA balancing does for a program that has run for a while.
    pub(super) async fn scan(&self, space: SpaceId) {
        let task = self.of(space);
        let Some(numa) = task.numa_task() else { return };
        let later = Nanos::new(self.machine.now().get() * 100_000);
        self.with(|mm| mm.numa_tick(space, numa, Nanos::ZERO, Nanos::ZERO));
        task_numa_work(&task, numa, later, || Nanos::ZERO).await;
    }

    /// Copies a space; `None` where there was no memory for that.
    pub(super) async fn fork(&self, parent: SpaceId) -> Option<SpaceId> {
        let _lock = self.lock(parent).await;
        let mut fork = self.with(|mm| mm.fork(parent)).ok()?;
        let child = fork.child();
        if fill_tables(self, child, |mm| mm.fork_step(&mut fork)).await.is_ok() {
            return Some(child);
        }
        self.with(|mm| mm.exit(child, CPU)).expect("the child has not run");
        None
    }

    /// Moves a range to another place.
    pub(super) async fn relocate(&self, space: SpaceId, from: VirtAddr, to: VirtAddr, pages: Pages) {
        let _lock = self.lock(space).await;
        let moved = self.with(|mm| {
            mm.mremap(
                space,
                &MremapRequest {
                    addr: from,
                    old_length: pages.bytes(),
                    new_length: pages.bytes(),
                    to: MremapTo::Fixed(to),
                },
                CPU,
            )
        });
        let Ok(Mremap::Moving(mut run)) = moved else { return };
        let _without_memory = fill_tables(self, space, |mm| mm.move_step(&mut run, CPU)).await;
    }

    /// Collapses the slot of an address (`MADV_COLLAPSE`).
    pub(super) async fn collapse(&self, space: SpaceId, addr: VirtAddr) {
        let slot = VirtAddr::new(addr.get() & !(PAGEBLOCK_PAGES.bytes().get() - 1));
        let _why_not = madvise_collapse(&self.of(space), slot, PAGEBLOCK_PAGES.bytes()).await;
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
            self.with(|mm| mm.phys_mut().unisolate_pageblock(start, Migratetype::Movable)).expect("it was taken out");
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
        let mut step = || {
            self.with(|mm| {
                let (phys, pages) = mm.parts();
                run.step(pages, phys)
            })
        };
        while !matches!(step(), ShrinkStep::Done(_)) {
            self.pause().await;
        }
    }

    /// A write to `vm.nr_hugepages`.
    pub(super) async fn resize_pools(&self, count: u64) {
        let resize = self.with(|mm| PoolResize::new(PoolSize::all(count), mm.pages(), mm.phys()));
        let _killed = resize_pools(self, resize).await;
    }
}
