//! Compaction of small zones whose every frame is known.

mod classic;
mod concurrent;
mod daemon;
mod index;
mod indexed_runs;
mod large_folios;
mod partially_mapped;
mod rules;
mod selective_reset;
mod series;

use alloc::vec;
use alloc::vec::Vec;
use core::cell::{Cell, RefCell};

use order9_frames::{Gfp, Request};
use order9_units::{Nanos, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use super::CompactTotals;
use crate::env::{CompactPriority, Compacted, Env, SpinLock, Stall, Task, Until, run};
use crate::policy::{CompactionPolicy, DrainMark, Policy, SkipReset, SourceSearch, TargetSearch, TargetStride};
use crate::reclaim::PageWrite;
use crate::tasks::compaction::direct::try_to_compact_pages;
use crate::trace::{CompactEvent, Event};
use crate::{Contents, Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};

/// First frame of the zone.
const BASE: u64 = 1 << 20;
/// The only CPU of the world.
const CPU: usize = 0;

/// Content of a frame at the start.
#[derive(Clone, Copy, PartialEq, Eq)]
enum F {
    Free,
    /// A page of a program.
    Page,
    /// Of the kernel.
    Kernel,
    /// Asked for as movable, and yet not to be moved.
    Fixed,
    /// Part of a huge page.
    Huge,
}

/// Interference of other tasks, all at once.
type Others = fn(&mut Mm);

/// A world in which nobody else acts, and nothing has to be waited for.
struct World {
    mm: RefCell<Mm>,
    resched: Cell<bool>,
    lru_busy: Cell<bool>,
    /// Number of times that the run let others go first.
    ways_made: Cell<u32>,
    zone_busy: Cell<bool>,
    /// Interference after the first step.
    others: Cell<Option<Others>>,
    sleeps: Cell<u32>,
    steps: Cell<u32>,
}

/// The rules of the kernel before the series.
fn classic() -> Policy {
    let mut policy = Policy::default();
    policy.frames.watermark.scale_factor = None;
    policy.compaction = CompactionPolicy {
        source_search: SourceSearch::Linear,
        target_search: TargetSearch::Linear,
        target_stride: TargetStride::One,
        nohandler_fail_fast: false,
        finish_block_always: false,
        isolate_ignores_boost: false,
        source_private: false,
        rescan_whole_block: false,
        contention_finish_block: false,
        skip_huge_block_early: false,
        sync_cached_unusable: false,
        free_cursor_slow: false,
        target_order_rr: false,
        capture: false,
        resched_aborts_async: true,
        skip_reset: SkipReset::Full,
        drain_mark: DrainMark::LowestIsolated,
        fast_source_wasted: false,
        private_aligned_only: false,
        cached_migrate_overshoot: false,
        reset_free_last_frame: false,
        target_limit_min: false,
        finish_on_failure: false,
        capture_before_drain: false,
        ..CompactionPolicy::default()
    };
    policy
}

/// Policy of the classic scanners with one change.
fn classic_with(change: impl FnOnce(&mut CompactionPolicy)) -> Policy {
    let mut policy = classic();
    change(&mut policy.compaction);
    policy
}

/// The whole series.
fn series() -> Policy {
    let mut policy = classic();
    policy.compaction = CompactionPolicy::default();
    policy
}

/// The zone of the worked example in docs/compaction.md: free frames at even places, all others hold pages.
fn worked_example() -> Vec<F> {
    let free = [0, 212, 0, 100, 256, 244, 228, 0];
    let mut frames = vec![F::Page; 8 * 512];
    for (block, free) in free.into_iter().enumerate() {
        (0..free).for_each(|n| frames[block * 512 + 2 * n] = F::Free);
    }
    frames[100] = F::Kernel;
    frames[5 * 512 + 511] = F::Kernel;
    frames
}

impl World {
    fn new(policy: Policy, frames: &[F]) -> Self {
        Self::with_cpus(policy, frames, 1)
    }

    fn with_cpus(policy: Policy, frames: &[F], cpus: usize) -> Self {
        let span = PfnRange::of(Pfn::new(BASE), Pages::new(frames.len() as u64));
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            cpus: vec![NodeId(0); cpus],
            ..Layout::default()
        };
        let builder = MmBuilder::new(&layout, policy).expect("one zone is a valid layout").traced();
        // 10 pages for the min mark.
        let mut builder = builder.min_free_kbytes(40).content_tags();
        for (pfn, frame) in span.iter().zip(frames) {
            match frame {
                F::Free => builder.free(pfn, Order::ZERO),
                F::Page => builder.allocate(pfn, Order::ZERO, Contents::Movable),
                F::Kernel => builder.allocate(pfn, Order::ZERO, Contents::Unmovable),
                F::Fixed => builder.allocate(pfn, Order::ZERO, Contents::Fixed),
                F::Huge if pfn.is_aligned(Order::PAGEBLOCK) => {
                    builder.allocate(pfn, Order::PAGEBLOCK, Contents::Movable)
                }
                F::Huge => Ok(()),
            }
            .expect("every frame is given once");
        }
        let mut mm = builder.finish().with_compaction_account();
        let file = mm.create_file(Pages::new(frames.len() as u64)).expect("it is the first");
        for (index, (pfn, _)) in span.iter().zip(frames).enumerate().filter(|(_, (_, frame))| **frame == F::Page) {
            mm.phys.set_movable_content(pfn, false).expect("it is allocated");
            mm.add_file_page(file, index as u64, pfn, CPU).expect("the file has room");
        }
        mm.check().expect("the start is lawful");
        mm.phys.events_mut().clear();
        Self {
            mm: RefCell::new(mm),
            resched: Cell::default(),
            lru_busy: Cell::default(),
            ways_made: Cell::default(),
            zone_busy: Cell::default(),
            others: Cell::default(),
            sleeps: Cell::default(),
            steps: Cell::default(),
        }
    }

    /// Direct compaction for a huge page of a program.
    fn compact_huge(&self, priority: CompactPriority) -> Compacted {
        self.compact(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE, priority)
    }

    fn compact(&self, order: Order, gfp: Gfp, priority: CompactPriority) -> Compacted {
        let request = Request { cpu: CPU, ..Request::new(order, gfp) };
        run(try_to_compact_pages(self, &request, priority))
    }

    /// Frames and entries that all runs have looked at.
    fn totals(&self) -> CompactTotals {
        let mm = self.mm.borrow();
        let counters = mm.counters();
        CompactTotals { migrate_scanned: counters.compact_migrate_scanned, free_scanned: counters.compact_free_scanned }
    }

    fn moved(&self) -> u64 {
        self.mm.borrow().counters().pgmigrate_success
    }

    fn isolated(&self) -> u64 {
        self.mm.borrow().counters().compact_isolated
    }

    /// Rounds, by how often it was asked whether the run is over; the last time it was.
    fn rounds(&self) -> usize {
        self.events(|event| matches!(event, CompactEvent::Finished { .. })) - 1
    }

    fn events(&self, of: impl Fn(&CompactEvent) -> bool) -> usize {
        let mut mm = self.mm.borrow_mut();
        mm.phys.events_mut().iter().filter(|event| matches!(event, Event::Compaction(event) if of(event))).count()
    }

    /// Positions of the scanners at the end of the last run, counted from the start of the zone.
    fn ends(&self) -> (u64, u64) {
        let mut mm = self.mm.borrow_mut();
        let mut events = mm.phys.events_mut().iter().rev();
        let ends = events.find_map(|event| match event {
            Event::Compaction(CompactEvent::End { ends, .. }) => Some(*ends),
            _ => None,
        });
        let ends = ends.expect("a run has ended");
        (ends.migrate_pfn.get() - BASE, ends.free_pfn.get() - BASE)
    }

    /// Cached positions, counted from the start of the zone: of asynchronous runs, of others, of the free scanner.
    fn cached(&self) -> [Option<u64>; 3] {
        let mm = self.mm.borrow();
        let of = &mm.compaction.zones[0];
        let [migrate, sync] = of.cached_migrate;
        [migrate, sync, of.cached_free].map(|pfn| pfn.get().checked_sub(BASE))
    }

    /// Pageblocks with a skip hint.
    fn skipped(&self) -> Vec<u64> {
        let mm = self.mm.borrow();
        let blocks = mm.phys.frames.zones()[0].span().len().get() / 512;
        (0..blocks).filter(|block| mm.compaction.pageblock_skip(Pfn::new(BASE + block * 512), &mm.phys)).collect()
    }

    fn account(&self) -> [u64; 3] {
        let mm = self.mm.borrow();
        let counters = mm.counters();
        [counters.compact_blocks_emptied, counters.compact_least_moves, counters.compact_pages_moved]
    }

    fn free_huge(&self) -> u64 {
        self.mm.borrow().phys.frames.zones()[0].free_in_pageblocks() / 512
    }
}

