//! The slow path against a scripted world: what it asks for, in which order, and how it stops.

use alloc::string::String;
use alloc::string::ToString;
use alloc::vec::Vec;
use alloc::{format, vec};
use core::cell::{Cell, RefCell};

use order9_frames::{Request, ZoneId};
use order9_units::{Nanos, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use crate::alloc_error::{AllocError, GaveUp};
use crate::env::{CompactPriority, CompactResult, Compacted, Env, OomKill, SpinLock, Stall, Task, Until, run};
use crate::policy::{EarlyFail, Policy, RetryRule, StallCounts, Withdrawn};
use crate::reclaim::PageWrite;
use crate::slab::tests::Random;
use crate::tasks::slow_path::relief::Relief;
use crate::tasks::slow_path::{Pressure, serve};
use crate::{Gfp, Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};

mod defrag_mode;

/// One zone of eight pageblocks whose free pages a test takes and returns.
struct World {
    mm: RefCell<Mm>,
    log: RefCell<Vec<String>>,
    /// Pages that reclaim returns, one by one, oldest first.
    hoard: RefCell<Vec<Pfn>>,
    /// Pages that each call of reclaim returns.
    reclaims: u64,
    compaction: CompactResult,
    reclaimable: u64,
    kill: OomKill,
    task: Cell<Task>,
}

impl World {
    /// A machine with nothing free above its min watermark.
    fn exhausted(policy: Policy) -> Self {
        let mut mm = machine(policy);
        let mut hoard = Vec::new();
        let take = Request::new(Order::ZERO, Gfp::GFP_KERNEL | Gfp::MEMALLOC);
        while let Ok(pfn) = mm.alloc_with(&take, everything()) {
            hoard.push(pfn);
        }
        Self {
            mm: RefCell::new(mm),
            log: RefCell::default(),
            hoard: RefCell::new(hoard),
            reclaims: 0,
            compaction: CompactResult::Skipped,
            reclaimable: 0,
            kill: OomKill::NoVictim,
            task: Cell::default(),
        }
    }

    /// Adds `pages` free pages.
    fn with_free(self, pages: u64) -> Self {
        self.release(pages);
        self
    }

    fn release(&self, pages: u64) {
        for _ in 0..pages {
            let pfn = self.hoard.borrow_mut().pop().expect("the test returns less than it took");
            self.mm.borrow_mut().free(pfn, usize::MAX).expect("it is allocated");
        }
    }

    fn alloc(&self, order: u8, gfp: Gfp, task: Task) -> Result<Pfn, AllocError> {
        let request = Request { cpu: usize::MAX, ..Request::new(Order::new(order).expect("a small order"), gfp) };
        self.task.set(task);
        match self.with(|mm| mm.alloc_fast(&request)) {
            Err(AllocError::NoneAboveWatermark) => run(serve::<Self, Scripted>(self, &request)),
            decided => decided,
        }
    }

    /// Why a request gave up.
    fn gives_up(&self, order: u8, gfp: Gfp) -> GaveUp {
        match self.alloc(order, gfp, Task::default()) {
            Err(AllocError::GaveUp { reason, .. }) => reason,
            other => panic!("expected the request to give up, got {other:?}"),
        }
    }

    fn said(&self) -> Vec<String> {
        self.log.borrow().clone()
    }

    fn count(&self, what: &str) -> usize {
        self.log.borrow().iter().filter(|line| line.starts_with(what)).count()
    }

    fn say(&self, what: &str) {
        assert!(self.log.borrow().len() < 10_000, "the request goes on for ever");
        self.log.borrow_mut().push(what.to_string());
    }
}

impl Env for World {
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        step(&mut self.mm.borrow_mut())
    }

    async fn spend(&self) {}

    fn cpu(&self) -> usize {
        usize::MAX
    }

    fn task(&self) -> Task {
        self.task.get()
    }

    async fn sleep(&self, time: Nanos) {
        self.say(&format!("sleep {}", time.get() / 1_000_000));
    }

    fn need_resched(&self) -> bool {
        false
    }

    fn lock_busy(&self, _: SpinLock) -> bool {
        false
    }
}

