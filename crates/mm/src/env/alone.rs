//! [`Alone`]: the world of a machine with one task, for embedders without others, for benchmarks and for tests.

use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use order9_units::Nanos;

use super::{Env, SpinLock, Stall, Task, Until};
use crate::Mm;
use crate::reclaim::PageWrite;

/// Runs what never has to wait in its world, as in [`Alone`].
///
/// # Panics
/// If it has to wait.
pub fn run<R>(future: impl Future<Output = R>) -> R {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("nobody would end a wait in a world where tasks run straight through"),
    }
}

/// A world in which one task has the machine to itself and runs straight through: work takes no time, locks are free, writes
/// end as they are submitted, and sleeps and waits end at once. Its clock goes on by the time that was slept.
///
/// Nobody acts during a wait, so that what only another task would do is never done: daemons do not run, and reads that are
/// under way have to be ended before a task needs them.
///
/// ```
/// use order9_mm::env::{Alone, Env, run};
/// use order9_mm::{Gfp, Layout, MmBuilder, NodeSpec, Request, ZoneSpec, alloc_pages, policy::Policy};
/// use order9_units::{NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};
///
/// let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(1 << 14));
/// let layout = Layout {
///     nodes: vec![NodeSpec { distances: vec![10] }],
///     zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
///     cpus: vec![NodeId(0)],
///     ..Layout::default()
/// };
/// let world = Alone::new(MmBuilder::new(&layout, Policy::default())?.boot(), 0);
/// // Reclaims and compacts where that is needed.
/// let huge = run(alloc_pages(&world, &Request::new(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE)))?;
/// world.with(|mm| mm.free(huge, 0))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Alone {
    pub(crate) mm: RefCell<Mm>,
    /// CPU that the task runs on; a number that no CPU has keeps it off their lists of pages.
    pub cpu: usize,
    /// Facts about the task.
    pub task: Task,
    /// Waits end because somebody woke the task, and not because their time was over.
    pub woken: bool,
    now: Cell<Nanos>,
    last_wait: Cell<Option<(Until, Option<Nanos>)>>,
}

impl Alone {
    /// The world of an ordinary task on `cpu`, at the time 0. Nobody wakes the task.
    #[must_use]
    pub fn new(mm: Mm, cpu: usize) -> Self {
        let (now, last_wait) = (Cell::new(Nanos::ZERO), Cell::new(None));
        Self { mm: RefCell::new(mm), cpu, task: Task::default(), woken: false, now, last_wait }
    }

    /// The engine, at the end of the world.
    #[must_use]
    pub fn into_mm(self) -> Mm {
        self.mm.into_inner()
    }

    /// The cause and the longest time of the last wait, sleeps apart; `None` where there was no wait.
    #[must_use]
    pub fn last_wait(&self) -> Option<(Until, Option<Nanos>)> {
        self.last_wait.get()
    }

    fn pass(&self, time: Nanos) {
        self.now.set(self.now.get() + time);
    }
}

impl Env for Alone {
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        step(&mut self.mm.borrow_mut())
    }

    async fn spend(&self) {}

    fn cpu(&self) -> usize {
        self.cpu
    }

    fn task(&self) -> Task {
        self.task
    }

    async fn sleep(&self, time: Nanos) {
        self.pass(time);
    }

    fn need_resched(&self) -> bool {
        false
    }

    fn lock_busy(&self, _: SpinLock) -> bool {
        false
    }
}

impl Stall for Alone {
    async fn submit(&self, writes: Vec<PageWrite>) {
        for write in writes {
            self.with(|mm| match write {
                PageWrite::Swap(write) => mm.swap_written(write, self.cpu),
                PageWrite::File(write) => mm.file_written(&write, self.now(), self.cpu),
            });
        }
    }

    async fn wait(&self, until: Until, timeout: Option<Nanos>) -> bool {
        self.last_wait.set(Some((until, timeout)));
        if !self.woken {
            self.pass(timeout.unwrap_or_default());
        }
        self.woken
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        self.now.get()
    }
}
