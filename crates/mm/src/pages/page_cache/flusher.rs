//! State of the flusher: what it was woken for, and what is due to be written back. Its task is in [`crate::tasks`].

use order9_units::{Nanos, Pages};

use super::FileId;
use crate::page_cache::PageCache;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

/// Requests to the flusher.
#[derive(Clone, Copy, Default)]
pub(crate) struct FlusherState {
    /// A task has woken the flusher since it last began.
    woken: bool,
    /// Dirty pages that reclaim wants to be written.
    wanted: u64,
}

impl PageCache {
    /// Has the flusher write all that is dirty: reclaim meets nothing else (`wakeup_flusher_threads`).
    pub(crate) fn wakeup_flushers(&mut self, phys: &mut PhysMem) {
        let dirty = self.write_pending(None, phys).dirty;
        self.flusher.wanted = self.flusher.wanted.max(dirty);
        self.wake_flusher(phys);
    }

    /// Has the flusher look for work.
    pub(crate) fn wake_flusher(&mut self, phys: &mut PhysMem) {
        phys.daemons.wakeups.flushers = true;
        self.flusher.woken = true;
    }

    /// Whether the flusher was woken since the last call.
    pub(crate) fn take_flusher_wakeup(&mut self) -> bool {
        core::mem::take(&mut self.flusher.woken)
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

impl UsedPages {
    /// The next file to write back at `now`: the one that has been dirty for longest, if there is too much dirty, reclaim
    /// waits, or it has been dirty for `vm.dirty_expire_centisecs`.
    pub(crate) fn next_due(&self, now: Nanos, phys: &PhysMem) -> Option<FileId> {
        let too_much = self.cache.write_pending(None, phys).dirty > self.lru.dirty_limits(phys).background.get();
        if too_much || self.cache.flusher.wanted > 0 {
            return self.cache.next_dirty(None);
        }
        let old = now.get().checked_sub(phys.dirty_expire().get())?;
        self.cache.next_dirty(Some(Nanos::new(old)))
    }
}