impl Stall for World {
    async fn submit(&self, _: Vec<PageWrite>) {}

    async fn wait(&self, until: Until, _: Option<Nanos>) -> bool {
        unreachable!("reclaim is scripted, but a wait for {until:?}")
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
}

/// Reclaim and compaction that answer as the test has said.
enum Scripted {}

impl Relief<World> for Scripted {
    async fn reclaim(world: &World, _: &Request) -> u64 {
        world.say("reclaim");
        world.release(world.reclaims);
        world.reclaims
    }

    async fn reclaim_node(world: &World, zone: ZoneId, _: &Request) -> bool {
        world.say(&format!("reclaim the node of zone {}", zone.index()));
        false
    }

    async fn compact(world: &World, _: &Request, priority: CompactPriority) -> Compacted {
        world.say(&format!("compact {priority:?}"));
        Compacted { result: world.compaction, captured: None }
    }

    fn reclaimable(world: &World, _: ZoneId) -> u64 {
        world.reclaimable
    }
}

impl Pressure for World {
    async fn oom_kill(&self, _: &Request) -> OomKill {
        self.say("kill");
        if self.kill == OomKill::Killed {
            self.release(600);
        }
        self.kill
    }
}

fn machine(policy: Policy) -> Mm {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(8 * 512));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("one zone is a valid layout").boot()
}

fn everything() -> crate::AllocFlags {
    crate::AllocFlags {
        mark: crate::Mark::Min,
        no_watermarks: true,
        reserve: crate::Reserve::default(),
        cma: false,
        nofragment: false,
        kswapd: false,
    }
}

fn policy(change: impl FnOnce(&mut Policy)) -> Policy {
    let mut policy = Policy::default();
    change(&mut policy);
    policy
}

const MAYFAIL: Gfp = Gfp::RETRY_MAYFAIL;

#[test]
fn who_may_not_reclaim_only_looks() {
    let world = World::exhausted(Policy::default());
    assert_eq!(world.gives_up(0, Gfp::GFP_NOWAIT), GaveUp::NoDirectReclaim);
    assert_eq!(world.said(), Vec::<String>::new());
    let asked = world.mm.borrow().phys.kswapd_request(NodeId(0));
    assert_eq!(asked.map(|asked| asked.order), Some(Order::ZERO), "kswapd was asked for");
}

#[test]
fn up_to_4_5_a_request_for_one_node_that_may_not_reclaim_wakes_nobody() {
    let light = Gfp::GFP_TRANSHUGE_LIGHT.with(Gfp::KSWAPD_RECLAIM);
    for (thisnode_needs_reclaim, gfp, asks) in [
        (true, light.with(Gfp::THISNODE), false),
        (true, light, true),
        (false, light.with(Gfp::THISNODE), true),
        (false, Gfp::GFP_TRANSHUGE_LIGHT.with(Gfp::THISNODE), false),
    ] {
        let mut policy = Policy::default();
        policy.slow_path.thisnode_needs_reclaim = thisnode_needs_reclaim;
        let world = World::exhausted(policy);
        assert_eq!(world.gives_up(9, gfp), GaveUp::NoDirectReclaim);
        let asked = world.mm.borrow().phys.kswapd_request(NodeId(0)).map(|asked| asked.order);
        assert_eq!((asked, world.said()), (asks.then_some(Order::PAGEBLOCK), Vec::<String>::new()), "{gfp:?}");
    }
}

