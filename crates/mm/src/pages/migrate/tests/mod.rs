//! Fate of pages in every state, with every mode and pass; every law holds after every step.

mod huge;
mod outcomes;
mod passes;
mod random;

use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use order9_units::{Migratetype, Nanos, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use super::{MigrateMode, MigrateReason, Migrated};
use crate::env::{Env, SpinLock, Stall, Task, Until, run};
use crate::fs_cache::FsStep;
use crate::fs_cache::tests::KERNEL;
use crate::policy::Policy;
use crate::reclaim::PageWrite;
use crate::slab::CacheSpec;
use crate::space::{Access, FaultStep, MmapRequest, PageView, SpaceId, VirtAddr};
use crate::tasks::migrate::gather::gather_pages;
use crate::{FileId, Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};

const CPU: usize = 0;
/// Time that a transfer takes.
const TRANSFER: Nanos = Nanos::new(1000);

/// A machine with swap and a filesystem, on which transfers end when somebody waits for them.
pub(crate) struct World {
    pub(crate) mm: RefCell<Mm>,
    reads: RefCell<Vec<(FileId, u64)>>,
    writes: RefCell<Vec<PageWrite>>,
    task: Cell<Task>,
    clock: Cell<Nanos>,
}

impl World {
    fn new() -> Self {
        Self::with_policy(Policy::default())
    }

    fn with_policy(policy: Policy) -> Self {
        let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(1 << 13));
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            cpus: vec![NodeId(0)],
            ..Layout::default()
        };
        Self::of(&layout, policy)
    }

    pub(crate) fn of(layout: &Layout, policy: Policy) -> Self {
        let mut mm = MmBuilder::new(layout, policy).expect("the layout is sound").content_tags().boot();
        mm.mount(CacheSpec::EXT4_INODE).expect("nothing is mounted");
        mm.pages.swap.swapon(Pages::new(100));
        let mm = mm.traced();
        Self {
            mm: RefCell::new(mm),
            reads: RefCell::default(),
            writes: RefCell::default(),
            task: Cell::default(),
            clock: Cell::default(),
        }
    }

    /// Moves pages to the largest free block.
    fn gather(&self, pages: &[Pfn], mode: MigrateMode) -> Migrated {
        let block = self.free_block(|_| true).expect("memory is free");
        run(gather_pages(self, pages, block, mode, MigrateReason::Compaction)).expect("the block is free")
    }

    /// The largest free block of an order that fits.
    fn free_block(&self, fits: impl Fn(&Order) -> bool) -> Option<Pfn> {
        let mm = self.mm.borrow();
        let zone = mm.phys.frames.zones()[0].id();
        let orders: Vec<Order> = Order::all().filter(fits).collect();
        let lists = orders.iter().rev().flat_map(|&order| Migratetype::ALL.map(|mt| (order, mt)));
        lists.filter_map(|(order, mt)| mm.phys.frames.free_list(zone, order, mt).next()).next()
    }

    /// A space with so many written pages from an address on.
    fn program(&self, pages: u64) -> (SpaceId, VirtAddr) {
        let mut mm = self.mm.borrow_mut();
        let space = mm.create_space().expect("there are few");
        let start = mm.mmap(space, &MmapRequest::anon(Pages::new(pages).bytes()), CPU).expect("there is room");
        for page in 0..pages {
            assert_eq!(mm.touch(space, address(start, page), Access::Write, CPU), FaultStep::Done);
        }
        (space, start)
    }

    /// Frame of a page of a program.
    fn page(&self, (space, start): (SpaceId, VirtAddr), page: u64) -> Pfn {
        match self.mm.borrow().page_at(space, address(start, page)) {
            PageView::Present { pfn, .. } => pfn,
            other => panic!("{other:?}"),
        }
    }

    /// Frame of a page of a program that starts at 0x7f00_0000_0000.
    pub(crate) fn page_of(&self, space: SpaceId, page: u64) -> Pfn {
        self.page((space, VirtAddr::new(0x7f00_0000_0000)), page)
    }

    fn pages(&self, of: (SpaceId, VirtAddr), pages: u64) -> Vec<Pfn> {
        (0..pages).map(|page| self.page(of, page)).collect()
    }

    /// A file on disk that is open.
    fn file(&self, pages: u64) -> FileId {
        let mut mm = self.mm.borrow_mut();
        let file = mm.fs_create(Pages::new(pages)).expect("there is room");
        assert!(matches!(mm.fs_open_fast(file, &KERNEL), FsStep::Done { .. }));
        file
    }

    fn file_page(&self, file: FileId, index: u64) -> Pfn {
        self.mm.borrow().file_page(file, index).expect("it is in memory")
    }

    /// Everything under way ends.
    fn end_transfers(&self) {
        let mut mm = self.mm.borrow_mut();
        for (file, index) in self.reads.take() {
            mm.end_page_read(file, index, Pages::new(1), CPU);
        }
        for write in self.writes.take() {
            match write {
                PageWrite::Swap(write) => mm.swap_written(write, CPU),
                PageWrite::File(write) => mm.file_written(&write, self.clock.get(), CPU),
            }
        }
    }
}

pub(crate) fn address(start: VirtAddr, page: u64) -> VirtAddr {
    VirtAddr::new(start.get() + 4096 * page)
}

impl Env for World {
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        let mut mm = self.mm.borrow_mut();
        let result = step(&mut mm);
        mm.check().unwrap_or_else(|violation| panic!("{violation}"));
        result
    }

    async fn spend(&self) {}

    fn cpu(&self) -> usize {
        CPU
    }

    fn task(&self) -> Task {
        self.task.get()
    }

    async fn sleep(&self, _: Nanos) {}

    fn need_resched(&self) -> bool {
        false
    }

    fn lock_busy(&self, _: SpinLock) -> bool {
        false
    }
}

impl Stall for World {
    async fn submit(&self, writes: Vec<PageWrite>) {
        self.writes.borrow_mut().extend(writes);
    }

    async fn wait(&self, until: Until, _: Option<Nanos>) -> bool {
        assert_eq!(until, Until::Transferred);
        self.clock.set(self.clock.get() + TRANSFER);
        self.end_transfers();
        true
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        self.clock.get()
    }
}
