//! [`Mm`]: all state of one machine's memory.

mod daemons;
mod files;
mod free_memory;
mod huge_pages;
mod kernel;
mod numa;
mod programs;
mod swap;

use alloc::boxed::Box;

use order9_frames::{Flag, FrameWork, Frames, FreeError, Idx, Word};
use order9_units::Pfn;

use crate::compaction::{CompactControl, Compaction};
use crate::heard::costs::Costs;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::Policy;
use crate::reclaim::{Reclaim, ReclaimControl};
use crate::runs::Runs;
use crate::tags::Tags;
use crate::vmstat::Counters;
use crate::wakeups::Wakeups;
use crate::work::{LruLockWork, Work, WorkDone};

/// Memory of one machine: the frames, and the layers above them: who uses frames, who gets them back, who makes blocks of them.
#[derive(Clone)]
pub struct Mm {
    pub(crate) phys: PhysMem,
    pub(crate) pages: UsedPages,
    pub(crate) reclaim: Reclaim,
    pub(crate) reclaim_runs: Runs<ReclaimControl>,
    pub(crate) compaction: Compaction,
    pub(crate) compact_runs: Runs<CompactControl>,
}

impl Mm {
    /// The engine with the contents of all pages followed from now on, as [`crate::MmBuilder::content_tags`] does. Contents
    /// that pages hold already are taken to be zeros.
    #[must_use]
    pub fn with_content_tags(mut self) -> Self {
        self.pages.tags = Some(Tags::new(self.phys.frames.table().len()));
        self
    }

    /// The engine with every event kept from now on, for [`PhysMem::events_mut`].
    #[must_use]
    pub const fn traced(mut self) -> Self {
        self.phys.set_tracing(true);
        self
    }

    /// Frees the allocation that starts at `pfn`, on behalf of `cpu`.
    ///
    /// # Errors
    /// [`FreeError`] where that is no allocation that can be freed; nothing has changed then.
    pub fn free(&mut self, pfn: Pfn, cpu: usize) -> Result<(), FreeError> {
        let (idx, word) = self.pages.freeable(pfn, &self.phys)?;
        self.phys.frames.free_block(idx, word, cpu);
        Ok(())
    }

    /// Makes every page of the allocation at `pfn` an allocation of its own.
    ///
    /// # Errors
    /// [`FreeError`] where no allocation starts there, or somebody pins, isolates or owns it.
    pub fn split_page(&mut self, pfn: Pfn) -> Result<(), FreeError> {
        self.pages.freeable(pfn, &self.phys)?;
        self.phys.frames.split_page(pfn)
    }

    /// Physical memory: what is in force, and the levels of free memory.
    #[must_use]
    pub const fn phys(&self) -> &PhysMem {
        &self.phys
    }

    /// Physical memory, to be set up otherwise.
    pub const fn phys_mut(&mut self) -> &mut PhysMem {
        &mut self.phys
    }

    /// Pages in use.
    #[must_use]
    pub const fn pages(&self) -> &UsedPages {
        &self.pages
    }

    /// Pages in use, for what needs no frames.
    pub const fn pages_mut(&mut self) -> &mut UsedPages {
        &mut self.pages
    }

    /// Physical memory and the pages in use at once, for a step that needs both.
    pub const fn parts(&mut self) -> (&mut PhysMem, &mut UsedPages) {
        (&mut self.phys, &mut self.pages)
    }

    /// The frames of the machine, with their zones, pageblocks, lists and counters.
    #[must_use]
    pub const fn frames(&self) -> &Frames<impl order9_frames::Watch + use<>> {
        &self.phys.frames
    }