#[test]
fn nodes_with_page_cache_to_spare_are_reclaimed_first_if_that_is_on() {
    let world = |mode: u64, cache: u64| {
        let world = World::exhausted(Policy::default()).with_free(1);
        {
            let mut mm = world.mm.borrow_mut();
            mm.tune(|tunables| tunables.zone_reclaim_mode = mode);
            mm.pages.lru.zones[0].sizes[crate::LruList::InactiveFile.index()] = cache;
        }
        let _ = world.alloc(0, Gfp::GFP_KERNEL, Task::default());
        world.count("reclaim the node of zone 0")
    };
    // A hundredth of 4096 pages may stay.
    assert_eq!([world(1, 41), world(1, 40), world(0, 41)], [1, 0, 0]);
    let atomic = World::exhausted(Policy::default());
    atomic.mm.borrow_mut().tune(|tunables| tunables.zone_reclaim_mode = 1);
    assert_eq!((atomic.gives_up(0, Gfp::GFP_NOWAIT), atomic.said().len()), (GaveUp::NoDirectReclaim, 0));
}

#[test]
fn what_reclaim_frees_is_taken() {
    let world = World { reclaims: 400, ..World::exhausted(Policy::default()) };
    assert!(world.alloc(0, Gfp::GFP_KERNEL, Task::default()).is_ok());
    assert_eq!(world.said(), ["reclaim"]);
}

#[test]
fn a_costly_request_without_retry_may_fail_stops_after_one_round() {
    let world = World { reclaims: 1, ..World::exhausted(Policy::default()) };
    assert_eq!(world.gives_up(9, Gfp::GFP_KERNEL), GaveUp::Costly);
    assert_eq!(world.said(), ["compact Async", "reclaim", "compact SyncLight"]);
}

#[test]
fn a_huge_request_without_retries_fails_before_reclaim_where_the_release_says_so() {
    let huge = Gfp::GFP_TRANSHUGE | Gfp::NORETRY;
    let skipped = GaveUp::Compaction(CompactResult::Skipped);
    for (rule, reclaims) in [
        (EarlyFail::NoRetryDeferred, true),
        (EarlyFail::HugeUnlessRetryMayFail, false),
        (EarlyFail::NoRetrySkippedOrDeferred, false),
        (EarlyFail::HugeNoRetryAlways, false),
    ] {
        let world = World::exhausted(policy(|policy| policy.slow_path.early_fail = rule));
        let reason = world.gives_up(9, huge);
        assert_eq!(world.count("reclaim") > 0, reclaims, "{rule:?}");
        assert_eq!(reason == skipped, !reclaims, "{rule:?}: {reason:?}");
    }
}

#[test]
fn without_retries_all_compaction_is_async() {
    let world = World::exhausted(Policy::default());
    assert_eq!(world.gives_up(9, Gfp::GFP_TRANSHUGE | Gfp::NORETRY), GaveUp::NoRetry);
    assert_eq!(world.said(), ["compact Async", "reclaim", "compact Async"]);
}

#[test]
fn hopeful_retries_end_after_sixteen_rounds_without_progress() {
    let world = World { reclaimable: 1 << 20, ..World::exhausted(Policy::default()) };
    assert_eq!(world.gives_up(0, Gfp::GFP_KERNEL), GaveUp::NoVictim);
    assert_eq!(world.count("reclaim"), 17);
    assert_eq!(world.count("kill"), 1);
}

#[test]
fn a_kill_gives_the_request_another_round() {
    let world = World { kill: OomKill::Killed, ..World::exhausted(Policy::default()) };
    assert!(world.alloc(0, Gfp::GFP_KERNEL, Task::default()).is_ok());
    assert_eq!(world.said(), ["reclaim", "kill", "sleep 4"]);
}

#[test]
fn costly_this_node_and_low_zone_requests_never_kill() {
    for (order, gfp) in
        [(9, Gfp::GFP_KERNEL | MAYFAIL), (0, Gfp::GFP_KERNEL | Gfp::THISNODE), (0, Gfp::GFP_KERNEL | MAYFAIL)]
    {
        let world = World { kill: OomKill::Killed, ..World::exhausted(Policy::default()) };
        assert_eq!(world.gives_up(order, gfp), GaveUp::NotWorthAKill);
        assert_eq!(world.count("kill"), 0);
    }
}

