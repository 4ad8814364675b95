//! The world of tests of what may wait: nobody else acts in it, and every wait ends at once.

use alloc::vec::Vec;
use core::cell::RefCell;
use core::pin::pin;
use core::task::{Context, Poll, Waker};

use order9_units::Nanos;

use super::{Env, SpinLock, Stall, Task, Until};
use crate::Mm;
use crate::reclaim::PageWrite;
use crate::trace::NoTrace;

/// Runs what never has to wait in its world.
pub(crate) fn run<R>(future: impl Future<Output = R>) -> R {
    match pin!(future).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("this world never makes a task wait"),
    }
}

/// A task that nobody disturbs.
pub(crate) struct Alone {
    pub(crate) mm: RefCell<Mm>,
    pub(crate) task: Task,
    /// Whether somebody ends its waits before their time is over.
    pub(crate) woken: bool,
    /// Waits so far.
    pub(crate) waits: RefCell<Vec<(Until, Option<Nanos>)>>,
}

impl Alone {
    pub(crate) fn new(mm: Mm) -> Self {
        Self { mm: RefCell::new(mm), task: Task::default(), woken: false, waits: RefCell::default() }
    }
}

impl Env for Alone {
    type Tracer = NoTrace;

    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        step(&mut self.mm.borrow_mut())
    }

    async fn spend(&self) {}

    fn cpu(&self) -> usize {
        usize::MAX
    }

    fn task(&self) -> Task {
        self.task
    }

    async fn sleep(&self, _: Nanos) {}

    fn need_resched(&self) -> bool {
        false
    }

    fn lock_busy(&self, _: SpinLock) -> bool {
        false
    }
}

impl Stall for Alone {
    async fn submit(&self, _: Vec<PageWrite>) {}

    async fn wait(&self, until: Until, timeout: Option<Nanos>) -> bool {
        self.waits.borrow_mut().push((until, timeout));
        self.woken
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
}
