//! The machine of the world, and disks that are done with a write when somebody waits for it.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use order9_mm::env::{Env, OomKill, SpinLock, Stall, Task, Until};
use order9_mm::policy::Policy;
use order9_mm::reclaim::PageWrite;
use order9_mm::thp::{HugeDefrag, HugeEnabled};
use order9_mm::{Mm, MmBuilder, Pressure, Request};
use order9_units::{Nanos, Pages};

use crate::nodes;

const SWAP: Pages = Pages::new(3000);

#[derive(Clone)]
pub(super) struct Machine {
    mm: RefCell<Mm>,
    pub(super) nodes: nodes::Machine,
    /// CPU of the task that acts now.
    cpu: Cell<usize>,
    /// Writes to swap that are under way.
    writes: RefCell<Vec<PageWrite>>,
}

impl Machine {
    /// Huge pages for all, content tags, and swap.
    pub(super) fn boot(policy: Policy, nodes: nodes::Machine) -> Self {
        let builder = MmBuilder::new(&nodes.layout, policy).expect("the layout is sound").content_tags();
        let mut mm = builder.boot().with_compaction_account();
        mm.phys_mut().set_thp_enabled(HugeEnabled::Always);
        mm.phys_mut().set_thp_defrag(HugeDefrag::Madvise);
        mm.tune(|tunables| tunables.thp_use_zero_page = true);
        mm.phys_mut().set_min_free_kbytes(512);
        mm.swapon_solid_state(SWAP);
        Self { mm: RefCell::new(mm), nodes, cpu: Cell::default(), writes: RefCell::default() }
    }

    pub(super) fn step<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        step(&mut self.mm.borrow_mut())
    }

    /// The task that acts from now on runs there.
    pub(super) fn run_on(&self, cpu: usize) {
        self.cpu.set(cpu);
    }

    /// Runs what never has to wait here.
    pub(super) fn run<R>(&self, future: impl Future<Output = R>) -> R {
        match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => unreachable!("this machine never makes a task wait"),
        }
    }

    /// All writes under way are done.
    pub(super) fn end_writes(&self) {
        for write in self.writes.take() {
            match write {
                PageWrite::Swap(write) => self.step(|mm| mm.swap_written(write, self.cpu.get())),
                PageWrite::File(write) => unreachable!("{write:?} is of no file"),
            }
        }
    }
}

impl Env for Machine {
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        self.step(step)
    }

    async fn spend(&self) {}

    fn cpu(&self) -> usize {
        self.cpu.get()
    }

    fn task(&self) -> Task {
        Task::default()
    }

    async fn sleep(&self, _: Nanos) {
        self.end_writes();
    }

    fn need_resched(&self) -> bool {
        false
    }

    fn lock_busy(&self, _: SpinLock) -> bool {
        false
    }
}

impl Stall for Machine {
    async fn submit(&self, writes: Vec<PageWrite>) {
        self.writes.borrow_mut().extend(writes);
    }

    async fn wait(&self, _: Until, _: Option<Nanos>) -> bool {
        self.end_writes();
        true
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
}

impl Pressure for Machine {
    async fn oom_kill(&self, _: &Request) -> OomKill {
        OomKill::NoVictim
    }
}