#[test]
fn completed_compaction_escalates_to_its_floor() {
    let world = World { reclaims: 1, compaction: CompactResult::Complete, ..World::exhausted(Policy::default()) };
    // Order 2 is not costly: compaction may go up to its greatest effort.
    assert!(matches!(world.gives_up(2, Gfp::GFP_KERNEL | MAYFAIL), GaveUp::NotWorthAKill));
    let efforts: Vec<_> = world.said().into_iter().filter(|line| line.starts_with("compact")).collect();
    assert_eq!(efforts.first().map(String::as_str), Some("compact Async"));
    assert_eq!(efforts.last().map(String::as_str), Some("compact SyncFull"));
}

#[test]
fn compaction_counts_on_its_share_of_what_can_be_reclaimed() {
    let marks = machine(Policy::default()).phys.frames.zones()[0].watermarks();
    let gets_it = |order, reclaimable| {
        let world = World { reclaims: 1, reclaimable, ..World::exhausted(Policy::default()) };
        world.alloc(order, Gfp::GFP_KERNEL | MAYFAIL, Task::default()).is_ok()
    };
    // The first round frees a page; beside that, twice the block above the mark is to come from a share of the rest.
    for (order, mark) in [(2, marks.min), (4, marks.low)] {
        let need = u64::from(order) * (mark + (2 << order));
        assert_eq!([need - 1, need].map(|reclaimable| gets_it(order, reclaimable)), [false, true], "order {order}");
    }
}

#[test]
fn withdrawn_compaction_retries_by_release() {
    for (rule, again) in [(Withdrawn::ByReclaimable, false), (Withdrawn::SkippedOnly, true)] {
        let world = World {
            reclaims: 1,
            compaction: CompactResult::Deferred,
            ..World::exhausted(policy(|policy| policy.slow_path.withdrawn = rule))
        };
        assert_eq!(world.gives_up(2, Gfp::GFP_KERNEL | MAYFAIL), GaveUp::NotWorthAKill);
        // Without anything reclaimable no zone could be suitable; trying harder needs no such hope.
        assert_eq!(world.count("compact SyncFull") > 0, again, "{rule:?}");
    }
}

#[test]
fn which_compactions_count_as_stalls() {
    for (rule, result, counted) in [
        (StallCounts::Tried, CompactResult::Deferred, false),
        (StallCounts::Tried, CompactResult::Complete, true),
        (StallCounts::All, CompactResult::Skipped, true),
        (StallCounts::AllButSkipped, CompactResult::Skipped, false),
        (StallCounts::AllButSkipped, CompactResult::Deferred, true),
    ] {
        let world =
            World { compaction: result, ..World::exhausted(policy(|policy| policy.slow_path.stall_counts = rule)) };
        world.gives_up(9, Gfp::GFP_KERNEL);
        let mm = world.mm.borrow();
        let counters = mm.counters();
        assert_eq!(counters.compact_stall > 0, counted, "{rule:?} {result:?}");
        assert_eq!(counters.compact_stall, counters.compact_fail + counters.compact_success);
    }
}

#[test]
fn who_must_not_fail_gets_the_last_page() {
    let world = World::exhausted(Policy::default()).with_free(1);
    assert!(world.alloc(0, Gfp::GFP_KERNEL | Gfp::NOFAIL, Task::default()).is_ok());
}

#[test]
fn a_task_that_reclaims_may_use_all_memory_but_never_recurses() {
    let world = World::exhausted(Policy::default()).with_free(1);
    let task = Task { memalloc: true, ..Task::default() };
    assert!(world.alloc(0, Gfp::GFP_KERNEL, task).is_ok());
    let nothing_left = world.alloc(0, Gfp::GFP_KERNEL, task);
    assert!(matches!(nothing_left, Err(AllocError::GaveUp { reason: GaveUp::Nested, .. })), "{nothing_left:?}");
    assert_eq!(world.count("reclaim"), 0);
}

