//! The machine of the world: two nodes, and disks that are done with a write when somebody waits for it.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use order9_mm::compaction::try_to_compact_pages;
use order9_mm::env::{CompactPriority, Compacted, Env, OomKill, Pressure, SpinLock, Stall, Task, Until};
use order9_mm::policy::Policy;
use order9_mm::reclaim::{PageWrite, direct_reclaim};
use order9_mm::thp::{HugeDefrag, HugeEnabled};
use order9_mm::trace::NoTrace;
use order9_mm::{Layout, Mm, MmBuilder, NodeSpec, Request, ZoneId, ZoneSpec};
use order9_units::{Nanos, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use super::CPU;

/// Memory of a node.
const NODE: Pages = Pages::new(12 << 10);
const SWAP: Pages = Pages::new(3000);

pub(super) struct Machine {
    mm: RefCell<Mm>,
    /// Under way to swap.
    writes: RefCell<Vec<PageWrite>>,
}

impl Machine {
    /// Huge pages for all, content tags, and swap.
    pub(super) fn boot(policy: Policy) -> Self {
        let zone = |node: u16| ZoneSpec {
            node: NodeId(node),
            kind: ZoneKind::Normal,
            span: PfnRange::of(Pfn::new((1 << 20) + u64::from(node) * NODE.get()), NODE),
        };
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10, 20] }, NodeSpec { distances: vec![20, 10] }],
            zones: vec![zone(0), zone(1)],
            cpus: vec![NodeId(0), NodeId(1)],
            ..Layout::default()
        };
        let builder = MmBuilder::new(&layout, policy).expect("the layout is sound").content_tags();
        let mut mm = builder.boot().with_compaction_account();
        mm.set_thp_enabled(HugeEnabled::Always);
        mm.set_thp_defrag(HugeDefrag::Madvise);
        mm.set_thp_use_zero_page(true);
        mm.set_min_free_kbytes(512);
        mm.swapon_solid_state(SWAP);
        Self { mm: RefCell::new(mm), writes: RefCell::default() }
    }

    pub(super) fn step<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        step(&mut self.mm.borrow_mut())
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
                PageWrite::Swap(write) => self.step(|mm| mm.swap_written(write, CPU)),
                PageWrite::File(write) => unreachable!("{write:?} is of no file"),
            }
        }
    }
}

impl Env for Machine {
    type Tracer = NoTrace;

    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        self.step(step)
    }

    async fn spend(&self) {}

    fn cpu(&self) -> usize {
        CPU
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
    async fn reclaim(&self, request: &Request) -> u64 {
        direct_reclaim(self, request).await
    }

    async fn reclaim_node(&self, _: ZoneId, _: &Request) -> bool {
        false
    }

    async fn compact(&self, request: &Request, priority: CompactPriority) -> Compacted {
        try_to_compact_pages(self, request, priority).await
    }

    fn compaction_paid_off(&self, zone: ZoneId, order: Order) {
        self.step(|mm| mm.compaction_paid_off(zone, order));
    }

    fn reclaimable(&self, _: ZoneId) -> u64 {
        0
    }

    fn write_pending(&self, _: ZoneId) -> u64 {
        0
    }

    async fn oom_kill(&self, _: &Request) -> OomKill {
        OomKill::NoVictim
    }
}
