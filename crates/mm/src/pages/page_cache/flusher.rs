//! State of the flusher: what it was woken for, and what is due to be written back. Its task is in [`crate::tasks`].

use order9_units::{Nanos, Pages};

use super::FileId;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::trace::Tracer;

/// What the flusher was asked for.
#[derive(Clone, Copy, Default)]
pub(crate) struct FlusherState {
    /// Somebody has woken it since it last began.
    woken: bool,
    /// Dirty pages that reclaim wants to be written.
    wanted: u64,
}

impl UsedPages {
    /// Has the flusher write all that is dirty: reclaim meets nothing else (`wakeup_flusher_threads`).
    pub(crate) fn wakeup_flushers(&mut self, phys: &mut PhysMem<impl Tracer>) {
        let dirty = self.write_pending(None, phys).dirty;
        self.flusher.wanted = self.flusher.wanted.max(dirty);
        self.wake_flusher(phys);
    }

    /// Has the flusher look for work.
    pub(crate) fn wake_flusher(&mut self, phys: &mut PhysMem<impl Tracer>) {
        phys.daemons.wakeups.flushers = true;
        self.flusher.woken = true;
    }

    /// Whether the flusher was woken since the last call.
    pub(crate) fn take_flusher_wakeup(&mut self) -> bool {
        core::mem::take(&mut self.flusher.woken)
    }

    /// The next file to write back at `now`: the one that has been dirty for longest, if there is too much dirty, reclaim
    /// waits, or it has been dirty for `vm.dirty_expire_centisecs`.
    pub(crate) fn next_due(&self, now: Nanos, phys: &PhysMem<impl Tracer>) -> Option<FileId> {
        let too_much = self.write_pending(None, phys).dirty > self.dirty_limits(phys).background.get();
        if too_much || self.flusher.wanted > 0 {
            return self.next_dirty(None);
        }
        let old = now.get().checked_sub(phys.dirty_expire().get())?;
        self.next_dirty(Some(Nanos::new(old)))
    }

    /// The flusher has begun to write `pages`.
    pub(crate) fn count_flushed(&mut self, pages: Pages) {
        let flusher = &mut self.flusher;
        flusher.wanted = flusher.wanted.saturating_sub(pages.get());
    }

    /// Nothing is due any more.
    pub(crate) fn end_flush(&mut self) {
        self.flusher.wanted = 0;
    }
}