#[test]
fn old_kernels_repeat_until_enough_was_reclaimed() {
    let world = World { reclaims: 32, ..World::exhausted(policy(|policy| policy.slow_path.retry = RetryRule::Repeat)) };
    // Order 4 wants 16 pages: one round reclaims more, and compaction has the last word.
    assert_eq!(world.gives_up(4, Gfp::GFP_KERNEL | MAYFAIL), GaveUp::Costly);
    assert_eq!(world.count("reclaim"), 1);
    let world = World { reclaims: 5, ..World::exhausted(policy(|policy| policy.slow_path.retry = RetryRule::Repeat)) };
    let congested = crate::reclaim::ReclaimFlags { congested: true, ..Default::default() };
    {
        let mm = &mut *world.mm.borrow_mut();
        mm.reclaim.set_reclaim_flags(ZoneId(0), congested, &mm.phys);
    };
    world.gives_up(4, Gfp::GFP_KERNEL | MAYFAIL);
    assert_eq!(
        world.said().iter().filter(|line| line.as_str() == "sleep 20").count(),
        3,
        "5, 10 and 15 pages are too few"
    );
    let world = World::exhausted(policy(|policy| policy.slow_path.retry = RetryRule::Repeat));
    assert_eq!(world.gives_up(4, Gfp::GFP_KERNEL | MAYFAIL), GaveUp::Costly);
    assert_eq!(world.count("reclaim"), 1, "there is nothing to reclaim, and never will be");
}

#[test]
fn who_may_not_reclaim_never_waits_whatever_it_asks_for() {
    let counters = |world: &World| {
        let counters = world.mm.borrow().counters().clone();
        (counters.allocstall.total(), counters.pgscan_direct.total(), counters.compact_stall)
    };
    let mut random = Random(30);
    let flags = [Gfp::HIGH, Gfp::ATOMIC, Gfp::KSWAPD_RECLAIM, Gfp::IO, Gfp::FS, Gfp::MOVABLE, Gfp::RECLAIMABLE];
    let promises = [Gfp::NORETRY, Gfp::RETRY_MAYFAIL, Gfp::NOMEMALLOC, Gfp::MEMALLOC, Gfp::THISNODE, Gfp::COMP];
    for _ in 0..200 {
        let world = World { reclaimable: 1000, reclaims: 400, ..World::exhausted(Policy::default()) };
        let world = world.with_free(random.below(300));
        for _ in 0..10 {
            let mut chosen = flags.into_iter().chain(promises).filter(|_| random.below(3) == 0);
            let gfp = chosen.by_ref().fold(Gfp::NONE, |all, flag| all | flag);
            let task = Task { rt: random.below(2) == 0, oom_victim: random.below(4) == 0, ..Task::default() };
            let _ = world.alloc(random.below(11) as u8, gfp, task);
            assert_eq!((world.said(), counters(&world)), (Vec::new(), (0, 0, 0)), "{gfp:?}");
        }
    }
}

#[test]
fn progress_gives_costly_requests_no_more_than_sixteen_hopeful_retries() {
    // A block is free, below the min mark, and all the memory there is might be reclaimed.
    let world = World { reclaims: 1, reclaimable: 1 << 20, ..World::exhausted(Policy::default()) };
    let world = World { compaction: CompactResult::Complete, ..world }.with_free(16);
    assert_eq!(world.mm.borrow().phys.frames.zones()[0].areas()[4].total(), 1);
    assert_eq!(world.gives_up(4, Gfp::GFP_KERNEL | MAYFAIL), GaveUp::NotWorthAKill);
    assert_eq!(world.count("reclaim"), 17);
}

#[test]
fn successful_compactions_are_repeated_sixteen_times_with_each_effort_and_four_times_for_costly_orders() {
    for (order, light, full) in [(2, 17, 17), (4, 5, 0)] {
        let world = World { reclaims: 1, compaction: CompactResult::Success, ..World::exhausted(Policy::default()) };
        assert_eq!(world.gives_up(order, Gfp::GFP_KERNEL | MAYFAIL), GaveUp::NotWorthAKill);
        let counted = ["compact SyncLight", "compact SyncFull"].map(|effort| world.count(effort));
        assert_eq!(counted, [light, full], "order {order}");
    }
}
