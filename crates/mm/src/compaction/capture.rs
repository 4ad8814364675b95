//! Capture: a block of the wanted order that the compacting task itself frees goes to it, before others can take it.
//!
//! [`Capturing`] is the world of a task that compacts for itself: while it takes a step, what the step frees is watched.

use alloc::vec::Vec;
use core::future::Future;

use order9_units::{Migratetype, Nanos, Order, Pfn};

use super::control::CompactId;
use crate::Mm;
use crate::count::Class;
use crate::env::{Env, SpinLock, Stall, Task, Until};
use crate::frame::{Idx, Word};
use crate::page_alloc::Search;
use crate::reclaim::PageWrite;
use crate::trace::Tracer;
use crate::zone::ZoneId;

/// What a task that compacts would take of what it frees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capture {
    zone: ZoneId,
    order: Order,
}

impl<T: Tracer> Mm<T> {
    /// Watches what is freed from now on for a run, if it has got nothing yet.
    fn begin_capture(&mut self, id: CompactId) {
        let run = self.compaction.runs.get_mut(id);
        let wanted = run.order.filter(|_| run.captured.is_none());
        let zone = run.zone;
        self.compaction.capture = wanted.map(|order| Capture { zone, order });
    }

    /// Whether the block at `idx`, which is about to be merged further, is what the task waits for; then it has it.
    #[cold]
    pub(crate) fn is_captured(&mut self, zone: ZoneId, idx: Idx, order: Order, mt: Migratetype) -> bool {
        let Some(capture) = self.compaction.capture else { return false };
        let fits = capture.zone == zone && capture.order == order && order < Order::MAX;
        // Less than a pageblock of movable ones would mix types in it.
        let spares = matches!(mt, Migratetype::Cma | Migratetype::Isolate)
            || order < Order::PAGEBLOCK && mt == Migratetype::Movable;
        if !fits || spares {
            return false;
        }
        self.compaction.capture = None;
        self.compaction.caught = Some(idx);
        self.counters.compact_captured += 1;
        self.count_out(idx, order, Class::Free);
        self.count_in(idx, order, Class::Isolated);
        self.frames.set(idx, Word::held(order));
        true
    }

    /// Gives the block that a run has captured to the request it ran for.
    pub(super) fn hand_out_captured(&mut self, idx: Idx, search: &Search) -> Pfn {
        let order = search.request.order;
        let word = Word::allocated(order);
        self.count_out(idx, order, Class::Isolated);
        self.frames.set(idx, word);
        if search.mt != Migratetype::Movable {
            self.reflag(idx, crate::frame::Flag::CountedImmovable, true);
        }
        self.account_alloc(self.blocks[idx.block()].zone, search);
        self.frames.pfn(idx)
    }
}

/// The world of a task that compacts for itself.
pub(super) struct Capturing<'e, E> {
    pub(super) env: &'e E,
    /// The run, where its policy captures.
    pub(super) run: Option<CompactId>,
}

impl<E: Env> Env for Capturing<'_, E> {
    type Tracer = E::Tracer;

    fn with<R>(&self, step: impl FnOnce(&mut Mm<Self::Tracer>) -> R) -> R {
        self.env.with(|mm| {
            if let Some(run) = self.run {
                mm.begin_capture(run);
            }
            let result = step(mm);
            mm.compaction.capture = None;
            if let (Some(run), Some(idx)) = (self.run, mm.compaction.caught.take()) {
                mm.compaction.runs.get_mut(run).captured = Some(idx);
            }
            result
        })
    }

    fn spend(&self) -> impl Future<Output = ()> {
        self.env.spend()
    }

    fn cpu(&self) -> usize {
        self.env.cpu()
    }

    /// A task that compacts must not do so again for the memory that this takes.
    fn task(&self) -> Task {
        Task { memalloc: true, ..self.env.task() }
    }

    fn sleep(&self, time: Nanos) -> impl Future<Output = ()> {
        self.env.sleep(time)
    }

    fn need_resched(&self) -> bool {
        self.env.need_resched()
    }

    fn lock_busy(&self, lock: SpinLock) -> bool {
        self.env.lock_busy(lock)
    }
}

impl<E: Stall> Stall for Capturing<'_, E> {
    fn submit(&self, writes: Vec<PageWrite>) -> impl Future<Output = ()> {
        self.env.submit(writes)
    }

    fn wait(&self, until: Until, timeout: Option<Nanos>) -> impl Future<Output = bool> {
        self.env.wait(until, timeout)
    }

    fn wake(&self, until: Until) {
        self.env.wake(until);
    }

    fn now(&self) -> Nanos {
        self.env.now()
    }
}
