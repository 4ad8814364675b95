//! Several compactors at once, among tasks that take what they free, write to pages, pin some and free others.

use alloc::boxed::Box;
use core::future::poll_fn;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

use super::indexed_runs::indexed;
use super::*;
use crate::Counters;
use crate::compaction::run::control::{CompactControl, Compactor};
use crate::policy::AllocPolicy;
use crate::slab::tests::Random;
use crate::space::{Access, FaultStep, MmapRequest, SpaceId, VirtAddr};
use crate::tasks::compaction::request::compact_node;
use crate::tasks::compaction::run::compact_zone;

/// Pages of the program.
const PAGES: u64 = 600;

struct Crowd {
    world: World,
    random: RefCell<Random>,
    space: SpaceId,
    start: VirtAddr,
    /// Pages of others.
    taken: RefCell<Vec<Pfn>>,
    pinned: RefCell<Vec<Pfn>>,
}

impl Crowd {
    fn new(policy: Policy, seed: u64) -> Self {
        let mut random = Random(seed);
        let frames = (0..20 * 512).map(|at| match random.below(100) {
            0 if at / 512 % 3 == 0 => F::Kernel,
            0..50 => F::Free,
            _ => F::Page,
        });
        let world = World::with_cpus(policy, &frames.collect::<Vec<_>>(), 2);
        let (space, start) = world.with(|mm| {
            let space = mm.create_space().expect("it is the first");
            let start = mm.mmap(space, &MmapRequest::anon(Pages::new(PAGES).bytes()), CPU).expect("there is room");
            (space, start)
        });
        let (taken, pinned) = (RefCell::default(), RefCell::default());
        let crowd = Self { world, random: RefCell::new(random), space, start, taken, pinned };
        (0..PAGES).for_each(|page| crowd.write(page));
        crowd
    }

    fn below(&self, end: u64) -> u64 {
        self.random.borrow_mut().below(end)
    }

    fn write(&self, page: u64) {
        let addr = VirtAddr::new(self.start.get() + 4096 * page);
        self.world.with(|mm| {
            if let FaultStep::NeedPage(fault) = mm.fault_begin(self.space, addr, Access::Write, CPU)
                && let Ok(pfn) = mm.alloc_fast(&fault.request(CPU))
            {
                mm.fault_finish(&fault, pfn, CPU);
            }
        });
    }

    /// Does one random thing that other tasks do.
    fn disturb(&self) {
        let mut taken = self.taken.borrow_mut();
        match self.below(10) {
            0..4 => {
                let gfp = [Gfp::GFP_HIGHUSER_MOVABLE, Gfp::GFP_KERNEL][self.below(2) as usize];
                let order = Order::new([0, 0, 0, 2, 9][self.below(5) as usize]).expect("it exists");
                let request = Request { cpu: self.below(3) as usize, ..Request::new(order, gfp) };
                taken.extend(self.world.with(|mm| mm.alloc_fast(&request)));
            }
            4..8 if !taken.is_empty() => {
                let at = self.below(taken.len() as u64) as usize;
                let pfn = taken.swap_remove(at);
                self.world.with(|mm| mm.free(pfn, self.below(3) as usize)).expect("it is ours");
            }
            8 => {
                let mut pinned = self.pinned.borrow_mut();
                let pfn = Pfn::new(BASE + self.below(20 * 512));
                if pinned.len() < 8 && self.world.with(|mm| mm.phys.lru_of(pfn).is_some() && mm.pin(pfn).is_ok()) {
                    pinned.push(pfn);
                } else if let Some(pfn) = pinned.pop() {
                    self.world.with(|mm| mm.unpin(pfn)).expect("it is pinned");
                }
            }
            _ => self.write(self.below(PAGES)),
        }
    }

    /// One compactor of some kind; what it captures is freed again by and by.
    async fn compactor(&self, kind: u64) {
        let zone = self.with(|mm| mm.phys.frames.zones()[0].id());
        let daemon =
            |by, order| self.with(|mm| mm.compact_begin(CompactControl::new(by, zone, order, ZoneKind::Normal)));
        let begun = match kind {
            0 => {
                compact_node(self, NodeId(0)).await;
                return;
            }
            1 => daemon(Compactor::Proactive, None),
            2 => daemon(Compactor::Kcompactd, Some(Order::PAGEBLOCK)),
            _ => {
                let priority = [CompactPriority::Async, CompactPriority::SyncLight][kind as usize % 2];
                let request = Request { cpu: CPU, ..Request::new(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE) };
                let compacted = try_to_compact_pages(self, &request, priority).await;
                self.taken.borrow_mut().extend(compacted.captured);
                return;
            }
        };
        if let Ok(id) = begun {
            compact_zone(self, id).await;
        }
    }

