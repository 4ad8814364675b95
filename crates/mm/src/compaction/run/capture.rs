//! Capture: a block of the wanted order that the compacting task itself frees goes to that task, before others can take
//! it.
//!
//! [`Capturing`] is the environment of a task in direct compaction: it watches what each step of the task frees.

use alloc::vec::Vec;
use core::future::Future;

use order9_frames::{Class, Flag, Idx, Search, Word, ZoneId};
use order9_units::{Migratetype, Nanos, Order, Pfn};

use crate::Mm;
use crate::compaction::run::control::CompactId;
use crate::env::{Env, SpinLock, Stall, Task, Until};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::reclaim::PageWrite;
use crate::trace::Tracer;

/// Block that a task in direct compaction takes as soon as it frees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capture {
    zone: ZoneId,
    order: Order,
}

impl Capture {
    /// Whether the task takes a block of `order` in a pageblock of type `mt` that is about to be merged further.
    pub(crate) fn takes(self, zone: ZoneId, order: Order, mt: Migratetype) -> bool {
        // Less than a pageblock of movable ones would mix types in it.
        let spares = matches!(mt, Migratetype::Cma | Migratetype::Isolate)
            || order < Order::PAGEBLOCK && mt == Migratetype::Movable;
        self.zone == zone && self.order == order && order < Order::MAX && !spares
    }
}

impl<T: Tracer> Mm<T> {
    /// Watches frees from now on for a run that has captured nothing yet.
    fn begin_capture(&mut self, id: CompactId) {
        let run = self.compact_runs.get_mut(id);
        let wanted = run.order.filter(|_| run.captured.is_none());
        let zone = run.zone;
        self.phys.frames.watch_mut().capture = wanted.map(|order| Capture { zone, order });
    }
}

impl<T: Tracer> PhysMem<T> {
    /// Block that the present step has captured, if any; the caller owns it from now on.
    pub(super) fn take_captured(&mut self) -> Option<Idx> {
        let caught = self.frames.watch_mut().caught.take();
        self.counters.compact_captured += u64::from(caught.is_some());
        caught
    }
}

impl UsedPages {
    /// Gives the block that a run has captured to the request that the run was for.
    pub(in crate::compaction) fn hand_out_captured(
        &self,
        idx: Idx,
        search: &Search,
        phys: &mut PhysMem<impl Tracer>,
    ) -> Pfn {
        let order = search.request.order;
        let word = Word::allocated(order);
        phys.frames.count_out(idx, order, Class::Isolated);
        phys.frames.set(idx, word);
        if search.mt != Migratetype::Movable {
            phys.frames.reflag(idx, Flag::CountedImmovable, true);
        }
        self.account_alloc(phys.frames.zone_around(idx), search, phys);
        phys.frames.pfn(idx)
    }
}

/// Environment of a task in direct compaction.
pub(in crate::compaction) struct Capturing<'e, E> {
    pub(in crate::compaction) env: &'e E,
    /// The run, if the policy captures.
    pub(in crate::compaction) run: Option<CompactId>,
}

impl<E: Env> Env for Capturing<'_, E> {
    type Tracer = E::Tracer;

    fn with<R>(&self, step: impl FnOnce(&mut Mm<Self::Tracer>) -> R) -> R {
        self.env.with(|mm| {
            if let Some(run) = self.run {
                mm.begin_capture(run);
            }
            let result = step(mm);
            mm.phys.frames.watch_mut().capture = None;
            if let Some(run) = self.run
                && let Some(idx) = mm.phys.take_captured()
            {
                mm.compact_runs.get_mut(run).captured = Some(idx);
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

    /// Memory that this task allocates meanwhile must not start compaction again.
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
