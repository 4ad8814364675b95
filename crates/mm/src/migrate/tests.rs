//! What becomes of pages in every state, with every mode and pass.

use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use order9_units::{Nanos, Order, Pages, Pfn};

use super::*;
use crate::env::{Env, SpinLock, Stall, Task, Until};
use crate::fs_cache::tests::mounted;
use crate::policy::Policy;
use crate::reclaim::PageWrite;
use crate::space::{Access, FaultStep, MmapRequest, SpaceId, VirtAddr};
use crate::trace::NoTrace;

const CPU: usize = 0;

/// A machine with a filesystem, on which waits for transfers end them.
pub(super) struct World {
    pub(super) mm: RefCell<Mm>,
    pub(super) writes: RefCell<Vec<PageWrite>>,
    pub(super) task: Cell<Task>,
    clock: Cell<u64>,
    /// What ends while somebody waits for a transfer.
    end_io: Cell<Option<fn(&mut Mm)>>,
}

impl World {
    pub(super) fn new(policy: Policy) -> Self {
        Self {
            mm: RefCell::new(mounted(policy).with_content_tags()),
            writes: RefCell::default(),
            task: Cell::default(),
            clock: Cell::default(),
            end_io: Cell::default(),
        }
    }

    pub(super) fn run<R>(&self, future: impl Future<Output = R>) -> R {
        match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => unreachable!("this world never makes a task wait"),
        }
    }

    fn check(&self) {
        self.mm.borrow().check().unwrap_or_else(|violation| panic!("{violation}"));
    }

    /// A space with so many written pages.
    fn anon(&self, pages: u64) -> (SpaceId, Vec<Pfn>) {
        let mut mm = self.mm.borrow_mut();
        let space = mm.create_space().expect("there are few");
        let start = mm.mmap(space, &MmapRequest::anon(Pages::new(pages).bytes()), CPU).expect("there is room");
        let addr = |page| VirtAddr::new(start.get() + 4096 * page);
        (0..pages).for_each(|page| assert_eq!(mm.touch(space, addr(page), Access::Write, CPU), FaultStep::Done));
        let pfn = |page| match mm.page_at(space, addr(page)) {
            crate::space::PageView::Present { pfn, .. } => pfn,
            other => panic!("{other:?}"),
        };
        let pages = (0..pages).map(pfn).collect();
        (space, pages)
    }

    /// A free block.
    fn block(&self) -> Pfn {
        let mm = self.mm.borrow();
        let zone = mm.zones()[0].id();
        Order::all()
            .find_map(|order| mm.free_list(zone, order, order9_units::Migratetype::Movable).next())
            .expect("some are free")
    }
}

impl Env for World {
    type Tracer = NoTrace;

    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        let result = step(&mut self.mm.borrow_mut());
        self.check();
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
        self.clock.set(self.clock.get() + 1000);
        self.end_io.get().expect("something is under way")(&mut self.mm.borrow_mut());
        true
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        Nanos::new(self.clock.get())
    }
}

#[test]
fn pages_of_a_program_move() {
    let world = World::new(Policy::default());
    let (_, pages) = world.anon(20);
    let block = world.block();
    let done = world.run(gather_pages(&world, &pages[..1], block, MigrateMode::Async, MigrateReason::Compaction));
    assert_eq!(done.expect("it is free"), Migrated { moved: 1, ..Migrated::default() });
    assert_eq!(world.mm.borrow().counters().pgmigrate_success, 1);
    assert!(world.mm.borrow().block_view(block).mapcount == 1);
}