    fn end(self) {
        let mut mm = self.world.mm.into_inner();
        mm.check().unwrap_or_else(|violation| panic!("in the end: {violation}"));
        assert!(mm.phys.frames.blocks().iter().all(|block| block.isolated == 0), "no frame is isolated for ever");
        assert_eq!((mm.phys.frames.zones()[0].isolated_blocks(), mm.compact_runs.iter().count()), (0, 0));
        assert!(mm.phys.frames.watch().capture.is_none());
        self.pinned.take().into_iter().for_each(|pfn| assert!(mm.unpin(pfn).is_ok()));
        self.taken.take().into_iter().for_each(|pfn| mm.free(pfn, CPU).expect("it is ours"));
        mm.exit(self.space, CPU).expect("it lives");
        mm.phys.frames.drain_all();
        mm.check().unwrap_or_else(|violation| panic!("after everybody has left: {violation}"));
    }
}

impl Env for Crowd {
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        self.world.with(step)
    }

    async fn spend(&self) {
        if self.below(3) == 0 {
            self.disturb();
        }
        if self.below(4) == 0 {
            let mut waited = false;
            poll_fn(|_| if core::mem::replace(&mut waited, true) { Poll::Ready(()) } else { Poll::Pending }).await;
        }
    }

    fn cpu(&self) -> usize {
        self.below(2) as usize
    }

    fn task(&self) -> Task {
        Task::default()
    }

    async fn sleep(&self, _: Nanos) {}

    fn need_resched(&self) -> bool {
        false
    }

    fn lock_busy(&self, _: SpinLock) -> bool {
        self.below(8) == 0
    }
}

impl Stall for Crowd {
    async fn submit(&self, _: Vec<PageWrite>) {}

    async fn wait(&self, _: Until, _: Option<Nanos>) -> bool {
        true
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
}

/// Lets eight compactors of every kind run at once, and everybody leave; what was counted.
fn crowded(policy: Policy, seed: u64) -> Counters {
    let crowd = Crowd::new(policy, seed);
    let mut compactors: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> =
        (0..8).map(|kind| Box::pin(crowd.compactor(kind)) as Pin<Box<_>>).collect();
    let mut polls = 0;
    while !compactors.is_empty() {
        let at = crowd.below(compactors.len() as u64) as usize;
        if compactors[at].as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            drop(compactors.swap_remove(at));
        }
        polls += 1;
        assert!(polls < 200_000, "seed {seed}: every run ends");
    }
    drop(compactors);
    let counters = crowd.world.mm.borrow().counters().clone();
    crowd.end();
    counters
}

#[test]
fn several_compactors_lose_nothing_among_others() {
    let (mut emptied, mut failed, mut captured) = (0, 0, 0);
    for seed in 1..=6 {
        let mut policy = indexed();
        policy.compaction.capture = seed % 3 != 0;
        policy.frames.alloc = AllocPolicy { pack_movable: seed % 2 == 1, fallback_contaminated: seed % 2 == 1 };
        policy.frames.fallback.freelist_hygiene = seed % 2 == 0;
        policy.frames.pcp.keeps_cached_type = !policy.frames.fallback.freelist_hygiene;
        policy.frames.merge_guards_all_types = seed % 2 == 0;
        policy.compaction.batched_migrate = seed % 4 == 0;
        let counters = crowded(policy, seed);
        emptied += counters.index_emptied;
        failed += counters.index_failed;
        captured += counters.compact_captured;
    }
    assert!(emptied > 10 && failed > 0 && captured > 0, "{emptied} emptied, {failed} failed, {captured} captured");
}

#[test]
fn several_scanners_lose_nothing_among_others() {
    let (mut emptied, mut captured) = (0, 0);
    for seed in 1..=6 {
        let mut policy = if seed % 2 == 0 { classic() } else { series() };
        policy.compaction.batched_migrate = seed % 4 == 0;
        let counters = crowded(policy, seed);
        emptied += counters.compact_blocks_emptied;
        captured += counters.compact_captured;
    }
    assert!(emptied > 10 && captured > 0, "{emptied} emptied, {captured} captured");
}
