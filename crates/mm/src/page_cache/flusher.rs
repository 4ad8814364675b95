//! State of the flusher: what it was woken for, and what is due to be written back. Its task is in [`crate::tasks`].

use order9_units::{Nanos, Pages};

use super::FileId;
use crate::Mm;
use crate::trace::Tracer;

/// What the flusher was asked for.
#[derive(Clone, Copy, Default)]
pub(crate) struct FlusherState {
    /// Somebody has woken it since it last began.
    woken: bool,
    /// Dirty pages that reclaim wants to be written.
    wanted: u64,
}

impl<T: Tracer> Mm<T> {
    /// Has the flusher write all that is dirty: reclaim meets nothing else (`wakeup_flusher_threads`).
    pub(crate) fn wakeup_flushers(&mut self) {
        let dirty = self.write_pending(None).dirty;
        self.user.flusher.wanted = self.user.flusher.wanted.max(dirty);
        self.wake_flusher();
    }

    /// Has the flusher look for work.
    pub(crate) fn wake_flusher(&mut self) {
        self.daemons.wakeups.flushers = true;
        self.user.flusher.woken = true;
    }

    /// Whether the flusher was woken since the last call.
    pub(crate) fn take_flusher_wakeup(&mut self) -> bool {
        core::mem::take(&mut self.user.flusher.woken)
    }

    /// The next file to write back at `now`: the one that has been dirty for longest, if there is too much dirty, reclaim
    /// waits, or it has been dirty for `vm.dirty_expire_centisecs`.
    pub(crate) fn next_due(&self, now: Nanos) -> Option<FileId> {
        let too_much = self.write_pending(None).dirty > self.dirty_limits().background.get();
        if too_much || self.user.flusher.wanted > 0 {
            return self.next_dirty(None);
        }
        let old = now.get().checked_sub(self.dirty_expire().get())?;
        self.next_dirty(Some(Nanos::new(old)))
    }

    /// The flusher has begun to write `pages`.
    pub(crate) fn count_flushed(&mut self, pages: Pages) {
        let flusher = &mut self.user.flusher;
        flusher.wanted = flusher.wanted.saturating_sub(pages.get());
    }

    /// Nothing is due any more.
    pub(crate) fn end_flush(&mut self) {
        self.user.flusher.wanted = 0;
    }
}