impl Env for World {
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        let mut mm = self.mm.borrow_mut();
        let result = step(&mut mm);
        self.steps.set(self.steps.get() + 1);
        if self.steps.get().is_multiple_of(8) {
            mm.check().unwrap_or_else(|violation| panic!("{violation}"));
        }
        result
    }

    async fn spend(&self) {
        if let Some(others) = self.others.take() {
            others(&mut self.mm.borrow_mut());
        }
    }

    fn cpu(&self) -> usize {
        CPU
    }

    fn task(&self) -> Task {
        Task::default()
    }

    async fn sleep(&self, _: Nanos) {
        self.sleeps.set(self.sleeps.get() + 1);
    }

    fn need_resched(&self) -> bool {
        self.resched.get()
    }

    fn lock_busy(&self, lock: SpinLock) -> bool {
        match lock {
            SpinLock::Lru(_) => self.lru_busy.get(),
            SpinLock::Zone(_) => self.zone_busy.get(),
        }
    }
}

impl Stall for World {
    async fn submit(&self, _: Vec<PageWrite>) {}

    async fn wait(&self, _: Until, _: Option<Nanos>) -> bool {
        true
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        Nanos::ZERO
    }

    async fn make_way(&self) {
        self.ways_made.set(self.ways_made.get() + 1);
    }
}