    /// The switches in force.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.phys.policy
    }

    /// Event counters since boot, but for those of the allocator.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.phys.counters
    }

    /// Work done since it was last taken, but for that of the allocator.
    #[must_use]
    pub const fn work(&self) -> &Work {
        &self.phys.work
    }

    /// Work of the layers above the allocator without an LRU lock since it was last taken, and takes all.
    pub fn take_work(&mut self) -> Work {
        self.settle_work(|done| *done.rest)
    }

    /// Whether work under a zone or LRU lock was done since it was last taken.
    #[inline]
    #[must_use]
    pub fn has_worked_under_lock(&self) -> bool {
        let (frames, (_, lru, other_nodes)) = (&self.phys.frames, self.pages.lru.lock.done());
        let other_zones = frames.watch().earlier_locks.all();
        frames.work().locked.sections > 0
            || *lru != LruLockWork::NONE
            || !other_zones.is_empty()
            || !other_nodes.is_empty()
    }

    /// Lends the work done since it was last taken, apart by lock, and takes it.
    #[inline]
    pub fn settle_work<R>(&mut self, settle: impl FnOnce(WorkDone<'_>) -> R) -> R {
        let frames = &self.phys.frames;
        let (node, lru, other_nodes) = self.pages.lru.lock.done();
        let result = settle(WorkDone {
            frames: frames.work(),
            rest: &self.phys.work,
            lru,
            zone: frames.locked_last(),
            node,
            other_zones: frames.watch().earlier_locks.all(),
            other_nodes,
        });
        *self.phys.frames.work_mut() = FrameWork::NONE;
        self.phys.frames.watch_mut().earlier_locks.clear();
        self.phys.work = Work::NONE;
        self.pages.lru.lock.clear();
        result
    }

    /// Whether [`take_wakeups`](Self::take_wakeups) would name anybody.
    #[inline]
    #[must_use]
    pub fn has_wakeups(&self) -> bool {
        self.phys.daemons.wakeups != Wakeups::NONE
    }

    /// Daemons to be woken since the last call.
    pub fn take_wakeups(&mut self) -> Wakeups {
        core::mem::take(&mut self.phys.daemons.wakeups)
    }

    /// Bytes of metadata, everything included, and the frames they describe.
    #[must_use]
    pub fn metadata(&self) -> Metadata {
        let heard = self.phys.frames.watch();
        let bytes = self.phys.frames.bytes()
            + self.compaction.skip.bytes()
            + heard.known_huge.bytes()
            + heard.skipped_entries.bytes()
            + heard.costs.as_ref().map_or(0, |costs| costs.bytes())
            + self.pages.bytes()
            + self.pages.swap.bytes()
            + self.pages.slab.bytes();
        Metadata { bytes: bytes as u64, frames: self.phys.frames.table().len() as u64 }
    }
}

impl UsedPages {
    /// The live allocation that starts at `pfn`, which nobody pins, isolates or owns.
    pub(crate) fn freeable(&self, pfn: Pfn, phys: &PhysMem) -> Result<(Idx, Word), FreeError> {
        let (idx, word) = phys.frames.freeable(pfn)?;
        // Whatever is movable without an owner may be a driver's.
        let is_driver_page = word.has(Flag::MovableContent) && self.drivers.answer(idx).is_some();
        if is_driver_page { Err(FreeError::Owned(pfn)) } else { Ok((idx, word)) }
    }
}

/// Size of the engine's own data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Bytes of all tables.
    pub bytes: u64,
    /// Frames in the frame table, holes between zones included.
    pub frames: u64,
}

impl Metadata {
    /// Bytes per frame.
    #[must_use]
    pub fn per_frame(&self) -> f64 {
        self.bytes as f64 / self.frames as f64
    }
}

impl Mm {
    /// Keeps an account of what compaction is worth, in [`Counters::compact_blocks_emptied`],
    /// [`Counters::compact_least_moves`] and [`Counters::compact_pages_moved`].
    ///
    /// [`Counters::compact_blocks_emptied`]: crate::Counters::compact_blocks_emptied
    /// [`Counters::compact_least_moves`]: crate::Counters::compact_least_moves
    /// [`Counters::compact_pages_moved`]: crate::Counters::compact_pages_moved
    #[must_use]
    pub fn with_compaction_account(mut self) -> Self {
        let costs = Costs::new(self.phys.frames.zones().len(), self.phys.frames.blocks(), self.phys.frames.table());
        self.phys.frames.watch_mut().costs = Some(Box::new(costs));
        self
    }
}
