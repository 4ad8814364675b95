//! The world of a task that takes the block which its own compaction makes.

use alloc::vec::Vec;
use core::future::Future;

use order9_units::Nanos;

use crate::Mm;
use crate::compaction::run::control::CompactId;
use crate::env::{Env, SpinLock, Stall, Task, Until};
use crate::heard::capture::Capture;
use crate::reclaim::PageWrite;

impl Mm {
    /// Watches frees from now on for a run that has captured nothing yet.
    fn begin_capture(&mut self, id: CompactId) {
        let run = self.compact_runs.get_mut(id);
        self.phys.frames.watch_mut().capture = Capture::wanted_by(run);
    }
}

/// Environment of a task in direct compaction.
pub(crate) struct Capturing<'e, E> {
    pub(crate) env: &'e E,
    /// The run, if the policy captures.
    pub(crate) run: Option<CompactId>,
}

impl<E: Env> Env for Capturing<'_, E> {
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
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
