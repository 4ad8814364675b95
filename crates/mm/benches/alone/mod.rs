//! A machine with one task, on which nothing takes time and nothing has to be waited for.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use order9_mm::env::{Env, SpinLock, Stall, Task, Until};
use order9_mm::policy::Policy;
use order9_mm::reclaim::PageWrite;
use order9_mm::trace::NoTrace;
use order9_mm::{Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, Pages, Pfn, PfnRange, ZoneKind};

/// Runs what never waits to its end.
pub(crate) fn run<R>(future: impl Future<Output = R>) -> R {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("there is nobody to wait for"),
    }
}

/// First frame of the zone.
pub(crate) const START: Pfn = Pfn::new(1 << 20);

/// One zone of `memory`, of which nothing is given out yet, and one CPU.
pub(crate) fn builder(memory: Bytes, policy: Policy) -> MmBuilder {
    let span = PfnRange::of(START, Pages::from_bytes_floor(memory));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0)],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("one zone is a valid layout")
}

/// The machine.
pub(crate) struct Alone(pub(crate) RefCell<Mm>);

impl Env for Alone {
    type Tracer = NoTrace;

    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        step(&mut self.0.borrow_mut())
    }

    async fn spend(&self) {}

    fn cpu(&self) -> usize {
        0
    }

    fn task(&self) -> Task {
        Task::default()
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
    async fn submit(&self, writes: Vec<PageWrite>) {
        unreachable!("nothing is dirty, but {writes:?}");
    }

    async fn wait(&self, until: Until, _: Option<Nanos>) -> bool {
        unreachable!("nothing is under way, but a wait for {until:?}");
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
}
